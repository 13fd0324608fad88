//! The client library against a server: the embedded broker, or one named by the environment.

mod dialog_pools;
pub(crate) mod objects;
mod receiving;
mod sending;
mod workers;
