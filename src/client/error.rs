//! The one error type of the client: a kind, a short text, the server's own words, and the cause.
//!
//! Callers match on [`ErrorKind`] or ask the questions they really have (`is_retryable`, `dialog_is_over`, ...). The
//! driver's errors are translated in `session`; nothing here names the driver.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use super::body::Body;
use super::ids::ConversationHandle;
use super::message::ErrorBody;
use super::server_codes::{self, Advice};

/// The result of every fallible call of the client.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a program can act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A connection string, an option or a name is not valid. Nothing was sent.
    Config,
    /// No connection could be made: address or network.
    Connect,
    /// No encrypted connection could be agreed on, usually because the certificate is not trusted.
    Tls,
    /// The server refused the login or the database.
    LoginFailed,
    /// The connection broke, or the server ended the session. What was not committed is rolled back.
    ConnectionLost,
    /// Every connection of the pool stayed in use for as long as a caller may wait for one. Nothing was sent; a larger
    /// pool helps, or shorter use.
    PoolExhausted,
    /// A deadline of ours passed. The connection is given up, so that what was not committed is rolled back.
    Timeout,
    /// The connection broke or a deadline passed while a commit was on its way: it may have happened or not.
    CommitUnknown,
    /// The conversation ended, failed or never existed: begin another one.
    DialogOver,
    /// The queue is switched off, usually by the rule of five roll backs.
    QueueDisabled,
    /// Service Broker is disabled in a database.
    BrokerDisabled,
    /// A permission is missing.
    PermissionDenied,
    /// A dialog is over, and this login may not see which of its messages were never delivered: only members of db_owner
    /// can, or whoever may run the procedures of `sql/07-sending.sql`.
    PendingUnknown,
    /// A queue, service, contract, message type or database does not exist.
    ObjectMissing,
    /// A declared object exists, but not as declared.
    ObjectDiffers,
    /// The message itself is refused: its type, its body, its size.
    MessageRefused,
    /// The next message of a queue has a longer body than the receiver allows. It stays there; [`Error::conversation`] says
    /// on which conversation it came.
    BodyTooLarge,
    /// The server says: later. A deadlock, a lock timeout, a database that is starting.
    Transient,
    /// The database is a secondary replica, read-only or moving here: connect again, to the listener's name.
    Failover,
    /// Another broker answers under the same name: the database was restored, attached or given a new broker, or failed
    /// over to a copy. Conversations of the old one are not known to it.
    BrokerChanged,
    /// The lease on a stored message ran out and somebody else has taken it over.
    LeaseLost,
    /// The transaction can only be rolled back.
    TransactionDoomed,
    /// The server refused a statement for another reason; see [`Error::server_number`].
    Statement,
    /// Something is right, but not built in: a way to log in, or a construct of the embedded broker (its error 40510).
    Unsupported,
    /// The server reports damage in its own structures.
    Corrupt,
    /// A value has another type than asked for, or does not fit.
    Value,
    /// The body of a message is not what it was read as: another encoding, a character that XML cannot hold, damaged JSON
    /// or a damaged envelope. Reading it again finds the same. See [`Error::body`].
    BodyUnreadable,
    /// The peer does not speak the protocol as expected.
    Protocol,
    /// The object this was asked of has been closed or has stopped.
    Closed,
    /// A handler of the caller failed.
    Handler,
    /// No reply came within the time a request allows. Its dialog stays open, so a late reply still goes to the recovery
    /// handler; [`Error::conversation`] leads back to it.
    ReplyTimeout,
    /// The conversation ended without the reply that was waited for, or somebody else has it.
    NoReply,
    /// The conversation of a request failed, or the target ended it with an error; see [`Error::conversation_error`].
    RequestFailed,
}

/// An error reported by the server, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// The error number.
    pub number: u32,
    /// The state, which tells places apart that raise the same number.
    pub state: u8,
    /// The severity. From 20 on the server closes the connection.
    pub class: u8,
    /// The text.
    pub message: String,
    /// The name of the server, empty when unknown.
    pub server: String,
    /// The procedure in which it was raised, empty when none.
    pub procedure: String,
    /// The line in the batch or procedure, from 1; 0 when unknown.
    pub line: u32,
}

