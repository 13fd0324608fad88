//! Whole connections over pipes in memory, with a scripted session behind the server.

mod client;
mod login;
mod requests;
mod scripted;
