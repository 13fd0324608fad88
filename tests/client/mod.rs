//! The client library against a server: the embedded broker, or one named by the environment.

mod connecting;
mod dead_letters;
mod delayed;
mod delivery;
mod dialog_pools;
mod envelopes;
mod error_numbers;
mod failures;
mod handled_once;
mod keyed_order;
mod long_work;
mod lost_answers;
pub(crate) mod objects;
mod once;
mod outbox;
mod proxy;
mod receiving;
mod reconnect;
mod repairs;
mod requests;
mod resending;
mod sending;
mod sending_cases;
mod shared_pools;
mod shared_replies;
mod soaking;
mod stage;
#[cfg(feature = "metrics")]
mod telemetry;
mod topology;
mod transactions;
mod unsent;
mod work;
mod worker_settings;
mod workers;

/// The soaks of `samples/soak`, which run here with small budgets.
#[path = "../../samples/soak/soaks/mod.rs"]
mod soaks;
