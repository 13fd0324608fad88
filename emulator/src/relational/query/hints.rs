//! Table hints: how they change the way a table is read.

use crate::engine::{LockMode, ReadHint, ReadOptions};
use crate::tsql::ast::query::TableHint;

/// The session's way of reading, changed by the hints of one table.
pub(super) fn read_options(session: ReadOptions, hints: &[TableHint]) -> ReadOptions {
    let mut options = session;
    for hint in hints {
        match hint {
            TableHint::NoLock => options = ReadOptions { hint: ReadHint::NoLock, ..ReadOptions::default() },
            TableHint::ReadCommitted => options = ReadOptions::default(),
            TableHint::RepeatableRead => options.lock = options.lock.or(Some(LockMode::S)),
            TableHint::HoldLock => {
                options.lock = options.lock.or(Some(LockMode::S));
                options.whole_table = true;
            }
            TableHint::ReadPast => options.hint = ReadHint::ReadPast,
            TableHint::UpdLock => options.lock = Some(LockMode::U),
            TableHint::XLock | TableHint::TabLockX => options.lock = Some(LockMode::X),
            TableHint::Snapshot
            | TableHint::RowLock
            | TableHint::PagLock
            | TableHint::TabLock
            | TableHint::NoWait
            | TableHint::Other(_) => {}
        }
    }
    options
}
