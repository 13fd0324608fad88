//! The statements: one function each, found by the table in [`run`].
//!
//! This folder must not know the order in which statements run.

mod broker_objects;
mod cursors;
mod databases;
mod dialogs;
mod execute;
mod messages;
mod query;
mod receive;
mod security;
mod settings;
mod tables;
mod transactions;
mod variables;
mod waitfor;

pub(crate) use settings::{database_context, database_name};

use std::future::{Future, ready};
use std::pin::Pin;

use super::errors;
use super::execution::{Done, Execution, Stop};
use super::frame::{Frame, FrameKind};
use super::operands::integer;
use super::procedures;
use crate::error::SqlError;
use crate::tsql::ast::broker::BrokerStatement;
use crate::tsql::ast::ddl::DdlStatement;
use crate::tsql::ast::statement::WaitFor;
use crate::tsql::ast::{Expr, StatementKind};

/// A statement on its way. On the heap, so that nested programs need little stack.
pub(super) type Running<'r> = Pin<Box<dyn Future<Output = Result<Done, Stop>> + Send + 'r>>;

/// Runs one statement that contains no other.
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &StatementKind,
) -> Result<Done, Stop> {
    if execution.state.options.implicit_transactions
        && begins_implicitly(statement)
        && execution.trancount() == 0
    {
        execution.begin_transaction(None)?;
    }
    start(execution, frame, statement).await
}

/// The table of statements.
fn start<'r>(
    execution: &'r mut Execution<'_>,
    frame: &'r mut Frame,
    statement: &'r StatementKind,
) -> Running<'r> {
    match statement {
        StatementKind::Print(value) => Box::pin(messages::print(execution, frame, value)),
        StatementKind::RaiseError(it) => Box::pin(messages::raise_error(execution, frame, it)),
        StatementKind::Throw(it) => Box::pin(messages::throw(execution, frame, it.as_deref())),
        StatementKind::WaitFor(it) => Box::pin(wait_for(execution, frame, it)),
        StatementKind::Declare(it) => Box::pin(variables::declare(execution, frame, it)),
        StatementKind::SetVariable(it) => Box::pin(variables::set_variable(execution, frame, it)),
        StatementKind::SetOptions(it) => Box::pin(settings::set_options(execution, frame, it)),
        StatementKind::Use(database) => Box::pin(ready(settings::use_database(execution, frame, database))),
        StatementKind::Execute(it) => Box::pin(execute::run(execution, frame, it)),
        StatementKind::Kill(it) => Box::pin(security::kill(execution, frame, it)),
        StatementKind::Transaction(it) => Box::pin(transactions::run(execution, frame, it)),
        StatementKind::Cursor(it) => Box::pin(cursors::run(execution, frame, it)),
        StatementKind::Select(it) => Box::pin(query::select(execution, frame, it)),
        StatementKind::Insert(it) => Box::pin(query::insert(execution, frame, it)),
        StatementKind::Update(it) => Box::pin(query::update(execution, frame, it)),
        StatementKind::Delete(it) => Box::pin(query::delete(execution, frame, it)),
        StatementKind::Merge(it) => Box::pin(query::merge(execution, frame, it)),
        StatementKind::Broker(it) => Box::pin(broker(execution, frame, it)),
        StatementKind::BrokerDdl(it) => Box::pin(broker_objects::run(execution, frame, it)),
        StatementKind::Ddl(it) => Box::pin(definition(execution, frame, it)),
        StatementKind::Security(it) => Box::pin(security::run(execution, frame, it)),
        StatementKind::Unsupported { construct } => {
            Box::pin(ready(Err(SqlError::unsupported(construct).into())))
        }
        StatementKind::Block(_)
        | StatementKind::If(_)
        | StatementKind::While(_)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::TryCatch(_)
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => unreachable!("control of flow is laid out as steps"),
    }
}

/// `RETURN [value]`; a value needs a procedure around it (178), NULL returns 0.
pub(super) async fn return_status(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    value: Option<&Expr>,
) -> Result<(), Stop> {
    let Some(value) = value else { return Ok(()) };
    if frame.kind != FrameKind::Procedure {
        return Err(errors::return_value_outside_procedure().into());
    }
    let status = execution.operate(frame, |tx, scope| integer(value, scope, tx)).await?;
    frame.return_status = i32::try_from(status.unwrap_or(0)).unwrap_or(0);
    Ok(())
}

async fn wait_for(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &WaitFor,
) -> Result<Done, Stop> {
    match statement {
        WaitFor::Delay(time) => waitfor::delay(execution, frame, time).await,
        WaitFor::Time(time) => waitfor::time(execution, frame, time).await,
        WaitFor::Receive { receive, timeout } => {
            receive::wait_for_receive(execution, frame, receive, timeout.as_ref()).await
        }
        WaitFor::GetConversationGroup { get, timeout } => {
            receive::wait_for_group(execution, frame, get, timeout.as_ref()).await
        }
    }
}

async fn broker(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &BrokerStatement,
) -> Result<Done, Stop> {
    match statement {
        BrokerStatement::BeginDialog(it) => dialogs::begin_dialog(execution, frame, it).await,
        BrokerStatement::BeginConversationTimer(it) => dialogs::begin_timer(execution, frame, it).await,
        BrokerStatement::Send(it) => dialogs::send(execution, frame, it).await,
        BrokerStatement::Receive(it) => receive::receive(execution, frame, it).await,
        BrokerStatement::GetConversationGroup(it) => {
            receive::get_conversation_group(execution, frame, it).await
        }
        BrokerStatement::MoveConversation(it) => dialogs::move_conversation(execution, frame, it).await,
        BrokerStatement::EndConversation(it) => dialogs::end_conversation(execution, frame, it).await,
    }
}

async fn definition(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &DdlStatement,
) -> Result<Done, Stop> {
    match statement {
        DdlStatement::CreateTable(it) => tables::create(execution, frame, it).await,
        DdlStatement::AlterTable(it) => tables::alter(execution, frame, it).await,
        DdlStatement::CreateIndex(it) => tables::create_index(execution, frame, it).await,
        DdlStatement::DropIndex { if_exists, indexes } => {
            tables::drop_indexes(execution, frame, indexes, *if_exists).await
        }
        DdlStatement::TruncateTable(it) => tables::truncate(execution, frame, it).await,
        DdlStatement::Procedure(it) => procedures::define(execution, frame, it).await,
        DdlStatement::CreateSchema(it) => databases::create_schema(execution, frame, it).await,
        DdlStatement::CreateDatabase(it) => databases::create(execution, frame, it).await,
        DdlStatement::AlterDatabase(it) => databases::alter(execution, frame, it).await,
        DdlStatement::Drop(it) => databases::drop_objects(execution, frame, it).await,
    }
}

/// Statements that begin a transaction under IMPLICIT_TRANSACTIONS.
fn begins_implicitly(statement: &StatementKind) -> bool {
    matches!(
        statement,
        StatementKind::Select(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
            | StatementKind::Broker(_)
            | StatementKind::BrokerDdl(_)
            | StatementKind::Ddl(_)
    )
}
