//! APPLOCK_MODE and APPLOCK_TEST, and how application locks are written: modes, owners, names.

use super::{Call, Function, Parameter, of_session};
use crate::engine::{LockMode, LockOwner, Op};
use crate::error::SqlError;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::value::{SqlType, Value};

/// Functions of application locks.
pub(super) const FUNCTIONS: &[Function] = &[
    of_session(
        "APPLOCK_MODE",
        &[Parameter::Unicode, Parameter::Unicode, Parameter::Unicode],
        |_| SqlType::nvarchar(32),
        mode,
    )
    .requiring(3),
    of_session(
        "APPLOCK_TEST",
        &[Parameter::Unicode, Parameter::Unicode, Parameter::Unicode, Parameter::Unicode],
        |_| SqlType::SmallInt,
        test,
    )
    .requiring(4),
];

/// Characters of a resource's name that count.
const NAME_LENGTH: usize = 255;

/// An application lock as it is asked for.
#[derive(Debug, Clone)]
pub(crate) struct ApplicationLock {
    /// The principal and the resource's name, compared byte by byte.
    pub(crate) name: String,
    /// The mode.
    pub(crate) mode: LockMode,
    /// Whose it is.
    pub(crate) owner: LockOwner,
}

impl ApplicationLock {
    /// The lock that these words mean; `function` is named in errors.
    ///
    /// # Errors
    /// 1224 for an empty resource, 1225 for the mode, 1226 for the owner.
    pub(crate) fn parse(
        function: &str,
        principal: &str,
        resource: &str,
        mode: &str,
        owner: &str,
    ) -> Result<ApplicationLock, SqlError> {
        if resource.is_empty() {
            return Err(errors::invalid_application_lock(1224, "resource", function));
        }
        let mode = mode_of(mode).ok_or_else(|| errors::invalid_application_lock(1225, "mode", function))?;
        let owner = match owner.to_ascii_lowercase().as_str() {
            "transaction" => LockOwner::Transaction,
            "session" => LockOwner::Session,
            _ => return Err(errors::invalid_application_lock(1226, "owner", function)),
        };
        let resource: String = resource.chars().take(NAME_LENGTH).collect();
        Ok(ApplicationLock { name: format!("{}:{resource}", principal.to_lowercase()), mode, owner })
    }

    /// Whether it can only be had inside a transaction.
    pub(crate) fn needs_transaction(&self) -> bool {
        self.owner == LockOwner::Transaction
    }
}

fn mode_of(word: &str) -> Option<LockMode> {
    match word.to_ascii_lowercase().as_str() {
        "shared" => Some(LockMode::S),
        "update" => Some(LockMode::U),
        "intentshared" => Some(LockMode::IS),
        "intentexclusive" => Some(LockMode::IX),
        "exclusive" => Some(LockMode::X),
        _ => None,
    }
}

fn name_of(mode: Option<LockMode>) -> &'static str {
    match mode {
        None => "NoLock",
        Some(LockMode::IS) => "IntentShared",
        Some(LockMode::IX) => "IntentExclusive",
        Some(LockMode::S) => "Shared",
        Some(LockMode::U) => "Update",
        Some(LockMode::Six) => "SharedIntentExclusive",
        Some(LockMode::X) => "Exclusive",
    }
}

fn mode(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let (principal, resource, owner) = (call.string(0), call.string(1), call.string(2));
    let lock = ApplicationLock::parse("APPLOCK_MODE", &principal, &resource, "Exclusive", &owner)?;
    if lock.needs_transaction() && !ctx.tx.is_in_transaction() {
        return Ok(Value::nvarchar(name_of(None)));
    }
    Ok(Value::nvarchar(name_of(ctx.tx.application_lock(&lock.name, lock.owner))))
}

fn test(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let words = [0, 1, 2, 3].map(|place| call.string(place));
    let lock = ApplicationLock::parse("APPLOCK_TEST", &words[0], &words[1], &words[2], &words[3])?;
    let possible = ctx.tx.can_lock_application(&lock.name, lock.mode, lock.owner);
    Ok(Value::SmallInt(i16::from(possible)))
}
