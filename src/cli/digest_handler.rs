//! The demo's handler: a program as an activator launches it. It receives in batches, answers each request with its
//! digest, ends dialogs when asked to, and goes when the queue stays empty.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::digest::{END_OF_STREAM, REPLY, REQUEST, Reply, read_request, sha256};
use super::environment::Environment;
use super::exit::{CliError, ExitStatus};
use super::stop::StopSignals;
use super::terminal;
use crate::client::{
    Batch, Broker, BrokerOptions, ConversationHandle, Error, Message, MessageKind, MessageTypeName,
    OutgoingMessage, QueueName,
};

/// How long the queue stays empty before the handler goes.
const IDLE: Duration = Duration::from_secs(2);
/// How many messages one transaction takes.
const BATCH: u32 = 50;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Server as the notification names it; the address comes from SSBROKER_CONNECTION
    server: String,
    /// Database of the queue
    database: String,
    /// Schema of the queue
    schema: String,
    /// Name of the queue
    queue: String,
    /// Time to spend on each message besides the digest
    #[arg(long, value_parser = super::demo::parse_duration, default_value = "0ms")]
    work: Duration,
}

pub(super) async fn run(arguments: Arguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let connection = environment.get("SSBROKER_CONNECTION").ok_or_else(|| {
        CliError::usage("SSBROKER_CONNECTION is not set: the activator passes it when pass_connection = true")
    })?;
    let options =
        BrokerOptions::from_connection_string(connection)?.with_database(arguments.database.as_str());
    let broker = Broker::with_options(options).await?;
    let queue = QueueName::in_schema(arguments.schema.as_str(), arguments.queue.as_str())?;
    let stop = stop_on_signal()?;
    let mut receiver = broker.receive(queue).max_messages(BATCH).open().await?;
    let mut next = None;
    loop {
        let batch = match next.take() {
            Some(batch) => Some(batch),
            None => tokio::select! {
                batch = receiver.next_within(IDLE) => batch?,
                () = stop.cancelled() => None,
            },
        };
        let Some(batch) = batch else { return Ok(ExitStatus::Done) };
        next = answer(batch, arguments.work, &stop).await?;
    }
}

/// Fires at the first signal; a batch in hand is finished first.
fn stop_on_signal() -> Result<CancellationToken, CliError> {
    let mut signals = StopSignals::listen()?;
    let stop = CancellationToken::new();
    let fired = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        fired.cancel();
    });
    Ok(stop)
}

/// Answers all messages of a batch and commits; takes the next batch with the commit, unless it is time to stop.
async fn answer(mut batch: Batch, work: Duration, stop: &CancellationToken) -> Result<Option<Batch>, Error> {
    let mut replies = Vec::new();
    let mut ended = Vec::new();
    for message in batch.take_messages() {
        match &message.kind {
            MessageKind::User if message.message_type == REQUEST => {
                if !work.is_zero() {
                    tokio::time::sleep(work).await;
                }
                replies.extend(reply_to(&message)?);
            }
            MessageKind::User if message.message_type == END_OF_STREAM => ended.push(message.conversation),
            MessageKind::EndDialog => ended.push(message.conversation),
            MessageKind::Error(error) => {
                terminal::remark(format_args!(
                    "conversation {} failed: {}",
                    message.conversation, error.description
                ));
                ended.push(message.conversation);
            }
            _ => terminal::remark(format_args!(
                "a message of type {} is not for this handler",
                message.message_type
            )),
        }
    }
    batch.send_all(replies).await?;
    for conversation in ended {
        batch.end(conversation).await?;
    }
    if stop.is_cancelled() {
        return batch.commit().await.map(|()| None);
    }
    batch.commit_and_next().await
}

/// The reply; a request that is none is reported and consumed, since trying again would not mend it.
fn reply_to(message: &Message) -> Result<Option<(ConversationHandle, OutgoingMessage)>, Error> {
    let Some((request, bytes)) = read_request(message.body.as_bytes()) else {
        terminal::remark(format_args!("a request of {} bytes is too short", message.body.len()));
        return Ok(None);
    };
    let reply = Reply { request, sha256: sha256(bytes), pid: std::process::id() };
    let body = serde_json::to_vec(&reply).map_err(Error::handler)?;
    Ok(Some((message.conversation, OutgoingMessage::new(MessageTypeName::new(REPLY)?, body))))
}
