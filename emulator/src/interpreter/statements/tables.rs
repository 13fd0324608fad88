//! Tables and their indexes: CREATE, ALTER, TRUNCATE; CREATE and DROP INDEX.
//!
//! This file must not know what a definition means to rows.

use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::object_name;
use crate::relational::{self, alter_table, table_definition};
use crate::tsql::ast::ddl::{AlterTable, CreateIndex, CreateTable};
use crate::tsql::ast::{Ident, ObjectName};

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

/// `ALTER TABLE name ..`
pub(super) async fn alter(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &AlterTable,
) -> Result<Done, Stop> {
    execution.operate(frame, |tx, scope| alter_table(statement, scope, tx)).await?;
    Ok(Done::PLAIN)
}

/// `CREATE INDEX name ON table (..)`
pub(super) async fn create_index(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &CreateIndex,
) -> Result<Done, Stop> {
    execution.operate(frame, |tx, _| relational::create_index(statement, tx)).await?;
    Ok(Done::PLAIN)
}

/// `DROP INDEX [IF EXISTS] name ON table, ..`
pub(super) async fn drop_indexes(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    indexes: &[(Ident, ObjectName)],
    if_exists: bool,
) -> Result<Done, Stop> {
    for (index, table) in indexes {
        let dropped = execution.operate(frame, |tx, _| relational::drop_index(index, table, tx)).await;
        match dropped {
            Err(Stop::Error(raised)) if if_exists && raised.error.number == 3701 => {}
            dropped => dropped?,
        }
    }
    Ok(Done::PLAIN)
}
