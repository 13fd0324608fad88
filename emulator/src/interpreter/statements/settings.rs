//! Statements about the session: SET options and USE.
//!
//! This file must not know what the options do.

use crate::engine::{Core, SessionId};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::{Frame, FrameKind};
use crate::interpreter::names::object_name;
use crate::interpreter::operands::{integer, text};
use crate::interpreter::options::Options;
use crate::output::{Change, Event};
use crate::request::IsolationLevel;
use crate::tsql::ast::name::Ident;
use crate::tsql::ast::statement::{IsolationLevel as WrittenLevel, SetOption};
use crate::tsql::ast::{Expr, ObjectName};

/// `SET option ..`, one or several.
pub(super) async fn set_options(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    options: &[SetOption],
) -> Result<Done, Stop> {
    for option in options {
        match option {
            SetOption::Switch { name, on } => execution.state.options.switch(name, *on)?,
            SetOption::Value { name, value } => set_value(execution, frame, name, value).await?,
            SetOption::IsolationLevel(level) => execution.state.options.isolation = level_of(*level),
            SetOption::IdentityInsert { table, on } => identity_insert(execution, frame, table, *on).await?,
        }
    }
    execution.apply_options();
    Ok(Done::PLAIN)
}

/// `USE database`; refused in procedures (154).
pub(super) fn use_database(
    execution: &mut Execution<'_>,
    frame: &Frame,
    database: &Ident,
) -> Result<Done, Stop> {
    if frame.kind == FrameKind::Procedure {
        return Err(errors::use_in_procedure().into());
    }
    execution.change_database(database.as_str())?;
    Ok(Done::PLAIN)
}

impl Execution<'_> {
    /// Makes another database current and tells the client, also when it is the same one.
    pub(in crate::interpreter) fn change_database(&mut self, name: &str) -> Result<(), Stop> {
        let old = self.database_name();
        self.engine(|core, call| core.use_database(call, name))?;
        let new = self.database_name();
        self.emit(Event::Change(Change::Database { old, new: new.clone() }));
        self.emit(Event::Info(database_context(&new)));
        Ok(())
    }

    /// Name of the current database.
    pub(in crate::interpreter) fn database_name(&self) -> String {
        let session = self.state.id;
        self.state.instance.call(|core| database_name(core, session))
    }

    /// Tells the engine the options it needs.
    pub(in crate::interpreter) fn apply_options(&mut self) {
        let (session, options) = (self.state.id, &self.state.options);
        let (lock_timeout, isolation) = (options.lock_timeout, options.isolation);
        self.state.instance.call(|core| {
            core.set_lock_timeout(session, lock_timeout);
            core.set_isolation(session, isolation);
        });
    }
}

/// The name of a session's current database.
pub(crate) fn database_name(core: &Core, session: SessionId) -> String {
    let database = core.state().database(core.session(session).database);
    database.map_or_else(String::new, |database| database.def.name.to_string())
}

/// 5701: the notice that goes with a change of database.
pub(crate) fn database_context(name: &str) -> SqlError {
    SqlError::with_severity(5701, 0, format!("Changed database context to '{name}'.")).state(2)
}

/// The level of a session that a written level means.
fn level_of(level: WrittenLevel) -> IsolationLevel {
    match level {
        WrittenLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
        WrittenLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        WrittenLevel::RepeatableRead => IsolationLevel::RepeatableRead,
        WrittenLevel::Serializable => IsolationLevel::Serializable,
        WrittenLevel::Snapshot => IsolationLevel::Snapshot,
    }
}

async fn identity_insert(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    table: &ObjectName,
    on: bool,
) -> Result<(), Stop> {
    let (key, _) = execution.operate(frame, |tx, _| Ok(tx.resolve_table(&object_name(table)?)?)).await?;
    execution.state.identity_insert = on.then_some(key);
    Ok(())
}

async fn set_value(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    name: &str,
    value: &Expr,
) -> Result<(), Stop> {
    match name {
        "LANGUAGE" | "DATEFORMAT" | "DEADLOCK_PRIORITY" | "CONTEXT_INFO" => {
            let value =
                execution.operate(frame, |tx, scope| text(value, scope, tx)).await?.unwrap_or_default();
            Ok(word_option(name, &value)?)
        }
        _ => {
            let number = execution.operate(frame, |tx, scope| integer(value, scope, tx)).await?.unwrap_or(0);
            Ok(number_option(&mut execution.state.options, name, number)?)
        }
    }
}

/// Options of words: the default is accepted, anything that would change results is refused.
fn word_option(name: &str, value: &str) -> Result<(), SqlError> {
    let accepted: &[&str] = match name {
        "LANGUAGE" => &["us_english", "english"],
        "DATEFORMAT" => &["mdy"],
        "DEADLOCK_PRIORITY" => &["low", "normal", "high"],
        _ => &[],
    };
    let number =
        name == "DEADLOCK_PRIORITY" && value.parse::<i32>().is_ok_and(|level| (-10..=10).contains(&level));
    if number || accepted.iter().any(|accepted| accepted.eq_ignore_ascii_case(value)) {
        return Ok(());
    }
    Err(SqlError::unsupported(format_args!("SET {name} {value}")))
}

fn number_option(options: &mut Options, name: &str, number: i64) -> Result<(), SqlError> {
    let invalid = || errors::invalid_option(name, &number.to_string());
    match name {
        "LOCK_TIMEOUT" => options.set_lock_timeout(number),
        "TEXTSIZE" => options.text_size = i32::try_from(number).map_err(|_| invalid())?,
        "DATEFIRST" => {
            let day = u8::try_from(number).ok().filter(|day| (1..=7).contains(day));
            options.date_first = day.ok_or_else(invalid)?;
        }
        "ROWCOUNT" | "QUERY_GOVERNOR_COST_LIMIT" if number == 0 => {}
        _ => return Err(SqlError::unsupported(format_args!("SET {name} {number}"))),
    }
    Ok(())
}
