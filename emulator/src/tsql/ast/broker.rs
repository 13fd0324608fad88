//! Service Broker statements: conversations, and the definition of broker objects.
//!
//! Must not know the engine; every name is as written. Handles and group ids are expressions, most
//! often a variable or a string constant.

use super::expr::Expr;
use super::name::{Ident, ObjectName, VariableName};
use super::query::SelectItem;
use super::security::ExecuteAs;

/// A statement about conversations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BrokerStatement {
    /// `BEGIN DIALOG ..`
    BeginDialog(BeginDialog),
    /// `BEGIN CONVERSATION TIMER ..`
    BeginConversationTimer(BeginConversationTimer),
    /// `SEND ..`
    Send(Send),
    /// `RECEIVE ..` without WAITFOR
    Receive(Receive),
    /// `GET CONVERSATION GROUP ..` without WAITFOR
    GetConversationGroup(GetConversationGroup),
    /// `MOVE CONVERSATION ..`
    MoveConversation(MoveConversation),
    /// `END CONVERSATION ..`
    EndConversation(EndConversation),
}

/// A name written as an identifier, or held by a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameOrVariable {
    /// Written out.
    Name(Ident),
    /// In a variable.
    Variable(VariableName),
}

/// A string constant or a variable: target services, broker instances, the operand of RECEIVE's WHERE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextOrVariable {
    /// Written out.
    Text(String),
    /// In a variable.
    Variable(VariableName),
}

/// BEGIN DIALOG [CONVERSATION].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BeginDialog {
    /// The variable that gets the handle.
    pub(crate) handle: VariableName,
    /// FROM SERVICE.
    pub(crate) from_service: NameOrVariable,
    /// TO SERVICE.
    pub(crate) to_service: TextOrVariable,
    /// The broker instance, or `CURRENT DATABASE` in any case.
    pub(crate) broker_instance: Option<TextOrVariable>,
    /// ON CONTRACT.
    pub(crate) contract: Option<NameOrVariable>,
    /// RELATED_CONVERSATION or RELATED_CONVERSATION_GROUP.
    pub(crate) related: Option<Related>,
    /// LIFETIME in seconds.
    pub(crate) lifetime: Option<Expr>,
    /// ENCRYPTION.
    pub(crate) encryption: Option<bool>,
}

/// What a new dialog is related to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Related {
    /// Another conversation, by handle.
    Conversation(Expr),
    /// A conversation group, by id.
    Group(Expr),
}

/// BEGIN CONVERSATION TIMER.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BeginConversationTimer {
    /// The conversation.
    pub(crate) handle: Expr,
    /// Seconds.
    pub(crate) timeout: Expr,
}

/// SEND.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Send {
    /// The conversations; one or more.
    pub(crate) handles: Vec<Expr>,
    /// MESSAGE TYPE; DEFAULT when absent.
    pub(crate) message_type: Option<NameOrVariable>,
    /// The body.
    pub(crate) body: Option<Expr>,
}

/// RECEIVE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Receive {
    /// TOP.
    pub(crate) top: Option<Expr>,
    /// The column specifiers; one or more.
    pub(crate) items: Vec<SelectItem>,
    /// FROM.
    pub(crate) queue: ObjectName,
    /// INTO.
    pub(crate) into: Option<VariableName>,
    /// WHERE.
    pub(crate) filter: Option<ReceiveFilter>,
}

/// WHERE of RECEIVE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReceiveFilter {
    /// `conversation_handle =`
    Conversation(TextOrVariable),
    /// `conversation_group_id =`
    Group(TextOrVariable),
}

/// GET CONVERSATION GROUP.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GetConversationGroup {
    /// The variable that gets the group id.
    pub(crate) group: VariableName,
    /// FROM.
    pub(crate) queue: ObjectName,
}

/// MOVE CONVERSATION.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MoveConversation {
    /// The conversation.
    pub(crate) handle: Expr,
    /// TO: the group.
    pub(crate) group: Expr,
}

/// END CONVERSATION.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EndConversation {
    /// The conversation.
    pub(crate) handle: Expr,
    /// How it ends.
    pub(crate) mode: EndMode,
}

