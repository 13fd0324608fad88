//! Sends the requests over a dialog pool and collects the replies.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::PATIENCE;
use super::ledger::{Counts, Ledger};
use super::source::{Item, Source};
use super::stage::Stage;
use crate::cli::digest::{END_OF_STREAM, REPLY, REQUEST, Reply, request_body, sha256};
use crate::cli::exit::CliError;
use crate::cli::terminal;
use crate::client::{
    Batch, ContractName, Destination, DialogPool, Message, MessageKind, MessageTypeName, OutgoingMessage,
    PoolOptions, Receiver, ServiceName,
};

/// Dialogs side by side, and tasks that send on them.
const WIDTH: usize = 8;
/// Messages of one request to the server.
const CHUNK_MESSAGES: usize = 100;
/// Bytes of one request to the server, unless one file is larger.
const CHUNK_BYTES: u64 = 4 << 20;
/// Kilobytes under way at most, so that a large tree does not end up in memory as a whole.
const MOST_UNDER_WAY: u32 = 256 << 10;
/// What one request to the server counts at most, so that all tasks together stay below the limit.
const MOST_OF_ONE: u32 = MOST_UNDER_WAY / (2 * WIDTH as u32);
/// How long the targets may take to end the dialogs after the last reply.
const FAREWELL: Duration = Duration::from_secs(15);

/// Requests under way, with their share of the memory limit.
type Requests = Ledger<Arc<OwnedSemaphorePermit>>;

/// What the traffic came to.
pub(super) struct Outcome {
    pub(super) counts: Counts,
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) skipped: u64,
}

/// What senders and collector share.
struct Shared {
    ledger: Mutex<Requests>,
    /// Counts what arrived, so that waiting for it can see progress.
    progress: watch::Sender<u64>,
    under_way: Arc<Semaphore>,
    pool: DialogPool,
    destination: Destination,
    bar: ProgressBar,
}

