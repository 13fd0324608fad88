//! The poison rule (spec 6): five roll backs in a row of transactions that had received switch the queue off.
//!
//! Roll backs to a savepoint never get here. It must not know what was received.

use std::sync::Arc;

use super::core::Core;
use super::definitions::{Effect, Object, ObjectKind, QueueDef};
use super::event_notifications::BROKER_QUEUE_DISABLED;
use super::ids::QueueKey;
use crate::value::Timestamp;

/// Roll backs in a row that make a queue's messages poisonous.
const LIMIT: u32 = 5;

impl Core {
    /// A transaction with these effects was rolled back as a whole, by whomever (U-35).
    pub(super) fn count_roll_back(&mut self, effects: &[Effect], now: Timestamp) {
        for queue in received_from(effects) {
            let count = self.broker.roll_backs.entry(queue).or_default();
            *count += 1;
            if *count >= LIMIT {
                self.broker.roll_backs.remove(&queue);
                self.disable_poisoned(queue, now);
            }
        }
    }

    /// A transaction with these effects has committed: its queues start counting anew (U-34).
    pub(super) fn forgive(&mut self, effects: &[Effect]) {
        for queue in received_from(effects) {
            self.broker.roll_backs.remove(&queue);
        }
    }

    /// Queues that are off start counting anew when they are switched on (U-34).
    pub(super) fn forgive_disabled(&mut self) {
        let state = &self.state;
        self.broker
            .roll_backs
            .retain(|queue, _| state.queue_def(*queue).is_some_and(|def| def.receive_enabled));
    }

    fn disable_poisoned(&mut self, queue: QueueKey, now: Timestamp) {
        let Some(object) = self.state.object(queue).cloned() else { return };
        let ObjectKind::Queue(def) = &object.kind else { return };
        if !def.poison_handling || !def.receive_enabled {
            return;
        }
        let off = QueueDef { receive_enabled: false, enqueue_enabled: false, ..def.clone() };
        let disabled = Object { kind: ObjectKind::Queue(off), ..Object::clone(&object) };
        self.broker.counters.queues_disabled += 1;
        self.in_background(queue.database, now, |tx| {
            tx.put(queue.database, disabled.id, Some(Arc::new(disabled)));
            tx.push_effect(Effect::CatalogChanged);
        });
        self.post_queue_event(queue, BROKER_QUEUE_DISABLED, now);
    }
}

/// The queues that messages were received from, each once.
fn received_from(effects: &[Effect]) -> Vec<QueueKey> {
    let mut queues: Vec<QueueKey> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Received(queue, _) => Some(*queue),
            _ => None,
        })
        .collect();
    queues.sort_unstable();
    queues.dedup();
    queues
}
