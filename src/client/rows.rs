//! What a request answered: result sets, rows and row counts, all read to the end and owned.
//!
//! Nothing here knows the driver or borrows from a connection.

use std::sync::Arc;

use super::error::{Error, Result};
use super::values::{FromSqlValue, SqlValue};

/// Everything one request answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    sets: Vec<ResultSet>,
    row_counts: Vec<u64>,
}

impl Results {
    pub(crate) fn new(sets: Vec<ResultSet>, row_counts: Vec<u64>) -> Self {
        Self { sets, row_counts }
    }

    /// The result sets, in the order in which the server sent them.
    #[must_use]
    pub fn sets(&self) -> &[ResultSet] {
        &self.sets
    }

    /// The result sets, for taking the rows out.
    #[must_use]
    pub fn into_sets(self) -> Vec<ResultSet> {
        self.sets
    }

    /// The row counts the server reported, one for each statement that counted rows. Empty under `SET NOCOUNT ON`,
    /// and empty for plain batches, whose counts the driver does not pass on.
    #[must_use]
    pub fn row_counts(&self) -> &[u64] {
        &self.row_counts
    }

    /// The first row of the first result set that has one.
    #[must_use]
    pub fn first_row(&self) -> Option<&Row> {
        self.sets.iter().find_map(|set| set.rows.first())
    }

    /// All rows of all result sets, in order.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.sets.into_iter().flat_map(|set| set.rows).collect()
    }
}

/// One result set: its column names and its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultSet {
    columns: Arc<[String]>,
    rows: Vec<Row>,
}

impl ResultSet {
    /// Makes an empty result set with these columns; also useful to callers that test their own row handling.
    #[must_use]
    pub fn new(columns: Vec<String>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When the number of values differs from the number of columns.
    pub fn push(&mut self, values: Vec<SqlValue>) {
        assert_eq!(values.len(), self.columns.len(), "a row has one value for each column");
        self.rows.push(Row { columns: Arc::clone(&self.columns), values });
    }

    /// The names of the columns, in order; a column without a name has an empty one.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows, by value.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<SqlValue>,
}

impl Row {
    /// The value of a column, named by position (`usize`) or by name (`&str`, upper and lower case alike).
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when there is no such column.
    pub fn value(&self, column: impl ColumnIndex) -> Result<&SqlValue> {
        let position = column.position(&self.columns)?;
        Ok(&self.values[position])
    }

    /// The value of a column, converted.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when there is no such column or its value has another type. The
    /// text names the column.
    pub fn get<T: FromSqlValue>(&self, column: impl ColumnIndex) -> Result<T> {
        let position = column.position(&self.columns)?;
        T::from_sql_value(&self.values[position])
            .map_err(|error| Error::value(format!("column {}: {error}", self.column_label(position))))
    }

    /// Takes a value out of the row, leaving NULL: for large bodies, which are then not copied.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when there is no such column.
    pub fn take(&mut self, column: impl ColumnIndex) -> Result<SqlValue> {
        let position = column.position(&self.columns)?;
        Ok(std::mem::replace(&mut self.values[position], SqlValue::Null))
    }

    /// The values in column order.
    #[must_use]
    pub fn values(&self) -> &[SqlValue] {
        &self.values
    }

    /// The names of the columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    fn column_label(&self, position: usize) -> String {
        match self.columns[position].as_str() {
            "" => (position + 1).to_string(),
            name => format!("'{name}'"),
        }
    }
}

/// A way of naming a column: its position from 0, or its name.
pub trait ColumnIndex {
    /// The position among these columns.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when there is no such column.
    fn position(&self, columns: &[String]) -> Result<usize>;
}

impl ColumnIndex for usize {
    fn position(&self, columns: &[String]) -> Result<usize> {
        if *self < columns.len() {
            return Ok(*self);
        }
        Err(Error::value(format!("there is no column at position {self}: the row has {}", columns.len())))
    }
}

impl ColumnIndex for &str {
    fn position(&self, columns: &[String]) -> Result<usize> {
        columns.iter().position(|column| column.eq_ignore_ascii_case(self)).ok_or_else(|| {
            Error::value(format!("there is no column '{self}': the row has {}", columns.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut set = ResultSet::new(vec!["Id".into(), String::new()]);
        set.push(vec![SqlValue::I32(7), SqlValue::Bytes(vec![1, 2])]);
        set.into_rows().remove(0)
    }

    #[test]
    fn columns_are_found_by_position_and_by_name_in_any_case() {
        assert_eq!(row().get::<i32>(0).unwrap(), 7);
        assert_eq!(row().get::<i64>("ID").unwrap(), 7);
        assert!(row().value("nope").unwrap_err().to_string().contains("'nope'"));
        assert!(row().value(2).is_err());
    }

    #[test]
    fn a_conversion_error_names_the_column() {
        assert!(row().get::<String>("id").unwrap_err().to_string().contains("column 'Id'"));
        assert!(row().get::<String>(1).unwrap_err().to_string().contains("column 2"));
    }

    #[test]
    fn taking_a_value_leaves_null() {
        let mut row = row();
        assert_eq!(row.take(1).unwrap(), SqlValue::Bytes(vec![1, 2]));
        assert!(row.value(1).unwrap().is_null());
    }
}
