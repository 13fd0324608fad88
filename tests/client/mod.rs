//! The client library against a server: the embedded broker, or one named by the environment.

mod dead_letters;
mod dialog_pools;
mod error_numbers;
mod failures;
mod long_work;
pub(crate) mod objects;
mod receiving;
mod reconnect;
mod sending;
mod soaking;
mod work;
mod workers;

/// The soaks of `samples/soak`, which run here with small budgets.
#[path = "../../samples/soak/soaks/mod.rs"]
mod soaks;
