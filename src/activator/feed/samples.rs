//! Messages for the tests of feeds.

use crate::client::{Body, ConversationGroup, ConversationHandle, Message, MessageKind};
use uuid::Uuid;

/// A message on the conversation with this number.
pub(super) fn message(on: u128) -> Message {
    Message {
        kind: MessageKind::User,
        conversation: ConversationHandle::from_uuid(Uuid::from_u128(on)),
        group: ConversationGroup::from_uuid(Uuid::nil()),
        sequence_number: 0,
        service: "//s".to_owned(),
        contract: "//c".to_owned(),
        message_type: "//t".to_owned(),
        enqueued_at: None,
        priority: 5,
        body: Body::utf8("x"),
    }
}