/// How a conversation is ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EndMode {
    /// Without WITH.
    Plain,
    /// `WITH ERROR = code DESCRIPTION = text`
    WithError {
        /// A number or variable.
        code: Expr,
        /// A string or variable.
        description: Expr,
    },
    /// `WITH CLEANUP`
    WithCleanup,
}

/// Definition of a broker object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BrokerDdl {
    /// `CREATE MESSAGE TYPE`
    CreateMessageType {
        /// The message type.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
        /// VALIDATION; NONE when absent.
        validation: Option<Validation>,
    },
    /// `ALTER MESSAGE TYPE`
    AlterMessageType {
        /// The message type.
        name: Ident,
        /// VALIDATION.
        validation: Validation,
    },
    /// `CREATE CONTRACT`
    CreateContract {
        /// The contract.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
        /// Its message types; one or more.
        messages: Vec<ContractMessage>,
    },
    /// `CREATE QUEUE`
    CreateQueue {
        /// The queue.
        name: ObjectName,
        /// WITH.
        options: QueueOptions,
        /// ON filegroup.
        filegroup: Option<Ident>,
    },
    /// `ALTER QUEUE`
    AlterQueue {
        /// The queue.
        name: ObjectName,
        /// What to do to it.
        action: AlterQueueAction,
    },
    /// `CREATE` of an object without schema whose name has prefixes all the same.
    CreatePrefixed {
        /// What it is.
        kind: BrokerObjectKind,
        /// The name as written.
        name: ObjectName,
    },
    /// `CREATE SERVICE`
    CreateService {
        /// The service.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
        /// ON QUEUE.
        queue: ObjectName,
        /// The contracts it may be the target of.
        contracts: Vec<Ident>,
    },
    /// `ALTER SERVICE`
    AlterService {
        /// The service.
        name: Ident,
        /// ON QUEUE.
        queue: Option<ObjectName>,
        /// Contracts to add or drop.
        changes: Vec<ContractChange>,
    },
    /// `CREATE ROUTE`
    CreateRoute {
        /// The route.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
        /// WITH.
        options: RouteOptions,
    },
    /// `ALTER ROUTE`
    AlterRoute {
        /// The route.
        name: Ident,
        /// WITH; what is absent stays as it was.
        options: RouteOptions,
    },
    /// `CREATE REMOTE SERVICE BINDING`
    CreateRemoteServiceBinding {
        /// The binding.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
        /// TO SERVICE.
        service: String,
        /// WITH.
        options: BindingOptions,
    },
    /// `ALTER REMOTE SERVICE BINDING`
    AlterRemoteServiceBinding {
        /// The binding.
        name: Ident,
        /// WITH.
        options: BindingOptions,
    },
    /// `CREATE BROKER PRIORITY`
    CreateBrokerPriority {
        /// The priority.
        name: Ident,
        /// SET.
        options: PriorityOptions,
    },
    /// `ALTER BROKER PRIORITY`
    AlterBrokerPriority {
        /// The priority.
        name: Ident,
        /// SET; what is absent stays as it was.
        options: PriorityOptions,
    },
    /// `CREATE EVENT NOTIFICATION`
    CreateEventNotification {
        /// The notification.
        name: Ident,
        /// ON.
        scope: NotificationScope,
        /// WITH FAN_IN.
        fan_in: bool,
        /// FOR: events and event groups; one or more.
        events: Vec<Ident>,
        /// TO SERVICE.
        service: String,
        /// The broker's guid, or `current database` in any case.
        broker_instance: String,
    },
    /// `DROP EVENT NOTIFICATION`
    DropEventNotification {
        /// The notifications; one or more.
        names: Vec<Ident>,
        /// ON.
        scope: NotificationScope,
    },
    /// DROP of any other broker object.
    Drop {
        /// Which family.
        kind: BrokerObjectKind,
        /// The object; only a queue's name may have several parts.
        name: ObjectName,
    },
}

/// A family of broker objects that DROP takes one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokerObjectKind {
    /// `MESSAGE TYPE`
    MessageType,
    /// `CONTRACT`
    Contract,
    /// `QUEUE`
    Queue,
    /// `SERVICE`
    Service,
    /// `ROUTE`
    Route,
    /// `REMOTE SERVICE BINDING`
    RemoteServiceBinding,
    /// `BROKER PRIORITY`
    BrokerPriority,
}

