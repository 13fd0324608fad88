//! The sending half on one session: begin, send, end, timers, alone or inside a transaction that is already open.
//!
//! `dialog` and `dialog_pool` call these with a pooled session and their own transaction; a receiver's batch calls them
//! with its session, joining the receiving transaction. Dropping one of these futures leaves the session busy, so that it
//! is discarded and the server rolls back whatever was not committed.

use tracing::Instrument as _;

use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::{QueueName, ServiceName};
use super::outcome::{self, SendAnswer};
use super::session::{Connection, Session};
use super::statements::{self, DialogSpec, Opening, SEND_SIZES, Scope, Statement};
use super::telemetry;

/// The most body bytes of one request, unless a single message is larger. The driver holds a request twice in memory.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// The most handles of one SEND: a request takes 2,100 parameters.
pub(crate) const MOST_HANDLES: usize = 2_000;

/// Begins a dialog.
pub(crate) async fn begin(
    session: &mut Session,
    scope: Scope,
    spec: &DialogSpec,
) -> Result<ConversationHandle> {
    let results =
        run(session, scope, &statements::begin_dialog(spec)).await.map_err(|error| beginning(spec, error))?;
    let row = results
        .first_row()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "BEGIN DIALOG answered no handle"))?;
    row.get("conversation_handle")
}

/// Sends one message.
pub(crate) async fn send(
    session: &mut Session,
    scope: Scope,
    conversation: ConversationHandle,
    message: &OutgoingMessage,
) -> Result<()> {
    check_bodies(session, [message])?;
    let span = telemetry::send_span(Some(conversation), 1, message.body.len());
    let sent = run(session, scope, &statements::send(conversation, message)).instrument(span).await;
    if sent.is_ok() {
        telemetry::sent(1, message.body.len());
    }
    sent.map(drop).map_err(|error| error.during(format!("sending on {conversation}")))
}

/// Sends one message on several conversations: on all of them or on none.
pub(crate) async fn send_on(
    session: &mut Session,
    scope: Scope,
    conversations: &[ConversationHandle],
    message: &OutgoingMessage,
) -> Result<()> {
    if conversations.is_empty() {
        return Ok(());
    }
    if conversations.len() > MOST_HANDLES {
        let count = conversations.len();
        return Err(Error::config(format!(
            "a message can be sent on {MOST_HANDLES} conversations at once, not {count}"
        )));
    }
    check_bodies(session, [message])?;
    let span = telemetry::send_span(None, conversations.len(), message.body.len());
    let sent = run(session, scope, &statements::send_on(conversations, message)).instrument(span).await;
    if sent.is_ok() {
        telemetry::sent(conversations.len(), message.body.len());
    }
    sent.map(drop).map_err(|error| error.during(format!("sending on {} conversations", conversations.len())))
}

/// Sends messages on one conversation, in order, with an outcome for each.
///
/// With [`Scope::Own`] everything is one transaction: a single request if the messages fit, otherwise one request for each
/// 100 messages between a begin and a commit. What is refused by itself does not keep the others from being sent.
pub(crate) async fn send_many(
    session: &mut Session,
    scope: Scope,
    opening: Opening<'_>,
    messages: &[&OutgoingMessage],
) -> Result<SendAnswer> {
    check_bodies(session, messages.iter().copied())?;
    let chunks = split(messages);
    match (scope, chunks.as_slice()) {
        (_, [chunk]) => send_chunk(session, scope, opening, chunk).await,
        (Scope::Joined | Scope::Guest, chunks) => send_chunks(session, scope, opening, chunks).await,
        (Scope::Own, chunks) => {
            session.begin().await?;
            let answer = send_chunks(session, Scope::Joined, opening, chunks).await;
            match &answer {
                Ok(answer) if !answer.rolled_back => session.commit().await?,
                // A session that is not clean is discarded, which rolls back as well.
                _ if session.is_clean() => session.rollback_if_open().await?,
                _ => {}
            }
            answer
        }
    }
}

/// Sends messages on one conversation in the transaction that the caller's connection has open.
pub(crate) async fn send_as_guest(
    connection: &mut impl Connection,
    opening: Opening<'_>,
    messages: &[&OutgoingMessage],
) -> Result<SendAnswer> {
    check_bodies(connection, messages.iter().copied())?;
    send_chunks(connection, Scope::Guest, opening, &split(messages)).await
}

