//! Views about what the emulator never has: connections between instances, forwarded messages, XML schema collections.
//!
//! Scripts and tools read them; the columns are those of the real views and there are no rows (spec 8).

use super::{View, ViewColumn, optional, required};
use crate::engine::{DatabaseId, Op, Permission, Securable, Tx};
use crate::value::{SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View {
        schema: "sys",
        name: "message_type_xml_schema_collection_usages",
        columns: SCHEMA_COLLECTION_USAGES,
        rows: no_rows,
    },
    View { schema: "sys", name: "dm_broker_connections", columns: CONNECTIONS, rows: no_server_rows },
    View {
        schema: "sys",
        name: "dm_broker_forwarded_messages",
        columns: FORWARDED_MESSAGES,
        rows: no_server_rows,
    },
];

const SCHEMA_COLLECTION_USAGES: &[ViewColumn] =
    &[required("message_type_id", SqlType::Int), required("xml_collection_id", SqlType::Int)];

const CONNECTIONS: &[ViewColumn] = &[
    optional("connection_id", SqlType::UniqueIdentifier),
    optional("transport_stream_id", SqlType::UniqueIdentifier),
    optional("state", SqlType::SmallInt),
    optional("state_desc", SqlType::nvarchar(60)),
    optional("connect_time", SqlType::DateTime),
    optional("login_time", SqlType::DateTime),
    optional("authentication_method", SqlType::nvarchar(128)),
    optional("principal_name", SqlType::nvarchar(128)),
    optional("remote_user_name", SqlType::nvarchar(128)),
    optional("last_activity_time", SqlType::DateTime),
    optional("is_accept", SqlType::Bit),
    optional("login_state", SqlType::SmallInt),
    optional("login_state_desc", SqlType::nvarchar(60)),
    optional("peer_certificate_id", SqlType::Int),
    optional("encryption_algorithm", SqlType::SmallInt),
    optional("encryption_algorithm_desc", SqlType::nvarchar(60)),
    optional("receives_posted", SqlType::SmallInt),
    optional("is_receive_flow_controlled", SqlType::Bit),
    optional("sends_posted", SqlType::SmallInt),
    optional("is_send_flow_controlled", SqlType::Bit),
    optional("total_bytes_sent", SqlType::BigInt),
    optional("total_bytes_received", SqlType::BigInt),
    optional("total_fragments_sent", SqlType::BigInt),
    optional("total_fragments_received", SqlType::BigInt),
    optional("total_sends", SqlType::BigInt),
    optional("total_receives", SqlType::BigInt),
    optional("peer_arbitration_id", SqlType::UniqueIdentifier),
];

const FORWARDED_MESSAGES: &[ViewColumn] = &[
    optional("conversation_id", SqlType::UniqueIdentifier),
    optional("is_initiator", SqlType::Bit),
    optional("to_service_name", SqlType::nvarchar(512)),
    optional("to_broker_instance", SqlType::nvarchar(512)),
    optional("from_service_name", SqlType::nvarchar(512)),
    optional("from_broker_instance", SqlType::nvarchar(512)),
    optional("adjacent_broker_address", SqlType::nvarchar(512)),
    optional("message_sequence_number", SqlType::BigInt),
    optional("message_fragment_number", SqlType::Int),
    optional("hops_remaining", SqlType::TinyInt),
    optional("time_to_live", SqlType::Int),
    optional("time_consumed", SqlType::Int),
    optional("message_id", SqlType::UniqueIdentifier),
];

fn no_rows(_tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

fn no_server_rows(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    tx.require(Permission::ViewServerState, Securable::Server)?;
    Ok(Vec::new())
}
