//! The client library against a server: the embedded broker, or one named by the environment.

mod cancelling_cases;
mod connections;
mod dead_letters;
mod delayed;
mod delivery;
mod dialog_pools;
mod driver_cases;
mod envelopes;
mod error_numbers;
mod failures;
pub(crate) mod fake_server;
mod handled_once;
mod hostile_servers;
mod keyed_order;
mod large_bodies;
mod long_work;
mod lost_answers;
pub(crate) mod objects;
mod once;
mod outbox;
mod performance_cases;
mod proxy;
mod receiving;
mod reconnect;
mod repairs;
mod request_recovery;
mod requests;
mod resending;
mod sending;
mod sending_cases;
pub(crate) mod several_addresses;
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
mod worker_faults;
mod worker_settings;
mod workers;

/// The soaks of `samples/soak`, which run here with small budgets.
#[path = "../../samples/soak/soaks/mod.rs"]
pub(crate) mod soaks;
