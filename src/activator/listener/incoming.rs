//! What a message on a notification queue means to the listener.
//!
//! Pure. Every message means something: none is a reason to roll back, since five roll backs in a row switch the queue off.

use crate::activator::notification::Notice;
use crate::activator::supervisor::Event;
use crate::client::{ConversationHandle, Message, MessageKind};

/// Type of the messages that carry an event. The scheme is `http`, whatever newer pages print.
const EVENT_NOTIFICATION: &str = "http://schemas.microsoft.com/SQL/Notifications/EventNotification";

/// A message, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// For the supervisor.
    Event(Event),
    /// The server has ended the conversation of an event notification; our side is to be ended too.
    Ended { conversation: ConversationHandle, why: String },
}

impl Incoming {
    /// Reads what came to the listener at this position. Pain 15: a body that is NULL or not understood is told, and consumed.
    pub(super) fn read(listener: usize, message: Message) -> Self {
        let conversation = message.conversation;
        match &message.kind {
            MessageKind::EndDialog => Self::Ended { conversation, why: "without an error".to_owned() },
            MessageKind::Error(body) => {
                Self::Ended { conversation, why: format!("error {}: {}", body.code, body.description) }
            }
            _ if message.message_type == EVENT_NOTIFICATION => Self::Event(event(listener, &message)),
            _ => {
                let reason = format!("its type is {}", message.message_type);
                Self::Event(Event::Unreadable { listener, reason })
            }
        }
    }
}

fn event(listener: usize, message: &Message) -> Event {
    match Notice::parse(Some(message.body.as_bytes())) {
        Ok(notice) => Event::Notified { listener, notice },
        Err(error) => Event::Unreadable { listener, reason: crate::activator::log_lines::chain(&error) },
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENT_NOTIFICATION, Incoming};
    use crate::activator::notification::QueueEvent;
    use crate::activator::supervisor::Event;
    use crate::client::{
        Body, ConversationGroup, ConversationHandle, ErrorBody, Message, MessageKind, MessageTypeName,
    };
    use uuid::Uuid;

    fn message(kind: MessageKind, message_type: &str, body: Body) -> Message {
        Message {
            kind,
            conversation: ConversationHandle::from_uuid(Uuid::from_u128(7)),
            group: ConversationGroup::from_uuid(Uuid::nil()),
            sequence_number: 0,
            service: "//n".to_owned(),
            contract: String::new(),
            message_type: message_type.to_owned(),
            enqueued_at: None,
            priority: 5,
            body,
        }
    }

    fn notification(body: &str) -> Incoming {
        Incoming::read(3, message(MessageKind::User, EVENT_NOTIFICATION, Body::utf16(body)))
    }

    #[test]
    fn an_event_notification_is_a_notice_of_this_listener() {
        let body = "<EVENT_INSTANCE><EventType>QUEUE_ACTIVATION</EventType><ServerName>S</ServerName>\
                    <DatabaseName>D</DatabaseName><SchemaName>dbo</SchemaName><ObjectName>Q</ObjectName></EVENT_INSTANCE>";
        let Incoming::Event(Event::Notified { listener: 3, notice }) = notification(body) else { panic!() };
        assert_eq!((notice.event, notice.queue.as_str()), (QueueEvent::QueueActivation, "Q"));
    }

    #[test]
    fn what_is_no_notification_is_consumed_with_its_reason() {
        let order = message(MessageKind::User, "//shop/order", Body::utf8("x"));
        let timer = message(MessageKind::DialogTimer, MessageTypeName::DIALOG_TIMER, Body::empty());
        for (incoming, reason) in [
            (notification(""), "empty"),
            (notification("<a/>"), "<a>"),
            (Incoming::read(3, order), "//shop/order"),
            (Incoming::read(3, timer), "DialogTimer"),
        ] {
            let Incoming::Event(Event::Unreadable { listener: 3, reason: told }) = incoming else { panic!() };
            assert!(told.contains(reason), "{told}");
        }
    }

    #[test]
    fn the_end_of_the_conversation_is_told_with_its_reason() {
        let error = ErrorBody { code: -8470, description: "remote service dropped".to_owned() };
        for (kind, expected) in
            [(MessageKind::EndDialog, "without"), (MessageKind::Error(error), "remote service")]
        {
            let Incoming::Ended { why, .. } = Incoming::read(0, message(kind, "x", Body::empty())) else {
                panic!()
            };
            assert!(why.contains(expected), "{why}");
        }
    }
}
