//! Cursors: a query, and once opened its rows with a place among them.
//!
//! Every cursor is static: its rows are those of the moment it was opened. Rows that vanish meanwhile are still fetched,
//! which the documentation allows for the loops scripts write. Pure; this file must not know how queries run.

use std::sync::Arc;

use super::errors;
use crate::error::SqlError;
use crate::tsql::ast::name::eq_ignore_case;
use crate::tsql::ast::query::SelectStatement;
use crate::value::{Column, Value};

/// A declared cursor.
#[derive(Debug)]
pub(super) struct Cursor {
    /// What OPEN runs.
    pub(super) query: Arc<SelectStatement>,
    /// Whether rows may be fetched in any order.
    pub(super) scrolls: bool,
    /// Its rows while it is open.
    pub(super) rows: Option<CursorRows>,
}

/// The rows of an open cursor.
#[derive(Debug)]
pub(super) struct CursorRows {
    /// Their columns.
    pub(super) columns: Arc<[Column]>,
    rows: Vec<Vec<Value>>,
    /// 1-based place of the row fetched last; 0 before the first, one past the end after the last.
    at: i64,
}

/// Cursors by name, of a session or of a program.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    named: Vec<(String, Cursor)>,
}

/// Where FETCH goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// NEXT
    Next,
    /// PRIOR
    Prior,
    /// FIRST
    First,
    /// LAST
    Last,
    /// ABSOLUTE: counted from the end when negative.
    Absolute(i64),
    /// RELATIVE
    Relative(i64),
}

impl Cursors {
    /// Adds a cursor.
    ///
    /// # Errors
    /// 16915 when one of that name exists.
    pub(super) fn declare(&mut self, name: &str, cursor: Cursor) -> Result<(), SqlError> {
        if self.find(name).is_some() {
            return Err(errors::cursor_exists(name));
        }
        self.named.push((name.to_owned(), cursor));
        Ok(())
    }

    /// The cursor of that name.
    pub(super) fn find(&mut self, name: &str) -> Option<&mut Cursor> {
        self.named.iter_mut().find(|(known, _)| eq_ignore_case(known, name)).map(|(_, cursor)| cursor)
    }

    /// Forgets a cursor; whether there was one of that name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let before = self.named.len();
        self.named.retain(|(known, _)| !eq_ignore_case(known, name));
        self.named.len() < before
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.named.clear();
    }
}

impl CursorRows {
    /// Rows with the place before the first.
    pub(super) fn new(columns: Arc<[Column]>, rows: Vec<Vec<Value>>) -> CursorRows {
        CursorRows { columns, rows, at: 0 }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Goes to another row; `None` beyond either end.
    pub(super) fn fetch(&mut self, to: Move) -> Option<&[Value]> {
        let count = self.rows.len() as i64;
        let target = match to {
            Move::Next => self.at.saturating_add(1),
            Move::Prior => self.at.saturating_sub(1),
            Move::First => 1,
            Move::Last => count,
            Move::Absolute(place) if place < 0 => count.saturating_add(1).saturating_add(place),
            Move::Absolute(place) => place,
            Move::Relative(distance) => self.at.saturating_add(distance),
        };
        self.at = target.clamp(0, count + 1);
        let index = usize::try_from(self.at).ok()?.checked_sub(1)?;
        self.rows.get(index).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::{CursorRows, Move};
    use crate::value::Value;

    fn three() -> CursorRows {
        CursorRows::new([].into(), (1..=3).map(|number| vec![Value::Int(number)]).collect())
    }

    fn fetched(rows: &mut CursorRows, to: Move) -> Option<Value> {
        rows.fetch(to).map(|row| row[0].clone())
    }

    #[test]
    fn next_ends_after_the_last_row_and_prior_comes_back() {
        let mut rows = three();
        let all: Vec<_> = (0..4).map(|_| fetched(&mut rows, Move::Next)).collect();
        assert_eq!(all, [Some(Value::Int(1)), Some(Value::Int(2)), Some(Value::Int(3)), None]);
        assert_eq!(fetched(&mut rows, Move::Next), None);
        assert_eq!(fetched(&mut rows, Move::Prior), Some(Value::Int(3)));
    }

    #[test]
    fn places_count_from_either_end_and_from_here() {
        let mut rows = three();
        assert_eq!(fetched(&mut rows, Move::Absolute(-1)), Some(Value::Int(3)));
        assert_eq!(fetched(&mut rows, Move::Relative(-2)), Some(Value::Int(1)));
        assert_eq!(fetched(&mut rows, Move::Last), Some(Value::Int(3)));
        assert_eq!(fetched(&mut rows, Move::First), Some(Value::Int(1)));
        assert_eq!(fetched(&mut rows, Move::Absolute(0)), None);
        assert_eq!(fetched(&mut rows, Move::Absolute(9)), None);
    }
}