/// Refuses a body that is larger than the connection's options allow.
pub(crate) fn check_bodies<'m>(
    connection: &impl Connection,
    messages: impl IntoIterator<Item = &'m OutgoingMessage>,
) -> Result<()> {
    let Some(limit) = connection.max_body() else { return Ok(()) };
    let too_large = messages.into_iter().find(|message| message.body.len() > limit);
    match too_large {
        None => Ok(()),
        Some(message) => Err(Error::new(
            ErrorKind::MessageRefused,
            format!(
                "nothing was sent: a body of type {} has {} bytes, more than the {limit} allowed",
                message.message_type,
                message.body.len()
            ),
        )),
    }
}

/// The queue of a service in this database.
pub(crate) async fn queue_of(session: &mut Session, service: &ServiceName) -> Result<QueueName> {
    let results = session.execute(&statements::queue_of(service)).await?;
    let row = results.first_row().ok_or_else(|| {
        let text =
            format!("service {service} does not exist in this database, or VIEW DEFINITION on it is missing");
        Error::new(ErrorKind::ObjectMissing, text)
    })?;
    QueueName::in_schema(row.get::<String>("schema_name")?, row.get::<String>("queue_name")?)
}

/// Ends a conversation.
pub(crate) async fn end(session: &mut Session, scope: Scope, conversation: ConversationHandle) -> Result<()> {
    let ended = run(session, scope, &statements::end_conversation(conversation)).await;
    ended.map(drop).map_err(|error| error.during(format!("ending {conversation}")))
}

/// Ends a conversation with an error for the peer.
pub(crate) async fn end_with_error(
    session: &mut Session,
    scope: Scope,
    conversation: ConversationHandle,
    code: i32,
    text: &str,
) -> Result<()> {
    check_error(code, text)?;
    let ended = run(session, scope, &statements::end_with_error(conversation, code, text)).await;
    ended.map(drop).map_err(|error| error.during(format!("ending {conversation} with error {code}")))
}

/// Starts or replaces the timer of a conversation.
pub(crate) async fn start_timer(
    session: &mut Session,
    scope: Scope,
    conversation: ConversationHandle,
    after: std::time::Duration,
) -> Result<()> {
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    let seconds = i32::try_from(seconds.max(1)).unwrap_or(i32::MAX);
    let started = run(session, scope, &statements::conversation_timer(conversation, seconds)).await;
    started.map(drop).map_err(|error| error.during(format!("starting the timer of {conversation}")))
}

/// Outside a transaction the statement commits by itself, so a lost answer leaves its outcome unknown.
async fn run(session: &mut Session, scope: Scope, statement: &Statement<'_>) -> Result<super::rows::Results> {
    let answer = session.execute(statement).await;
    match scope {
        Scope::Own => answer.map_err(Error::into_commit_outcome),
        Scope::Joined | Scope::Guest => answer,
    }
}

async fn send_chunk(
    connection: &mut impl Connection,
    scope: Scope,
    opening: Opening<'_>,
    chunk: &[&OutgoingMessage],
) -> Result<SendAnswer> {
    let statement = statements::send_batch(scope, opening, chunk);
    let conversation = match opening {
        Opening::Existing(conversation) => Some(conversation),
        Opening::Begin(_) => None,
    };
    let span = telemetry::send_span(conversation, chunk.len(), bytes_of(chunk));
    let answered = connection
        .run(&statement)
        .instrument(span)
        .await
        .and_then(|response| outcome::decode(chunk.len(), response));
    let answered = match scope {
        Scope::Own => answered.map_err(Error::into_commit_outcome),
        Scope::Joined | Scope::Guest => answered,
    };
    if let Ok(answer) = &answered {
        count_sent(chunk, answer);
    }
    answered.map_err(|error| match opening {
        Opening::Existing(conversation) => error.during(format!("sending on {conversation}")),
        Opening::Begin(spec) => beginning(spec, error),
    })
}

fn bytes_of(messages: &[&OutgoingMessage]) -> usize {
    messages.iter().map(|message| message.body.len()).sum()
}

