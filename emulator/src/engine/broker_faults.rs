//! What the broker tells about a message that did not get through: the status of one that waits, and the Error for the
//! application whose message was refused or whose conversation broke (spec 2.12, 4.2, 4.4).
//!
//! Texts only, the wording is ours. This file must not know when they are used.

use uuid::Uuid;

/// Why a message stays in the transmission queue (spec 4.2): the text of `transmission_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// The broker of the sender's database is off (9791).
    SenderBrokerOff,
    /// No route matches (9750).
    NoRoute,
    /// A LOCAL route, but no such service in the instance (9796).
    NoLocalService,
    /// The named broker instance is not in this server instance (9795).
    NoSuchInstance,
    /// The broker of the target's database is off (28012 with reason 28013).
    TargetBrokerOff,
    /// The target is in another database, where nobody answers for those of the sender's (916): that is not TRUSTWORTHY.
    SenderNotTrusted,
    /// The target queue is off. U-29: the meaning of 9749.
    TargetQueueOff,
    /// A network route; this server has no transport (9666).
    NoTransport,
    /// The peer ended the conversation (9779).
    PeerEnded,
    /// An Error arrived on the conversation (9784).
    PeerFailed,
}

impl Held {
    /// The status text.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Held::SenderBrokerOff => "The broker is disabled in the sender's database.",
            Held::NoRoute => "No route matches the name of the target service.",
            Held::NoLocalService => {
                "The matching route is LOCAL, but this instance has no service of that name."
            }
            Held::NoSuchInstance => "The target broker instance does not exist in this server instance.",
            Held::TargetBrokerOff => {
                "The broker in the target database is unavailable: it was disabled administratively."
            }
            Held::SenderNotTrusted => {
                "Access to the target database is denied (916): the sender's database is not TRUSTWORTHY."
            }
            Held::TargetQueueOff => {
                "The target queue is busy or disabled; the message is queued for delivery."
            }
            Held::NoTransport => "The Service Broker transport is disabled or not configured.",
            Held::PeerEnded => "The other side has ended the conversation; the message is held.",
            Held::PeerFailed => "An error was received on the conversation; the message is held.",
        }
    }
}

/// An error the broker reports to an application inside an Error message; its code there is the negated number
/// (spec 2.12, 4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokerFault {
    /// The code, negative.
    pub(crate) code: i32,
    /// The description.
    pub(crate) text: String,
}

impl BrokerFault {
    fn new(number: i32, text: impl Into<String>) -> BrokerFault {
        BrokerFault { code: -number, text: text.into() }
    }

    /// -8408: the target service does not offer the contract.
    pub(crate) fn contract_not_offered(service: &str, contract: &str) -> BrokerFault {
        BrokerFault::new(8408, format!("Target service '{service}' does not support contract '{contract}'."))
    }

    /// -8425: the target database does not know the contract.
    pub(crate) fn contract_unknown(contract: &str) -> BrokerFault {
        BrokerFault::new(8425, format!("Service contract '{contract}' was not found."))
    }

    /// -8428: the target database does not know the message type.
    pub(crate) fn message_type_unknown(message_type: &str) -> BrokerFault {
        BrokerFault::new(8428, format!("Message type '{message_type}' was not found."))
    }

    /// -8430: the body fails a validation other than XML.
    pub(crate) fn body_invalid(message_type: &str) -> BrokerFault {
        BrokerFault::new(
            8430,
            format!("The message body fails the validation of message type '{message_type}'."),
        )
    }

    /// -8437: the target sent what its peer's contract reserves for the initiator.
    pub(crate) fn sent_by_target(message_type: &str) -> BrokerFault {
        BrokerFault::new(
            8437,
            format!("Received from the target a message of type '{message_type}', SENT BY INITIATOR."),
        )
    }

    /// -8457: the initiator sent what its peer's contract reserves for the target.
    pub(crate) fn sent_by_initiator(message_type: &str) -> BrokerFault {
        BrokerFault::new(
            8457,
            format!("Received from the initiator a message of type '{message_type}', SENT BY TARGET."),
        )
    }

    /// -8462: the peer's endpoint is gone.
    pub(crate) fn remote_endpoint_gone() -> BrokerFault {
        BrokerFault::new(
            8462,
            "The remote conversation endpoint can no longer exchange messages or does not exist.",
        )
    }

    /// -8469: the peer's service stopped offering the contract.
    pub(crate) fn remote_service_altered() -> BrokerFault {
        BrokerFault::new(8469, "The remote service was altered.")
    }

    /// -8470: the peer's service was dropped.
    pub(crate) fn remote_service_dropped() -> BrokerFault {
        BrokerFault::new(8470, "The remote service was dropped.")
    }

    /// -8487: the peer's contract was dropped.
    pub(crate) fn remote_contract_dropped() -> BrokerFault {
        BrokerFault::new(8487, "The contract of the remote service was dropped.")
    }

    /// -8489: the conversation outlived its lifetime.
    pub(crate) fn lifetime_exceeded() -> BrokerFault {
        BrokerFault::new(8489, "The dialog exceeded its LIFETIME.")
    }

    /// -8490: the broker instance named by the dialog has no such service.
    pub(crate) fn remote_service_missing(service: &str) -> BrokerFault {
        BrokerFault::new(8490, format!("Cannot find remote service '{service}' because it does not exist."))
    }

    /// -8494: the owner of the initiating service may not send to the target service.
    pub(crate) fn no_send_permission(service: &str) -> BrokerFault {
        BrokerFault::new(8494, format!("No permission to send to service '{service}'."))
    }

    /// -8498: the message type is not part of the peer's version of the contract.
    pub(crate) fn message_type_not_in_remote_contract(message_type: &str, contract: &str) -> BrokerFault {
        BrokerFault::new(
            8498,
            format!("Message type '{message_type}' is not part of service contract '{contract}'."),
        )
    }

    /// -9615: the body is no well-formed XML (U-04: also for schema failures).
    pub(crate) fn xml_invalid(
        problem: &str,
        conversation: Uuid,
        is_initiator: bool,
        sequence: i64,
    ) -> BrokerFault {
        BrokerFault::new(
            9615,
            format!(
                "XML validation of the message failed on the target service: {problem}. Conversation id: \
                 {conversation}, initiator: {}, sequence number: {sequence}.",
                u8::from(is_initiator)
            ),
        )
    }

    /// -9719: ERROR_BROKER_CONVERSATIONS in this endpoint's database.
    pub(crate) fn database_restored() -> BrokerFault {
        BrokerFault::new(9719, "The database of this conversation endpoint was attached or restored.")
    }

    /// -9720: ERROR_BROKER_CONVERSATIONS in the peer's database.
    pub(crate) fn remote_database_restored() -> BrokerFault {
        BrokerFault::new(9720, "The database of the remote conversation endpoint was attached or restored.")
    }
}
