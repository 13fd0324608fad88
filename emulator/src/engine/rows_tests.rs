//! Reading and writing rows in several transactions.

use super::{Access, Inserted, ReadHint, ReadOptions};
use crate::engine::core::Core;
use crate::engine::definitions::{KeyDef, TableColumn, TableDef};
use crate::engine::ids::{RowId, SessionId, TableKey};
use crate::engine::locks::LockMode;
use crate::engine::objects::ObjectName;
use crate::engine::testing::{START, blocks, call, core, done, fails, session};
use crate::engine::tx::{Op, Tx};
use crate::request::IsolationLevel;
use crate::value::{Column, SqlType, Value};

/// `t (id int identity(10, 5) primary key, v int)`
fn table(core: &mut Core, session: SessionId, ignore_duplicates: bool) -> TableKey {
    let id =
        TableColumn { identity: Some((10, 5)), ..TableColumn::new(Column::not_null("id", SqlType::Int)) };
    let columns = vec![id, TableColumn::new(Column::new("v", SqlType::Int))];
    let key = KeyDef {
        name: "pk_t".into(),
        columns: vec![0],
        primary: true,
        unique: true,
        constraint: true,
        ignore_duplicates,
    };
    let def = TableDef { columns, keys: vec![key], ..TableDef::default() };
    done(core, session, |tx| tx.create_table(&ObjectName::plain("t"), def))
}

fn insert(table: TableKey, id: i32, v: i32) -> impl Fn(&mut Tx<'_>) -> Op<Inserted> {
    move |tx| tx.insert_row(table, vec![Value::Int(id), Value::Int(v)])
}

fn read(table: TableKey, options: ReadOptions) -> impl Fn(&mut Tx<'_>) -> Op<Vec<(i32, i32)>> {
    move |tx| {
        let rows = tx.rows(table, Access::Scan, options, |_| Ok(true))?;
        let int = |value: &Value| if let Value::Int(value) = value { *value } else { panic!("an int") };
        Ok(rows.iter().map(|row| (int(&row.values[0]), int(&row.values[1]))).collect())
    }
}

const PLAIN: ReadOptions = ReadOptions { hint: ReadHint::Wait, lock: None, whole_table: false, limit: None };
const NO_LOCK: ReadOptions = ReadOptions { hint: ReadHint::NoLock, ..PLAIN };
const READ_PAST: ReadOptions = ReadOptions { hint: ReadHint::ReadPast, ..PLAIN };

/// Two sessions over a table with the rows (1, 1) and (2, 2); the first has a transaction open.
fn scene() -> (Core, SessionId, SessionId, TableKey) {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    let table = table(&mut core, one, false);
    done(&mut core, one, insert(table, 1, 1));
    done(&mut core, one, insert(table, 2, 2));
    core.begin(&call(one)).unwrap();
    (core, one, two, table)
}

#[test]
fn a_reader_waits_for_a_changed_row_skips_it_or_reads_it_as_it_is() {
    let (mut core, one, two, table) = scene();
    let changed = done(&mut core, one, |tx| {
        tx.update_rows(table, vec![(RowId(0), vec![Value::Int(1), Value::Int(9)])])
    });
    assert_eq!(changed, 1);
    assert_eq!(done(&mut core, two, read(table, NO_LOCK)), [(1, 9), (2, 2)]);
    assert_eq!(done(&mut core, two, read(table, READ_PAST)), [(2, 2)]);
    assert!(blocks(&mut core, two, read(table, PLAIN)));
    core.rollback(&call(one)).unwrap();
    assert_eq!(core.take_wakes(), [two]);
    assert_eq!(done(&mut core, two, read(table, PLAIN)), [(1, 1), (2, 2)]);
    assert!(core.locks.list().is_empty());
}

