//! One reply that several tasks wait for.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};

use super::pending::PendingReply;
use super::reply::Reply;
use crate::client::error::Result;
use crate::client::ids::ConversationHandle;

/// A reply that several tasks wait for; made by [`PendingReply::share`]. Clones wait for the same reply.
///
/// Dropping the last clone gives up waiting, as dropping the [`PendingReply`] does.
#[derive(Clone)]
#[must_use = "the reply is waited for by `reply`"]
pub struct SharedReply {
    conversation: ConversationHandle,
    reply: Shared<BoxFuture<'static, Result<Arc<Reply>>>>,
}

impl PendingReply {
    /// Lets several tasks wait for this reply: each gets it, or the error. The time runs from the sending, as for one.
    pub fn share(self) -> SharedReply {
        let conversation = self.conversation();
        let reply = async move { self.reply().await.map(Arc::new) };
        SharedReply { conversation, reply: reply.boxed().shared() }
    }
}

impl SharedReply {
    /// Our side of the request's conversation.
    #[must_use]
    pub fn conversation(&self) -> ConversationHandle {
        self.conversation
    }

    /// Waits for the reply.
    ///
    /// # Errors
    /// Those of [`PendingReply::reply`], the same for all who wait.
    ///
    /// # Cancellation
    /// Dropping the future ends this wait only.
    pub async fn reply(&self) -> Result<Arc<Reply>> {
        self.reply.clone().await
    }

    /// Waits for the reply and forgets the request, if it was remembered. One of those who wait does this, when all have
    /// used the reply.
    ///
    /// # Errors
    /// Those of [`reply`](Self::reply) and of [`Reply::settle`].
    ///
    /// # Cancellation
    /// As [`Reply::settle`].
    pub async fn settle(self) -> Result<()> {
        self.reply().await?.forget().await
    }
}

impl fmt::Debug for SharedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReply").field("conversation", &self.conversation).finish_non_exhaustive()
    }
}
