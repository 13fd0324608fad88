//! CREATE, ALTER and DROP of databases and schemas, and DROP of everything that is no broker object.
//!
//! This file must not know what the options do.

use crate::engine::{self, BrokerOption, ModuleKind, Op, Tx, UserAccess};
use crate::error::SqlError;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::object_name;
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::ddl::{
    AlterDatabase, AlterDatabaseAction, CreateDatabase, CreateSchema, DatabaseOption, Drop, DropKind,
    Termination,
};
use crate::tsql::ast::name::Ident;

/// `CREATE DATABASE name ..`
pub(super) async fn create(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &CreateDatabase,
) -> Result<Done, Stop> {
    if let Some(option) = statement.options.first() {
        return Err(SqlError::unsupported(format_args!("CREATE DATABASE with {option}")).into());
    }
    execution
        .operate(frame, |tx, _| {
            tx.create_database(statement.name.as_str())?;
            let Some(collation) = &statement.collation else { return Ok(()) };
            let option = engine::DatabaseOption::Stored("COLLATE".to_owned(), collation.as_str().to_owned());
            tx.alter_database(statement.name.as_str(), &option, engine::Termination::Wait)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// `ALTER DATABASE {name | CURRENT} ..`; each option of a list is a step of the same statement.
pub(super) async fn alter(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &AlterDatabase,
) -> Result<Done, Stop> {
    let name = match &statement.name {
        Some(name) => name.as_str().to_owned(),
        None => execution.database_name(),
    };
    execution.operate(frame, |tx, _| change(&name, &statement.action, tx)).await?;
    Ok(Done::PLAIN)
}

/// `CREATE SCHEMA name [AUTHORIZATION owner]`
pub(super) async fn create_schema(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &CreateSchema,
) -> Result<Done, Stop> {
    let owner = statement.owner.as_ref().map(Ident::as_str);
    let name = statement.name.as_ref().map(Ident::as_str).or(owner).unwrap_or_default();
    execution.operate(frame, |tx, _| tx.create_schema(name, owner)).await?;
    Ok(Done::PLAIN)
}

/// `DROP kind [IF EXISTS] a, b`: what exists is dropped in order; a missing one is an error of its own.
pub(super) async fn drop_objects(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Drop,
) -> Result<Done, Stop> {
    for name in &statement.names {
        execution.operate(frame, |tx, _| drop_one(statement.kind, name, statement.if_exists, tx)).await?;
    }
    Ok(Done::PLAIN)
}

fn change(name: &str, action: &AlterDatabaseAction, tx: &mut Tx<'_>) -> Op<()> {
    match action {
        AlterDatabaseAction::Rename(new_name) => tx.rename_database(name, new_name.as_str()),
        AlterDatabaseAction::Collate(collation) => {
            let option = engine::DatabaseOption::Stored("COLLATE".to_owned(), collation.as_str().to_owned());
            tx.alter_database(name, &option, engine::Termination::Wait)
        }
        AlterDatabaseAction::Set { options, termination } => {
            let termination = termination_of(*termination)?;
            options.iter().try_for_each(|option| set(name, option, termination, tx))
        }
    }
}

fn set(name: &str, option: &DatabaseOption, termination: engine::Termination, tx: &mut Tx<'_>) -> Op<()> {
    let broker = |option: BrokerOption, tx: &mut Tx<'_>| tx.alter_database_broker(name, option, termination);
    let other = match option {
        DatabaseOption::EnableBroker => return broker(BrokerOption::Enable, tx),
        DatabaseOption::DisableBroker => return broker(BrokerOption::Disable, tx),
        DatabaseOption::NewBroker => return broker(BrokerOption::New, tx),
        DatabaseOption::ErrorBrokerConversations => return broker(BrokerOption::ErrorConversations, tx),
        DatabaseOption::HonorBrokerPriority(on) => return broker(BrokerOption::HonorPriority(*on), tx),
        DatabaseOption::Trustworthy(on) => engine::DatabaseOption::Trustworthy(*on),
        DatabaseOption::SingleUser => engine::DatabaseOption::Access(UserAccess::Single),
        DatabaseOption::RestrictedUser => engine::DatabaseOption::Access(UserAccess::Restricted),
        DatabaseOption::MultiUser => engine::DatabaseOption::Access(UserAccess::Multi),
        DatabaseOption::Other { name, value } => engine::DatabaseOption::Stored(name.clone(), value.clone()),
    };
    tx.alter_database(name, &other, termination)
}

fn termination_of(written: Option<Termination>) -> Result<engine::Termination, SqlError> {
    match written {
        None => Ok(engine::Termination::Wait),
        Some(Termination::NoWait) => Ok(engine::Termination::NoWait),
        Some(Termination::RollbackImmediate) => Ok(engine::Termination::RollbackImmediate),
        Some(Termination::RollbackAfter(_)) => Err(SqlError::unsupported("WITH ROLLBACK AFTER")),
    }
}

fn drop_one(kind: DropKind, name: &ObjectName, if_exists: bool, tx: &mut Tx<'_>) -> Op<()> {
    let plain = name.name().as_str();
    let outcome = match kind {
        DropKind::Table => tx.drop_table(&object_name(name)?),
        DropKind::Database => tx.drop_database(plain),
        DropKind::Schema => tx.drop_schema(plain),
        DropKind::Login => tx.drop_login(plain),
        DropKind::User => tx.drop_user(plain),
        DropKind::Role => tx.drop_role(plain),
        DropKind::Procedure => {
            tx.drop_module(&object_name(name)?, "procedure", |module| module.kind == ModuleKind::Procedure)
        }
        DropKind::View => {
            tx.drop_module(&object_name(name)?, "view", |module| module.kind == ModuleKind::View)
        }
        DropKind::Function => tx.drop_module(&object_name(name)?, "function", |module| {
            matches!(module.kind, ModuleKind::ScalarFunction | ModuleKind::TableFunction)
        }),
        DropKind::Trigger => {
            tx.drop_module(&object_name(name)?, "trigger", |module| module.kind == ModuleKind::Trigger)
        }
        DropKind::Type => return Err(SqlError::unsupported("DROP TYPE").into()),
        DropKind::Synonym => return Err(SqlError::unsupported("DROP SYNONYM").into()),
        DropKind::Sequence => return Err(SqlError::unsupported("DROP SEQUENCE").into()),
    };
    match outcome {
        Err(engine::Interrupt::Error(error)) if if_exists && is_missing(&error) => Ok(()),
        outcome => outcome,
    }
}

/// The errors that DROP raises for something that does not exist.
fn is_missing(error: &SqlError) -> bool {
    matches!(error.number, 3701 | 15151)
}
