//! What becomes of messages nobody waits for: they go to the recovery handler, in the receiving transaction, and a
//! handler that fails is treated as a worker treats it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use crate::client::error::{Error, Result};
use crate::client::ids::ConversationHandle;
use crate::client::message::{Message, MessageKind};
use crate::client::poison::{Failure, PoisonPolicy, Verdict, Wish};
use crate::client::pool::random_fraction;
use crate::client::receive::Batch;
use crate::client::statements::Failed;
use crate::client::worker::{Delivery, Handler, HandlerError, panic_reason, reason_of};

/// The code of the error a conversation is ended with whose late reply cannot be handled.
const POISON_CODE: i32 = 1;

/// How many messages have their attempts counted at once. Those that another process received are never heard of again, so
/// when there are so many the counting begins anew.
pub(crate) const MOST_COUNTED: usize = 10_000;

/// A recovery handler for programs that need no late replies: it logs each and ends its conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardReplies;

impl Handler for DiscardReplies {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let message = delivery.message();
        tracing::warn!(
            conversation = %message.conversation,
            message_type = message.message_type,
            bytes = message.body.len(),
            "a reply that nobody waits for is discarded"
        );
        delivery.end().await?;
        Ok(())
    }
}

/// The recovery handler with its failures.
pub(super) struct Recovery<H> {
    pub(super) handler: H,
    pub(super) poison: PoisonPolicy,
    failed: HashMap<(ConversationHandle, i64), u32>,
}

/// What became of a batch in which the handler failed.
pub(super) enum Fate {
    /// It went back to the queue.
    GivenBack,
    /// The message was put aside; the rest is to be done again without it.
    GoesOn(Batch),
}

impl<H: Handler> Recovery<H> {
    pub(super) fn new(handler: H, poison: PoisonPolicy) -> Self {
        Self { handler, poison, failed: HashMap::new() }
    }

    /// Hands a message to the handler; an error says why the handler failed, and what it wants. A message that was tried as
    /// often as allowed without a verdict, because its transaction was doomed each time, is not tried again.
    pub(super) async fn treat(&self, batch: &mut Batch, message: &Message) -> Result<(), (String, Wish)> {
        if self.attempts(message) >= self.poison.max_attempts() {
            return Err(("no attempt came to an end".to_owned(), Wish::Interrupted));
        }
        match AssertUnwindSafe(self.hand_over(batch, message)).catch_unwind().await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err((reason_of(error.cause()), error.wish())),
            Err(panic) => Err((panic_reason(panic.as_ref()), Wish::None)),
        }
    }

    /// Undoes everything done with the batch, and decides between another attempt and putting the message aside.
    pub(super) async fn fail(
        &mut self,
        mut batch: Batch,
        message: &Message,
        (reason, wish): (String, Wish),
    ) -> Result<Fate> {
        let key = (message.conversation, message.sequence_number);
        let earlier = self.attempts(message);
        tracing::warn!(conversation = %message.conversation, earlier, reason, "the recovery handler failed");
        if wish != Wish::Interrupted {
            if self.failed.len() >= MOST_COUNTED {
                self.failed.clear();
            }
            self.failed.insert(key, earlier.saturating_add(1));
        }
        if let Err(doomed) = batch.undo_handling().await {
            tracing::warn!(%doomed, "the recovery handler's error doomed the transaction");
            return batch.give_back().await.map(|()| Fate::GivenBack);
        }
        let failure = Failure { earlier, retries: 0, is_retry: false, age: Duration::ZERO, wish };
        match self.poison.judge(failure, random_fraction()) {
            Verdict::TryAgain | Verdict::RetryLater { .. } => {
                return batch.give_back().await.map(|()| Fate::GivenBack);
            }
            Verdict::Park { attempts, cause } => {
                let queue = batch.queue().to_owned();
                let failed = Failed { message: message.clone(), queue, attempts, retries: 0, reason };
                batch.park(failed, cause.as_str()).await?;
            }
            Verdict::EndConversation { .. } => {
                batch.end_poisoned(message.conversation, POISON_CODE, reason).await?;
            }
        }
        tracing::error!(conversation = %message.conversation, "a late reply was put aside");
        self.failed.remove(&key);
        Ok(Fate::GoesOn(batch))
    }

    async fn hand_over(&self, batch: &mut Batch, message: &Message) -> Result<(), HandlerError> {
        let mut delivery = Delivery::new(message, batch, self.attempts(message).saturating_add(1));
        match &message.kind {
            MessageKind::User => self.handler.handle(&mut delivery).await?,
            MessageKind::DialogTimer => self.handler.on_timer(&mut delivery).await?,
            MessageKind::Error(error) => self.handler.on_error(&mut delivery, error).await?,
            MessageKind::EndDialog => self.handler.on_end(&mut delivery).await?,
        }
        if message.ends_conversation() {
            end(batch, message.conversation).await?;
        }
        Ok(())
    }

    /// The messages are received for good.
    pub(super) fn forget<'m>(&mut self, messages: impl IntoIterator<Item = &'m Message>) {
        for message in messages {
            self.failed.remove(&(message.conversation, message.sequence_number));
        }
    }

    fn attempts(&self, message: &Message) -> u32 {
        self.failed.get(&(message.conversation, message.sequence_number)).copied().unwrap_or(0)
    }
}

/// Ends our side of a conversation; a handler may have done so before.
async fn end(batch: &mut Batch, conversation: ConversationHandle) -> Result<(), Error> {
    match batch.end(conversation).await {
        Err(error) if !error.dialog_is_over() => Err(error),
        _ => Ok(()),
    }
}
