//! The wire: packets, the messages of clients, the tokens of replies (MS-TDS, version 7.4).
//!
//! A request comes in as packets, which [`packet`] joins to a message; [`batch`], [`rpc`] and [`transaction_manager`]
//! decode it. The events of its answer become tokens in [`encoder`], and packets again in [`reply`]. This module knows
//! values and their types, but neither SQL nor sessions.

pub(crate) mod attention;
pub(crate) mod batch;
pub(crate) mod buffer;
pub(crate) mod encoder;
pub(crate) mod error;
mod headers;
pub(crate) mod login;
pub(crate) mod packet;
pub(crate) mod prelogin;
pub(crate) mod reply;
pub(crate) mod rpc;
pub(crate) mod token;
pub(crate) mod transaction_manager;
mod types;
mod wire;

#[cfg(test)]
mod hostile_tests;
