//! DELETE.

use std::collections::HashSet;

use crate::engine::{Op, Permission, RowId, Tx};
use crate::relational::dml::DmlOutcome;
use crate::relational::dml::matching::Matching;
use crate::relational::dml::output::Outputs;
use crate::relational::dml::shape::Place;
use crate::relational::environment::{Context, Environment};
use crate::relational::query::CommonTables;
use crate::tsql::ast::dml::Delete;

/// Runs a DELETE.
///
/// # Errors
/// 208, 1087, 229, 4406, and those of conditions; blocks where rows are locked.
pub(crate) fn delete(statement: &Delete, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<DmlOutcome> {
    let mut ctx = Context { env, tx };
    let matching = Matching {
        target: &statement.target,
        from: &statement.from,
        filter: statement.filter.as_ref(),
        top: statement.top.as_ref(),
        ctes: CommonTables::of(&statement.with),
        permission: Permission::Delete,
    };
    let found = matching.bind(&mut ctx)?;
    let mut columns = found.shape.pseudo_columns("deleted");
    columns.extend(found.columns.iter().cloned());
    let mut outputs = Outputs::bind(&statement.output, &columns, &mut ctx)?;
    let (found, rows) = matching.rows(found, &mut ctx)?;
    let mut places = HashSet::new();
    let mut count = 0;
    for row in &rows {
        let Some(id) = found.rows.id(row) else { continue };
        let deleted = match &found.shape.place {
            Place::Table(key) => ctx.tx.delete_row(*key, RowId(id))?,
            Place::Variable(_) => places.insert(id as usize),
        };
        if deleted {
            count += 1;
            if !outputs.is_empty() {
                let old = found.rows.values(row);
                outputs.add(&[old, row].concat(), &mut ctx)?;
            }
        }
    }
    if let Place::Variable(name) = &found.shape.place
        && let Some(table) = ctx.env.table_variable_mut(name)
    {
        table.delete(&places);
    }
    outputs.finish(count, &mut ctx)
}