impl Shared {
    /// Held for one entry; what a panicking task left is whole.
    fn ledger(&self) -> std::sync::MutexGuard<'_, Requests> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends everything, waits for the replies, takes leave of the dialogs.
pub(super) async fn run(stage: &Stage, source: &Source, quiet: bool) -> Result<Outcome, CliError> {
    let options = PoolOptions::default()
        .width(WIDTH)
        .max_sends(1000)
        .end_of_stream(MessageTypeName::new(END_OF_STREAM)?);
    let destination =
        Destination::new(ServiceName::new(stage.client_service())?, ServiceName::new(stage.service())?)?;
    let shared = Arc::new(Shared {
        ledger: Mutex::new(Ledger::new()),
        progress: watch::channel(0).0,
        under_way: Arc::new(Semaphore::new(MOST_UNDER_WAY as usize)),
        pool: stage.broker().dialog_pool(options)?,
        destination: destination.contract(ContractName::new(stage.contract())?)?,
        bar: progress_bar(source.items.len() as u64, quiet),
    });
    let receiver = stage.broker().receive(stage.reply_queue()?).open().await?;
    let mut collector = tokio::spawn(collect(Arc::clone(&shared), receiver));
    let work = async {
        let skipped = send_all(&shared, source).await?;
        wait_for_replies(&shared).await;
        shared.pool.close().await?;
        // Dialogs that stay open are counted at the end.
        let _ = tokio::time::timeout(FAREWELL, shared.pool.drained()).await;
        Ok::<_, CliError>(skipped)
    };
    let skipped = tokio::select! {
        skipped = work => skipped?,
        ended = &mut collector => return Err(collector_error(ended)),
    };
    collector.abort();
    shared.bar.finish_and_clear();
    let ledger = shared.ledger();
    let received = *shared.progress.borrow();
    let (counts, lost) = (ledger.counts().clone(), ledger.open());
    Ok(Outcome { counts, received, lost, skipped: skipped + source.unreadable })
}

fn collector_error(ended: Result<Result<(), CliError>, tokio::task::JoinError>) -> CliError {
    match ended {
        Ok(Err(error)) => error,
        Ok(Ok(())) => CliError::not_well("the collector of replies stopped early"),
        Err(panic) => CliError::not_well("the collector of replies died").because(panic),
    }
}

/// Sends in parallel; answers how many items could not be read.
async fn send_all(shared: &Arc<Shared>, source: &Source) -> Result<u64, CliError> {
    let mut chunks = chunks(&source.items).into_iter();
    let mut senders = JoinSet::new();
    let mut skipped = 0;
    loop {
        while senders.len() < WIDTH
            && let Some(chunk) = chunks.next()
        {
            senders.spawn(send_chunk(Arc::clone(shared), chunk.to_vec()));
        }
        match senders.join_next().await {
            Some(sent) => {
                skipped += sent.map_err(|panic| CliError::not_well("a sender died").because(panic))??
            }
            None => return Ok(skipped),
        }
    }
}

/// Cuts the items into requests by number and by bytes.
fn chunks(items: &[Item]) -> Vec<&[Item]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, item) in items.iter().enumerate() {
        if at > start && (at - start == CHUNK_MESSAGES || bytes + item.size > CHUNK_BYTES) {
            chunks.push(&items[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += item.size;
    }
    if start < items.len() {
        chunks.push(&items[start..]);
    }
    chunks
}

/// Reads, enters and sends one request's worth of items; answers how many could not be read.
async fn send_chunk(shared: Arc<Shared>, items: Vec<Item>) -> Result<u64, CliError> {
    let kilobytes = items.iter().map(|item| item.size).sum::<u64>() / 1024 + 1;
    let share = u32::try_from(kilobytes).unwrap_or(MOST_OF_ONE).min(MOST_OF_ONE);
    let permit = Arc::clone(&shared.under_way).acquire_many_owned(share).await;
    let permit = Arc::new(permit.expect("the semaphore is never closed"));
    let read = tokio::task::spawn_blocking(move || read_items(items)).await;
    let read = read.map_err(|panic| CliError::not_well("reading died").because(panic))?;
    let message_type = MessageTypeName::new(REQUEST)?;
    let (mut sent, mut messages) = (Vec::new(), Vec::new());
    for (item, bytes) in read.readable {
        let held = Arc::clone(&permit);
        shared.ledger().enter(item.id, &item.name, sha256(&bytes), bytes.len() as u64, held);
        sent.push((item.id, bytes.len() as u64));
        messages.push(OutgoingMessage::new(message_type.clone(), request_body(item.id, &bytes)));
    }
    let outcomes = shared.pool.send(&shared.destination, &messages).await?;
    for (outcome, (id, bytes)) in outcomes.iter().zip(sent) {
        if let Some(error) = outcome.error() {
            shared.ledger().refused(id, bytes, &error.to_string());
        }
    }
    Ok(read.skipped)
}

struct Read {
    readable: Vec<(Item, Vec<u8>)>,
    skipped: u64,
}

/// An item that cannot be read is named and left out; the rest goes on.
fn read_items(items: Vec<Item>) -> Read {
    let mut read = Read { readable: Vec::with_capacity(items.len()), skipped: 0 };
    for item in items {
        match item.read() {
            Ok(bytes) => read.readable.push((item, bytes)),
            Err(error) => {
                terminal::remark(format_args!("skipped {}: {error}", item.name));
                read.skipped += 1;
            }
        }
    }
    read
}

/// Waits until nothing is open, or nothing has come for too long.
async fn wait_for_replies(shared: &Shared) {
    let mut progress = shared.progress.subscribe();
    while shared.ledger().open() > 0 {
        if tokio::time::timeout(PATIENCE, progress.changed()).await.is_err() {
            terminal::remark(format_args!(
                "no reply for {PATIENCE:?}; giving up on {}",
                shared.ledger().open()
            ));
            return;
        }
    }
}

/// Takes replies and the ends of dialogs from the reply queue until it is aborted.
async fn collect(shared: Arc<Shared>, mut receiver: Receiver) -> Result<(), CliError> {
    let mut next = None;
    loop {
        let mut batch = match next.take() {
            Some(batch) => batch,
            None => receiver.next().await?,
        };
        let ended = take_in(&shared, &mut batch).await?;
        next = batch.commit_and_next().await?;
        for conversation in ended {
            shared.pool.on_end_dialog(conversation);
        }
    }
}

/// Checks the replies of a batch and ends the conversations whose peer has ended them.
async fn take_in(
    shared: &Shared,
    batch: &mut Batch,
) -> Result<Vec<crate::client::ConversationHandle>, CliError> {
    let messages = batch.take_messages();
    let mut ended = Vec::new();
    for message in &messages {
        match &message.kind {
            MessageKind::User => check_reply(shared, message),
            MessageKind::Error(error) => shared.ledger().conversation_failed(&error.description),
            _ => {}
        }
        if message.ends_conversation() {
            batch.end(message.conversation).await?;
            ended.push(message.conversation);
        }
    }
    shared.progress.send_modify(|received| *received += messages.len() as u64);
    Ok(ended)
}

fn check_reply(shared: &Shared, message: &Message) {
    let reply = serde_json::from_slice::<Reply>(message.body.as_bytes());
    match reply {
        Ok(reply) if message.message_type == REPLY => {
            shared.ledger().reply(&reply);
            shared.bar.inc(1);
        }
        Ok(_) => shared.ledger().strange(format!("a message of type {} is no reply", message.message_type)),
        Err(error) => shared.ledger().strange(format!("a reply is not readable: {error}")),
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress_bar(length: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} verified, {per_sec}, {eta} left");
    let style = style.expect("the template is a constant");
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_has_become_unreadable_is_skipped_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let source = Source::files(folder.path()).unwrap();
        std::fs::remove_file(folder.path().join("b")).unwrap();
        let read = read_items(source.items);
        let bytes: Vec<_> = read.readable.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!((bytes, read.skipped), (vec![b"a".as_slice(), b"c"], 1));
    }

    #[test]
    fn requests_are_cut_by_number_and_by_bytes() {
        let sizes = |count, size| {
            let items = Source::synthetic(count, size).items;
            chunks(&items).iter().map(|chunk| chunk.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(250, 10), [100, 100, 50]);
        assert_eq!(sizes(3, 3 << 20), [1, 1, 1]);
        assert!(sizes(0, 1).is_empty());
    }
}
