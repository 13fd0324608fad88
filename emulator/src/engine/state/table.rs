//! The rows of one table, with the indexes of its unique keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::engine::definitions::{KeyDef, TableDef};
use crate::engine::ids::{RowId, TxnId};
use crate::value::{Collation, Decimal, Text, Value};

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Values in the order of the table's columns.
    pub values: Arc<[Value]>,
    /// The open transaction that deleted it: until that commits, the row is a ghost that others wait for.
    pub deleted_by: Option<TxnId>,
}

/// The comparison form of a unique key: two rows have the same key if and only if these bytes are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RowKey(Box<[u8]>);

impl RowKey {
    /// The key of `values` by the columns of `key`.
    fn of(key: &KeyDef, values: &[Value]) -> RowKey {
        RowKey::of_values(key.columns.iter().map(|column| &values[*column]))
    }

    /// The key made of these values.
    fn of_values<'a>(values: impl Iterator<Item = &'a Value>) -> RowKey {
        let mut bytes = Vec::with_capacity(16);
        for value in values {
            push_value(&mut bytes, value);
        }
        RowKey(bytes.into())
    }
}

/// Rows by id, which is the order of insertion.
#[derive(Debug, Default)]
pub struct TableData {
    rows: BTreeMap<RowId, Arc<Row>>,
    /// Unique keys with their index; a key may have ghosts beside its one live row.
    indexes: Vec<(KeyDef, HashMap<RowKey, Vec<RowId>>)>,
    next_row: u64,
    last_identity: Option<i64>,
}

impl TableData {
    /// An empty table of that shape.
    pub fn new(def: &TableDef) -> TableData {
        let indexes = def.keys.iter().filter(|key| key.unique).map(|key| (key.clone(), HashMap::new()));
        TableData { indexes: indexes.collect(), ..TableData::default() }
    }

    /// The row of that id, ghost or not.
    pub fn get(&self, id: RowId) -> Option<&Arc<Row>> {
        self.rows.get(&id)
    }

    /// All rows in order of insertion, ghosts among them.
    pub fn iter(&self) -> impl Iterator<Item = (RowId, &Arc<Row>)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    /// How many rows there are, ghosts among them.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row, not even a ghost.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The unique keys, each with the rows (ghosts among them) that have the key of `values`.
    pub fn same_keys<'a>(&'a self, values: &'a [Value]) -> impl Iterator<Item = (&'a KeyDef, &'a [RowId])> {
        self.indexes.iter().map(move |(key, index)| {
            let rows = index.get(&RowKey::of(key, values));
            (key, rows.map_or(&[][..], Vec::as_slice))
        })
    }

    /// The rows (ghosts among them) whose columns of the unique key `name` have these values; `None` without such a key.
    pub fn find(&self, name: &str, values: &[Value]) -> Option<&[RowId]> {
        let (_, index) = self.indexes.iter().find(|(key, _)| &*key.name == name)?;
        Some(index.get(&RowKey::of_values(values.iter())).map_or(&[][..], Vec::as_slice))
    }

    /// The identity value given last; `None` before the first.
    pub fn last_identity(&self) -> Option<i64> {
        self.last_identity
    }

    /// Notes an identity value as given; roll back does not take it back, as on the server.
    pub(in crate::engine) fn set_last_identity(&mut self, value: Option<i64>) {
        self.last_identity = value;
    }

    /// An id for a new row. It is not given again, even when the row is rolled back.
    pub(in crate::engine) fn allocate_row(&mut self) -> RowId {
        let id = RowId(self.next_row);
        self.next_row += 1;
        id
    }

    /// Puts, replaces or removes the row of `id`; gives the row before.
    pub(in crate::engine) fn put(&mut self, id: RowId, value: Option<Arc<Row>>) -> Option<Arc<Row>> {
        let before = match value.clone() {
            Some(row) => self.rows.insert(id, row),
            None => self.rows.remove(&id),
        };
        for (key, index) in &mut self.indexes {
            let keys = [&before, &value].map(|row| row.as_ref().map(|row| RowKey::of(key, &row.values)));
            reindex(index, id, keys);
        }
        self.next_row = self.next_row.max(id.0 + 1);
        before
    }
}

fn reindex(index: &mut HashMap<RowKey, Vec<RowId>>, id: RowId, [before, after]: [Option<RowKey>; 2]) {
    if before == after {
        return;
    }
    if let Some(key) = before
        && let Some(rows) = index.get_mut(&key)
    {
        rows.retain(|row| *row != id);
        if rows.is_empty() {
            index.remove(&key);
        }
    }
    if let Some(key) = after {
        index.entry(key).or_default().push(id);
    }
}

