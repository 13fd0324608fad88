//! The texts of the sending half: BEGIN DIALOG, SEND in its three forms, END CONVERSATION, conversation timers.
//!
//! SEND must be the first statement or follow a semicolon, which is why a SET stands before it inside a block.

use std::fmt::Write;

use uuid::Uuid;

use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::names::{ContractName, ServiceName};
use super::super::values::SqlValue;
use super::{Argument, Statement};

/// Everything BEGIN DIALOG can be told (specification section 2.1).
#[derive(Clone, Debug)]
pub(crate) struct DialogSpec {
    pub(crate) from: ServiceName,
    pub(crate) to: ServiceName,
    pub(crate) broker_instance: Option<String>,
    pub(crate) contract: Option<ContractName>,
    pub(crate) lifetime_seconds: Option<i32>,
    pub(crate) encryption: bool,
    pub(crate) relation: Relation,
}

/// Which conversation group a new dialog joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// A group of its own.
    None,
    /// The group of this conversation: parameter `@related`.
    Conversation(Uuid),
    /// This group, made if it does not exist: parameter `@related`.
    Group(Uuid),
}

impl DialogSpec {
    /// A dialog between two services with the defaults of the library: no encryption, no limit.
    pub(crate) fn new(from: ServiceName, to: ServiceName) -> Self {
        Self {
            from,
            to,
            broker_instance: None,
            contract: None,
            lifetime_seconds: None,
            encryption: false,
            relation: Relation::None,
        }
    }

    /// `@handle` is declared before and assigned here; the parameters are those of [`bind_dialog`].
    pub(super) fn begin_text(&self) -> String {
        let mut text =
            format!("BEGIN DIALOG CONVERSATION @handle FROM SERVICE {} TO SERVICE @to", self.from.quoted());
        if self.broker_instance.is_some() {
            text.push_str(", @instance");
        }
        if let Some(contract) = &self.contract {
            text.push_str(" ON CONTRACT ");
            text.push_str(&contract.quoted());
        }
        text.push_str(" WITH ");
        match self.relation {
            Relation::None => {}
            Relation::Conversation(_) => text.push_str("RELATED_CONVERSATION = @related, "),
            Relation::Group(_) => text.push_str("RELATED_CONVERSATION_GROUP = @related, "),
        }
        if let Some(seconds) = self.lifetime_seconds {
            text.push_str(&format!("LIFETIME = {seconds}, "));
        }
        text.push_str(if self.encryption { "ENCRYPTION = ON;" } else { "ENCRYPTION = OFF;" });
        text
    }
}

/// `@to`: target service; `@instance`: broker instance, if any; `@related`: conversation or group, if any.
pub(super) fn bind_dialog<'a>(mut statement: Statement<'a>, spec: &'a DialogSpec) -> Statement<'a> {
    statement = statement.bind("@to", "nvarchar(256)", Argument::Text(spec.to.as_str()));
    if let Some(instance) = &spec.broker_instance {
        statement = statement.bind("@instance", "nvarchar(128)", Argument::Text(instance));
    }
    if let Relation::Conversation(id) | Relation::Group(id) = spec.relation {
        statement = statement.bind("@related", "uniqueidentifier", Argument::Value(SqlValue::Uuid(id)));
    }
    statement
}

/// Begins a dialog and answers one row: `conversation_handle`.
pub(crate) fn begin_dialog(spec: &DialogSpec) -> Statement<'_> {
    let text = format!(
        "SET NOCOUNT ON; DECLARE @handle uniqueidentifier; {} SELECT @handle AS conversation_handle;",
        spec.begin_text()
    );
    bind_dialog(Statement::new(text), spec)
}

/// Sends one message. `@handle`; `@type`: message type; `@body`, left out when the body is empty.
pub(crate) fn send<'a>(handle: ConversationHandle, message: &'a OutgoingMessage) -> Statement<'a> {
    let text = if message.body.is_empty() {
        "SEND ON CONVERSATION @handle MESSAGE TYPE @type;"
    } else {
        "SEND ON CONVERSATION @handle MESSAGE TYPE @type (@body);"
    };
    bind_message(Statement::new(text).bind_handle("@handle", handle), message)
}

