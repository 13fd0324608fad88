//! An embedded broker: a TDS 7.4 server with SQL Server Service Broker semantics and the T-SQL around them.
//!
//! It runs where no SQL Server can: in tests, demonstrations and CI. Any SQL Server client connects to it, over a port or
//! in memory, with the machine's clock or one that the test moves.
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let emulator = ssbroker_emulator::Emulator::start().await?;
//! println!("listening on {}", emulator.address());
//! emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # Life of a request
//!
//! 1. `tds` takes packets apart and decodes the message; [`server`] hands it to the session as a
//!    [`request`].
//! 2. The [`session`] looks the text up in the cache of parsed programs, or has `tsql` parse it.
//! 3. `interpreter` walks the tree. Control flow and variables are its own; every statement that touches data becomes one
//!    engine call under the instance's mutex, with `relational` evaluating expressions and queries inside it and `catalog`
//!    showing the engine's state as views.
//! 4. `engine` does it, or answers that it has to wait; the session then waits outside the mutex and runs it again.
//! 5. A commit delivers what was sent: routing, validation, queues; waiting receivers are woken, queue monitors judged.
//! 6. Results leave as [`output`] events, which `tds` encodes as tokens.
//!
//! What is not supported answers error 40510 and names the construct; nothing succeeds in silence.

pub mod clock;
pub mod engine;
pub mod error;
pub mod faults;
pub mod instance;
pub mod output;
pub mod request;
pub mod server;
pub mod session;
pub mod tls;
pub mod value;

mod activation;
mod catalog;
mod emulator;

mod interpreter;
mod relational;
mod tds;
mod tsql;

pub use clock::{Clock, ManualClock};
pub use emulator::{Emulator, EmulatorBuilder, StartError};
pub use engine::{BrokerCounters, CoreOptions, IdSource, LoginId};
pub use faults::{Fault, Faults, PlannedFault, Trigger};
