//! SQL Server Service Broker from outside the server: send and receive on dialogs, work on queues, activate programs.
//!
//! Everything starts from a [`Broker`](client::Broker). The examples run on the embedded broker, a server inside the
//! process; give them another connection string and they run on SQL Server. Their services and queues are made by a
//! script, since the library creates nothing by itself (`sql/` has such scripts).
//!
//! # Send
//!
//! ```
//! # use ssbroker_emulator::Emulator;
//! # const OBJECTS: &str = "CREATE MESSAGE TYPE [//shop/new-order]; CREATE MESSAGE TYPE [//shop/confirmed];
//! # CREATE CONTRACT [//shop/order] ([//shop/new-order] SENT BY INITIATOR, [//shop/confirmed] SENT BY TARGET);
//! # CREATE QUEUE WebQueue; CREATE QUEUE OrderQueue; CREATE SERVICE [//shop/web] ON QUEUE WebQueue;
//! # CREATE SERVICE [//shop/orders] ON QUEUE OrderQueue ([//shop/order]);";
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = Emulator::start().await?;
//! # let connection_string = emulator.connection_string("msdb");
//! use ssbroker::client::Broker;
//!
//! let broker = Broker::connect(&connection_string).await?;
//! # broker.batch(OBJECTS).await?;
//! let dialog = broker.dialog("//shop/web", "//shop/orders").contract("//shop/order").begin().await?;
//! dialog.send("//shop/new-order", b"one teapot".to_vec()).await?;
//! # Ok(()) }
//! ```
//!
//! A [`DialogPool`](client::DialogPool) keeps dialogs for many messages and lets the target end them, so that none is left
//! behind.
//!
//! # Receive
//!
//! A batch is an open transaction: what it gave is gone when it is committed, and back when it is given back or dropped.
//! Dropping the future of [`next`](client::Receiver::next) is safe at any moment.
//!
//! ```
//! # use ssbroker_emulator::Emulator;
//! # const OBJECTS: &str = "CREATE MESSAGE TYPE [//shop/new-order]; CREATE CONTRACT [//shop/order]
//! # ([//shop/new-order] SENT BY INITIATOR); CREATE QUEUE WebQueue; CREATE QUEUE OrderQueue;
//! # CREATE SERVICE [//shop/web] ON QUEUE WebQueue; CREATE SERVICE [//shop/orders] ON QUEUE OrderQueue ([//shop/order]);";
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = Emulator::start().await?;
//! # let broker = ssbroker::client::Broker::connect(&emulator.connection_string("msdb")).await?;
//! # broker.batch(OBJECTS).await?;
//! # let dialog = broker.dialog("//shop/web", "//shop/orders").contract("//shop/order").begin().await?;
//! # dialog.send("//shop/new-order", b"one teapot".to_vec()).await?;
//! use ssbroker::client::QueueName;
//!
//! let mut receiver = broker.receive(QueueName::new("dbo.OrderQueue")?).max_messages(100).open().await?;
//! let mut batch = receiver.next().await?;
//! for message in batch.take_messages() {
//!     assert_eq!(message.body.as_bytes(), b"one teapot");
//!     batch.end(message.conversation).await?;
//! }
//! batch.commit().await?;
//! # Ok(()) }
//! ```
//!
//! # Work
//!
//! A [`Worker`](client::Worker) hands each message to a [`Handler`](client::Handler) and sees to the rest: it ends
//! conversations the peer has ended, counts failed attempts, and parks what fails again and again.
//!
//! ```
//! # use ssbroker_emulator::Emulator;
//! # const OBJECTS: &str = "CREATE MESSAGE TYPE [//shop/new-order]; CREATE MESSAGE TYPE [//shop/confirmed];
//! # CREATE CONTRACT [//shop/order] ([//shop/new-order] SENT BY INITIATOR, [//shop/confirmed] SENT BY TARGET);
//! # CREATE QUEUE WebQueue; CREATE QUEUE OrderQueue; CREATE SERVICE [//shop/web] ON QUEUE WebQueue;
//! # CREATE SERVICE [//shop/orders] ON QUEUE OrderQueue ([//shop/order]);";
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = Emulator::start().await?;
//! # let broker = ssbroker::client::Broker::connect(&emulator.connection_string("msdb")).await?;
//! # broker.batch(OBJECTS).await?;
//! # let dialog = broker.dialog("//shop/web", "//shop/orders").contract("//shop/order").begin().await?;
//! # dialog.send("//shop/new-order", b"one teapot".to_vec()).await?;
//! use std::time::Duration;
//! use ssbroker::client::{MessageTypeName, PoisonAction, PoisonPolicy, QueueName, StopReason, handler_fn};
//!
//! let confirmed = MessageTypeName::new("//shop/confirmed")?;
//! let handler = handler_fn(move |delivery| {
//!     let confirmed = confirmed.clone();
//!     Box::pin(async move {
//!         delivery.reply(&confirmed, b"yours".to_vec()).await?;
//!         Ok(())
//!     })
//! });
//! let worker = broker
//!     .worker(QueueName::new("dbo.OrderQueue")?, handler)
//!     .poison(PoisonPolicy::new(3, PoisonAction::EndConversation))
//!     .drain_then_exit(Duration::from_millis(100));
//! assert_eq!(worker.run(std::future::pending()).await?, StopReason::Idle);
//! # Ok(()) }
//! ```
//!
//! Messages of one type can have a handler of their own ([`Worker::on`](client::Worker::on)), and
//! [`UnknownType`](client::UnknownType) says what becomes of the others. A handler that answers
//! [`HandlerError::retry_after`](client::HandlerError::retry_after) has its message back later, one that answers
//! [`HandlerError::refuse`](client::HandlerError::refuse) never. What was parked is found, and brought back, through
//! [`Broker::dead_letters`](client::Broker::dead_letters). For handlers that run too long for an open transaction there is
//! [`Broker::long_worker`](client::Broker::long_worker).
//!
//! # Activate
//!
//! The activator launches handler processes when messages arrive: `ssbroker activator run --config activator.toml`, or
//! [`activator::Activator`] inside another program.
//!
//! # Features
//!
//! `activator`, `cli` and `emulator` are on by default. With `default-features = false` only [`client`] is left, without
//! their dependencies.

pub mod client;

#[cfg(feature = "activator")]
pub mod activator;

#[cfg(all(feature = "cli", feature = "emulator"))]
pub mod cli;

#[cfg(feature = "cli")]
pub mod logging;

/// The examples of the README are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
