//! The life of statements: undoing, blocking, waking, deadlocks, kills.

use uuid::Uuid;

use super::{Step, WaitOn};
use crate::engine::definitions::Group;
use crate::engine::ids::{DatabaseId, ServiceId, SessionId};
use crate::engine::locks::{LockDuration, LockMode, Resource};
use crate::engine::testing::{START, blocks, call, core, done, fails, session};
use crate::engine::tx::{Op, Tx};
use crate::engine::{core::Core, errors};

fn group(number: u128) -> Resource {
    Resource::Group(Uuid::from_u128(number))
}

fn take(number: u128) -> impl Fn(&mut Tx<'_>) -> Op<()> {
    move |tx| tx.lock(group(number), LockMode::X, LockDuration::Transaction)
}

fn put(tx: &mut Tx<'_>, number: u128) -> Op<()> {
    let id = Uuid::from_u128(number);
    let group = Group { id, database: DatabaseId(5), service: ServiceId(1), is_system: false };
    tx.put_group(id, Some(group.into()));
    Ok(())
}

fn has(core: &Core, number: u128) -> bool {
    core.state().groups.contains_key(&Uuid::from_u128(number))
}

fn begun(core: &mut Core) -> SessionId {
    let session = session(core);
    core.begin(&call(session)).unwrap();
    session
}

#[test]
fn a_failed_statement_leaves_nothing_and_the_transaction_open() {
    let mut core = core();
    let one = begun(&mut core);
    done(&mut core, one, |tx| put(tx, 1));
    let number = fails(&mut core, one, |tx| -> Op<()> {
        put(tx, 2)?;
        tx.put_group(Uuid::from_u128(1), None);
        Err(errors::invalid_object("x").into())
    });
    assert_eq!((number, core.trancount(one)), (208, 1));
    assert!(has(&core, 1) && !has(&core, 2));
}

#[test]
fn an_autocommit_statement_commits_or_leaves_nothing() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| put(tx, 1));
    fails(&mut core, one, |tx| -> Op<()> {
        put(tx, 2)?;
        Err(errors::invalid_object("x").into())
    });
    assert!(has(&core, 1) && !has(&core, 2));
    assert_eq!((core.trancount(one), core.xact_state(one), core.descriptor(one)), (0, 0, None));
    assert!(core.transactions.is_empty());
}

#[test]
fn a_blocked_statement_is_undone_woken_and_run_again() {
    let mut core = core();
    let (one, two) = (begun(&mut core), session(&mut core));
    done(&mut core, one, take(1));
    let insert = |tx: &mut Tx<'_>| {
        put(tx, 9)?;
        take(1)(tx)
    };
    assert!(blocks(&mut core, two, insert));
    assert!(!has(&core, 9) && core.take_wakes().is_empty());
    core.commit(&call(one)).unwrap();
    assert_eq!(core.take_wakes(), [two]);
    done(&mut core, two, insert);
    assert!(has(&core, 9) && core.transactions.is_empty());
}

#[test]
fn a_wait_given_up_passes_the_lock_on() {
    let mut core = core();
    let (one, two, three) = (begun(&mut core), session(&mut core), session(&mut core));
    done(&mut core, one, take(1));
    assert!(blocks(&mut core, two, take(1)) && blocks(&mut core, three, take(1)));
    core.commit(&call(one)).unwrap();
    assert_eq!(core.take_wakes(), [two]);
    core.cancel_wait(two);
    assert_eq!(core.take_wakes(), [three]);
    done(&mut core, three, take(1));
}

#[test]
fn lock_timeout_gives_a_deadline_that_running_again_does_not_move() {
    let mut core = core();
    let (one, two) = (begun(&mut core), session(&mut core));
    done(&mut core, one, take(1));
    let second = std::time::Duration::from_secs(1);
    core.set_lock_timeout(two, Some(second));
    let Ok(Step::Blocked(wait)) = core.statement(&call(two), take(1)) else { panic!("it should block") };
    assert_eq!((wait.on, wait.deadline), (WaitOn::Lock(group(1)), Some(START.plus(second))));
    let later = super::Call { session: two, now: START.plus(second / 2) };
    let Ok(Step::Blocked(wait)) = core.statement(&later, take(1)) else { panic!("it should block") };
    assert_eq!(wait.deadline, Some(START.plus(second)));
    core.cancel_wait(two);
    core.set_lock_timeout(two, Some(std::time::Duration::ZERO));
    assert_eq!(fails(&mut core, two, take(1)), 1222);
    assert!(!core.locks.is_contended(core.sessions[&one].transaction.unwrap(), &group(1)));
}