impl ServerError {
    /// A server error of which only number and text are known, as `ERROR_NUMBER()` and `ERROR_MESSAGE()` give them.
    #[must_use]
    pub fn new(number: u32, message: impl Into<String>) -> Self {
        Self {
            number,
            state: 1,
            class: 16,
            message: message.into(),
            server: String::new(),
            procedure: String::new(),
            line: 0,
        }
    }

    /// Whether the server closes the connection after such an error.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        self.class >= 20
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server error {} (class {}, state {}", self.number, self.class, self.state)?;
        if !self.procedure.is_empty() {
            write!(f, ", procedure {}", self.procedure)?;
        }
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        write!(f, "): {}", one_line(&self.message))
    }
}

impl StdError for ServerError {}

/// Any failure of the client.
///
/// `Display` is one line: what was attempted, the server's number and meaning, and what to do. The server's full text
/// and other causes follow in [`source`](StdError::source). Clones share the cause.
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    text: String,
    server: Option<ServerError>,
    conversation: Option<ConversationHandle>,
    body: Option<Body>,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind with a lower-case, one-line text.
    #[must_use]
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self::of(kind, text.into(), None)
    }

    /// An error the server reported; its kind is looked up by its number.
    #[must_use]
    pub fn from_server(error: ServerError) -> Self {
        Self::of(kind_of(&error), String::new(), Some(error))
    }

    fn of(kind: ErrorKind, text: String, server: Option<ServerError>) -> Self {
        Self { inner: Box::new(Inner { kind, text, server, conversation: None, body: None, cause: None }) }
    }

    /// A failure of the caller's own handler, kept as the cause.
    #[must_use]
    pub fn handler(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Handler, "the handler failed").with_cause(cause)
    }

    pub(crate) fn config(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, text)
    }

    pub(crate) fn value(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, text)
    }

    pub(crate) fn unreadable(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::BodyUnreadable, text)
    }

    /// The same error with a cause below it.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.inner.cause = Some(Arc::from(cause.into()));
        self
    }

    /// The same error, saying first what was attempted: `"receiving from [dbo].[orders]"`.
    #[must_use]
    pub fn during(mut self, action: impl fmt::Display) -> Self {
        let text = &mut self.inner.text;
        *text = if text.is_empty() { action.to_string() } else { format!("{action}: {text}") };
        self
    }

    pub(crate) fn on_conversation(mut self, conversation: ConversationHandle) -> Self {
        self.inner.conversation = Some(conversation);
        self
    }

    pub(crate) fn about_body(mut self, body: Body) -> Self {
        self.inner.body = Some(body);
        self
    }

    /// What a failed commit means: when the answer was lost, nobody knows whether it happened.
    pub(crate) fn into_commit_outcome(mut self) -> Self {
        if matches!(self.kind(), ErrorKind::ConnectionLost | ErrorKind::Timeout | ErrorKind::Protocol) {
            self.inner.kind = ErrorKind::CommitUnknown;
            return self.during("the outcome of the commit is unknown");
        }
        self
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What the server reported, if it was the server.
    #[must_use]
    pub fn server(&self) -> Option<&ServerError> {
        self.inner.server.as_ref()
    }

    /// The server's error number, if the server reported one. Compare with the constants of
    /// [`server_codes`](super::server_codes).
    #[must_use]
    pub fn server_number(&self) -> Option<u32> {
        self.server().map(|error| error.number)
    }

    /// The conversation it is about: that of a request that failed, if its dialog had been begun; that of a message whose
    /// body could not be read by [`Message::read_body`](super::Message::read_body), or is too long for a receiver.
    #[must_use]
    pub fn conversation(&self) -> Option<ConversationHandle> {
        self.inner.conversation
    }

    /// The body that [`Message::read_body`](super::Message::read_body) could not read, byte for byte.
    #[must_use]
    pub fn body(&self) -> Option<&Body> {
        self.inner.body.as_ref()
    }

    /// What the Error message of the conversation says, for [`ErrorKind::RequestFailed`].
    #[must_use]
    pub fn conversation_error(&self) -> Option<&ErrorBody> {
        self.inner.cause.as_deref().and_then(|cause| cause.downcast_ref())
    }

    /// What to do about it, for numbers in the catalogue.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        self.server_number().and_then(server_codes::lookup).map(|code| code.advice)
    }

    /// Whether doing the same thing again, in a new transaction, may succeed.
    ///
    /// An unknown commit is not retryable: that would do it twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Transient
                | ErrorKind::ConnectionLost
                | ErrorKind::Timeout
                | ErrorKind::PoolExhausted
                | ErrorKind::Connect
                | ErrorKind::Failover
        ) || self.advice() == Some(Advice::Retry)
    }

    /// Whether the connection is gone or of no use any more, including when a commit was on its way.
    #[must_use]
    pub fn is_connection_lost(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::ConnectionLost
                | ErrorKind::Timeout
                | ErrorKind::CommitUnknown
                | ErrorKind::Protocol
                | ErrorKind::Failover
        )
    }

    /// Whether this dialog will never carry another message.
    #[must_use]
    pub fn dialog_is_over(&self) -> bool {
        self.kind() == ErrorKind::DialogOver
    }

    /// Whether the queue is switched off and must be switched on by somebody.
    #[must_use]
    pub fn queue_is_disabled(&self) -> bool {
        self.kind() == ErrorKind::QueueDisabled
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = one_line(&self.inner.text);
        let Some(server) = self.server() else { return f.write_str(&text) };
        if !text.is_empty() {
            write!(f, "{text}: ")?;
        }
        match server_codes::lookup(server.number) {
            Some(code) => write!(f, "server error {}: {}; {}", code.number, code.meaning, code.advice.text()),
            None => write!(f, "server error {}", server.number),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("text", &self.inner.text)
            .field("server", &self.inner.server)
            .field("conversation", &self.inner.conversation)
            .field("body", &self.inner.body)
            .field("cause", &self.inner.cause)
            .finish()
    }
}

