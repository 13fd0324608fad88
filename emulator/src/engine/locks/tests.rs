//! What owners get, in which order, and which waits close a cycle.

use uuid::Uuid;

use super::LockDuration::{Statement, Transaction};
use super::LockMode::{IS, IX, S, U, X};
use super::{Acquired, LockManager, LockMode, Resource};
use crate::engine::ids::{DatabaseId, ObjectId, ObjectKey, RowId, TxnId};

const A: TxnId = TxnId(1);
const B: TxnId = TxnId(2);
const C: TxnId = TxnId(3);

fn group(number: u128) -> Resource {
    Resource::Group(Uuid::from_u128(number))
}

fn row(number: u64) -> Resource {
    Resource::Row(ObjectKey::new(DatabaseId(5), ObjectId(1)), RowId(number))
}

fn acquire(locks: &mut LockManager, owner: TxnId, resource: &Resource, mode: LockMode) -> bool {
    locks.acquire(owner, resource, mode, Transaction) == Acquired::Granted
}

#[test]
fn an_incompatible_request_waits_until_the_holder_ends() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &group(1), X));
    assert!(!acquire(&mut locks, B, &group(1), X));
    assert_eq!(locks.acquire(B, &group(1), X, Transaction), Acquired::StillQueued);
    assert_eq!(locks.waits_for(B), Some(&group(1)));
    locks.release_all(A);
    assert_eq!(locks.take_woken(), [B]);
    assert_eq!(locks.held(B, &group(1)), Some(X));
    assert!(acquire(&mut locks, B, &group(1), X), "running again finds the lock held");
}

#[test]
fn a_late_compatible_request_does_not_overtake_a_waiting_one() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), S));
    assert!(!acquire(&mut locks, B, &row(1), X));
    assert!(!acquire(&mut locks, C, &row(1), S), "a stream of readers would starve the writer");
    locks.release_all(A);
    assert_eq!(locks.take_woken(), [B]);
    locks.release_all(B);
    assert_eq!(locks.take_woken(), [C]);
}

#[test]
fn compatible_waiters_are_served_together() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), X));
    assert!(!acquire(&mut locks, B, &row(1), S) && !acquire(&mut locks, C, &row(1), S));
    locks.release_all(A);
    assert_eq!(locks.take_woken(), [B, C]);
}

#[test]
fn a_conversion_goes_before_new_requests() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), S) && acquire(&mut locks, B, &row(1), S));
    assert!(!acquire(&mut locks, C, &row(1), X));
    assert!(!acquire(&mut locks, A, &row(1), X));
    locks.release_all(B);
    assert_eq!(locks.take_woken(), [A]);
    assert_eq!(locks.held(A, &row(1)), Some(X));
}

#[test]
fn a_conversion_that_is_free_is_granted_past_the_queue() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), S));
    assert!(!acquire(&mut locks, B, &row(1), X));
    assert!(acquire(&mut locks, A, &row(1), U));
}

#[test]
fn statement_locks_end_with_the_statement_and_leave_the_transactions_part() {
    let mut locks = LockManager::default();
    let (table, one) = (row(1), row(2));
    assert!(acquire(&mut locks, A, &table, IS));
    assert_eq!(locks.acquire(A, &table, IX, Statement), Acquired::Granted);
    assert_eq!(locks.acquire(A, &one, S, Statement), Acquired::Granted);
    assert!(!acquire(&mut locks, B, &table, S));
    assert!(!acquire(&mut locks, C, &one, X));
    locks.release_statement(A);
    assert_eq!(locks.take_woken(), [B, C]);
    assert_eq!((locks.held(A, &table), locks.held(A, &one)), (Some(IS), None));
}

#[test]
fn giving_up_a_wait_lets_those_behind_pass() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), S));
    assert!(!acquire(&mut locks, B, &row(1), X) && !acquire(&mut locks, C, &row(1), S));
    locks.cancel_wait(B);
    assert_eq!(locks.take_woken(), [C]);
    assert_eq!(locks.waits_for(B), None);
}

#[test]
fn waiting_for_something_else_gives_up_the_earlier_wait() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), X) && acquire(&mut locks, A, &row(2), X));
    assert!(!acquire(&mut locks, B, &row(1), S) && !acquire(&mut locks, B, &row(2), S));
    assert_eq!(locks.waits_for(B), Some(&row(2)));
    locks.release_all(A);
    assert_eq!((locks.held(B, &row(1)), locks.held(B, &row(2))), (None, Some(S)));
}

#[test]
fn trying_never_queues() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &group(1), X));
    assert!(!locks.try_acquire(B, &group(1), X, Transaction));
    assert!(locks.is_contended(B, &group(1)) && !locks.is_contended(A, &group(1)));
    locks.release_all(A);
    assert!(locks.take_woken().is_empty());
    assert!(locks.try_acquire(B, &group(1), X, Transaction));
}

#[test]
fn a_cycle_is_found_across_kinds_of_resources() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &group(1), X));
    assert!(acquire(&mut locks, B, &row(1), X));
    assert!(acquire(&mut locks, C, &row(2), X));
    assert!(!acquire(&mut locks, A, &row(1), S) && locks.cycle_of(A).is_empty());
    assert!(!acquire(&mut locks, B, &row(2), S) && locks.cycle_of(B).is_empty());
    assert!(!acquire(&mut locks, C, &group(1), X));
    let mut cycle = locks.cycle_of(C);
    cycle.sort();
    assert_eq!(cycle, [A, B, C]);
    locks.cancel_wait(B);
    assert!(locks.cycle_of(C).is_empty(), "without one of its waits the cycle is open");
}

#[test]
fn two_conversions_of_the_same_row_are_a_cycle() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, A, &row(1), S) && acquire(&mut locks, B, &row(1), S));
    assert!(!acquire(&mut locks, A, &row(1), X) && locks.cycle_of(A).is_empty());
    assert!(!acquire(&mut locks, B, &row(1), X));
    assert_eq!(locks.cycle_of(B), [B, A]);
}

#[test]
fn nothing_is_left_when_all_owners_have_ended() {
    let mut locks = LockManager::default();
    for owner in [A, B, C] {
        for number in 0..10 {
            locks.acquire(owner, &row(number), if number % 2 == 0 { S } else { X }, Transaction);
            locks.acquire(owner, &group(number.into()), X, Statement);
        }
        locks.release_statement(owner);
    }
    [A, B, C].into_iter().for_each(|owner| locks.release_all(owner));
    assert!(locks.heads.is_empty() && locks.owners.is_empty());
}

#[test]
fn a_grant_nobody_has_used_is_given_back_with_the_wait() {
    let mut locks = LockManager::default();
    assert!(acquire(&mut locks, B, &row(1), S) && acquire(&mut locks, A, &group(1), X));
    assert!(!acquire(&mut locks, B, &group(1), X) && !acquire(&mut locks, C, &group(1), X));
    locks.release_all(A);
    locks.cancel_wait(B);
    assert_eq!(locks.take_woken(), [B, C]);
    assert_eq!((locks.held(B, &group(1)), locks.held(B, &row(1))), (None, Some(S)));
    assert_eq!(locks.held(C, &group(1)), Some(X));
    assert!(acquire(&mut locks, C, &group(1), X));
    locks.cancel_wait(C);
    assert_eq!(locks.held(C, &group(1)), Some(X), "one that was used stays");
}
