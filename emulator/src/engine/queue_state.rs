//! The messages of one queue: rows by queuing order, the rows of each conversation, and which can be received.
//!
//! It keeps its indexes right whatever is put; it must not know transactions, locks or undo beyond the mark of the
//! transaction that has taken a row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::definitions::{MessageKind, MessageStatus, StoredMessage};
use super::ready_index::{Rank, ReadyIndex};

/// Storage of one queue.
#[derive(Debug, Default)]
pub struct QueueState {
    messages: BTreeMap<i64, Arc<StoredMessage>>,
    by_conversation: BTreeSet<(Uuid, i64)>,
    ready: ReadyIndex,
    last_order: i64,
}

impl QueueState {
    /// The order number for the next arrival.
    pub(crate) fn next_order(&self) -> i64 {
        self.last_order + 1
    }

    /// Sets or removes the row of that order and returns what was there. `group` is the present group of the message's
    /// conversation.
    pub(crate) fn put(
        &mut self,
        order: i64,
        message: Option<Arc<StoredMessage>>,
        group: Uuid,
    ) -> Option<Arc<StoredMessage>> {
        let before = self.take_out(order);
        if let Some(message) = message {
            self.last_order = self.last_order.max(order);
            self.by_conversation.insert((message.handle, order));
            if is_ready(&message) {
                self.ready.insert(message.handle, group, message.priority, rank(message.kind), order);
            }
            self.messages.insert(order, message);
        }
        before
    }

    /// Follows a conversation into another group.
    pub(crate) fn regroup(&mut self, conversation: Uuid, group: Uuid) {
        self.ready.regroup(conversation, group);
    }

    /// The row of that order.
    pub(crate) fn message(&self, order: i64) -> Option<&Arc<StoredMessage>> {
        self.messages.get(&order)
    }

    /// Every row, oldest first.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Arc<StoredMessage>> + '_ {
        self.messages.values()
    }

    /// Orders of every row of a conversation, whatever its status.
    pub(crate) fn orders_of(&self, conversation: Uuid) -> Vec<i64> {
        let whole = (conversation, i64::MIN)..=(conversation, i64::MAX);
        self.by_conversation.range(whole).map(|(_, order)| *order).collect()
    }

    /// What can be received.
    pub(crate) fn ready(&self) -> &ReadyIndex {
        &self.ready
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no row at all.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn take_out(&mut self, order: i64) -> Option<Arc<StoredMessage>> {
        let before = self.messages.remove(&order)?;
        self.by_conversation.remove(&(before.handle, order));
        if is_ready(&before) {
            self.ready.remove(before.handle, rank(before.kind), order);
        }
        Some(before)
    }
}

fn is_ready(message: &StoredMessage) -> bool {
    message.status == MessageStatus::Ready && message.taken_by.is_none()
}

fn rank(kind: MessageKind) -> Rank {
    match kind {
        MessageKind::Timer => Rank::Timer,
        MessageKind::Error => Rank::Error,
        MessageKind::User | MessageKind::EndDialog => Rank::Sequenced,
    }
}
