//! The client library against a server: the embedded broker, or one named by the environment.

mod connecting;
mod delayed;
mod delivery;
mod dialog_pools;
mod envelopes;
mod keyed_order;
mod lost_answers;
mod objects;
mod once;
mod outbox;
mod proxy;
mod receiving;
mod repairs;
mod requester_kills;
mod requests;
mod sending;
mod sending_cases;
mod shared_pools;
mod stage;
#[cfg(feature = "metrics")]
mod telemetry;
mod topology;
mod transactions;
mod workers;