/// Counts the messages the server took.
fn count_sent(chunk: &[&OutgoingMessage], answer: &SendAnswer) {
    let taken: Vec<&OutgoingMessage> = chunk
        .iter()
        .zip(&answer.outcomes)
        .filter(|(_, outcome)| outcome.is_sent())
        .map(|(it, _)| *it)
        .collect();
    if !(answer.rolled_back || taken.is_empty()) {
        telemetry::sent(taken.len(), bytes_of(&taken));
    }
}

/// Sends chunk after chunk in the open transaction, until one of them dooms it.
async fn send_chunks(
    connection: &mut impl Connection,
    scope: Scope,
    mut opening: Opening<'_>,
    chunks: &[&[&OutgoingMessage]],
) -> Result<SendAnswer> {
    let mut whole = SendAnswer { outcomes: Vec::new(), conversation: None, rolled_back: false };
    for chunk in chunks {
        let first = whole.outcomes.len();
        if whole.rolled_back {
            whole.outcomes.extend((first..first + chunk.len()).map(outcome::SendOutcome::sent));
            continue;
        }
        let answer = send_chunk(connection, scope, opening, chunk).await?;
        whole.outcomes.extend(answer.outcomes.into_iter().map(|each| {
            let index = first + each.index();
            each.at(index)
        }));
        whole.rolled_back = answer.rolled_back;
        whole.conversation = answer.conversation;
        if let Some(conversation) = answer.conversation {
            opening = Opening::Existing(conversation);
        }
    }
    if whole.rolled_back {
        outcome::mark_rolled_back(&mut whole.outcomes);
    }
    Ok(whole)
}

/// Cuts the messages into requests by number and by bytes, at least one message each.
fn split<'m, 'a>(messages: &'m [&'a OutgoingMessage]) -> Vec<&'m [&'a OutgoingMessage]> {
    let most_messages = SEND_SIZES[SEND_SIZES.len() - 1];
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let full = at - start == most_messages || bytes + message.body.len() > MOST_BYTES;
        if full && at > start {
            chunks.push(&messages[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += message.body.len();
    }
    chunks.push(&messages[start..]);
    chunks
}

fn check_error(code: i32, text: &str) -> Result<()> {
    if code < 1 {
        return Err(Error::config(format!(
            "an error code must be above 0, not {code}: lower ones are the broker's own"
        )));
    }
    let length = text.encode_utf16().count();
    if length > 3_000 {
        return Err(Error::config(format!("an error description has at most 3000 characters, not {length}")));
    }
    Ok(())
}

fn beginning(spec: &DialogSpec, error: Error) -> Error {
    error.during(format!("beginning a dialog from {} to {}", spec.from, spec.to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::body::Body;
    use crate::client::names::MessageTypeName;

    fn chunk_sizes(bodies: &[usize]) -> Vec<usize> {
        let message_type = MessageTypeName::new("//t").unwrap();
        let owned: Vec<_> = bodies
            .iter()
            .map(|size| OutgoingMessage::new(message_type.clone(), Body::bytes(vec![0u8; *size])))
            .collect();
        let messages: Vec<_> = owned.iter().collect();
        split(&messages).iter().map(|chunk| chunk.len()).collect()
    }

    #[test]
    fn a_request_is_cut_by_number_and_by_bytes_and_a_large_message_goes_alone() {
        assert_eq!(chunk_sizes(&[]), [0]);
        assert_eq!(chunk_sizes(&[0; 100]), [100]);
        assert_eq!(chunk_sizes(&[0; 250]), [100, 100, 50]);
        assert_eq!(chunk_sizes(&[1, 9 << 20, 1, 1]), [1, 1, 2]);
        assert_eq!(chunk_sizes(&[4 << 20, 4 << 20, 1]), [2, 1]);
    }

    #[test]
    fn error_codes_and_texts_are_checked_before_anything_is_sent() {
        assert!(check_error(1, "text").is_ok());
        for (code, length) in [(0, 1), (-8489, 1), (1, 3_001)] {
            assert_eq!(check_error(code, &"x".repeat(length)).unwrap_err().kind(), ErrorKind::Config);
        }
    }
}