/// Lets a ready-made name stand where a text is also accepted.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        if let Some(server) = &self.inner.server {
            return Some(server);
        }
        self.inner.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}

fn kind_of(error: &ServerError) -> ErrorKind {
    match server_codes::lookup(error.number) {
        Some(code) => code.kind,
        None if error.ends_connection() => ErrorKind::ConnectionLost,
        None => ErrorKind::Statement,
    }
}

/// Server texts may hold line breaks; a log line must not.
fn one_line(text: &str) -> String {
    text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_catalogue_answers_the_four_questions_by_its_kind() {
        for code in server_codes::CATALOGUE {
            let error = Error::from_server(ServerError::new(code.number, "text\r\nof the server"));
            assert_eq!(error.kind(), code.kind);
            assert_eq!(error.dialog_is_over(), code.advice == Advice::ReplaceDialog, "{code:?}");
            assert_eq!(error.queue_is_disabled(), code.advice == Advice::StopQueue, "{code:?}");
            let again = matches!(code.advice, Advice::Retry | Advice::Reconnect);
            assert_eq!(error.is_retryable(), again, "{code:?}");
            let gone = matches!(code.kind, ErrorKind::ConnectionLost | ErrorKind::Failover);
            assert_eq!(error.is_connection_lost(), gone, "{code:?}");
            assert_eq!(error.server_number(), Some(code.number));
        }
    }

    #[test]
    fn the_text_is_one_line_with_action_number_and_advice_and_the_cause_has_the_servers_words() {
        let error =
            Error::from_server(ServerError::new(9617, "The queue is\r\noff.")).during("receiving from [q]");
        assert_eq!(
            error.to_string(),
            "receiving from [q]: server error 9617: the queue is disabled; find the poison message, then switch the \
             queue on again"
        );
        assert_eq!(
            error.source().unwrap().to_string(),
            "server error 9617 (class 16, state 1): The queue is off."
        );
    }

    #[test]
    fn a_lost_answer_to_a_commit_is_an_unknown_outcome_and_not_retryable() {
        for kind in [ErrorKind::ConnectionLost, ErrorKind::Timeout, ErrorKind::Protocol] {
            let error = Error::new(kind, "gone").into_commit_outcome();
            assert_eq!(error.kind(), ErrorKind::CommitUnknown);
            assert!(!error.is_retryable() && error.is_connection_lost());
        }
        let refused = Error::from_server(ServerError::new(3902, "no transaction")).into_commit_outcome();
        assert_eq!(refused.kind(), ErrorKind::Statement);
    }

    #[test]
    fn an_unknown_number_of_high_severity_means_a_lost_connection() {
        let mut server = ServerError::new(99_999, "fatal");
        assert_eq!(Error::from_server(server.clone()).kind(), ErrorKind::Statement);
        server.class = 20;
        assert_eq!(Error::from_server(server).kind(), ErrorKind::ConnectionLost);
    }
}
