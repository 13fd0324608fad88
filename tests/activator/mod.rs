//! The activator with real processes: what handlers are given, how many run, how they end, and what survives the daemon.
//!
//! No server is needed: notifications are handed in as a listener would. The whole way from a queue is tested with the
//! embedded broker elsewhere.

mod activated;
mod crash_loops;
pub(crate) mod daemon;
mod feed;
mod growth;
mod handlers;
mod limits;
mod pains;
mod reload;
mod resident;
mod restarts;
mod stopping;