/// Sends one message on several conversations at once. `@h0`, `@h1`, ...: handles; `@type`; `@body` unless empty.
pub(crate) fn send_on<'a>(handles: &[ConversationHandle], message: &'a OutgoingMessage) -> Statement<'a> {
    let names: Vec<String> = (0..handles.len()).map(|at| format!("@h{at}")).collect();
    let body = if message.body.is_empty() { "" } else { " (@body)" };
    let text = format!("SEND ON CONVERSATION ({}) MESSAGE TYPE @type{body};", names.join(", "));
    let statement = names
        .into_iter()
        .zip(handles)
        .fold(Statement::new(text), |statement, (name, handle)| statement.bind_handle(name, *handle));
    bind_message(statement, message)
}

pub(super) fn bind_message<'a>(statement: Statement<'a>, message: &'a OutgoingMessage) -> Statement<'a> {
    let statement = statement.bind("@type", "nvarchar(128)", Argument::Text(message.message_type.as_str()));
    if message.body.is_empty() {
        return statement;
    }
    statement.bind("@body", "varbinary(max)", Argument::Bytes(message.body.as_bytes()))
}

/// How many messages fit one request: each size is one text, and a request uses the smallest that holds its messages.
/// The largest stays far below the 2,100 parameters of a request.
pub(crate) const SEND_SIZES: [usize; 4] = [1, 5, 20, 100];

/// Whether a request brings its own transaction or works inside one that is already open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Begin and commit within the request.
    Own,
    /// The session has a transaction open; leave it alone.
    Joined,
    /// As `Joined`, on a connection that is not ours: looks first whether it has a transaction open and whether the dialog
    /// can be sent on, and sends nothing otherwise. Looking dooms nothing, whatever the connection's settings.
    Guest,
}

/// What a [`Scope::Guest`] request answers instead of sending, as `refused`: no transaction is open.
const NO_TRANSACTION: i32 = 1;
/// As `NO_TRANSACTION`: the dialog is over.
pub(crate) const DIALOG_OVER: i32 = 2;

/// The dialog a request sends on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening<'a> {
    /// An existing conversation: parameter `@handle`.
    Existing(ConversationHandle),
    /// A new dialog, begun in the same request; see [`DialogSpec`] for its parameters.
    Begin(&'a DialogSpec),
}

/// Sends up to 100 messages in one request, each in its own TRY, so that one failure does not hide the others.
///
/// Parameters: those of the opening; `@count`: how many messages; `@t0`, `@b0`, ...: type and body of each, where a body
/// that is NULL means none. Answers one row (`position`, `error_number`, `error_message`, `transaction_state`) for each
/// message that failed, and in the end one row (`rolled_back`, `conversation_handle`).
pub(crate) fn send_batch<'a>(
    scope: Scope,
    opening: Opening<'a>,
    messages: &[&'a OutgoingMessage],
) -> Statement<'a> {
    let slots = SEND_SIZES.iter().copied().find(|size| *size >= messages.len()).unwrap_or(messages.len());
    let mut text = String::with_capacity(slots * 420 + 800);
    text.push_str("SET NOCOUNT ON; DECLARE @position int;");
    match scope {
        Scope::Own => text.push_str(" BEGIN TRANSACTION;"),
        Scope::Joined => {}
        Scope::Guest => push_guard(&mut text, opening),
    }
    if let Opening::Begin(spec) = opening {
        push_guarded_begin(&mut text, scope, spec);
    }
    for slot in 0..slots {
        push_slot(&mut text, slot);
    }
    push_conclusion(&mut text, scope);
    let mut statement = Statement::new(text);
    statement = match opening {
        Opening::Existing(handle) => statement.bind_handle("@handle", handle),
        Opening::Begin(spec) => bind_dialog(statement, spec),
    };
    bind_slots(statement.bind_int("@count", messages.len() as i32), messages, slots)
}

/// The state is read from the catalog, which takes no lock of the conversation group.
pub(super) fn push_guard(text: &mut String, opening: Opening<'_>) {
    let pushed = write!(text, " IF @@TRANCOUNT = 0 BEGIN SELECT {NO_TRANSACTION} AS refused; RETURN; END;");
    debug_assert!(pushed.is_ok(), "writing to a string cannot fail");
    if let Opening::Existing(_) = opening {
        let pushed = write!(
            text,
            " IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints WHERE conversation_handle = @handle AND state IN \
             ('SO', 'CO')) BEGIN SELECT {DIALOG_OVER} AS refused; RETURN; END;"
        );
        debug_assert!(pushed.is_ok(), "writing to a string cannot fail");
    }
}

