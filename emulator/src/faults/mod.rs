//! The fault plan: what goes wrong on purpose, when, and to whom. One line of test code for each fault.
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ssbroker_emulator::{Emulator, Fault, Trigger};
//!
//! let emulator = Emulator::start().await?;
//! let faults = emulator.faults();
//! faults.plan(Trigger::commit().of_application("worker"), Fault::CutAfter);
//! faults.plan(Trigger::statement().containing("SEND ON").nth(3), Fault::Deadlock);
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! A plan is deterministic: it counts occasions, and all its times are those of the emulator's clock. This module must not
//! know statements or packets.

mod gate;
mod plan;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use gate::Gate;
pub use plan::{Fault, PlannedFault, Trigger};
pub(crate) use plan::{FaultPlan, Occasion, Point};

use crate::engine::EventFault;
use crate::error::SqlError;
use crate::instance::Instance;

/// Makes things go wrong in a running emulator. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Faults {
    instance: Arc<Instance>,
    gate: Arc<Gate>,
}

impl Faults {
    pub(crate) fn new(instance: Arc<Instance>, gate: Arc<Gate>) -> Faults {
        Faults { instance, gate }
    }

    /// Plans a fault. Of several planned for one occasion the one planned first strikes; all of them count it.
    pub fn plan(&self, trigger: Trigger, fault: Fault) -> PlannedFault {
        self.instance.faults().add(trigger, fault)
    }

    /// Forgets everything planned that has not struck, and lets acknowledgements come that were withheld.
    pub fn clear(&self) {
        self.instance.faults().clear();
        let now = self.instance.clock().now();
        self.instance.call(|core| {
            core.set_event_fault(EventFault::None);
            core.withhold_acknowledgements(false, now);
        });
    }

    /// Every answer leaves so much later, until the plan's [`end`](PlannedFault::end).
    pub fn slow_down(&self, by: Duration) -> PlannedFault {
        self.plan(Trigger::request().always(), Fault::DelayAnswer(by))
    }

    /// New connections are closed as soon as they are made, for so long. Open ones stay.
    pub fn refuse_connections(&self, during: Duration) {
        self.gate.refuse_until(self.instance.clock().now().plus(during));
    }

    /// How many connections were refused so far.
    pub fn connections_refused(&self) -> u64 {
        self.gate.refused()
    }

    /// Cuts all connections, as a server that fails over or restarts does: what is open is rolled back at once, which
    /// counts for the poison rule (U-35). New connections are taken.
    pub fn fail_over(&self) {
        self.gate.cut();
        let now = self.instance.clock().now();
        self.instance.call(|core| core.kill_all(now));
    }

    /// The same, and the database comes back with a new broker guid: its conversations are gone (U-09).
    ///
    /// # Errors
    /// 911 when there is no such database.
    pub fn fail_over_to_new_broker(&self, database: &str) -> Result<(), SqlError> {
        self.fail_over();
        let now = self.instance.clock().now();
        self.instance.call(|core| core.renew_broker(database, now))
    }

    /// Switches a queue off (`STATUS = OFF`), whoever uses it.
    ///
    /// # Errors
    /// 911 and 15151 when there is no such database or queue.
    pub fn disable_queue(&self, database: &str, queue: &str) -> Result<(), SqlError> {
        self.set_queue_status(database, queue, false)
    }

    /// Switches a queue on.
    ///
    /// # Errors
    /// 911 and 15151 when there is no such database or queue.
    pub fn enable_queue(&self, database: &str, queue: &str) -> Result<(), SqlError> {
        self.set_queue_status(database, queue, true)
    }

    /// The next `count` events that event notifications ask for are never posted.
    pub fn drop_event_notifications(&self, count: u64) {
        self.instance.call(|core| core.set_event_fault(EventFault::Drop(count)));
    }

    /// Events that event notifications ask for are posted so much later, until [`clear`](Faults::clear). Those held back
    /// then still come when they are due.
    pub fn delay_event_notifications(&self, by: Duration) {
        self.instance.call(|core| core.set_event_fault(EventFault::Delay(by)));
    }

    /// Messages of applications reach their targets from now on, and stay in the sender's transmission queue: their
    /// acknowledgements come with [`clear`](Faults::clear) only. Between two servers that happens by itself.
    pub fn withhold_acknowledgements(&self) {
        let now = self.instance.clock().now();
        self.instance.call(|core| core.withhold_acknowledgements(true, now));
    }

    fn set_queue_status(&self, database: &str, queue: &str, on: bool) -> Result<(), SqlError> {
        let now = self.instance.clock().now();
        self.instance.call(|core| core.set_queue_status(database, queue, on, now))
    }
}
