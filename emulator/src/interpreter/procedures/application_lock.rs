//! `sp_getapplock` for the transaction owner: a lock on a name, held to the end of the transaction.
//!
//! Source: the documentation of `sp_getapplock` (verified against no server). Locks of the session owner are not
//! supported. A deadlock raises 1205 and rolls back, where the procedure of SQL Server answers -3. This file must not know
//! how calls arrive.

use std::sync::Arc;
use std::time::Duration;

use super::binding::{Callee, Parameter, bind};
use super::{Argument, Returned};
use crate::engine::{LockDuration, LockMode, Resource};
use crate::error::SqlError;
use crate::interpreter::execution::{Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::{to_integer, to_text};
use crate::value::{Length, SqlType, Value};

/// The lock was there at once.
const GRANTED: i32 = 0;
/// The lock was there after a wait.
const GRANTED_AFTER_WAIT: i32 = 1;
/// It was not there in time.
const TIMED_OUT: i32 = -1;
/// A faulty argument, or no transaction to own the lock.
const FAULTY: i32 = -999;

/// `sp_getapplock @Resource, @LockMode [, @LockOwner [, @LockTimeout [, @DbPrincipal]]]`
pub(super) async fn get(execution: &mut Execution<'_>, arguments: Vec<Argument>) -> Result<Returned, Stop> {
    let bound = bind(parameters(), &arguments, Callee::Procedure("sp_getapplock"))?;
    let text = |at: usize| Ok::<_, SqlError>(to_text(bound[at].value.clone())?.unwrap_or_default());
    let (name, mode, owner) = (text(0)?, text(1)?, text(2)?);
    if owner.eq_ignore_ascii_case("session") {
        return Err(SqlError::unsupported("sp_getapplock with @LockOwner = 'Session'").into());
    }
    let known = mode_of(&mode).filter(|_| owner.eq_ignore_ascii_case("transaction") && !name.is_empty());
    let Some(mode) = known.filter(|_| execution.trancount() > 0) else { return Ok(answer(FAULTY)) };
    let timeout = to_integer(bound[3].value.clone())?.unwrap_or(-1);
    lock(execution, Arc::from(name), mode, timeout).await.map(answer)
}

async fn lock(
    execution: &mut Execution<'_>,
    name: Arc<str>,
    mode: LockMode,
    timeout: i64,
) -> Result<i32, Stop> {
    let mut frame = Frame::bare();
    let at_once = execution
        .operate(&mut frame, |tx, _| {
            let resource = Resource::Application(tx.database(), Arc::clone(&name));
            Ok(tx.try_lock(resource, mode, LockDuration::Transaction))
        })
        .await?;
    if at_once {
        return Ok(GRANTED);
    }
    if timeout == 0 {
        return Ok(TIMED_OUT);
    }
    let wait = u64::try_from(timeout).ok().map(Duration::from_millis);
    let limit = wait.map(|wait| execution.state.instance.clock().now().plus(wait));
    let granted = execution
        .operate_until(&mut frame, limit, |tx, _| {
            let resource = Resource::Application(tx.database(), Arc::clone(&name));
            tx.lock(resource, mode, LockDuration::Transaction)
        })
        .await?;
    Ok(if granted.is_some() { GRANTED_AFTER_WAIT } else { TIMED_OUT })
}

fn parameters() -> Vec<Parameter> {
    let parameter = |name: &str, ty: SqlType, default: Option<Value>| Parameter {
        name: name.to_owned(),
        ty,
        output: false,
        default,
    };
    let short = SqlType::NVarChar(Length::Limited(32));
    vec![
        parameter("@Resource", SqlType::NVarChar(Length::Limited(255)), None),
        parameter("@LockMode", short, None),
        parameter("@LockOwner", short, Some(Value::nvarchar("Transaction"))),
        parameter("@LockTimeout", SqlType::Int, Some(Value::Int(-1))),
        parameter("@DbPrincipal", SqlType::SYSNAME, Some(Value::nvarchar("public"))),
    ]
}

fn mode_of(word: &str) -> Option<LockMode> {
    let modes = [
        ("shared", LockMode::S),
        ("update", LockMode::U),
        ("intentshared", LockMode::IS),
        ("intentexclusive", LockMode::IX),
        ("exclusive", LockMode::X),
    ];
    modes.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, mode)| *mode)
}

fn answer(status: i32) -> Returned {
    Returned { status, ..Returned::default() }
}
