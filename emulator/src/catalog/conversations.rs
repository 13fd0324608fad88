//! Views of conversations and of messages on their way (spec 3.4, 4.2).

use super::{
    View, ViewColumn, binary_name, bit, datetime, fixed, name, optional, public_name, required,
    unset_datetime,
};
use crate::engine::{DatabaseId, Endpoint, MessageKind, Op, TransmissionRow, Tx};
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View { schema: "sys", name: "conversation_endpoints", columns: ENDPOINTS, rows: conversation_endpoints },
    View { schema: "sys", name: "conversation_groups", columns: GROUPS, rows: conversation_groups },
    View { schema: "sys", name: "transmission_queue", columns: TRANSMISSION, rows: transmission_queue },
];

const ENDPOINTS: &[ViewColumn] = &[
    required("conversation_handle", SqlType::UniqueIdentifier),
    required("conversation_id", SqlType::UniqueIdentifier),
    required("is_initiator", SqlType::TinyInt),
    required("service_contract_id", SqlType::Int),
    required("conversation_group_id", SqlType::UniqueIdentifier),
    required("service_id", SqlType::Int),
    required("lifetime", SqlType::DateTime),
    required("state", SqlType::Char(2)),
    optional("state_desc", SqlType::nvarchar(60)),
    public_name("far_service", SqlType::nvarchar(256)),
    optional("far_broker_instance", SqlType::nvarchar(128)),
    required("principal_id", SqlType::Int),
    required("far_principal_id", SqlType::Int),
    required("outbound_session_key_identifier", SqlType::UniqueIdentifier),
    required("inbound_session_key_identifier", SqlType::UniqueIdentifier),
    required("security_timestamp", SqlType::DateTime),
    required("dialog_timer", SqlType::DateTime),
    required("send_sequence", SqlType::BigInt),
    required("last_send_tran_id", SqlType::Binary(6)),
    required("end_dialog_sequence", SqlType::BigInt),
    required("receive_sequence", SqlType::BigInt),
    required("receive_sequence_frag", SqlType::Int),
    required("system_sequence", SqlType::BigInt),
    required("first_out_of_order_sequence", SqlType::BigInt),
    required("last_out_of_order_sequence", SqlType::BigInt),
    required("last_out_of_order_frag", SqlType::Int),
    required("is_system", SqlType::Bit),
    required("priority", SqlType::TinyInt),
];

fn conversation_endpoints(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(tx.state().endpoints.of_database(database).map(|endpoint| endpoint_row(endpoint)).collect())
}

fn endpoint_row(it: &Endpoint) -> Vec<Value> {
    // The dialogs are never encrypted, so there are no session keys.
    let no_key = || Value::Uuid(uuid::Uuid::nil());
    vec![
        it.handle.into(),
        it.conversation_id.into(),
        Value::TinyInt(it.is_initiator.into()),
        it.contract.0.into(),
        it.group.into(),
        it.service.0.into(),
        datetime(it.expires),
        fixed(it.state().code(), 2),
        name(it.state().description()),
        binary_name(&it.far_service),
        it.inbound.far_broker_instance.as_deref().map_or(Value::Null, name),
        it.owner.0.into(),
        // Nobody is authenticated from afar.
        (-1).into(),
        no_key(),
        no_key(),
        it.inbound.purge_after.map_or_else(unset_datetime, datetime),
        it.inbound.timer.map_or_else(unset_datetime, datetime),
        it.own.send_sequence.into(),
        transaction_id(it),
        // Idle values of the sequence columns are assumed: -1 for "none" (U-26).
        it.own.end_dialog_sequence.unwrap_or(-1).into(),
        it.inbound.receive_sequence.into(),
        0.into(),
        0_i64.into(),
        (-1_i64).into(),
        (-1_i64).into(),
        0.into(),
        bit(it.is_system),
        Value::TinyInt(it.priority),
    ]
}

/// `last_send_tran_id`: the low six bytes of the transaction's number.
fn transaction_id(endpoint: &Endpoint) -> Value {
    let bytes = endpoint.own.last_send.map_or(0, |txn| txn.0).to_le_bytes();
    Value::Binary(bytes::Bytes::copy_from_slice(&bytes[..6]))
}

const GROUPS: &[ViewColumn] = &[
    required("conversation_group_id", SqlType::UniqueIdentifier),
    required("service_id", SqlType::Int),
    optional("is_system", SqlType::Bit),
];

fn conversation_groups(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let groups = tx.state().groups.values().filter(|group| group.database == database);
    Ok(groups.map(|it| vec![it.id.into(), it.service.0.into(), bit(it.is_system)]).collect())
}

const TRANSMISSION: &[ViewColumn] = &[
    required("conversation_handle", SqlType::UniqueIdentifier),
    public_name("to_service_name", SqlType::nvarchar(256)),
    optional("to_broker_instance", SqlType::nvarchar(128)),
    public_name("from_service_name", SqlType::nvarchar(256)),
    public_name("service_contract_name", SqlType::nvarchar(256)),
    required("enqueue_time", SqlType::DateTime),
    required("message_sequence_number", SqlType::BigInt),
    public_name("message_type_name", SqlType::nvarchar(256)),
    required("is_conversation_error", SqlType::Bit),
    required("is_end_of_dialog", SqlType::Bit),
    optional("message_body", SqlType::VarBinary(Length::Max)),
    optional("transmission_status", SqlType::nvarchar(4000)),
    required("priority", SqlType::TinyInt),
];

/// Members of db_owner see the rows, everybody else an empty view: that is built into the real one (spec 1.11).
fn transmission_queue(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    if !tx.is_db_owner(database) {
        return Ok(Vec::new());
    }
    Ok(tx
        .state()
        .transmission
        .iter()
        .filter(|row| row.database == database)
        .map(|row| transmission_row(row))
        .collect())
}

fn transmission_row(it: &TransmissionRow) -> Vec<Value> {
    vec![
        it.handle.into(),
        binary_name(&it.to_service),
        it.to_broker_instance.as_deref().map_or(Value::Null, name),
        binary_name(&it.from_service),
        binary_name(&it.contract),
        datetime(it.enqueued),
        it.sequence.into(),
        binary_name(&it.message_type),
        bit(it.kind == MessageKind::Error),
        bit(it.kind == MessageKind::EndDialog),
        it.body.clone().map_or(Value::Null, Value::Binary),
        name(&it.status),
        Value::TinyInt(it.priority),
    ]
}
