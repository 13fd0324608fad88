//! The client library against a server: the embedded broker, or one named by the environment.

mod connecting;
mod dialog_pools;
mod objects;
mod proxy;
mod receiving;
mod sending;
#[cfg(feature = "metrics")]
mod telemetry;
mod topology;
mod workers;
