//! The library's own tables: which script of `sql/` makes each, and the columns it must have, read from the script.
//!
//! A new table is a variant here with its script; everything else is done by `apply`.

use std::collections::BTreeMap;

use super::super::error::Result;
use super::super::rows::Results;
use super::super::statements::tables as texts;
use super::verification::{Finding, Verification};

/// The library's tables that parts of it need. Plain sending and receiving needs none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Table {
    /// `ssbroker.attempts` and `ssbroker.dead_letters` (`sql/05-dead-letters.sql`): for workers that park poison messages.
    DeadLetters,
    /// `ssbroker.pool_dialogs` (`sql/06-shared-pool.sql`): for dialog pools that several processes share.
    SharedPool,
    /// `ssbroker.unsent`, `ssbroker.sent_messages` and two procedures (`sql/07-sending.sql`): for repairing dialogs and
    /// for sends under an identifier.
    Sending,
    /// `ssbroker.delayed_messages` (`sql/08-delayed-messages.sql`): for sending later.
    DelayedMessages,
    /// `ssbroker.waiters` and `ssbroker.waiter_messages` (`sql/09-waiters.sql`): for requests that are remembered beyond a restart.
    Waiters,
    /// `ssbroker.retries` (`sql/10-retries.sql`): for workers that put failing messages off.
    Retries,
    /// `ssbroker.work_items` (`sql/11-work-items.sql`): for handlers too long for an open transaction.
    WorkItems,
    /// `ssbroker.handled_messages` (`sql/12-handled-messages.sql`): for workers that skip messages they have handled before.
    HandledMessages,
    /// `ssbroker.runs` (`sql/13-runs.sql`): for an activator that keeps what became of its handlers.
    Runs,
}

/// One script and the tables it makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    /// Its file below `sql/`.
    pub(super) file: &'static str,
    /// Its text, with batches separated by `GO`.
    pub(super) script: &'static str,
}

/// A table in the schema `ssbroker`: its name and its columns, each with its declared type.
#[derive(Debug)]
struct Shape {
    name: &'static str,
    columns: Vec<(&'static str, String)>,
}

impl Table {
    /// Every script of the library's own tables.
    pub const ALL: [Table; 9] = [
        Table::DeadLetters,
        Table::SharedPool,
        Table::Sending,
        Table::DelayedMessages,
        Table::Waiters,
        Table::Retries,
        Table::WorkItems,
        Table::HandledMessages,
        Table::Runs,
    ];

    pub(super) fn definition(self) -> Definition {
        let (file, script) = match self {
            Table::DeadLetters => ("05-dead-letters.sql", texts::DEAD_LETTERS_SCRIPT),
            Table::SharedPool => ("06-shared-pool.sql", texts::SHARED_POOL_SCRIPT),
            Table::Sending => ("07-sending.sql", texts::SENDING_SCRIPT),
            Table::DelayedMessages => ("08-delayed-messages.sql", texts::DELAYED_MESSAGES_SCRIPT),
            Table::Waiters => ("09-waiters.sql", texts::WAITERS_SCRIPT),
            Table::Retries => ("10-retries.sql", texts::RETRIES_SCRIPT),
            Table::WorkItems => ("11-work-items.sql", texts::WORK_ITEMS_SCRIPT),
            Table::HandledMessages => ("12-handled-messages.sql", texts::HANDLED_MESSAGES_SCRIPT),
            Table::Runs => ("13-runs.sql", texts::RUNS_SCRIPT),
        };
        Definition { file, script }
    }
}

impl Definition {
    /// The batches of the script.
    pub(super) fn batches(&self) -> impl Iterator<Item = &'static str> {
        self.script.split("\nGO\n").map(str::trim).filter(|batch| !batch.is_empty())
    }

    /// Compares with the columns found. Columns beyond those known are left alone.
    pub(super) fn compare(&self, found: &Columns, verification: &mut Verification) {
        for Shape { name: table, columns } in self.tables() {
            let object = format!("table ssbroker.{table}");
            let Some(existing) = found.0.get(table) else {
                verification.missing.push(Finding {
                    object,
                    problem: "it does not exist".to_owned(),
                    statement: texts::run_script(self.file),
                });
                continue;
            };
            for (column, declared) in columns {
                let (problem, statement) = match existing.get(column) {
                    Some(existing) if *existing == declared => continue,
                    Some(existing) => (
                        format!("its column {column} is {existing}, not {declared}"),
                        texts::alter_column(table, column, &declared),
                    ),
                    None => {
                        (format!("it lacks the column {column}"), texts::add_column(table, column, &declared))
                    }
                };
                verification.different.push(Finding { object: object.clone(), problem, statement });
            }
        }
    }

