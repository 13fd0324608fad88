//! The errors of Service Broker statements (spec 9): number, severity, text.
//!
//! One function per number; the wording is ours. General engine errors (208, 229, 1205, ...) live in `errors.rs`.
//! This file must not know when an error is raised, only how it reads.

use std::fmt::Display;

use uuid::Uuid;

use crate::error::SqlError;

/// 8402: a clause was given a value of a kind or range it cannot take. U-38: also what has no number of its own.
pub(crate) fn clause_value(clause: &str, problem: &str) -> SqlError {
    SqlError::new(
        8402,
        format!("the value of {clause} in the Service Broker statement cannot be used: {problem}"),
    )
}

/// 8403
pub(crate) fn message_type_repeated(name: &str) -> SqlError {
    SqlError::new(
        8403,
        format!("message type '{name}' is named more than once; a contract lists each type once"),
    )
}

/// 8404
pub(crate) fn contract_repeated(name: &str) -> SqlError {
    SqlError::new(
        8404,
        format!("service contract '{name}' is named more than once; a service lists each contract once"),
    )
}

/// 8410
pub(crate) fn timer_beyond_lifetime() -> SqlError {
    SqlError::new(8410, "the conversation timer would run longer than the conversation's lifetime")
}

/// 8411
pub(crate) fn lifetime_out_of_range(lifetime: i64) -> SqlError {
    SqlError::new(
        8411,
        format!("dialog lifetime {lifetime} is outside the allowed range of 1 to 2147483647 seconds"),
    )
}

/// 8412
pub(crate) fn malformed_service_name(name: &str) -> SqlError {
    SqlError::new(8412, format!("service name '{name}' is not well formed; it needs 1 to 256 characters"))
}

/// 8413
pub(crate) fn malformed_broker_instance(instance: &str) -> SqlError {
    SqlError::new(
        8413,
        format!("broker instance '{instance}' is not a broker guid; at most 256 bytes are allowed"),
    )
}

/// 8414
pub(crate) fn group_not_usable(group: Uuid) -> SqlError {
    SqlError::new(
        8414,
        format!("conversation group id '{group}' cannot be used here: another service holds it"),
    )
}

/// 8423
pub(crate) fn service_not_found(name: &str) -> SqlError {
    SqlError::new(8423, format!("service '{name}' does not exist in this database"))
}

/// 8425
pub(crate) fn contract_not_found(name: &str) -> SqlError {
    SqlError::new(8425, format!("service contract '{name}' does not exist"))
}

/// 8426
pub(crate) fn handle_not_found(handle: Uuid) -> SqlError {
    SqlError::new(8426, format!("conversation handle '{handle}' does not exist or is no longer valid"))
}

/// 8427
pub(crate) fn state_forbids_end(state: &str) -> SqlError {
    SqlError::new(
        8427,
        format!("the conversation endpoint is in state {state}, in which END CONVERSATION is not allowed"),
    )
}

/// 8428
pub(crate) fn message_type_not_found(name: &str) -> SqlError {
    SqlError::new(8428, format!("message type '{name}' does not exist"))
}

/// 8429
pub(crate) fn state_forbids_send(state: &str) -> SqlError {
    SqlError::new(
        8429,
        format!("the conversation endpoint is in state {state}, in which SEND is not allowed"),
    )
}

/// 8431
pub(crate) fn message_type_not_in_contract(message_type: &str, contract: &str) -> SqlError {
    SqlError::new(8431, format!("message type '{message_type}' is not part of service contract '{contract}'"))
}

/// 8432
pub(crate) fn only_target_may_send(message_type: &str) -> SqlError {
    SqlError::new(
        8432,
        format!("message type '{message_type}' is SENT BY TARGET; the initiator cannot send it"),
    )
}

/// 8433
pub(crate) fn body_is_null() -> SqlError {
    SqlError::new(
        8433,
        "the message body is NULL; leave the body out or send an empty string or binary value instead",
    )
}

