//! Messages that could not be delivered yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::engine::definitions::TransmissionRow;
use crate::engine::ids::QueueKey;

/// The transmission queues of all databases, in order of arrival.
#[derive(Debug, Default)]
pub struct Transmission {
    rows: BTreeMap<i64, Arc<TransmissionRow>>,
    by_handle: BTreeSet<(Uuid, i64)>,
    by_queue: BTreeSet<(QueueKey, i64)>,
    next_order: i64,
}

impl Transmission {
    /// The row of that order.
    pub fn get(&self, order: i64) -> Option<&Arc<TransmissionRow>> {
        self.rows.get(&order)
    }

    /// All rows in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TransmissionRow>> {
        self.rows.values()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows sent on a handle, oldest first.
    pub fn of_handle(&self, handle: Uuid) -> impl Iterator<Item = &Arc<TransmissionRow>> {
        let range = self.by_handle.range((handle, i64::MIN)..=(handle, i64::MAX));
        range.filter_map(|(_, order)| self.rows.get(order))
    }

    /// The rows that wait for a queue to be switched on, oldest first.
    pub fn waiting_for(&self, queue: QueueKey) -> impl Iterator<Item = &Arc<TransmissionRow>> {
        let range = self.by_queue.range((queue, i64::MIN)..=(queue, i64::MAX));
        range.filter_map(|(_, order)| self.rows.get(order))
    }

    /// An order for a new row. It is not given again, even when the row is rolled back.
    pub(in crate::engine) fn allocate_order(&mut self) -> i64 {
        let order = self.next_order;
        self.next_order += 1;
        order
    }

    /// Puts, replaces or removes the row of `order`; gives the row before.
    pub(in crate::engine) fn put(
        &mut self,
        order: i64,
        value: Option<Arc<TransmissionRow>>,
    ) -> Option<Arc<TransmissionRow>> {
        let before = match value.clone() {
            Some(row) => self.rows.insert(order, row),
            None => self.rows.remove(&order),
        };
        if let Some(row) = &before {
            self.by_handle.remove(&(row.handle, order));
            row.waits_for.map(|queue| self.by_queue.remove(&(queue, order)));
        }
        if let Some(row) = &value {
            self.by_handle.insert((row.handle, order));
            row.waits_for.map(|queue| self.by_queue.insert((queue, order)));
        }
        self.next_order = self.next_order.max(order + 1);
        before
    }
}