#[test]
fn a_deleted_row_is_a_ghost_until_its_transaction_ends() {
    let (mut core, one, two, table) = scene();
    assert!(done(&mut core, one, |tx| tx.delete_row(table, RowId(0))));
    assert!(!done(&mut core, one, |tx| tx.delete_row(table, RowId(0))));
    assert_eq!(done(&mut core, one, read(table, PLAIN)), [(2, 2)]);
    assert_eq!(done(&mut core, two, read(table, NO_LOCK)), [(2, 2)]);
    assert!(blocks(&mut core, two, read(table, PLAIN)));
    assert_eq!(core.state().tables[&table].len(), 2);
    core.commit(&call(one)).unwrap();
    assert_eq!(done(&mut core, two, read(table, PLAIN)), [(2, 2)]);
    assert_eq!(core.state().tables[&table].len(), 1);
}

#[test]
fn an_insert_waits_for_the_fate_of_a_row_with_its_key() {
    let (mut core, one, two, table) = scene();
    done(&mut core, one, |tx| tx.delete_row(table, RowId(0)));
    done(&mut core, one, insert(table, 3, 3));
    assert!(blocks(&mut core, two, insert(table, 1, 7)));
    core.cancel_wait(two);
    assert!(blocks(&mut core, two, insert(table, 3, 7)));
    core.commit(&call(one)).unwrap();
    assert_eq!(fails(&mut core, two, insert(table, 3, 7)), 2627);
    done(&mut core, two, insert(table, 1, 7));
    assert_eq!(done(&mut core, two, read(table, PLAIN)), [(2, 2), (3, 3), (1, 7)]);
}

#[test]
fn a_transaction_may_insert_the_key_it_has_deleted() {
    let (mut core, one, _, table) = scene();
    done(&mut core, one, |tx| tx.delete_row(table, RowId(0)));
    done(&mut core, one, insert(table, 1, 5));
    assert_eq!(fails(&mut core, one, insert(table, 1, 6)), 2627);
    core.rollback(&call(one)).unwrap();
    assert_eq!(done(&mut core, one, read(table, PLAIN)), [(1, 1), (2, 2)]);
}

#[test]
fn keys_are_compared_after_all_rows_of_an_update_have_changed() {
    let (mut core, one, _, table) = scene();
    let shifted =
        vec![(RowId(0), vec![Value::Int(2), Value::Int(1)]), (RowId(1), vec![Value::Int(3), Value::Int(2)])];
    assert_eq!(done(&mut core, one, |tx| tx.update_rows(table, shifted)), 2);
    let clash = vec![(RowId(0), vec![Value::Int(3), Value::Int(1)])];
    assert_eq!(fails(&mut core, one, |tx| tx.update_rows(table, clash)), 2627);
    assert_eq!(done(&mut core, one, read(table, PLAIN)), [(2, 1), (3, 2)]);
}

#[test]
fn update_locks_divide_rows_among_readers_that_skip() {
    let (mut core, one, two, table) = scene();
    let next = ReadOptions { lock: Some(LockMode::U), limit: Some(1), ..READ_PAST };
    assert_eq!(done(&mut core, one, read(table, next)), [(1, 1)]);
    core.begin(&call(two)).unwrap();
    assert_eq!(done(&mut core, two, read(table, next)), [(2, 2)]);
    assert_eq!(done(&mut core, two, read(table, PLAIN)), [(1, 1), (2, 2)]);
}

#[test]
fn isolation_levels_keep_what_they_have_read() {
    let (mut core, one, two, table) = scene();
    core.set_isolation(one, IsolationLevel::RepeatableRead);
    done(&mut core, one, |tx| {
        let options = tx.read_options();
        tx.rows(table, Access::Key("pk_t", &[Value::Int(1)]), options, |_| Ok(true))
    });
    assert!(done(&mut core, two, |tx| tx.delete_row(table, RowId(1))));
    assert!(blocks(&mut core, two, |tx| tx.delete_row(table, RowId(0))));
    core.cancel_wait(two);
    core.set_isolation(one, IsolationLevel::Serializable);
    done(&mut core, one, |tx| {
        let options = tx.read_options();
        tx.rows(table, Access::Scan, options, |_| Ok(true))
    });
    assert!(blocks(&mut core, two, insert(table, 5, 5)));
}

