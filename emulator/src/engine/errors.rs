//! Errors of the substrate: one function per number, with our own wording. The broker's are in `broker_errors`.

use crate::error::SqlError;

/// 208: no such object.
pub(crate) fn invalid_object(name: &str) -> SqlError {
    SqlError::new(208, format!("invalid object name '{name}'"))
}

/// 226: the statement cannot be part of a transaction.
pub(crate) fn not_in_transaction(statement: &str) -> SqlError {
    SqlError::new(226, format!("{statement} is not allowed within a multi-statement transaction")).state(6)
}

/// 229: a permission on an object is missing or denied.
pub(crate) fn permission_denied(permission: &str, object: &str, database: &str, schema: &str) -> SqlError {
    let text = format!(
        "permission {permission} denied on object '{object}', database '{database}', schema '{schema}'"
    );
    SqlError::with_severity(229, 14, text).state(5)
}

/// 262: a permission in a database is missing or denied.
pub(crate) fn database_permission_denied(permission: &str, database: &str) -> SqlError {
    SqlError::with_severity(262, 14, format!("permission {permission} denied in database '{database}'"))
}

/// 297: a permission at the server is missing.
pub(crate) fn server_permission_denied(permission: &str) -> SqlError {
    SqlError::new(297, format!("the login lacks server permission {permission} for this action"))
}

/// 596: the session was killed.
pub(crate) fn killed() -> SqlError {
    SqlError::with_severity(596, 21, "cannot continue, the session was killed")
}

/// 628: SAVE TRANSACTION without a transaction.
pub(crate) fn no_save() -> SqlError {
    SqlError::new(628, "cannot set a savepoint, no transaction is open")
}

/// 911: no such database.
pub(crate) fn no_database(name: &str) -> SqlError {
    SqlError::new(911, format!("database '{name}' does not exist; check the name"))
}

/// 916: the login may not enter the database.
pub(crate) fn no_database_access(login: &str, database: &str) -> SqlError {
    let text =
        format!("login '{login}' has no user in database '{database}' under the current security context");
    SqlError::with_severity(916, 14, text)
}

/// 924: the database is in single-user mode and somebody is in it.
pub(crate) fn single_user(database: &str) -> SqlError {
    SqlError::with_severity(
        924,
        14,
        format!("database '{database}' is open for one user at a time and in use"),
    )
}

/// 1205: chosen as the victim of a deadlock.
pub(crate) fn deadlock_victim(spid: i16) -> SqlError {
    let text = format!("transaction of process {spid} was deadlocked and chosen as the victim; run it again");
    SqlError::with_severity(1205, 13, text).state(51)
}

/// 1222: LOCK_TIMEOUT is over.
pub(crate) fn lock_timeout() -> SqlError {
    SqlError::new(1222, "the lock request was given up after the session's LOCK_TIMEOUT").state(51)
}

/// 40510: a session that holds an application lock in a weaker mode than it asks for, while others hold it, too.
pub(crate) fn session_lock_conversion(name: &str) -> SqlError {
    SqlError::unsupported(format_args!(
        "waiting for a stronger mode of the session's application lock '{name}'"
    ))
}

/// 1801: a database of that name exists.
pub(crate) fn database_exists(name: &str) -> SqlError {
    SqlError::new(1801, format!("database '{name}' already exists; choose another name")).state(3)
}

/// 2601: a unique index forbids a second row with this key.
pub(crate) fn duplicate_index_key(table: &str, index: &str, key: &str) -> SqlError {
    let text = format!(
        "cannot insert a duplicate key into object '{table}' with unique index '{index}'; the key is {key}"
    );
    SqlError::with_severity(2601, 14, text)
}

/// 2627: a primary key or unique constraint forbids a second row with this key.
pub(crate) fn duplicate_key(table: &str, constraint: &str, kind: &str, key: &str) -> SqlError {
    let text = format!(
        "violation of {kind} constraint '{constraint}' in object '{table}'; the duplicate key is {key}"
    );
    SqlError::with_severity(2627, 14, text)
}

/// 2714: the name is taken.
pub(crate) fn name_taken(name: &str) -> SqlError {
    SqlError::new(2714, format!("there is already an object named '{name}' in the database")).state(6)
}

/// 2760: no such schema, or no right to use it.
pub(crate) fn no_schema(name: &str) -> SqlError {
    SqlError::new(2760, format!("schema '{name}' does not exist, or permission to use it is missing"))
}

/// 3701: what is to be dropped does not exist, or the right to drop it is missing.
pub(crate) fn cannot_drop(kind: &str, name: &str) -> SqlError {
    let text = format!("cannot drop {kind} '{name}': it does not exist, or permission is missing");
    SqlError::with_severity(3701, 11, text).state(5)
}

/// 3702: the database is in use.
pub(crate) fn database_in_use(name: &str) -> SqlError {
    SqlError::new(3702, format!("cannot drop database '{name}', it is in use")).state(3)
}

/// 3708: a system object cannot be dropped.
pub(crate) fn cannot_drop_system(kind: &str, name: &str) -> SqlError {
    SqlError::new(3708, format!("cannot drop {kind} '{name}', it is a system {kind}"))
}

/// 3716: others are bound to what is to be dropped.
pub(crate) fn bound_to_others(kind: &str, name: &str) -> SqlError {
    SqlError::new(3716, format!("cannot drop {kind} '{name}', it is bound to one or more other objects"))
}