    /// The names of its tables, with their schema.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.tables().map(|table| format!("table ssbroker.{}", table.name))
    }

    /// The tables that its script makes. Our scripts give every column a line of its own.
    fn tables(self) -> impl Iterator<Item = Shape> {
        self.script.split("CREATE TABLE [ssbroker].[").skip(1).filter_map(|rest| {
            let (name, body) = rest.split_once("] (\n")?;
            let (body, _) = body.split_once("\n    );")?;
            Some(Shape { name, columns: body.lines().filter_map(column).collect() })
        })
    }
}

/// Reads the line of a column; constraints and indexes, which begin in capitals, are none.
fn column(line: &'static str) -> Option<(&'static str, String)> {
    let (name, rest) = line.trim().split_once(' ')?;
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let ends = [" IDENTITY", " COLLATE", " NOT NULL", " NULL"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    Some((name, texts::column_type(&rest[..end], !rest.contains(" NOT NULL"))))
}

/// The columns of the tables in the schema `ssbroker`, by table and name, as declarations read.
#[derive(Debug, Default)]
pub(super) struct Columns(BTreeMap<String, BTreeMap<String, String>>);

impl Columns {
    pub(super) fn read(results: Results) -> Result<Self> {
        let mut columns = Self::default();
        for row in results.into_rows() {
            let name: String = row.get("type_name")?;
            let ty = full_type(&name, row.get("max_length")?, row.get("scale")?);
            let ty = texts::column_type(&ty, row.get("is_nullable")?);
            columns.0.entry(row.get("table_name")?).or_default().insert(row.get("column_name")?, ty);
        }
        Ok(columns)
    }
}

/// A type with its length or scale, as declared. Lengths of Unicode text count bytes in the catalog.
fn full_type(name: &str, max_length: i32, scale: i32) -> String {
    match name {
        "nvarchar" | "nchar" if max_length > 0 => format!("{name}({})", max_length / 2),
        "varchar" | "char" | "varbinary" | "binary" if max_length > 0 => format!("{name}({max_length})"),
        "nvarchar" | "varchar" | "varbinary" => format!("{name}(max)"),
        "datetime2" | "datetimeoffset" | "time" => format!("{name}({scale})"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_they_are_declared() {
        assert_eq!(full_type("nvarchar", 512, 0), "nvarchar(256)");
        assert_eq!(full_type("varbinary", -1, 0), "varbinary(max)");
        assert_eq!(full_type("datetime2", 7, 3), "datetime2(3)");
        assert_eq!(full_type("bigint", 8, 0), "bigint");
    }

    #[test]
    fn columns_are_read_from_the_scripts() {
        let shapes: Vec<Shape> =
            Table::ALL.into_iter().flat_map(|table| table.definition().tables()).collect();
        let counts: Vec<_> = shapes.iter().map(|shape| (shape.name, shape.columns.len())).collect();
        assert_eq!(
            counts,
            [
                ("attempts", 5),
                ("dead_letters", 13),
                ("pool_dialogs", 10),
                ("unsent", 11),
                ("sent_messages", 3),
                ("delayed_messages", 9),
                ("waiters", 9),
                ("waiter_messages", 4),
                ("retries", 16),
                ("work_items", 18),
                ("handled_messages", 3),
                ("runs", 9),
            ]
        );
        assert_eq!(shapes[2].columns[0], ("pool_name", "nvarchar(64) NOT NULL".to_owned()));
        assert_eq!(shapes[0].columns[3], ("last_reason", "nvarchar(2000) NULL".to_owned()));
    }

    #[test]
    fn a_missing_column_and_a_different_one_are_named_with_their_statements() {
        let definition = Table::DeadLetters.definition();
        let mut found = Columns::default();
        for table in definition.tables() {
            let all = table.columns.into_iter().map(|(name, declared)| (name.to_owned(), declared));
            found.0.insert(table.name.to_owned(), all.collect());
        }
        let mut verification = Verification::default();
        definition.compare(&found, &mut verification);
        assert!(verification.is_complete(), "{verification}");
        let letters = found.0.get_mut("dead_letters").unwrap();
        letters.remove("reason");
        letters.insert("attempts".to_owned(), "smallint NOT NULL".to_owned());
        found.0.remove("attempts");
        definition.compare(&found, &mut verification);
        assert_eq!(verification.missing()[0].object, "table ssbroker.attempts");
        let statements: Vec<&str> =
            verification.different().iter().map(|finding| finding.statement.as_str()).collect();
        assert_eq!(
            statements,
            [
                "ALTER TABLE [ssbroker].[dead_letters] ALTER COLUMN [attempts] int NOT NULL;",
                "ALTER TABLE [ssbroker].[dead_letters] ADD [reason] nvarchar(2000) NOT NULL;",
            ]
        );
    }
}
