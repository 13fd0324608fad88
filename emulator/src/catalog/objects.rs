//! Views of schemas and schema objects: tables, columns, queues, procedures (spec 8).

use std::sync::Arc;

use super::{View, ViewColumn, bit, datetime, fixed, name, optional, required, visible};
use crate::engine::{
    Activation, DatabaseId, DatabaseState, ModuleKind, Object, ObjectKey, ObjectKind, Op, QueueDef,
    Securable, TableColumn, Tx,
};
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View { schema: "sys", name: "schemas", columns: SCHEMAS, rows: schemas },
    View { schema: "sys", name: "objects", columns: OBJECTS, rows: objects },
    View { schema: "sys", name: "tables", columns: OBJECTS, rows: tables },
    View { schema: "sys", name: "procedures", columns: OBJECTS, rows: procedures },
    View { schema: "sys", name: "columns", columns: COLUMNS, rows: columns },
    View { schema: "sys", name: "service_queues", columns: SERVICE_QUEUES, rows: service_queues },
    View { schema: "sys", name: "internal_tables", columns: OBJECTS, rows: internal_tables },
    View { schema: "sys", name: "partitions", columns: PARTITIONS, rows: partitions },
    View { schema: "INFORMATION_SCHEMA", name: "SCHEMATA", columns: SCHEMATA, rows: schemata },
];

const SCHEMAS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("schema_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
];

fn schemas(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    Ok(database.schemas.iter().map(|it| vec![name(&it.name), it.id.0.into(), it.owner.0.into()]).collect())
}

const SCHEMATA: &[ViewColumn] = &[
    optional("CATALOG_NAME", SqlType::SYSNAME),
    required("SCHEMA_NAME", SqlType::SYSNAME),
    optional("SCHEMA_OWNER", SqlType::SYSNAME),
    optional("DEFAULT_CHARACTER_SET_CATALOG", SqlType::varchar(6)),
    optional("DEFAULT_CHARACTER_SET_SCHEMA", SqlType::varchar(3)),
    optional("DEFAULT_CHARACTER_SET_NAME", SqlType::SYSNAME),
];

fn schemata(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    let owner = |schema: &crate::engine::Schema| {
        database.users.get(schema.owner).map_or(Value::Null, |it| name(&it.name))
    };
    let row = |schema: &crate::engine::Schema| {
        vec![
            name(&database.def.name),
            name(&schema.name),
            owner(schema),
            Value::Null,
            Value::Null,
            name("iso_1"),
        ]
    };
    Ok(database.schemas.iter().map(|schema| row(schema)).collect())
}

const OBJECTS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("object_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    required("schema_id", SqlType::Int),
    required("parent_object_id", SqlType::Int),
    optional("type", SqlType::Char(2)),
    optional("type_desc", SqlType::nvarchar(60)),
    required("create_date", SqlType::DateTime),
    required("modify_date", SqlType::DateTime),
    required("is_ms_shipped", SqlType::Bit),
    required("is_published", SqlType::Bit),
    required("is_schema_published", SqlType::Bit),
];

fn objects(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_where(tx, database, |_| true, object_row))
}

fn tables(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_where(tx, database, |kind| matches!(kind, ObjectKind::Table(_)), object_row))
}

fn procedures(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let is_procedure = |kind: &ObjectKind| matches!(kind, ObjectKind::Procedure(module) if module.kind == ModuleKind::Procedure);
    Ok(rows_where(tx, database, is_procedure, object_row))
}

fn rows_where(
    tx: &Tx<'_>,
    database: DatabaseId,
    wanted: impl Fn(&ObjectKind) -> bool,
    row: impl Fn(&Object) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let objects = tx.state().database(database).map(|database| &database.objects);
    let objects = objects.into_iter().flat_map(|objects| objects.iter());
    let seen = |object: &Object| visible(tx, Securable::Object(database, object.id));
    objects.filter(|object| wanted(&object.kind) && seen(object)).map(|object| row(object)).collect()
}

fn object_row(it: &Object) -> Vec<Value> {
    vec![
        name(&it.name),
        it.id.0.into(),
        it.owner.map(|owner| owner.0).into(),
        it.schema.0.into(),
        0.into(),
        fixed(it.kind.type_code(), 2),
        name(it.kind.type_description()),
        datetime(it.created),
        datetime(it.modified),
        bit(it.is_system),
        bit(false),
        bit(false),
    ]
}

const SERVICE_QUEUES: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("object_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    required("schema_id", SqlType::Int),
    required("parent_object_id", SqlType::Int),
    optional("type", SqlType::Char(2)),
    optional("type_desc", SqlType::nvarchar(60)),
    required("create_date", SqlType::DateTime),
    required("modify_date", SqlType::DateTime),
    required("is_ms_shipped", SqlType::Bit),
    required("is_published", SqlType::Bit),
    required("is_schema_published", SqlType::Bit),
    optional("max_readers", SqlType::SmallInt),
    optional("activation_procedure", SqlType::nvarchar(776)),
    optional("execute_as_principal_id", SqlType::Int),
    required("is_activation_enabled", SqlType::Bit),
    required("is_receive_enabled", SqlType::Bit),
    required("is_enqueue_enabled", SqlType::Bit),
    required("is_retention_enabled", SqlType::Bit),
    optional("is_poison_message_handling_enabled", SqlType::Bit),
];

