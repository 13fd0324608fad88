//! The columns a name may mean while expressions are bound, and the rows they mean while expressions are evaluated.
//!
//! Scopes and frames nest alike: a subquery sees its own columns first, then those of the query around it. Must not
//! know expressions beyond the keys of a grouped query.

use std::cell::Cell;

use crate::error::SqlError;
use crate::relational::errors;
use crate::tsql::ast::name::{ObjectName, eq_ignore_case};
use crate::value::{Column, Value};

/// One column in sight.
#[derive(Debug, Clone)]
pub(crate) struct ScopeColumn {
    /// What stands before the column's name: an alias, or the table's name as written.
    pub(crate) qualifier: Qualifier,
    /// Name and type.
    pub(crate) column: Column,
    /// Not to be found by name: a row's key for UPDATE and DELETE.
    pub(crate) hidden: bool,
}

/// The name of a source in FROM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Qualifier {
    /// Alias or table name; empty for a source without one.
    pub(crate) name: String,
    /// Schema, when a table was named with it and has no alias.
    pub(crate) schema: Option<String>,
}

impl Qualifier {
    /// A source known by an alias.
    pub(crate) fn alias(name: &str) -> Qualifier {
        Qualifier { name: name.to_owned(), schema: None }
    }

    /// Whether a name written before a column means this source.
    pub(crate) fn is(&self, table: &str, schema: Option<&str>) -> bool {
        let own_schema = self.schema.as_deref();
        let schema_fits =
            schema.is_none_or(|schema| own_schema.is_some_and(|own| eq_ignore_case(own, schema)));
        eq_ignore_case(&self.name, table) && schema_fits
    }
}

/// The columns in sight at one level.
pub(crate) struct Scope<'p> {
    columns: &'p [ScopeColumn],
    parent: Option<&'p Scope<'p>>,
    /// In a grouped query: for each source column the place of its grouping key, if it is one.
    keys: Option<Vec<Option<usize>>>,
    /// How many levels up the names bound so far have reached.
    reach: Cell<usize>,
}

/// Where a column's value is found: how many frames up, and where in that frame's row.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Frames to go up.
    pub(crate) level: usize,
    /// Place in the row.
    pub(crate) index: usize,
    /// The column.
    pub(crate) column: Column,
}

impl<'p> Scope<'p> {
    /// No columns at all.
    pub(crate) fn empty() -> Scope<'static> {
        Scope::new(&[], None)
    }

    /// A level below `parent`.
    pub(crate) fn new(columns: &'p [ScopeColumn], parent: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope { columns, parent, keys: None, reach: Cell::new(0) }
    }

    /// The same level after grouping: only the columns with a place in `keys` are left.
    pub(crate) fn grouped(&self, keys: Vec<Option<usize>>) -> Scope<'p> {
        Scope {
            columns: self.columns,
            parent: self.parent,
            keys: Some(keys),
            reach: Cell::new(self.reach.get()),
        }
    }

    /// The columns of this level.
    pub(crate) fn columns(&self) -> &'p [ScopeColumn] {
        self.columns
    }

    /// How many levels up names have reached; 0 means that nothing above was used.
    pub(crate) fn reach(&self) -> usize {
        self.reach.get()
    }

    /// Notes that something below this level reached that many levels above it.
    pub(crate) fn note_reach(&self, levels: usize) {
        self.reach.set(self.reach.get().max(levels));
    }

    /// Finds a column by its name with up to three qualifiers.
    ///
    /// # Errors
    /// 207 and 4104 for unknown names, 209 for ambiguous ones, 8120 for columns that grouping has taken away.
    pub(crate) fn find(&self, name: &ObjectName) -> Result<Found, SqlError> {
        let mut level = 0;
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some(index) = current.position(name)? {
                let index = current.visible(index, name)?;
                self.note_path(level);
                return Ok(index.at(level));
            }
            scope = current.parent;
            level += 1;
        }
        Err(match name.parts.len() {
            1 => errors::unknown_column(name.name().as_str()),
            _ => errors::unbound_identifier(&name.to_string()),
        })
    }

    fn position(&self, name: &ObjectName) -> Result<Option<usize>, SqlError> {
        let table = name.schema().map(|part| part.as_str());
        let schema = name.database().map(|part| part.as_str());
        let wanted = |column: &ScopeColumn| {
            !column.hidden
                && eq_ignore_case(&column.column.name, name.name().as_str())
                && table.is_none_or(|table| column.qualifier.is(table, schema))
        };
        let mut found = self.columns.iter().enumerate().filter(|(_, column)| wanted(column));
        let first = found.next().map(|(index, _)| index);
        if found.next().is_some() {
            return Err(errors::ambiguous_column(name.name().as_str()));
        }
        Ok(first)
    }

    fn visible(&self, index: usize, name: &ObjectName) -> Result<Found, SqlError> {
        let column = self.columns[index].column.clone();
        let index = match &self.keys {
            None => index,
            Some(keys) => keys[index].ok_or_else(|| errors::not_grouped(&name.to_string()))?,
        };
        Ok(Found { level: 0, index, column })
    }

    fn note_path(&self, level: usize) {
        let mut scope = Some(self);
        for distance in (1..=level).rev() {
            let Some(current) = scope else { return };
            current.note_reach(distance);
            scope = current.parent;
        }
    }
}

