//! RECEIVE and GET CONVERSATION GROUP (spec 2.3, 2.5): choosing a group, locking it, taking messages.
//!
//! A received row is marked as taken by the transaction and stays in the queue until that ends. What the queue's monitor
//! is to see is noted and reaches it only if the whole statement ends well. It must not know monitors or delivery.

use std::sync::Arc;

use uuid::Uuid;

use super::activation::CompletedReceive;
use super::broker_errors;
use super::broker_state::{WaitFor, Waiter};
use super::conversation::is_finished;
use super::core::{Interrupt, Op, Wait, WaitOn};
use super::definitions::{
    Effect, MessageStatus, Permission, QueueDef, QueuedMessage, Securable, StoredMessage,
};
use super::errors;
use super::ids::{QueueKey, ServiceId};
use super::locks::{LockDuration, LockMode, Resource};
use super::tx::Tx;

/// WHERE of RECEIVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// No WHERE: the next group that is free.
    #[default]
    None,
    /// `conversation_handle =`
    Conversation(Uuid),
    /// `conversation_group_id =`
    Group(Uuid),
}

/// What to do when nothing can be had at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// A plain RECEIVE: an empty result, though the lock of a group named in WHERE is waited for (U-17).
    #[default]
    No,
    /// Inside WAITFOR: block until there is something.
    Yes,
    /// The last try when WAITFOR's time is over: an empty result whatever is locked (U-17).
    Over,
}

/// A RECEIVE statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// FROM
    pub queue: QueueKey,
    /// TOP; `None` takes everything of the group.
    pub top: Option<u64>,
    /// WHERE
    pub filter: Filter,
    /// Whether it stands in a WAITFOR.
    pub waiting: Waiting,
}