fn service_queues(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_where(
        tx,
        database,
        |kind| matches!(kind, ObjectKind::Queue(_)),
        |object| {
            let mut row = object_row(object);
            if let ObjectKind::Queue(queue) = &object.kind {
                row.extend(queue_columns(queue));
            }
            row
        },
    ))
}

fn queue_columns(it: &QueueDef) -> [Value; 8] {
    let activation = it.activation.as_ref();
    let readers =
        activation.map_or(0, |activation| i16::try_from(activation.max_readers).unwrap_or(i16::MAX));
    [
        Value::SmallInt(readers),
        activation.map_or(Value::Null, |activation| name(&activation_procedure(activation))),
        activation.map(|activation| activation.execute_as.catalog_value()).into(),
        bit(activation.is_some_and(|activation| activation.enabled)),
        bit(it.receive_enabled),
        bit(it.enqueue_enabled),
        bit(it.retention),
        bit(it.poison_handling),
    ]
}

/// Two bracketed parts, three only when the statement named another database (U-51).
fn activation_procedure(it: &Activation) -> String {
    let parts = it.database.iter().chain([&it.schema, &it.procedure]);
    parts.map(|part: &Arc<str>| format!("[{}]", part.replace(']', "]]"))).collect::<Vec<_>>().join(".")
}

const COLUMNS: &[ViewColumn] = &[
    required("object_id", SqlType::Int),
    optional("name", SqlType::SYSNAME),
    required("column_id", SqlType::Int),
    required("system_type_id", SqlType::TinyInt),
    required("user_type_id", SqlType::Int),
    required("max_length", SqlType::SmallInt),
    required("precision", SqlType::TinyInt),
    required("scale", SqlType::TinyInt),
    optional("collation_name", SqlType::SYSNAME),
    optional("is_nullable", SqlType::Bit),
    required("is_ansi_padded", SqlType::Bit),
    required("is_rowguidcol", SqlType::Bit),
    required("is_identity", SqlType::Bit),
    required("is_computed", SqlType::Bit),
];

fn columns(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    let seen = |object: &&Arc<Object>| visible(tx, Securable::Object(database.def.id, object.id));
    Ok(database.objects.iter().filter(seen).flat_map(|object| columns_of(object)).collect())
}

fn columns_of(object: &Object) -> Vec<Vec<Value>> {
    let ObjectKind::Table(table) = &object.kind else { return Vec::new() };
    let columns = table.columns.iter().enumerate();
    columns.map(|(index, column)| column_row(object, index, column)).collect()
}

fn column_row(object: &Object, index: usize, it: &TableColumn) -> Vec<Value> {
    let facets = Facets::of(it.column.ty);
    let collation = if it.column.ty.is_text() { name(it.column.collation.name()) } else { Value::Null };
    vec![
        object.id.0.into(),
        name(&it.column.name),
        i32::try_from(index + 1).unwrap_or(i32::MAX).into(),
        Value::TinyInt(facets.id),
        i32::from(facets.id).into(),
        Value::SmallInt(facets.max_length),
        Value::TinyInt(facets.precision),
        Value::TinyInt(facets.scale),
        collation,
        bit(it.column.nullable),
        bit(it.column.ty.is_text() || it.column.ty.is_binary()),
        bit(false),
        bit(it.identity.is_some()),
        bit(it.computed.is_some()),
    ]
}

/// What `sys.columns` says of a type: its number in `sys.types`, length in bytes (-1 for max), precision, scale.
struct Facets {
    id: u8,
    max_length: i16,
    precision: u8,
    scale: u8,
}

impl Facets {
    const fn new(id: u8, max_length: i16, precision: u8, scale: u8) -> Facets {
        Facets { id, max_length, precision, scale }
    }

    fn of(ty: SqlType) -> Facets {
        match ty {
            SqlType::Bit => Facets::new(104, 1, 1, 0),
            SqlType::TinyInt => Facets::new(48, 1, 3, 0),
            SqlType::SmallInt => Facets::new(52, 2, 5, 0),
            SqlType::Int => Facets::new(56, 4, 10, 0),
            SqlType::BigInt => Facets::new(127, 8, 19, 0),
            SqlType::Decimal { precision, scale } => {
                Facets::new(106, decimal_bytes(precision), precision, scale)
            }
            SqlType::Money => Facets::new(60, 8, 19, 4),
            SqlType::SmallMoney => Facets::new(122, 4, 10, 4),
            SqlType::Real => Facets::new(59, 4, 24, 0),
            SqlType::Float => Facets::new(62, 8, 53, 0),
            SqlType::UniqueIdentifier => Facets::new(36, 16, 0, 0),
            SqlType::Xml => Facets::new(241, -1, 0, 0),
            SqlType::RowVersion => Facets::new(189, 8, 0, 0),
            SqlType::SqlVariant => Facets::new(98, 8016, 0, 0),
            ty if ty.is_text() || ty.is_binary() => Facets::of_string(ty),
            ty => Facets::of_moment(ty),
        }
    }