impl Found {
    fn at(self, level: usize) -> Found {
        Found { level, ..self }
    }
}

/// The row in hand, and those of the queries around.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'r> {
    row: &'r [Value],
    outer: Option<&'r Frame<'r>>,
}

impl<'r> Frame<'r> {
    /// No row.
    pub(crate) const EMPTY: Frame<'static> = Frame { row: &[], outer: None };

    /// A row below those of `outer`.
    pub(crate) fn new(row: &'r [Value], outer: Option<&'r Frame<'r>>) -> Frame<'r> {
        Frame { row, outer }
    }

    /// The value at a place that binding has found.
    pub(crate) fn value(&self, level: usize, index: usize) -> &'r Value {
        const MISSING: &Value = &Value::Null;
        let mut frame = *self;
        for _ in 0..level {
            match frame.outer {
                Some(outer) => frame = *outer,
                None => return MISSING,
            }
        }
        frame.row.get(index).unwrap_or(MISSING)
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Qualifier, Scope, ScopeColumn};
    use crate::tsql::ast::name::{Ident, ObjectName};
    use crate::value::{Column, SqlType, Value};

    fn column(table: &str, name: &str) -> ScopeColumn {
        ScopeColumn {
            qualifier: Qualifier::alias(table),
            column: Column::new(name, SqlType::Int),
            hidden: false,
        }
    }

    fn name(text: &str) -> ObjectName {
        ObjectName { parts: text.split('.').map(Ident::new).collect() }
    }

    #[test]
    fn inner_columns_hide_outer_ones_and_reach_is_noted() {
        let (outer, inner) = ([column("o", "a"), column("o", "b")], [column("i", "a")]);
        let outer = Scope::new(&outer, None);
        let inner = Scope::new(&inner, Some(&outer));
        assert_eq!(inner.find(&name("A")).unwrap().level, 0);
        assert_eq!(inner.reach(), 0);
        let found = inner.find(&name("o.b")).unwrap();
        assert_eq!((found.level, found.index), (1, 1));
        assert_eq!((inner.reach(), outer.reach()), (1, 0));
    }

    #[test]
    fn unknown_and_ambiguous_names_are_told_apart() {
        let columns = [column("x", "a"), column("y", "a")];
        let scope = Scope::new(&columns, None);
        assert_eq!(scope.find(&name("a")).unwrap_err().number, 209);
        assert_eq!(scope.find(&name("y.a")).unwrap().index, 1);
        assert_eq!(scope.find(&name("c")).unwrap_err().number, 207);
        assert_eq!(scope.find(&name("z.a")).unwrap_err().number, 4104);
    }

    #[test]
    fn grouping_leaves_its_keys_only() {
        let columns = [column("x", "a"), column("x", "b")];
        let scope = Scope::new(&columns, None).grouped(vec![None, Some(0)]);
        assert_eq!(scope.find(&name("b")).unwrap().index, 0);
        assert_eq!(scope.find(&name("a")).unwrap_err().number, 8120);
    }

    #[test]
    fn frames_answer_by_level() {
        let (outer, inner) = ([Value::Int(1)], [Value::Int(2)]);
        let outer = Frame::new(&outer, None);
        let inner = Frame::new(&inner, Some(&outer));
        assert_eq!(inner.value(1, 0), &Value::Int(1));
        assert_eq!(inner.value(0, 0), &Value::Int(2));
    }
}