/// 8434
pub(crate) fn only_initiator_may_send(message_type: &str) -> SqlError {
    SqlError::new(
        8434,
        format!("message type '{message_type}' is SENT BY INITIATOR; the target cannot send it"),
    )
}

/// 8436
pub(crate) fn group_not_found(group: Uuid) -> SqlError {
    SqlError::new(8436, format!("conversation group '{group}' does not exist"))
}

/// 8438
pub(crate) fn state_forbids_move(state: &str) -> SqlError {
    SqlError::new(
        8438,
        format!("the conversation endpoint is in state {state}, in which MOVE CONVERSATION is not allowed"),
    )
}

/// 8439
pub(crate) fn destination_group_invalid(group: Uuid) -> SqlError {
    SqlError::new(
        8439,
        format!("conversation group '{group}' cannot take the conversation: it belongs to another queue"),
    )
}

/// 8458
pub(crate) fn state_forbids_timer(state: &str) -> SqlError {
    SqlError::new(
        8458,
        format!(
            "the conversation endpoint is in state {state}, in which BEGIN CONVERSATION TIMER is not allowed"
        ),
    )
}

/// 8459
pub(crate) fn message_too_large() -> SqlError {
    SqlError::new(8459, "the message with its headers is larger than the 2 GB a message may have")
}

/// 8468, for a session that waited for a conversation or group of the service (U-06).
pub(crate) fn underlying_service_altered() -> SqlError {
    SqlError::new(8468, "the service of the conversation was altered while the statement waited")
}

/// 8492
pub(crate) fn contract_without_initiator(name: &str) -> SqlError {
    SqlError::new(
        8492,
        format!(
            "service contract '{name}' needs at least one message type that is SENT BY INITIATOR or SENT BY ANY"
        ),
    )
}

/// 8493
pub(crate) fn alter_service_changes_nothing(name: &str) -> SqlError {
    SqlError::new(8493, format!("the alteration of service '{name}' changes nothing"))
}

/// 9601
pub(crate) fn cannot_relate(to: impl Display) -> SqlError {
    SqlError::new(9601, format!("a dialog cannot be related to conversation or group '{to}'"))
}

/// 9610
pub(crate) fn related_service_differs(service: &str) -> SqlError {
    SqlError::new(
        9610,
        format!(
            "FROM SERVICE '{service}' is not the service of the related conversation or conversation group"
        ),
    )
}

/// 9613
pub(crate) fn activation_user_missing() -> SqlError {
    SqlError::new(9613, "activation of the queue needs EXECUTE AS to name a user")
}

/// 9614
pub(crate) fn activation_procedure_invalid(procedure: &str) -> SqlError {
    SqlError::new(
        9614,
        format!("activation procedure '{procedure}' does not exist or is not a stored procedure"),
    )
}

/// 9617
pub(crate) fn queue_disabled(queue: &str) -> SqlError {
    SqlError::new(9617, format!("queue '{queue}' is disabled at the moment"))
}

/// 9618
pub(crate) fn cannot_retain_sent_message(queue: &str) -> SqlError {
    SqlError::new(
        9618,
        format!(
            "the message cannot be sent: queue '{queue}' of its service is disabled and retains messages"
        ),
    )
}

/// 9619
pub(crate) fn binding_exists(service: &str) -> SqlError {
    SqlError::new(9619, format!("a remote service binding for service '{service}' exists already"))
}

/// 9620
pub(crate) fn activation_function(function: &str) -> SqlError {
    SqlError::new(9620, format!("'{function}' is a function; only a stored procedure can be activated"))
}

/// 9648, a notice (U-05).
pub(crate) fn no_queue_readers(queue: &str) -> SqlError {
    SqlError::with_severity(
        9648,
        10,
        format!(
            "activation of queue '{queue}' is on but MAX_QUEUE_READERS is zero: no procedure will be started"
        ),
    )
}

/// 9653
pub(crate) fn activation_procedure_has_parameters(procedure: &str) -> SqlError {
    SqlError::new(9653, format!("activation procedure '{procedure}' must not have parameters"))
}