/// Columns are typed, so values of one column have one form; a tag and a length keep neighbours apart.
fn push_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.push(0),
        Value::Bit(value) => push(bytes, 1, &[u8::from(*value)]),
        Value::TinyInt(value) => push_number(bytes, i64::from(*value)),
        Value::SmallInt(value) => push_number(bytes, i64::from(*value)),
        Value::Int(value) => push_number(bytes, i64::from(*value)),
        Value::BigInt(value) => push_number(bytes, *value),
        Value::Money(value) => push_number(bytes, *value),
        Value::Decimal(value) => push_decimal(bytes, *value),
        Value::Real(value) => push(bytes, 3, &(value + 0.0).to_bits().to_le_bytes()),
        Value::Float(value) => push(bytes, 3, &(value + 0.0).to_bits().to_le_bytes()),
        Value::Text(text) | Value::Xml(text) => push_text(bytes, text),
        Value::Binary(value) => push(bytes, 5, value),
        Value::Uuid(value) => push(bytes, 6, value.as_bytes()),
        Value::Date(value) => push_number(bytes, i64::from(value.0)),
        Value::Time(value) => push(bytes, 7, &value.ticks.to_le_bytes()),
        Value::DateTime(value) => {
            push_number(bytes, i64::from(value.days));
            push_number(bytes, i64::from(value.thirds));
        }
        Value::DateTime2(value) => push_moment(bytes, *value),
        Value::DateTimeOffset(value) => push_moment(bytes, value.utc),
    }
}

fn push(bytes: &mut Vec<u8>, tag: u8, content: &[u8]) {
    bytes.push(tag);
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(content);
}

fn push_number(bytes: &mut Vec<u8>, value: i64) {
    push(bytes, 2, &value.to_le_bytes());
}

fn push_moment(bytes: &mut Vec<u8>, value: crate::value::DateTime2) {
    push_number(bytes, i64::from(value.date.0));
    push(bytes, 7, &value.time.ticks.to_le_bytes());
}

fn push_decimal(bytes: &mut Vec<u8>, value: Decimal) {
    let Decimal { mut unscaled, mut scale } = value;
    while scale > 0 && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
    }
    push(bytes, 8, &[&unscaled.to_le_bytes()[..], &[scale]].concat());
}

fn push_text(bytes: &mut Vec<u8>, text: &Text) {
    let folded = match text.collation() {
        Collation::CaseInsensitive => text.to_string().to_lowercase(),
        Collation::Binary => text.to_string(),
    };
    push(bytes, 4, folded.trim_end_matches(' ').as_bytes());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Row, RowKey, TableData};
    use crate::engine::definitions::{KeyDef, TableDef};
    use crate::engine::ids::RowId;
    use crate::value::{Collation, Decimal, Text, Value};

    fn key(values: &[Value]) -> RowKey {
        RowKey::of_values(values.iter())
    }

    #[test]
    fn keys_compare_as_the_collation_says() {
        assert_eq!(key(&[Value::nvarchar("Ab ")]), key(&[Value::varchar("aB")]));
        let binary = |text| Value::Text(Text::unicode(text).with_collation(Collation::Binary));
        assert_ne!(key(&[binary("Ab")]), key(&[binary("ab")]));
    }

    #[test]
    fn keys_compare_numbers_by_value_and_keep_columns_apart() {
        let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
        assert_eq!(key(&[decimal(150, 2)]), key(&[decimal(15, 1)]));
        assert_eq!(key(&[Value::Float(0.0)]), key(&[Value::Float(-0.0)]));
        let (a, bc, ab, c) =
            (Value::varchar("a"), Value::varchar("bc"), Value::varchar("ab"), Value::varchar("c"));
        assert_ne!(key(&[a, bc]), key(&[ab, c]));
    }

    #[test]
    fn unique_indexes_follow_rows() {
        let primary = KeyDef {
            name: "pk".into(),
            columns: vec![0],
            primary: true,
            unique: true,
            constraint: true,
            ignore_duplicates: false,
        };
        let def = TableDef { columns: Vec::new(), keys: vec![primary], ..TableDef::default() };
        let mut table = TableData::new(&def);
        let row = |number: i32| Some(Arc::new(Row { values: [Value::Int(number)].into(), deleted_by: None }));
        let id = table.allocate_row();
        table.put(id, row(1));
        let before = table.put(id, row(2));
        assert_eq!(table.find("pk", &[Value::Int(1)]), Some(&[][..]));
        assert_eq!(table.find("pk", &[Value::Int(2)]), Some(&[RowId(0)][..]));
        table.put(id, before);
        assert_eq!(table.same_keys(&[Value::Int(1)]).next().unwrap().1, [RowId(0)]);
    }
}
