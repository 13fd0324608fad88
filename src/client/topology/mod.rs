//! Set-up: the objects a program expects, declared once, then created where they are missing and verified where they
//! exist.
//!
//! `declaration` holds what a program says, `catalog` what the server has, `compare` the difference between the two,
//! `verification` how a person reads it, `tables` the library's own tables, `apply` the requests. Nothing that exists is
//! ever altered: the statement that would do it is named instead.

mod apply;
mod catalog;
mod compare;
mod declaration;
mod tables;
mod verification;

pub(crate) use declaration::QueueStatus;
pub use declaration::{QueueSettings, RouteSettings, SentBy, Topology, Validation};
pub use tables::Table;
pub use verification::{Finding, Verification};

#[cfg(test)]
mod tests;
