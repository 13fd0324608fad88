//! Explicit transactions and savepoints, by example and against a model.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::engine::core::Core;
use crate::engine::definitions::Group;
use crate::engine::ids::{DatabaseId, ServiceId, SessionId};
use crate::engine::locks::{LockDuration, LockMode, Resource};
use crate::engine::testing::{blocks, call, core, done, fails, session};
use crate::engine::tx::{Op, Tx};

fn put(tx: &mut Tx<'_>, key: u8, value: Option<i32>) -> Op<()> {
    let id = Uuid::from_u128(key.into());
    let group = |value| Group { id, database: DatabaseId(5), service: ServiceId(value), is_system: false };
    tx.put_group(id, value.map(|value| group(value).into()));
    Ok(())
}

fn content(core: &Core) -> BTreeMap<u8, i32> {
    core.state().groups.values().map(|group| (group.id.as_u128() as u8, group.service.0)).collect()
}

fn begun(core: &mut Core) -> SessionId {
    let session = session(core);
    assert!(core.begin(&call(session)).unwrap().is_some());
    session
}

#[test]
fn nested_begins_count_and_only_the_outermost_commit_ends() {
    let mut core = core();
    let one = begun(&mut core);
    assert_eq!(core.begin(&call(one)).unwrap(), None);
    assert_eq!(core.trancount(one), 2);
    assert_eq!(core.commit(&call(one)).unwrap(), None);
    let descriptor = core.descriptor(one);
    assert_eq!(core.commit(&call(one)).unwrap(), descriptor);
    assert_eq!(core.commit(&call(one)).unwrap_err().number, 3902);
    assert_eq!(core.rollback(&call(one)).unwrap_err().number, 3903);
}

#[test]
fn a_roll_back_ends_all_levels_and_undoes_all() {
    let mut core = core();
    let one = begun(&mut core);
    core.begin(&call(one)).unwrap();
    done(&mut core, one, |tx| put(tx, 1, Some(1)));
    assert!(core.rollback(&call(one)).unwrap().is_some());
    assert_eq!((core.trancount(one), core.xact_state(one)), (0, 0));
    assert!(content(&core).is_empty());
}

#[test]
fn a_roll_back_to_a_savepoint_keeps_locks_and_the_savepoint() {
    let mut core = core();
    let (one, two) = (begun(&mut core), session(&mut core));
    let group = || Resource::Group(Uuid::from_u128(1));
    core.save(&call(one), "s").unwrap();
    for _ in 0..2 {
        done(&mut core, one, |tx| {
            tx.lock(group(), LockMode::X, LockDuration::Transaction)?;
            put(tx, 1, Some(1))
        });
        core.rollback_to(&call(one), "s").unwrap();
        assert!(content(&core).is_empty());
    }
    assert_eq!(core.trancount(one), 1);
    assert!(blocks(&mut core, two, |tx| tx.lock(group(), LockMode::X, LockDuration::Transaction)));
}

#[test]
fn savepoint_names_are_case_sensitive_and_the_latest_of_a_name_counts() {
    let mut core = core();
    let one = begun(&mut core);
    core.save(&call(one), "s").unwrap();
    done(&mut core, one, |tx| put(tx, 1, Some(1)));
    core.save(&call(one), "s").unwrap();
    done(&mut core, one, |tx| put(tx, 2, Some(2)));
    assert_eq!(core.rollback_to(&call(one), "S").unwrap_err().number, 6401);
    assert!(core.has_savepoint(one, "s") && !core.has_savepoint(one, "S"));
    core.rollback_to(&call(one), "s").unwrap();
    assert_eq!(content(&core), BTreeMap::from([(1, 1)]));
}

#[test]
fn savepoints_need_a_transaction() {
    let mut core = core();
    let one = session(&mut core);
    assert_eq!(core.save(&call(one), "s").unwrap_err().number, 628);
    assert_eq!(core.rollback_to(&call(one), "s").unwrap_err().number, 3903);
}

