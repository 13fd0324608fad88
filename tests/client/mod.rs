//! The client library against a server: the embedded broker, or one named by the environment.

mod delayed;
mod delivery;
mod dialog_pools;
mod keyed_order;
mod envelopes;
mod lost_answers;
mod objects;
mod once;
mod outbox;
mod receiving;
mod repairs;
mod requester_kills;
mod requests;
mod sending;
mod sending_cases;
mod shared_pools;
mod stage;
mod workers;
