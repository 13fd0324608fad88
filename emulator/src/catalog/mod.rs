//! Catalog views and management views: the state of the instance, read as tables.
//!
//! Each view is a list of columns and a function that makes its rows from the engine's state; nothing is stored. Column
//! names, types and order are those of the real views (spec 3.4, 4.2, 5.1, 8 and the manual pages they name), since
//! scripts say `SELECT *`. This module must not know T-SQL.

mod broker;
mod compatibility;
mod conversations;
mod databases;
mod indexes;
mod monitoring;
mod objects;
mod remote;
mod security;
mod types;

use crate::engine::{DatabaseId, Op, Securable, Tx, can_see};
use crate::value::{Collation, Column, SqlType, Timestamp, Value};

/// A virtual view.
pub(crate) struct View {
    /// `sys` or `INFORMATION_SCHEMA`.
    pub(crate) schema: &'static str,
    /// Name without its schema.
    pub(crate) name: &'static str,
    columns: &'static [ViewColumn],
    rows: fn(&Tx<'_>, DatabaseId) -> Op<Vec<Vec<Value>>>,
}

impl View {
    /// The columns, in the order of the real view.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.columns.iter().map(ViewColumn::to_column).collect()
    }

    /// The rows as the acting principal may see them, for the view of that database.
    pub(crate) fn rows(&self, tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
        (self.rows)(tx, database)
    }
}

/// The view of that name, compared without case; without a schema or with `dbo` only the compatibility views match.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static View> {
    let schema = match schema {
        Some(schema) if !schema.eq_ignore_ascii_case("dbo") => schema,
        _ if compatibility::VIEWS.iter().any(|view| view.name.eq_ignore_ascii_case(name)) => "sys",
        _ => return None,
    };
    families()
        .flatten()
        .find(|view| view.schema.eq_ignore_ascii_case(schema) && view.name.eq_ignore_ascii_case(name))
}

fn families() -> impl Iterator<Item = &'static [View]> {
    [
        broker::VIEWS,
        compatibility::VIEWS,
        conversations::VIEWS,
        databases::VIEWS,
        indexes::VIEWS,
        monitoring::VIEWS,
        objects::VIEWS,
        remote::VIEWS,
        security::VIEWS,
        types::VIEWS,
    ]
    .into_iter()
}

/// One column of a view.
struct ViewColumn {
    name: &'static str,
    ty: SqlType,
    nullable: bool,
    collation: Collation,
}

impl ViewColumn {
    fn to_column(&self) -> Column {
        Column { name: self.name.to_owned(), ty: self.ty, nullable: self.nullable, collation: self.collation }
    }
}

/// A column that is never NULL.
const fn required(name: &'static str, ty: SqlType) -> ViewColumn {
    ViewColumn { name, ty, nullable: false, collation: Collation::DEFAULT }
}

/// A column that may be NULL.
const fn optional(name: &'static str, ty: SqlType) -> ViewColumn {
    ViewColumn { nullable: true, ..required(name, ty) }
}

/// A name that compares byte by byte: services, contracts, message types (U-45).
const fn public_name(name: &'static str, ty: SqlType) -> ViewColumn {
    ViewColumn { collation: Collation::Binary, ..optional(name, ty) }
}

/// Whether the acting principal may see that it exists; views leave out the rest (spec 8).
fn visible(tx: &Tx<'_>, securable: Securable) -> bool {
    can_see(tx.state(), tx.principal(), securable)
}

/// `char(n)` text, padded.
fn fixed(text: &str, length: usize) -> Value {
    Value::varchar(&format!("{text:<length$}"))
}

fn bit(value: bool) -> Value {
    Value::Bit(value)
}

fn name(text: &str) -> Value {
    Value::nvarchar(text)
}

fn binary_name(text: &str) -> Value {
    Value::Text(crate::value::Text::unicode(text).with_collation(Collation::Binary))
}

fn datetime(moment: Timestamp) -> Value {
    Value::DateTime(moment.to_datetime())
}

/// `1900-01-01`, which the views show for "never".
fn unset_datetime() -> Value {
    Value::DateTime(crate::value::DateTime { days: 0, thirds: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_found_without_case_and_only_with_their_schema() {
        assert!(find(Some("SYS"), "Service_Queues").is_some());
        assert!(find(None, "service_queues").is_none());
        assert!(find(Some("dbo"), "service_queues").is_none());
        assert!(find(None, "sysdatabases").is_some() && find(Some("dbo"), "SysLogins").is_some());
    }

    #[test]
    fn no_view_and_no_column_is_there_twice() {
        let mut names: Vec<_> = families().flatten().map(|view| (view.schema, view.name)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for view in families().flatten() {
            let mut columns: Vec<_> = view.columns.iter().map(|column| column.name).collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), view.columns.len(), "{}", view.name);
        }
    }
}
