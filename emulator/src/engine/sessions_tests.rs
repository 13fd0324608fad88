//! Logging in, moving between databases, acting as somebody else.

use crate::engine::core::{Core, Step, WaitOn};
use crate::engine::databases::{DatabaseOption, Termination};
use crate::engine::definitions::{Login, Secret, User, UserAccess};
use crate::engine::ids::{DatabaseId, LoginId};
use crate::engine::testing::{START, call, core, done, fails, open, session};
use crate::engine::users::UserFor;

const MASTER: DatabaseId = DatabaseId(1);
const DB: DatabaseId = DatabaseId(5);

/// A login `ann` with a user in `db`.
fn with_ann(core: &mut Core) -> LoginId {
    let one = session(core);
    done(core, one, |tx| tx.create_login("ann", Secret::new("Pass"), None));
    done(core, one, |tx| tx.create_user("ann", &UserFor::SameName, None));
    core.close_session(one, START);
    core.verify_login("ANN", "Pass").unwrap()
}

#[test]
fn a_login_needs_its_exact_password_and_to_be_enabled() {
    let mut core = core();
    with_ann(&mut core);
    for (user, password) in [("ann", "pass"), ("ann", "Pas"), ("ann", ""), ("nobody", "Pass")] {
        let error = core.verify_login(user, password).unwrap_err();
        assert_eq!((error.number, error.severity), (18456, 14));
    }
    let one = session(&mut core);
    let change = crate::engine::logins::LoginChange { disabled: Some(true), ..Default::default() };
    done(&mut core, one, |tx| tx.alter_login("ann", change));
    assert!(core.verify_login("ann", "Pass").is_err());
}

#[test]
fn passwords_never_print() {
    let mut core = core();
    let ann = with_ann(&mut core);
    let printed = format!("{:?}", core.state().logins.get(ann).unwrap());
    assert!(printed.contains("ann") && !printed.contains("Pass") && !printed.contains("80, 97"));
}

#[test]
fn process_numbers_start_at_51_and_are_used_again() {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    assert_eq!((core.session(one).spid, core.session(two).spid), (51, 52));
    core.close_session(one, START);
    let three = session(&mut core);
    assert_eq!(core.session(three).spid, 51);
    assert!(one != three);
}

#[test]
fn a_database_is_entered_by_its_users_only() {
    let mut core = core();
    let ann = with_ann(&mut core);
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_database("other"));
    assert_eq!(open(&mut core, ann, "other").unwrap_err().number, 4060);
    assert_eq!(open(&mut core, ann, "nosuch").unwrap_err().number, 4060);
    let two = open(&mut core, ann, "DB").unwrap();
    assert_eq!(core.session(two).database, DB);
    assert_eq!(core.use_database(&call(two), "other").unwrap_err().number, 916);
    assert_eq!(core.use_database(&call(two), "nosuch").unwrap_err().number, 911);
    assert_eq!(&*core.use_database(&call(two), "MASTER").unwrap(), "master");
    assert_eq!((core.session(two).database, core.principal(two).user), (MASTER, User::GUEST));
}

#[test]
fn owners_and_sysadmins_are_dbo() {
    let mut core = core();
    let ann = with_ann(&mut core);
    let one = session(&mut core);
    assert_eq!(core.principal(one).user, User::DBO);
    assert_eq!(fails(&mut core, one, |tx| tx.set_database_owner("db", "ann")), 15063);
    done(&mut core, one, |tx| tx.drop_user("ann"));
    done(&mut core, one, |tx| tx.set_database_owner("db", "ann"));
    let two = open(&mut core, ann, "db").unwrap();
    assert_eq!(core.principal(two).user, User::DBO);
    assert_eq!(fails(&mut core, two, |tx| tx.create_database("x")), 262);
}

#[test]
fn a_single_user_database_lets_nobody_else_in() {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    core.use_database(&call(two), "master").unwrap();
    let single = DatabaseOption::Access(UserAccess::Single);
    done(&mut core, one, |tx| tx.alter_database("db", &single, Termination::Wait));
    assert_eq!(core.use_database(&call(two), "db").unwrap_err().number, 924);
    core.close_session(one, START);
    core.use_database(&call(two), "db").unwrap();
}

#[test]
fn a_claim_on_a_database_waits_until_others_have_left() {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    let single = DatabaseOption::Access(UserAccess::Single);
    let wait = core.statement(&call(one), |tx| tx.alter_database("db", &single, Termination::Wait));
    let Ok(Step::Blocked(wait)) = wait else { panic!("it should block") };
    assert_eq!(wait.on, WaitOn::DatabaseInUse(DB));
    assert_eq!(fails(&mut core, one, |tx| tx.alter_database("db", &single, Termination::NoWait)), 5070);
    let _ = core.statement(&call(one), |tx| tx.alter_database("db", &single, Termination::Wait));
    core.use_database(&call(two), "master").unwrap();
    assert_eq!(core.take_wakes(), [one]);
    done(&mut core, one, |tx| tx.alter_database("db", &single, Termination::Wait));
}

#[test]
fn rollback_immediate_throws_the_others_out() {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    core.begin(&call(two)).unwrap();
    let single = DatabaseOption::Access(UserAccess::Single);
    done(&mut core, one, |tx| tx.alter_database("db", &single, Termination::RollbackImmediate));
    assert!(core.is_killed(two) && core.take_wakes() == [two]);
    assert_eq!(fails(&mut core, two, |_| Ok(())), 596);
    assert_eq!(core.trancount(two), 0);
}

#[test]
fn impersonation_changes_the_principal_until_reverted() {
    let mut core = core();
    with_ann(&mut core);
    let one = session(&mut core);
    core.execute_as_user(&call(one), "ann").unwrap();
    assert_eq!(core.context_depth(one), 1);
    assert_eq!(core.execute_as_user(&call(one), "dbo").unwrap_err().number, 15517);
    assert_eq!(core.use_database(&call(one), "master").unwrap_err().number, 916);
    assert_eq!(fails(&mut core, one, |tx| tx.create_schema("s", None)), 262);
    core.revert(&call(one)).unwrap();
    core.revert(&call(one)).unwrap();
    assert_eq!((core.context_depth(one), core.principal(one).user), (0, User::DBO));
}

#[test]
fn an_impersonated_login_is_reverted_where_it_began() {
    let mut core = core();
    let ann = with_ann(&mut core);
    let one = session(&mut core);
    core.execute_as_login(&call(one), "ann").unwrap();
    assert_eq!(core.principal(one).login, Some(ann));
    assert_eq!(core.execute_as_login(&call(one), "sa").unwrap_err().number, 15406);
    core.use_database(&call(one), "master").unwrap();
    assert_eq!(core.revert(&call(one)).unwrap_err().number, 15199);
    core.use_database(&call(one), "db").unwrap();
    core.revert(&call(one)).unwrap();
    assert_eq!(core.principal(one).login, Some(Login::SA));
}

#[test]
fn a_reset_session_is_as_new() {
    let mut core = core();
    with_ann(&mut core);
    let one = session(&mut core);
    core.begin(&call(one)).unwrap();
    core.set_lock_timeout(one, Some(std::time::Duration::ZERO));
    core.use_database(&call(one), "master").unwrap();
    core.execute_as_login(&call(one), "ann").unwrap();
    core.reset_session(&call(one), DB, false).unwrap();
    assert_eq!((core.trancount(one), core.context_depth(one)), (0, 0));
    assert_eq!((core.session(one).database, core.session(one).lock_timeout), (DB, None));
}