/// 9659
pub(crate) fn route_clause_empty(clause: &str) -> SqlError {
    SqlError::new(9659, format!("{clause} of the route must not be empty"))
}

/// 9660
pub(crate) fn route_clause_too_long(clause: &str) -> SqlError {
    SqlError::new(9660, format!("{clause} of the route is longer than 256 characters"))
}

/// 9661
pub(crate) fn mirror_needs_service_and_instance() -> SqlError {
    SqlError::new(9661, "a route with MIRROR_ADDRESS needs SERVICE_NAME and BROKER_INSTANCE")
}

/// 9662
pub(crate) fn instance_needs_service() -> SqlError {
    SqlError::new(9662, "a route with BROKER_INSTANCE needs SERVICE_NAME")
}

/// 9663
pub(crate) fn system_object(kind: &str, name: &str) -> SqlError {
    SqlError::new(9663, format!("{kind} '{name}' is a system object and cannot be changed"))
}

/// 9684, for a session that waited for a conversation or group of the service (U-06).
pub(crate) fn underlying_service_dropped() -> SqlError {
    SqlError::new(9684, "the service of the conversation was dropped while the statement waited")
}

/// 9717
pub(crate) fn notification_exists(queue: &str) -> SqlError {
    SqlError::new(
        9717,
        format!(
            "activation of queue '{queue}' cannot be enabled: a QUEUE_ACTIVATION event notification exists on it"
        ),
    )
}

/// 9718
pub(crate) fn activation_exists(queue: &str) -> SqlError {
    SqlError::new(
        9718,
        format!(
            "a QUEUE_ACTIVATION event notification cannot be created: queue '{queue}' has internal activation"
        ),
    )
}

/// 9742
pub(crate) fn activation_procedure_temporary(procedure: &str) -> SqlError {
    SqlError::new(9742, format!("temporary procedure '{procedure}' cannot be activated"))
}

/// 9743
pub(crate) fn mirror_address_invalid(address: &str) -> SqlError {
    SqlError::new(9743, format!("a mirrored route needs network addresses; '{address}' is none"))
}

/// 9744
pub(crate) fn route_address_invalid(address: &str) -> SqlError {
    SqlError::new(
        9744,
        format!("'{address}' is not a route address: use TCP://host:port, LOCAL or TRANSPORT"),
    )
}

/// 9745
pub(crate) fn transport_with_service() -> SqlError {
    SqlError::new(9745, "a route with the address TRANSPORT cannot have a SERVICE_NAME")
}

/// 9746
pub(crate) fn route_lifetime_out_of_range(lifetime: i64) -> SqlError {
    SqlError::new(
        9746,
        format!("route lifetime {lifetime} is outside the allowed range of 1 to 2147483647 seconds"),
    )
}

/// 9747
pub(crate) fn route_addresses_equal() -> SqlError {
    SqlError::new(9747, "ADDRESS and MIRROR_ADDRESS of a route must differ")
}

/// 229: the principal neither owns the conversation nor is a member of db_owner or sysadmin.
pub(crate) fn not_the_owner(action: &str, handle: Uuid) -> SqlError {
    SqlError::with_severity(
        229,
        14,
        format!(
            "{action} was denied on conversation '{handle}': only its owner, db_owner and sysadmin may do this"
        ),
    )
}

/// 9772
pub(crate) fn broker_id_in_use(database: &str, other: &str) -> SqlError {
    SqlError::new(
        9772,
        format!(
            "the broker of database '{database}' cannot be enabled: database '{other}' has an enabled broker of the same id"
        ),
    )
}

/// 28006
pub(crate) fn only_owner_may_clean_up() -> SqlError {
    SqlError::with_severity(
        28006,
        14,
        "only members of sysadmin and db_owner may do this in the conversation endpoint's present state",
    )
}

/// 28083
pub(crate) fn cannot_own_certificates(user: &str) -> SqlError {
    SqlError::new(
        28083,
        format!("principal '{user}' cannot be used in a remote service binding: it cannot own certificates"),
    )
}