/// 3729: others refer to the schema.
pub(crate) fn schema_in_use(name: &str, object: &str) -> SqlError {
    SqlError::new(3729, format!("cannot drop schema '{name}', object '{object}' is in it"))
}

/// 3902: COMMIT without BEGIN.
pub(crate) fn no_commit() -> SqlError {
    SqlError::new(3902, "COMMIT without a matching BEGIN TRANSACTION")
}

/// 3903: ROLLBACK without BEGIN.
pub(crate) fn no_rollback() -> SqlError {
    SqlError::new(3903, "ROLLBACK without a matching BEGIN TRANSACTION")
}

/// 3930: a doomed transaction cannot write or commit.
pub(crate) fn doomed_write() -> SqlError {
    let text = "the current transaction cannot be committed and cannot write; roll it back";
    SqlError::new(3930, text)
}

/// 3931: a doomed transaction cannot go back to a savepoint.
pub(crate) fn doomed_savepoint() -> SqlError {
    let text =
        "the current transaction cannot be committed nor rolled back to a savepoint; roll back all of it";
    SqlError::new(3931, text)
}

/// 4060: the database asked for at login cannot be opened.
pub(crate) fn cannot_open_database(name: &str) -> SqlError {
    SqlError::with_severity(
        4060,
        11,
        format!("cannot open database '{name}' requested by the login; login fails"),
    )
}

/// 5011: no such database, or no right to alter it.
pub(crate) fn cannot_alter_database(name: &str) -> SqlError {
    let text =
        format!("database '{name}' does not exist, its state forbids the change, or permission is missing");
    SqlError::with_severity(5011, 14, text).state(5)
}

/// 5058: the option cannot be set in a system database.
pub(crate) fn option_not_for_database(option: &str, database: &str) -> SqlError {
    SqlError::new(5058, format!("option '{option}' cannot be set in database '{database}'"))
}

/// 5070: ALTER DATABASE ... WITH NO_WAIT while others use the database.
pub(crate) fn others_in_database(name: &str) -> SqlError {
    SqlError::new(5070, format!("database '{name}' cannot change state while others use it")).state(2)
}

/// 6104: a session cannot kill itself.
pub(crate) fn cannot_kill_self() -> SqlError {
    SqlError::new(6104, "KILL cannot end its own process")
}

/// 6106: no such process.
pub(crate) fn no_process(spid: i16) -> SqlError {
    SqlError::new(6106, format!("process {spid} is not an active process")).state(2)
}

/// 6401: no savepoint of that name.
pub(crate) fn no_savepoint(name: &str) -> SqlError {
    SqlError::new(6401, format!("cannot roll back '{name}': no transaction or savepoint of that name"))
}

/// 15023: a user or role of that name exists.
pub(crate) fn principal_exists(name: &str) -> SqlError {
    SqlError::new(15023, format!("user, group or role '{name}' already exists in the current database"))
}

/// 15025: a login of that name exists.
pub(crate) fn login_exists(name: &str) -> SqlError {
    SqlError::new(15025, format!("server principal '{name}' already exists"))
}

/// 15063: the login has a user here under another name.
pub(crate) fn login_has_user(login: &str) -> SqlError {
    SqlError::new(15063, format!("login '{login}' already has an account under a different user name"))
}

/// 15138: a principal owns something.
pub(crate) fn principal_owns(name: &str, what: &str) -> SqlError {
    SqlError::new(
        15138,
        format!("database principal '{name}' owns a {what} in the database and cannot be dropped"),
    )
}

/// 15150: a fixed principal cannot be changed or dropped.
pub(crate) fn cannot_change_principal(action: &str, kind: &str, name: &str) -> SqlError {
    SqlError::new(15150, format!("cannot {action} the {kind} '{name}'"))
}

/// 15151: not found, or no right to use it this way; the two are not told apart (spec 1.11).
pub(crate) fn not_found_or_denied(action: &str, kind: &str, name: &str) -> SqlError {
    let text =
        format!("cannot {action} the {kind} '{name}', because it does not exist or permission is missing");
    SqlError::new(15151, text)
}

/// 15174: the login owns a database.
pub(crate) fn login_owns_database(login: &str) -> SqlError {
    SqlError::new(15174, format!("login '{login}' owns one or more databases; change their owner first"))
}

/// 15199: REVERT in another database than the impersonation began in.
pub(crate) fn revert_elsewhere(database: &str) -> SqlError {
    SqlError::new(
        15199,
        format!("the current security context cannot be reverted here; switch to database '{database}'"),
    )
}

/// 15247: the right to do this is missing.
pub(crate) fn action_denied() -> SqlError {
    SqlError::new(15247, "the user has no permission to perform this action")
}

/// 15406: the database principal cannot be impersonated, or does not exist.
pub(crate) fn cannot_impersonate(kind: &str, name: &str) -> SqlError {
    let number = if kind == "server" { 15406 } else { 15517 };
    let text = format!(
        "cannot execute as the {kind} principal '{name}', because it does not exist, cannot be impersonated, or permission is missing"
    );
    SqlError::new(number, text)
}

/// 18456: the login failed; which part was wrong is not told.
pub(crate) fn login_failed(login: &str) -> SqlError {
    SqlError::with_severity(18456, 14, format!("login failed for user '{login}'"))
}
