//! The external activator: a daemon that hears of waiting messages and keeps between min and max handler processes
//! running for each queue.
//!
//! # Theory of operation
//!
//! SQL Server posts one QUEUE_ACTIVATION notification when messages wait in a queue and nobody reads, and no more until
//! somebody has executed RECEIVE there. So a notification must not be lost, and acting on one twice does little harm: a
//! handler too many finds an empty queue and ends.
//!
//! 1. A `listener` for each notification service receives the message and reads it ([`notification`]).
//! 2. The event goes through one channel (`inbox`) to one loop (`event_loop`), which asks the pure [`supervisor`] what
//!    is to be done. That one counts processes with [`slots`].
//! 3. For a launch the intent is [journalled](`journal`), then the handler is started (`launcher`), by a [`trampoline`] if it
//!    needs one, and its identity journalled. A notification that cannot be acted on now is journalled too.
//! 4. Once the intent or the notification is on disk (`ledger`) the listener commits. Whenever the daemon dies, the
//!    notification is either on its queue or in the journal, and every process is in the journal or bears its launch id:
//!    the next start finds out (`recovery`).
//! 5. Notifications are not relied on alone: a `reconcile` task for each notification service looks for messages that
//!    wait without a reader, and says what is wrong with queues, monitors and event notifications.
//! 6. A task for each process (`children`) reports its exit, which frees a slot and may start what waited for it.
//!
//! What all of them know stands on one board ([`status`]), read by the [`control`] socket and by `web`.
//!
//! Handlers survive the daemon and are taken up again. They write to files (`output`), not to pipes that die with it.
//! A changed configuration (`reload`) is one more event of the loop. All of it ends when the loop has been told to stop and
//! every handler is gone. The daemon uses only public names of [`client`](crate::client), and knows neither the command
//! line nor the embedded broker.

mod accounts;
mod beat;
mod children;
pub mod config;
pub mod control;
mod daemon;
mod event_loop;
mod exit_policy;
mod feed;
mod guarded;
mod history;
mod inbox;
pub mod journal;
pub mod launch;
mod launcher;
mod ledger;
mod listener;
mod live_check;
mod log_lines;
mod metrics;
mod milestone;
pub(crate) mod nearest;
pub mod notification;
mod output;
mod own_children;
mod pauses;
mod platform;
mod reconcile;
mod recovery;
mod reenabling;
mod reload;
mod resident;
mod run_table;
pub mod slots;
mod state_file;
pub mod status;
pub mod supervisor;
pub(crate) mod text;
pub mod trampoline;
mod web;
pub(crate) mod xml_tree;

pub use accounts::AccountError;
pub use daemon::{Activator, ActivatorError};
pub use history::Run;
pub use inbox::{EventSender, NotHandled};
pub use live_check::{LiveFinding, Severity, check_live};
pub use milestone::Milestone;
pub use reload::{ReloadHandle, Reloaded};
pub use supervisor::{ProcessRecord, Record};
