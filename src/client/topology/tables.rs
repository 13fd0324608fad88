//! The library's own tables: which script of `sql/` makes each, and the columns it must have.
//!
//! A new table is a variant here with its script and its columns; everything else is done by `apply`.

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
}

/// The tables of one script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    /// Its file below `sql/`.
    pub(super) file: &'static str,
    /// Its text, with batches separated by `GO`.
    pub(super) script: &'static str,
    tables: &'static [Shape],
}

/// A table in the schema `ssbroker`: its name, and name, type and nullability of each column.
type Shape = (&'static str, &'static [(&'static str, &'static str, bool)]);

impl Table {
    pub(super) fn definition(self) -> Definition {
        match self {
            Table::DeadLetters => Definition {
                file: "05-dead-letters.sql",
                script: texts::DEAD_LETTERS_SCRIPT,
                tables: &[("attempts", ATTEMPTS), ("dead_letters", DEAD_LETTERS)],
            },
        }
    }
}

const ATTEMPTS: &[(&str, &str, bool)] = &[
    ("conversation_handle", "uniqueidentifier", false),
    ("message_sequence_number", "bigint", false),
    ("attempts", "int", false),
    ("last_reason", "nvarchar(2000)", true),
    ("last_attempt", "datetime2(3)", false),
];

const DEAD_LETTERS: &[(&str, &str, bool)] = &[
    ("id", "bigint", false),
    ("parked", "datetime2(3)", false),
    ("queue_name", "nvarchar(300)", false),
    ("service_name", "nvarchar(512)", false),
    ("contract_name", "nvarchar(256)", false),
    ("message_type_name", "nvarchar(256)", false),
    ("conversation_handle", "uniqueidentifier", false),
    ("conversation_group_id", "uniqueidentifier", false),
    ("message_sequence_number", "bigint", false),
    ("attempts", "int", false),
    ("reason", "nvarchar(2000)", false),
    ("message_body", "varbinary(max)", true),
];

impl Definition {
    /// The batches of the script.
    pub(super) fn batches(&self) -> impl Iterator<Item = &'static str> {
        self.script.split("\nGO\n").map(str::trim).filter(|batch| !batch.is_empty())
    }

    /// Compares with the columns found. Columns beyond those known are left alone.
    pub(super) fn compare(&self, found: &Columns, verification: &mut Verification) {
        for (table, columns) in self.tables {
            let object = format!("table ssbroker.{table}");
            let Some(existing) = found.0.get(*table) else {
                verification.missing.push(Finding {
                    object,
                    problem: "it does not exist".to_owned(),
                    statement: texts::run_script(self.file),
                });
                continue;
            };
            for (column, ty, nullable) in *columns {
                let declared = texts::column_type(ty, *nullable);
                let (problem, statement) = match existing.get(*column) {
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
        self.tables.iter().map(|(name, _)| format!("table ssbroker.{name}"))
    }
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
    fn a_missing_column_and_a_different_one_are_named_with_their_statements() {
        let definition = Table::DeadLetters.definition();
        let mut found = Columns::default();
        for (table, columns) in definition.tables {
            let all = columns
                .iter()
                .map(|(name, ty, nullable)| ((*name).to_owned(), texts::column_type(ty, *nullable)));
            found.0.insert((*table).to_owned(), all.collect());
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