#[test]
fn a_doomed_transaction_reads_and_rolls_back_only() {
    let mut core = core();
    let one = begun(&mut core);
    done(&mut core, one, |tx| put(tx, 1, Some(1)));
    core.save(&call(one), "s").unwrap();
    core.doom(one);
    assert_eq!(core.xact_state(one), -1);
    assert_eq!(done(&mut core, one, |tx| Ok(tx.state().groups.len())), 1);
    assert_eq!(fails(&mut core, one, |tx| put(tx, 2, Some(2))), 3930);
    assert_eq!(content(&core), BTreeMap::from([(1, 1)]));
    assert_eq!(core.commit(&call(one)).unwrap_err().number, 3930);
    assert_eq!(core.save(&call(one), "t").unwrap_err().number, 3930);
    assert_eq!(core.rollback_to(&call(one), "s").unwrap_err().number, 3931);
    core.rollback(&call(one)).unwrap();
    assert!(content(&core).is_empty());
}

#[test]
fn dooming_without_a_transaction_does_nothing() {
    let mut core = core();
    let one = session(&mut core);
    core.doom(one);
    assert_eq!(core.xact_state(one), 0);
    done(&mut core, one, |tx| put(tx, 1, Some(1)));
}

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What a transaction should do, told with copies instead of undo records.
#[derive(Default)]
struct Model {
    content: BTreeMap<u8, i32>,
    begun: Option<BTreeMap<u8, i32>>,
    savepoints: Vec<(String, BTreeMap<u8, i32>)>,
}

impl Model {
    fn end(&mut self, commit: bool) {
        let before = self.begun.take();
        if !commit && let Some(before) = before {
            self.content = before;
        }
        self.savepoints.clear();
    }

    fn roll_back_to(&mut self, name: &str) -> bool {
        let Some(place) = self.savepoints.iter().rposition(|(it, _)| it == name) else { return false };
        self.savepoints.truncate(place + 1);
        self.content = self.savepoints[place].1.clone();
        true
    }
}

#[test]
fn any_sequence_of_changes_savepoints_and_roll_backs_matches_the_model() {
    for seed in 1..=100 {
        let mut numbers = Numbers(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let (mut core, mut model) = (core(), Model::default());
        let one = session(&mut core);
        for _ in 0..60 {
            step(&mut core, one, &mut model, &mut numbers);
            assert_eq!(content(&core), model.content, "seed {seed}");
        }
    }
}

fn step(core: &mut Core, one: SessionId, model: &mut Model, numbers: &mut Numbers) {
    let name = ["a", "b", "c"][numbers.below(3) as usize].to_string();
    match numbers.below(10) {
        0 if model.begun.is_none() => {
            core.begin(&call(one)).unwrap();
            model.begun = Some(model.content.clone());
        }
        1 => {
            assert_eq!(core.commit(&call(one)).is_ok(), model.begun.is_some());
            model.end(true);
        }
        2 => {
            assert_eq!(core.rollback(&call(one)).is_ok(), model.begun.is_some());
            model.end(false);
        }
        3 | 4 if model.begun.is_some() => {
            core.save(&call(one), &name).unwrap();
            model.savepoints.push((name, model.content.clone()));
        }
        5 if model.begun.is_some() => {
            assert_eq!(core.rollback_to(&call(one), &name).is_ok(), model.roll_back_to(&name));
        }
        kind => change(core, one, model, numbers, kind == 6),
    }
}

fn change(core: &mut Core, one: SessionId, model: &mut Model, numbers: &mut Numbers, fail: bool) {
    let changes: Vec<(u8, Option<i32>)> = (0..=numbers.below(3))
        .map(|_| (numbers.below(6) as u8, (numbers.below(3) > 0).then(|| numbers.below(100) as i32)))
        .collect();
    let run = |tx: &mut Tx<'_>| {
        changes.iter().try_for_each(|(key, value)| put(tx, *key, *value))?;
        if fail { Err(crate::engine::errors::invalid_object("x").into()) } else { Ok(()) }
    };
    if fail {
        assert_eq!(fails(core, one, run), 208);
        return;
    }
    done(core, one, run);
    for (key, value) in changes {
        match value {
            Some(value) => model.content.insert(key, value),
            None => model.content.remove(&key),
        };
    }
}