#[test]
fn statement_locks_are_free_while_the_statement_waits() {
    let mut core = core();
    let (one, two, three) = (begun(&mut core), begun(&mut core), session(&mut core));
    done(&mut core, one, take(1));
    assert!(blocks(&mut core, two, |tx| {
        tx.lock(group(2), LockMode::X, LockDuration::Statement)?;
        take(1)(tx)
    }));
    done(&mut core, three, take(2));
}

#[test]
fn the_requester_is_the_victim_when_it_has_done_least() {
    let mut core = core();
    let (one, two) = (begun(&mut core), begun(&mut core));
    done(&mut core, one, |tx| {
        put(tx, 1)?;
        take(1)(tx)
    });
    done(&mut core, two, take(2));
    assert!(blocks(&mut core, one, take(2)));
    assert_eq!(fails(&mut core, two, take(1)), 1205);
    assert_eq!((core.trancount(two), core.trancount(one)), (0, 1));
    assert_eq!(core.take_wakes(), [one]);
    done(&mut core, one, take(2));
}

#[test]
fn a_waiting_victim_is_woken_to_learn_of_its_roll_back() {
    let mut core = core();
    let (one, two) = (begun(&mut core), begun(&mut core));
    done(&mut core, one, take(1));
    done(&mut core, two, |tx| {
        put(tx, 1)?;
        take(2)(tx)
    });
    assert!(blocks(&mut core, one, take(2)));
    assert!(blocks(&mut core, two, take(1)));
    assert_eq!(core.take_wakes(), [one]);
    assert_eq!(fails(&mut core, one, take(2)), 1205);
    assert_eq!((core.trancount(one), core.take_wakes()), (0, vec![two]));
    done(&mut core, two, take(1));
    done(&mut core, one, |_| Ok(()));
}

#[test]
fn a_killed_session_is_rolled_back_and_answers_only_596() {
    let mut core = core();
    let (one, two) = (begun(&mut core), session(&mut core));
    done(&mut core, one, |tx| put(tx, 1));
    let spid = core.session(one).spid;
    assert_eq!(core.kill(&call(two), core.session(two).spid).unwrap_err().number, 6104);
    core.kill(&call(two), spid).unwrap();
    assert!(!has(&core, 1) && core.is_killed(one));
    assert_eq!(core.take_wakes(), [one]);
    assert_eq!(fails(&mut core, one, |_| Ok(())), 596);
    assert_eq!(core.begin(&call(one)).unwrap_err().number, 596);
    core.close_session(one, START);
    assert_eq!(core.kill(&call(two), spid).unwrap_err().number, 6106);
}

#[test]
fn closing_a_session_rolls_back_and_frees_its_locks() {
    let mut core = core();
    let (one, two) = (begun(&mut core), session(&mut core));
    done(&mut core, one, |tx| {
        put(tx, 1)?;
        take(1)(tx)
    });
    assert!(blocks(&mut core, two, take(1)));
    core.close_session(one, START);
    assert!(!has(&core, 1));
    assert_eq!(core.take_wakes(), [two]);
    core.close_session(two, START);
    assert!(core.locks.list().is_empty() && core.transactions.is_empty());
}

#[test]
fn a_statement_lock_granted_too_late_is_given_back() {
    let mut core = core();
    let (one, two, three) = (begun(&mut core), begun(&mut core), session(&mut core));
    done(&mut core, one, take(1));
    assert!(blocks(&mut core, two, |tx| tx.lock(group(1), LockMode::S, LockDuration::Statement)));
    core.commit(&call(one)).unwrap();
    core.cancel_wait(two);
    done(&mut core, three, take(1));
}
