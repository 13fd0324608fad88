//! The client library against a server: the embedded broker, or one named by the environment.

mod dialog_pools;
mod envelopes;
mod lost_answers;
mod objects;
mod receiving;
mod requester_kills;
mod requests;
mod sending;
mod workers;