#[test]
fn identity_values_go_on_after_a_roll_back_and_start_anew_after_truncate() {
    let (mut core, one, _, table) = scene();
    assert_eq!(done(&mut core, one, |tx| Ok(tx.next_identity(table))), Some(10));
    core.rollback(&call(one)).unwrap();
    assert_eq!(done(&mut core, one, |tx| Ok(tx.next_identity(table))), Some(15));
    done(&mut core, one, |tx| {
        tx.note_identity(table, 100);
        Ok(())
    });
    assert_eq!(done(&mut core, one, |tx| Ok(tx.next_identity(table))), Some(105));
    done(&mut core, one, |tx| tx.truncate_table(table));
    assert_eq!(done(&mut core, one, |tx| Ok(tx.next_identity(table))), Some(10));
    assert!(core.state().tables[&table].is_empty());
}

#[test]
fn duplicates_are_ignored_where_the_key_says_so() {
    let mut core = core();
    let one = session(&mut core);
    let table = table(&mut core, one, true);
    done(&mut core, one, insert(table, 1, 1));
    assert_eq!(done(&mut core, one, insert(table, 1, 2)), Inserted::Ignored);
}

#[test]
fn a_dropped_table_comes_back_with_its_rows() {
    let (mut core, one, two, table) = scene();
    done(&mut core, one, |tx| tx.drop_table(&ObjectName::plain("t")));
    assert_eq!(fails(&mut core, one, |tx| Ok(tx.resolve_table(&ObjectName::plain("t"))?.0)), 208);
    core.rollback(&call(one)).unwrap();
    assert_eq!(done(&mut core, two, read(table, PLAIN)), [(1, 1), (2, 2)]);
}

#[test]
fn ddl_waits_for_users_of_the_table() {
    let (mut core, one, two, table) = scene();
    done(&mut core, one, insert(table, 3, 3));
    assert!(blocks(&mut core, two, |tx| tx.drop_table(&ObjectName::plain("t"))));
    core.commit(&call(one)).unwrap();
    assert_eq!(core.take_wakes(), [two]);
    done(&mut core, two, |tx| tx.drop_table(&ObjectName::plain("t")));
}

#[test]
fn altered_rows_take_the_new_shape_or_none_of_them() {
    let (mut core, one, _, table) = scene();
    let def = core.state().object(table).map(|object| object.kind.clone()).unwrap();
    let crate::engine::definitions::ObjectKind::Table(def) = def else { panic!("a table") };
    let mut wider = def.clone();
    wider.columns.push(TableColumn::new(Column::new("w", SqlType::Int)));
    done(&mut core, one, |tx| {
        tx.alter_table(table, wider, |values| Ok(values.iter().cloned().chain([Value::Null]).collect()))
    });
    assert_eq!(core.state().tables[&table].get(RowId(0)).unwrap().values.len(), 3);
    let clash =
        fails(&mut core, one, |tx| tx.alter_table(table, def, |_| Ok(vec![Value::Int(1), Value::Int(1)])));
    assert_eq!(clash, 2627);
    core.rollback(&call(one)).unwrap();
    assert_eq!(core.state().tables[&table].get(RowId(0)).unwrap().values.len(), 2);
}

#[test]
fn temporary_tables_belong_to_their_session_and_go_with_it() {
    let mut core = core();
    let (one, two) = (session(&mut core), session(&mut core));
    let name = ObjectName::plain("#t");
    let mine = done(&mut core, one, |tx| tx.create_table(&name, TableDef::default()));
    let other = done(&mut core, two, |tx| tx.create_table(&name, TableDef::default()));
    assert_ne!(mine, other);
    assert_eq!(fails(&mut core, one, |tx| tx.create_table(&name, TableDef::default())), 2714);
    assert_eq!(done(&mut core, one, |tx| Ok(tx.resolve_table(&name)?.0)), mine);
    core.close_session(one, START);
    assert!(!core.state().tables.contains_key(&mine) && core.state().tables.contains_key(&other));
}