/// What a message type asks of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Validation {
    /// `NONE`
    None,
    /// `EMPTY`
    Empty,
    /// `WELL_FORMED_XML`
    WellFormedXml,
    /// `VALID_XML WITH SCHEMA COLLECTION name`
    ValidXml(ObjectName),
}

/// One message type of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContractMessage {
    /// The message type.
    pub(crate) message_type: Ident,
    /// Who may send it.
    pub(crate) sent_by: SentBy,
}

/// Who may send a message type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentBy {
    /// `INITIATOR`
    Initiator,
    /// `TARGET`
    Target,
    /// `ANY`
    Any,
}

/// WITH of CREATE QUEUE and ALTER QUEUE; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct QueueOptions {
    /// STATUS.
    pub(crate) status: Option<bool>,
    /// RETENTION.
    pub(crate) retention: Option<bool>,
    /// ACTIVATION.
    pub(crate) activation: Option<ActivationOptions>,
    /// POISON_MESSAGE_HANDLING (STATUS = ..).
    pub(crate) poison_message_handling: Option<bool>,
}

/// ACTIVATION of a queue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ActivationOptions {
    /// `DROP`, in ALTER QUEUE only.
    Drop,
    /// The sub-options written.
    Set(Activation),
}

/// The sub-options of ACTIVATION; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Activation {
    /// STATUS.
    pub(crate) status: Option<bool>,
    /// PROCEDURE_NAME.
    pub(crate) procedure: Option<ObjectName>,
    /// MAX_QUEUE_READERS, 0 to 32767 when valid.
    pub(crate) max_queue_readers: Option<i32>,
    /// EXECUTE AS.
    pub(crate) execute_as: Option<ExecuteAs>,
}

/// What ALTER QUEUE does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AlterQueueAction {
    /// `WITH ..`
    Set(QueueOptions),
    /// `REBUILD [WITH (MAXDOP = n)]`
    Rebuild,
    /// `REORGANIZE [WITH (LOB_COMPACTION = ..)]`
    Reorganize,
    /// `MOVE TO filegroup`
    MoveTo(Ident),
}

/// One entry of ALTER SERVICE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContractChange {
    /// `ADD CONTRACT`
    Add(Ident),
    /// `DROP CONTRACT`
    Drop(Ident),
}

/// WITH of CREATE ROUTE and ALTER ROUTE; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RouteOptions {
    /// SERVICE_NAME.
    pub(crate) service_name: Option<String>,
    /// BROKER_INSTANCE.
    pub(crate) broker_instance: Option<String>,
    /// LIFETIME in seconds, digits as written.
    pub(crate) lifetime: Option<String>,
    /// ADDRESS.
    pub(crate) address: Option<String>,
    /// MIRROR_ADDRESS.
    pub(crate) mirror_address: Option<String>,
}

/// WITH of a remote service binding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BindingOptions {
    /// USER.
    pub(crate) user: Option<Ident>,
    /// ANONYMOUS.
    pub(crate) anonymous: Option<bool>,
}

/// SET of a broker priority; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PriorityOptions {
    /// CONTRACT_NAME.
    pub(crate) contract: Option<AnyOr<Ident>>,
    /// LOCAL_SERVICE_NAME.
    pub(crate) local_service: Option<AnyOr<Ident>>,
    /// REMOTE_SERVICE_NAME.
    pub(crate) remote_service: Option<AnyOr<String>>,
    /// PRIORITY_LEVEL.
    pub(crate) level: Option<PriorityLevel>,
}

/// A name, or ANY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnyOr<T> {
    /// `ANY`
    Any,
    /// The one named.
    Name(T),
}

/// A priority level as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PriorityLevel {
    /// `DEFAULT`, which is 5.
    Default,
    /// A number, 1 to 10 when valid.
    Level(i32),
}

/// What an event notification watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotificationScope {
    /// `SERVER`
    Server,
    /// `DATABASE`
    Database,
    /// `QUEUE name`
    Queue(ObjectName),
}