impl Tx<'_> {
    /// Receives messages of one conversation group. Errors: 208 when the queue was dropped, 229, 9617, 8426, 8436, 8468 and
    /// 9684 (U-06). In a WAITFOR it blocks on the queue while there is nothing.
    pub fn receive(&mut self, receive: &Receive) -> Op<Vec<QueuedMessage>> {
        self.require_writable()?;
        let def = self.open_queue(receive.queue)?;
        let found = self.find_messages(receive)?;
        if found.is_empty() && receive.waiting == Waiting::Yes && receive.top != Some(0) {
            return Err(self.wait_on_queue(receive.queue, receive.filter));
        }
        let rows = self.take_messages(receive.queue, &def, found)?;
        let counters = &mut self.core.broker.counters;
        counters.receives += 1;
        counters.messages_received += rows.len() as u64;
        let filtered = receive.filter != Filter::None;
        self.note_receive(receive.queue, CompletedReceive { empty: rows.is_empty(), filtered });
        Ok(rows)
    }

    /// Locks and returns the group that RECEIVE would serve next, without taking messages. `None` when there is none
    /// (U-18). Errors: 208, 229, 9617. In a WAITFOR it blocks on the queue while there is nothing.
    pub fn get_conversation_group(&mut self, queue: QueueKey, waiting: Waiting) -> Op<Option<Uuid>> {
        self.require_writable()?;
        self.open_queue(queue)?;
        let group = self.lock_next_group(queue);
        if group.is_none() && waiting == Waiting::Yes {
            return Err(self.wait_on_queue(queue, Filter::None));
        }
        self.note_receive(queue, CompletedReceive { empty: group.is_none(), filtered: false });
        Ok(group)
    }

    /// Leaves the waiters and checks that the queue can be received from.
    fn open_queue(&mut self, queue: QueueKey) -> Op<QueueDef> {
        let waited = self.core.broker.leave(queue, self.call().session);
        if let Some(verdict) = waited.and_then(|waiter| waiter.verdict) {
            return Err(verdict.into());
        }
        let Some((object, def)) = self.queue_object(queue) else {
            return Err(errors::invalid_object("queue").into());
        };
        self.require(Permission::Receive, Securable::Object(queue.database, object.id))?;
        if !def.receive_enabled {
            return Err(broker_errors::queue_disabled(&self.state().queue_title(queue)).into());
        }
        Ok(def)
    }

    /// Orders of the messages to take, at most TOP.
    fn find_messages(&mut self, receive: &Receive) -> Op<Vec<i64>> {
        let most = receive.top.map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX));
        let named = match receive.filter {
            Filter::None => None,
            Filter::Conversation(handle) => Some(self.readable_group_of(receive.queue, handle)?),
            Filter::Group(group) => Some(self.check_group(receive.queue, group)?),
        };
        match named {
            _ if most == 0 => Ok(Vec::new()),
            None => Ok(self.next_group_messages(receive.queue, most)),
            Some(group) => self.named_messages(receive, group, most),
        }
    }

    /// U-17: a plain RECEIVE waits for the lock of the group it names; inside a WAITFOR a locked group is like an empty one.
    fn named_messages(&mut self, receive: &Receive, group: Uuid, most: usize) -> Op<Vec<i64>> {
        let free = match receive.waiting {
            Waiting::No => self.lock_group(group).map(|()| true)?,
            Waiting::Yes | Waiting::Over if self.ready_messages(receive, 1).is_empty() => false,
            Waiting::Yes | Waiting::Over => {
                self.try_lock(Resource::Group(group), LockMode::X, LockDuration::Transaction)
            }
        };
        Ok(if free { self.ready_messages(receive, most) } else { Vec::new() })
    }

    fn ready_messages(&self, receive: &Receive, most: usize) -> Vec<i64> {
        let Some(state) = self.state().queues.get(&receive.queue) else { return Vec::new() };
        match receive.filter {
            Filter::None => Vec::new(),
            Filter::Conversation(handle) => state.ready().of_conversation(handle).take(most).collect(),
            Filter::Group(group) => state.ready().of_group(group).take(most).collect(),
        }
    }

    fn next_group_messages(&mut self, queue: QueueKey, most: usize) -> Vec<i64> {
        let group = self.lock_next_group(queue);
        let state = self.state().queues.get(&queue);
        let found = group.zip(state).map(|(group, state)| state.ready().of_group(group).take(most).collect());
        found.unwrap_or_default()
    }

    /// Locks the first group, by priority and age, that no other transaction holds.
    fn lock_next_group(&mut self, queue: QueueKey) -> Option<Uuid> {
        let (core, transaction) = (&mut *self.core, self.transaction.id);
        let (state, locks) = (&core.state, &mut core.locks);
        let mut groups = state.queues.get(&queue)?.ready().groups();
        groups.find(|group| {
            let resource = Resource::Group(*group);
            locks.try_acquire(transaction, &resource, LockMode::X, LockDuration::Transaction)
        })
    }

    /// The group of a conversation that can be received from on this queue.
    fn readable_group_of(&self, queue: QueueKey, handle: Uuid) -> Op<Uuid> {
        let endpoint = self.endpoint_in(queue.database, handle)?;
        if is_finished(endpoint.state()) || self.state().queue_of(&endpoint) != Some(queue) {
            return Err(broker_errors::handle_not_found(handle).into());
        }
        Ok(endpoint.group)
    }

    fn check_group(&self, queue: QueueKey, group: Uuid) -> Op<Uuid> {
        match self.service_of_group(queue, group) {
            Some(_) => Ok(group),
            None => Err(broker_errors::group_not_found(group).into()),
        }
    }

    /// The service of a group, if its messages are in this queue.
    fn service_of_group(&self, queue: QueueKey, group: Uuid) -> Option<ServiceId> {
        let known = self.state().groups.get(&group).filter(|group| group.database == queue.database)?;
        let service = self.state().entry::<super::definitions::Service>(known.database, known.service)?;
        (service.queue == queue.object).then_some(service.id)
    }

    /// Marks the messages as received and returns their rows. Holding IX on the queue keeps it from being altered before
    /// the transaction ends.
    fn take_messages(&mut self, queue: QueueKey, def: &QueueDef, orders: Vec<i64>) -> Op<Vec<QueuedMessage>> {
        if orders.is_empty() {
            return Ok(Vec::new());
        }
        self.lock_object(queue, LockMode::IX, LockDuration::Transaction)?;
        let mut rows = Vec::with_capacity(orders.len());
        for order in &orders {
            let message = self.state().queues.get(&queue).and_then(|state| state.message(*order)).cloned();
            let message = message.expect("the ready index names rows of the queue");
            rows.extend(self.received_row(&message));
            self.take_message(queue, def.retention, &message);
        }
        self.push_effect(Effect::Received(queue, orders));
        Ok(rows)
    }

    fn take_message(&mut self, queue: QueueKey, retained: bool, message: &Arc<StoredMessage>) {
        let status = if retained { MessageStatus::Received } else { message.status };
        let taken_by = Some(self.transaction());
        let taken = StoredMessage { status, taken_by, ..StoredMessage::clone(message) };
        self.put_message(queue, message.queuing_order, Some(Arc::new(taken)));
    }

    /// U-15: a RECEIVE result shows status 0.
    fn received_row(&self, message: &StoredMessage) -> Option<QueuedMessage> {
        let row = self.state().queue_row(message)?;
        Some(QueuedMessage { status: MessageStatus::Received, ..row })
    }

    /// Joins the queue's waiters.
    fn wait_on_queue(&mut self, queue: QueueKey, filter: Filter) -> Interrupt {
        let (wants, service) = match filter {
            Filter::None => (WaitFor::Any, None),
            Filter::Conversation(handle) => (
                WaitFor::Conversation(handle),
                self.endpoint_in(queue.database, handle).ok().map(|it| it.service),
            ),
            Filter::Group(group) => (WaitFor::Group(group), self.service_of_group(queue, group)),
        };
        let session = self.call().session;
        let waiter = Waiter { session, wants, service, woken: false, verdict: None };
        self.core.broker.waiters.entry(queue).or_default().push(waiter);
        Interrupt::Blocked(Wait { on: WaitOn::Queue(queue), deadline: None })
    }
}
