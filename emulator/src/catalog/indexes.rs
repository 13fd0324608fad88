//! `sys.indexes`: heaps, keys and indexes of tables. Clustering means nothing here; a primary key shows as clustered.

use super::{View, ViewColumn, bit, name, optional, required, visible};
use crate::engine::{DatabaseId, KeyDef, Object, ObjectKind, Op, Securable, Tx};
use crate::value::{SqlType, Value};

pub(super) const VIEWS: &[View] = &[View { schema: "sys", name: "indexes", columns: INDEXES, rows: indexes }];

const INDEXES: &[ViewColumn] = &[
    required("object_id", SqlType::Int),
    optional("name", SqlType::SYSNAME),
    required("index_id", SqlType::Int),
    required("type", SqlType::TinyInt),
    optional("type_desc", SqlType::nvarchar(60)),
    optional("is_unique", SqlType::Bit),
    optional("data_space_id", SqlType::Int),
    optional("ignore_dup_key", SqlType::Bit),
    optional("is_primary_key", SqlType::Bit),
    optional("is_unique_constraint", SqlType::Bit),
    required("fill_factor", SqlType::TinyInt),
    optional("is_padded", SqlType::Bit),
    optional("is_disabled", SqlType::Bit),
    optional("is_hypothetical", SqlType::Bit),
    optional("allow_row_locks", SqlType::Bit),
    optional("allow_page_locks", SqlType::Bit),
    optional("has_filter", SqlType::Bit),
    optional("filter_definition", SqlType::NVarChar(crate::value::Length::Max)),
];

fn indexes(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    let seen = database.objects.iter().filter(|it| visible(tx, Securable::Object(database.def.id, it.id)));
    Ok(seen.flat_map(|object| indexes_of(object)).collect())
}

fn indexes_of(object: &Object) -> Vec<Vec<Value>> {
    let ObjectKind::Table(table) = &object.kind else { return Vec::new() };
    let clustered = table.keys.iter().any(|key| key.primary);
    let mut rows = Vec::with_capacity(table.keys.len() + 1);
    if !clustered {
        rows.push(row(object, (0, 0, "HEAP"), None));
    }
    let mut next = 2;
    for key in &table.keys {
        if key.primary {
            rows.push(row(object, (1, 1, "CLUSTERED"), Some(key)));
        } else {
            rows.push(row(object, (next, 2, "NONCLUSTERED"), Some(key)));
            next += 1;
        }
    }
    rows
}

fn row(object: &Object, (id, kind, description): (i32, u8, &str), key: Option<&KeyDef>) -> Vec<Value> {
    vec![
        object.id.0.into(),
        key.map_or(Value::Null, |key| name(&key.name)),
        id.into(),
        Value::TinyInt(kind),
        name(description),
        bit(key.is_some_and(|key| key.unique)),
        1.into(),
        bit(key.is_some_and(|key| key.ignore_duplicates)),
        bit(key.is_some_and(|key| key.primary)),
        bit(key.is_some_and(|key| key.constraint && !key.primary)),
        Value::TinyInt(0),
        bit(false),
        bit(false),
        bit(false),
        bit(true),
        bit(true),
        bit(false),
        Value::Null,
    ]
}