    fn of_string(ty: SqlType) -> Facets {
        let (id, length) = match ty {
            SqlType::Char(n) => (175, Length::Limited(n)),
            SqlType::VarChar(length) => (167, length),
            SqlType::NChar(n) => (239, Length::Limited(n * 2)),
            SqlType::NVarChar(Length::Limited(n)) => (231, Length::Limited(n * 2)),
            SqlType::NVarChar(Length::Max) => (231, Length::Max),
            SqlType::Text => (35, Length::Limited(16)),
            SqlType::NText => (99, Length::Limited(16)),
            SqlType::Binary(n) => (173, Length::Limited(n)),
            SqlType::VarBinary(length) => (165, length),
            _ => (34, Length::Limited(16)),
        };
        let bytes = match length {
            Length::Limited(n) => i16::try_from(n).unwrap_or(i16::MAX),
            Length::Max => -1,
        };
        Facets::new(id, bytes, 0, 0)
    }

    fn of_moment(ty: SqlType) -> Facets {
        match ty {
            SqlType::Date => Facets::new(40, 3, 10, 0),
            SqlType::DateTime => Facets::new(61, 8, 23, 3),
            SqlType::SmallDateTime => Facets::new(58, 4, 16, 0),
            SqlType::Time(scale) => {
                Facets::new(41, time_bytes(scale), 8 + scale + u8::from(scale > 0), scale)
            }
            SqlType::DateTime2(scale) => {
                Facets::new(42, time_bytes(scale) + 3, 19 + scale + u8::from(scale > 0), scale)
            }
            SqlType::DateTimeOffset(scale) => {
                Facets::new(43, time_bytes(scale) + 5, 26 + scale + u8::from(scale > 0), scale)
            }
            _ => Facets::new(0, 0, 0, 0),
        }
    }
}

fn decimal_bytes(precision: u8) -> i16 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

fn time_bytes(scale: u8) -> i16 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Ids of a queue's internal table are the queue's own with the sign turned: unique, and the way back is easy.
fn internal_id(queue: &Object) -> i32 {
    -queue.id.0
}

/// One internal table for each queue; with `sys.partitions` it makes the usual count that reads no message (spec 8).
fn internal_tables(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_where(
        tx,
        database,
        |kind| matches!(kind, ObjectKind::Queue(_)),
        |queue| {
            let mut row = object_row(queue);
            row[0] = name(&format!("queue_messages_{}", queue.id.0));
            row[1] = internal_id(queue).into();
            row[4] = queue.id.0.into();
            row[5] = fixed("IT", 2);
            row[6] = name("INTERNAL_TABLE");
            row[9] = bit(true);
            row
        },
    ))
}

const PARTITIONS: &[ViewColumn] = &[
    required("partition_id", SqlType::BigInt),
    required("object_id", SqlType::Int),
    required("index_id", SqlType::Int),
    required("partition_number", SqlType::Int),
    required("hobt_id", SqlType::BigInt),
    optional("rows", SqlType::BigInt),
    required("filestream_filegroup_id", SqlType::SmallInt),
    required("data_compression", SqlType::TinyInt),
    optional("data_compression_desc", SqlType::nvarchar(60)),
];

/// Row counts without reading rows: messages of each queue (retained and locked ones included), rows of each table.
fn partitions(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(state) = tx.state().database(database) else { return Ok(Vec::new()) };
    let seen = |object: &&Arc<Object>| visible(tx, Securable::Object(database, object.id));
    Ok(state.objects.iter().filter(seen).filter_map(|object| partition_row(tx, state, object)).collect())
}

/// The same of every object, whether the acting principal sees it or not.
pub(super) fn all_partitions(tx: &Tx<'_>, database: DatabaseId) -> Vec<Vec<Value>> {
    let Some(state) = tx.state().database(database) else { return Vec::new() };
    state.objects.iter().filter_map(|object| partition_row(tx, state, object)).collect()
}

fn partition_row(tx: &Tx<'_>, database: &DatabaseState, object: &Object) -> Option<Vec<Value>> {
    let key = ObjectKey { database: database.def.id, object: object.id };
    let (id, index, count) = match &object.kind {
        ObjectKind::Queue(_) => {
            (internal_id(object), 1, tx.state().queues.get(&key).map_or(0, |queue| queue.len()))
        }
        ObjectKind::Table(table) => {
            let clustered = table.keys.iter().any(|index| index.primary);
            (object.id.0, i32::from(clustered), tx.state().tables.get(&key).map_or(0, |table| table.len()))
        }
        ObjectKind::Procedure(_) => return None,
    };
    let partition = i64::from(id) << 16;
    let rows = i64::try_from(count).unwrap_or(i64::MAX);
    Some(vec![
        partition.into(),
        id.into(),
        index.into(),
        1.into(),
        partition.into(),
        rows.into(),
        Value::SmallInt(0),
        Value::TinyInt(0),
        name("NONE"),
    ])
}
