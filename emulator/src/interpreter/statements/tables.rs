//! CREATE and TRUNCATE TABLE.
//!
//! This file must not know what a definition means to rows.

use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::object_name;
use crate::relational::table_definition;
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::ddl::CreateTable;

/// `CREATE TABLE name (..)`
pub(super) async fn create(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &CreateTable,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, _| {
            let name = object_name(&statement.name)?;
            let definition = table_definition(&statement.elements, &name.name)?;
            tx.create_table(&name, definition).map(drop)
        })
        .await?;
    note_temporary(frame, &statement.name);
    Ok(Done::PLAIN)
}

/// Remembers a table that ends with the program that made it.
pub(super) fn note_temporary(frame: &mut Frame, table: &ObjectName) {
    let name = table.name().as_str();
    if name.starts_with('#') && !name.starts_with("##") {
        frame.temporary_tables.push(name.to_owned());
    }
}

/// `TRUNCATE TABLE name`
pub(super) async fn truncate(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    table: &ObjectName,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, _| {
            let (key, _) = tx.resolve_table(&object_name(table)?)?;
            tx.truncate_table(key)
        })
        .await?;
    Ok(Done::PLAIN)
}
