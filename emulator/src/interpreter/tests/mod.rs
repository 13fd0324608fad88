//! Sessions without a wire, on a manual clock: what batches, calls and waits yield.

mod control_flow;
mod conversations;
mod errors;
mod logins;
mod probes;
mod procedures;
mod settings;
mod support;
mod transactions;
mod waiting;