/// A dialog that cannot be begun fails the whole request, before any message is tried.
fn push_guarded_begin(text: &mut String, scope: Scope, spec: &DialogSpec) {
    let undo = match scope {
        Scope::Own => "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; ",
        Scope::Joined | Scope::Guest => "",
    };
    let begin = spec.begin_text();
    text.push_str(&format!(
        " DECLARE @handle uniqueidentifier; BEGIN TRY {begin} END TRY BEGIN CATCH {undo}THROW; END CATCH;"
    ));
}

fn push_slot(text: &mut String, slot: usize) {
    let pushed = write!(
        text,
        "\nSET @position = {slot}; IF @position < @count BEGIN TRY \
         IF @b{slot} IS NULL BEGIN SET @position = {slot}; SEND ON CONVERSATION @handle MESSAGE TYPE @t{slot}; END \
         ELSE BEGIN SET @position = {slot}; SEND ON CONVERSATION @handle MESSAGE TYPE @t{slot} (@b{slot}); END; \
         END TRY BEGIN CATCH SELECT @position AS position, ERROR_NUMBER() AS error_number, \
         ERROR_MESSAGE() AS error_message, XACT_STATE() AS transaction_state; END CATCH;"
    );
    debug_assert!(pushed.is_ok(), "writing to a string cannot fail");
}

/// A doomed transaction can only be rolled back; the answer says so.
fn push_conclusion(text: &mut String, scope: Scope) {
    text.push_str(match scope {
        Scope::Own => {
            "\nIF XACT_STATE() = 1 BEGIN COMMIT TRANSACTION; \
             SELECT 0 AS rolled_back, @handle AS conversation_handle; END \
             ELSE BEGIN IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; \
             SELECT 1 AS rolled_back, @handle AS conversation_handle; END;"
        }
        Scope::Joined | Scope::Guest => {
            "\nIF XACT_STATE() = 1 SELECT 0 AS rolled_back, @handle AS conversation_handle; \
             ELSE SELECT 1 AS rolled_back, @handle AS conversation_handle;"
        }
    });
}

fn bind_slots<'a>(
    mut statement: Statement<'a>,
    messages: &[&'a OutgoingMessage],
    slots: usize,
) -> Statement<'a> {
    for slot in 0..slots {
        let (name, body) = match messages.get(slot) {
            Some(message) if message.body.is_empty() => (message.message_type.as_str(), Argument::NoBytes),
            Some(message) => (message.message_type.as_str(), Argument::Bytes(message.body.as_bytes())),
            None => ("", Argument::NoBytes),
        };
        statement = statement.bind(format!("@t{slot}"), "nvarchar(128)", Argument::Text(name)).bind(
            format!("@b{slot}"),
            "varbinary(max)",
            body,
        );
    }
    statement
}

/// Ends a conversation. `@handle`.
pub(crate) fn end_conversation(handle: ConversationHandle) -> Statement<'static> {
    Statement::new("END CONVERSATION @handle;").bind_handle("@handle", handle)
}

/// Ends a conversation with an error. `@handle`; `@code`: above 0; `@text`: at most 3,000 characters.
pub(crate) fn end_with_error(handle: ConversationHandle, code: i32, text: &str) -> Statement<'_> {
    Statement::new("END CONVERSATION @handle WITH ERROR = @code DESCRIPTION = @text;")
        .bind_handle("@handle", handle)
        .bind_int("@code", code)
        .bind("@text", "nvarchar(3000)", Argument::Text(text))
}

/// Starts or replaces the timer of a conversation. `@handle`; `@seconds`: at least 1.
pub(crate) fn conversation_timer(handle: ConversationHandle, seconds: i32) -> Statement<'static> {
    Statement::new("BEGIN CONVERSATION TIMER (@handle) TIMEOUT = @seconds;")
        .bind_handle("@handle", handle)
        .bind_int("@seconds", seconds)
}
