//! A queue seen as a table: the columns of spec 2.3.1 and the row a message makes.

use crate::engine::QueuedMessage;
use crate::value::{Collation, Column, Length, SqlType, Text, Value};

/// The columns of every queue, in the order of `SELECT *`.
pub(crate) fn queue_columns() -> Vec<Column> {
    let id = |name| Column::not_null(name, SqlType::UniqueIdentifier);
    let public_name = |name, length| Column {
        collation: Collation::Binary,
        ..Column::new(name, SqlType::nvarchar(length))
    };
    vec![
        Column::not_null("status", SqlType::TinyInt),
        Column::not_null("priority", SqlType::TinyInt),
        Column::not_null("queuing_order", SqlType::BigInt),
        id("conversation_group_id"),
        id("conversation_handle"),
        Column::not_null("message_sequence_number", SqlType::BigInt),
        public_name("service_name", 512),
        Column::not_null("service_id", SqlType::Int),
        public_name("service_contract_name", 256),
        Column::not_null("service_contract_id", SqlType::Int),
        public_name("message_type_name", 256),
        Column::not_null("message_type_id", SqlType::Int),
        Column::not_null("validation", SqlType::NChar(2)),
        Column::new("message_body", SqlType::VarBinary(Length::Max)),
        id("message_id"),
        Column::new("message_enqueue_time", SqlType::DateTime),
    ]
}

/// The values of a message in the order of [`queue_columns`].
pub(crate) fn queue_row(message: &QueuedMessage) -> Vec<Value> {
    let name = |name: &str| Value::Text(Text::unicode(name).with_collation(Collation::Binary));
    vec![
        Value::TinyInt(message.status.code()),
        Value::TinyInt(message.priority),
        Value::BigInt(message.queuing_order),
        Value::Uuid(message.group),
        Value::Uuid(message.handle),
        Value::BigInt(message.sequence),
        name(&message.service_name),
        Value::Int(message.service.0),
        name(&message.contract_name),
        Value::Int(message.contract.0),
        name(&message.message_type_name),
        Value::Int(message.message_type.0),
        Value::nvarchar(&format!("{:<2}", message.validation.code())),
        message.body.clone().map_or(Value::Null, Value::Binary),
        Value::Uuid(message.message_id),
        Value::DateTime(message.enqueued.to_datetime()),
    ]
}
