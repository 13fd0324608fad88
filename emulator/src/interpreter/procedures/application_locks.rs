//! `sp_getapplock` and `sp_releaseapplock`.
//!
//! What goes wrong is told by the return code, not by an error, unless the call itself is wrong. This file must not know
//! how locks are kept.

use std::time::Duration;

use super::binding::{Callee, Parameter, bind};
use super::{Argument, Returned};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::{to_integer, to_text};
use crate::relational::ApplicationLock;
use crate::value::{Length, SqlType, Value};

const GRANTED: i32 = 0;
const GRANTED_AFTER_WAITING: i32 = 1;
const TIMED_OUT: i32 = -1;
const DEADLOCK_VICTIM: i32 = -3;
const CALL_ERROR: i32 = -999;

/// `sp_getapplock @Resource, @LockMode, @LockOwner, @LockTimeout, @DbPrincipal`. The status says how it went: 0 at once,
/// 1 after waiting, -1 timed out, -3 deadlock victim, -999 wrong call. A client that cancels hears nothing, as of any
/// request.
pub(super) async fn get(execution: &mut Execution<'_>, arguments: &[Argument]) -> Result<Returned, Stop> {
    let parameters = vec![
        required("@Resource", 255),
        required("@LockMode", 32),
        optional("@LockOwner", 32, "Transaction"),
        Parameter {
            name: "@LockTimeout".to_owned(),
            ty: SqlType::Int,
            output: false,
            default: Some(Value::Null),
        },
        optional("@DbPrincipal", 128, "public"),
    ];
    let values = bound(parameters, arguments, "sp_getapplock")?;
    let [resource, mode, owner, timeout, principal] = values.as_slice() else {
        return Err(errors::application_lock("sp_getapplock", "parameters").into());
    };
    let timeout = to_integer(timeout.clone())?;
    let lock = match lock_of("sp_getapplock", resource, mode, owner, principal) {
        Ok(lock) => lock,
        Err(error) => return Ok(refused(execution, error)),
    };
    if lock.needs_transaction() && execution.trancount() == 0 {
        let error = errors::application_lock("sp_getapplock", "lock owner: there is no transaction");
        return Ok(refused(execution, error));
    }
    let status = wait_for(execution, &lock, timeout).await?;
    Ok(Returned { status, ..Returned::default() })
}

/// `sp_releaseapplock @Resource, @LockOwner, @DbPrincipal`: 0, or -999 with error 1223 when the lock is not held.
pub(super) async fn release(execution: &mut Execution<'_>, arguments: &[Argument]) -> Result<Returned, Stop> {
    let parameters = vec![
        required("@Resource", 255),
        optional("@LockOwner", 32, "Transaction"),
        optional("@DbPrincipal", 128, "public"),
    ];
    let values = bound(parameters, arguments, "sp_releaseapplock")?;
    let [resource, owner, principal] = values.as_slice() else {
        return Err(errors::application_lock("sp_releaseapplock", "parameters").into());
    };
    let exclusive = Value::nvarchar("Exclusive");
    let lock = match lock_of("sp_releaseapplock", resource, &exclusive, owner, principal) {
        Ok(lock) => lock,
        Err(error) => return Ok(refused(execution, error)),
    };
    let released = execution
        .operate(&mut Frame::bare(), |tx, _| Ok(tx.unlock_application(&lock.name, lock.owner)))
        .await?;
    if released {
        return Ok(Returned::default());
    }
    let resource = to_text(resource.clone())?.unwrap_or_default();
    Ok(refused(execution, errors::application_lock_not_held(&resource)))
}

/// Waits for the lock under a time-out of its own.
async fn wait_for(
    execution: &mut Execution<'_>,
    lock: &ApplicationLock,
    timeout: Option<i64>,
) -> Result<i32, Stop> {
    let usual = execution.state.options.lock_timeout;
    if let Some(timeout) = timeout {
        set_timeout(execution, u64::try_from(timeout).ok().map(Duration::from_millis));
    }
    let mut attempts = 0;
    let outcome = execution
        .operate(&mut Frame::bare(), |tx, _| {
            attempts += 1;
            tx.lock_application(&lock.name, lock.mode, lock.owner)
        })
        .await;
    set_timeout(execution, usual);
    match outcome {
        Ok(()) if attempts > 1 => Ok(GRANTED_AFTER_WAITING),
        Ok(()) => Ok(GRANTED),
        Err(Stop::Error(raised)) if raised.error.number == 1222 => Ok(TIMED_OUT),
        Err(Stop::Error(raised)) if raised.error.number == 1205 => {
            execution.notice_lost_transaction();
            Ok(DEADLOCK_VICTIM)
        }
        Err(stop) => Err(stop),
    }
}

fn set_timeout(execution: &mut Execution<'_>, timeout: Option<Duration>) {
    let session = execution.state.id;
    execution.state.instance.call(|core| core.set_lock_timeout(session, timeout));
}

/// Tells an error of the call and answers -999.
fn refused(execution: &mut Execution<'_>, error: SqlError) -> Returned {
    execution.tell(error.at_line(1));
    Returned { status: CALL_ERROR, ..Returned::default() }
}

fn lock_of(
    procedure: &str,
    resource: &Value,
    mode: &Value,
    owner: &Value,
    principal: &Value,
) -> Result<ApplicationLock, SqlError> {
    let text = |value: &Value| Ok::<_, SqlError>(to_text(value.clone())?.unwrap_or_default());
    ApplicationLock::parse(procedure, &text(principal)?, &text(resource)?, &text(mode)?, &text(owner)?)
}

fn bound(parameters: Vec<Parameter>, arguments: &[Argument], name: &str) -> Result<Vec<Value>, SqlError> {
    let bound = bind(parameters, arguments, Callee::Procedure(name))?;
    Ok(bound.into_iter().map(|bound| bound.value).collect())
}

fn required(name: &str, length: u16) -> Parameter {
    let ty = SqlType::NVarChar(Length::Limited(length));
    Parameter { name: name.to_owned(), ty, output: false, default: None }
}

fn optional(name: &str, length: u16, default: &str) -> Parameter {
    Parameter { default: Some(Value::nvarchar(default)), ..required(name, length) }
}
