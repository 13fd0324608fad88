//! The activator with real processes: what handlers are given, how many run, how they end, and what survives the daemon.
//!
//! Where no server is needed notifications are handed in as a listener would; `site` has the embedded broker with queues
//! and event notifications for the rest.

mod activated;
mod crash_loops;
pub(crate) mod daemon;
mod feed;
mod growth;
mod handlers;
mod internal;
mod limits;
mod listeners;
mod operation;
mod pains;
mod reconcile;
mod reenabling;
mod reload;
mod resident;
mod restarts;
mod run_table;
mod site;
mod soak;
mod stopping;
