//! Stored procedures: CREATE and ALTER PROCEDURE, and calling them.
//!
//! A procedure is kept as its text; what that text means is worked out when it is called. Names in it are looked up
//! when its statements run. This file must not know how calls arrive.

use std::sync::Arc;

use super::binding::{Bound, Callee, Parameter, bind, outputs};
use super::{Argument, Returned};
use crate::engine::{
    ModuleDef, ModuleKind, ObjectKind, Op, Permission, Principal, PrincipalId, Securable, Tx, User,
};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::{Frame, FrameKind};
use crate::interpreter::names::{object_name, object_name_of_text};
use crate::interpreter::program::Program;
use crate::relational::{evaluate, resolve_type};
use crate::tsql::ast::ddl::{self, DdlStatement, ModuleAction, ProcedureDefinition};
use crate::tsql::ast::security::ExecuteAs;
use crate::tsql::ast::{Expr, StatementKind};
use crate::tsql::{ParseOptions, parse_batch};
use crate::value::Value;

/// A procedure's text, understood.
#[derive(Debug)]
pub(crate) struct Procedure {
    parameters: Vec<ddl::Parameter>,
    body: Arc<Program>,
}

impl Procedure {
    /// Reads a CREATE or ALTER PROCEDURE text.
    ///
    /// # Errors
    /// What is wrong with the text as a whole.
    pub(crate) fn parse(text: &str, quoted_identifier: bool) -> Result<Procedure, SqlError> {
        let batch = parse_batch(text, ParseOptions { quoted_identifier }).map_err(errors::syntax)?;
        let definition = batch.statements.into_iter().find_map(|statement| match statement.kind {
            StatementKind::Ddl(ddl) => match *ddl {
                DdlStatement::Procedure(definition) => Some(*definition),
                _ => None,
            },
            _ => None,
        });
        let definition = definition.ok_or_else(|| SqlError::unsupported("modules other than procedures"))?;
        let body = Arc::new(Program::new(text, definition.body)?);
        Ok(Procedure { parameters: definition.parameters, body })
    }
}

/// `CREATE | ALTER | CREATE OR ALTER PROCEDURE`
pub(in crate::interpreter) async fn define(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    definition: &ProcedureDefinition,
) -> Result<Done, Stop> {
    let quoted_identifier = execution.state.options.quoted_identifier;
    let text: Arc<str> = frame.program.text[..definition.text.end].into();
    let procedure = execution.state.instance.procedure(&text, quoted_identifier)?;
    for parameter in &procedure.parameters {
        if parameter.read_only {
            return Err(SqlError::unsupported("table-valued parameters").into());
        }
        resolve_type(&parameter.data_type)?;
    }
    execution
        .operate(frame, |tx, _| {
            let name = object_name(&definition.name)?;
            let module = ModuleDef {
                kind: ModuleKind::Procedure,
                text: Arc::clone(&text),
                parameters: definition.parameters.len(),
                execute_as: execute_as(definition, tx)?,
                quoted_identifier,
            };
            let or_alter = definition.action == ModuleAction::CreateOrAlter;
            match definition.action {
                ModuleAction::Alter => tx.alter_module(&name, module)?,
                _ => tx.create_module(&name, module, Permission::CreateProcedure, or_alter)?,
            };
            Ok(())
        })
        .await?;
    Ok(Done::PLAIN)
}

/// Calls the stored procedure of that name. Its settings, database and security context end with it.
///
/// # Errors
/// 2812 when there is none, 229 without EXECUTE, those of binding arguments, and what the procedure raises.
pub(super) async fn call(
    execution: &mut Execution<'_>,
    name: &str,
    arguments: Vec<Argument>,
) -> Result<Returned, Stop> {
    let mut bare = Frame::bare();
    let found = execution.operate(&mut bare, |tx, _| find(name, tx)).await?;
    let module = &found.module;
    let procedure = execution.state.instance.procedure(&module.text, module.quoted_identifier)?;
    let parameters = parameters(execution, &mut bare, &procedure).await?;
    let bound = bind(parameters, &arguments, Callee::Procedure(&found.name))?;
    let values = bound.iter().map(Bound::to_value).collect();
    let caught = execution.state.caught.len();
    let mut frame = Frame::new(Arc::clone(&procedure.body), FrameKind::Procedure, values, caught)?;
    frame.procedure.clone_from(&found.name);
    let mismatch = execution.run_nested_as(&mut frame, found.context).await?;
    Ok(Returned { status: frame.return_status, outputs: outputs(&frame, &bound, 0), mismatch })
}

/// A procedure in the catalog.
struct Found {
    name: String,
    module: ModuleDef,
    /// As whom it runs, and whether that is the principal of its EXECUTE AS; else the caller's, in its database.
    context: (Principal, bool),
}

fn find(name: &str, tx: &mut Tx<'_>) -> Op<Found> {
    let name = object_name_of_text(name)?;
    let missing = || errors::procedure_not_found(&name.to_string());
    let (key, object) = tx.find_object(&name)?.ok_or_else(missing)?;
    let ObjectKind::Procedure(module) = &object.kind else { return Err(missing().into()) };
    if module.kind != ModuleKind::Procedure {
        return Err(missing().into());
    }
    tx.require(Permission::Execute, Securable::Object(key.database, key.object))?;
    let context = match module.execute_as {
        Some(user) => (tx.impersonated(key.database, user), true),
        None => (Principal { database: key.database, ..*tx.principal() }, false),
    };
    Ok(Found { name: object.name.to_string(), module: module.clone(), context })
}

/// The declared parameters with the values of their defaults.
async fn parameters(
    execution: &mut Execution<'_>,
    bare: &mut Frame,
    procedure: &Procedure,
) -> Result<Vec<Parameter>, Stop> {
    let mut parameters = Vec::with_capacity(procedure.parameters.len());
    for parameter in &procedure.parameters {
        let default = match &parameter.default {
            Some(default) => Some(constant(execution, bare, default).await?),
            None => None,
        };
        let ty = resolve_type(&parameter.data_type)?;
        let name = parameter.name.as_str().to_owned();
        parameters.push(Parameter { name, ty, output: parameter.output, default });
    }
    Ok(parameters)
}

async fn constant(execution: &mut Execution<'_>, bare: &mut Frame, value: &Expr) -> Result<Value, Stop> {
    let (_, value) = execution.operate(bare, |tx, scope| evaluate(value, scope, tx)).await?;
    Ok(value)
}

/// The user that WITH EXECUTE AS fixes when the procedure is made; `None` for the caller.
fn execute_as(definition: &ProcedureDefinition, tx: &Tx<'_>) -> Result<Option<PrincipalId>, SqlError> {
    match &definition.options.execute_as {
        None | Some(ExecuteAs::Caller) => Ok(None),
        Some(ExecuteAs::SelfUser) => Ok(Some(tx.principal().user)),
        Some(ExecuteAs::User(user)) => tx.resolve_principal(user).map(Some),
        Some(ExecuteAs::Owner) => Ok(Some(schema_owner(definition, tx))),
    }
}

/// The owner of the schema the procedure is made in, who owns the procedure too.
fn schema_owner(definition: &ProcedureDefinition, tx: &Tx<'_>) -> PrincipalId {
    let Some(database) = tx.state().database(tx.database()) else { return User::DBO };
    let default = database.users.get(tx.principal().user).map(|user| user.default_schema.as_ref());
    let schema = definition.name.schema().map(|schema| schema.as_str()).or(default).unwrap_or("dbo");
    let schema = database.schemas.find(&crate::engine::FoldedName::new(schema));
    schema.map_or(User::DBO, |schema| schema.owner)
}
