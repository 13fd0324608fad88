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
//! behind. To send in the transaction of business data, on a connection of your own, see [`client::outbox`].
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
//! [`HandlerError::refuse`](client::HandlerError::refuse) never; one that asks for a body in another form than it has is
//! refused by itself. Messages come at least once, and [`Worker::skip_repeated`](client::Worker::skip_repeated) handles each
//! once. What was parked is found, and brought back, through
//! [`Broker::dead_letters`](client::Broker::dead_letters). For handlers that run too long for an open transaction there is
//! [`Broker::long_worker`](client::Broker::long_worker).
//!
//! # Request
//!
//! A [`Requester`](client::Requester) sends requests and waits for their replies: any number of callers share one reply
//! queue, each on a dialog of its own. A reply that nobody waits for any more goes to a handler, exactly once.
//!
//! ```
//! # use ssbroker_emulator::Emulator;
//! # const OBJECTS: &str = "CREATE MESSAGE TYPE [//shop/new-order]; CREATE MESSAGE TYPE [//shop/confirmed];
//! # CREATE CONTRACT [//shop/order] ([//shop/new-order] SENT BY INITIATOR, [//shop/confirmed] SENT BY TARGET);
//! # CREATE QUEUE WebQueue; CREATE QUEUE OrderQueue; CREATE SERVICE [//shop/web] ON QUEUE WebQueue;
//! # CREATE SERVICE [//shop/orders] ON QUEUE OrderQueue ([//shop/order]);";
//! # use ssbroker::client::{QueueName, PoisonPolicy, PoisonAction, handler_fn};
//! # async fn serve(broker: ssbroker::client::Broker) {
//! #     let handler = handler_fn(|delivery| Box::pin(async move {
//! #         delivery.reply(&"//shop/confirmed".try_into()?, b"yours".to_vec()).await?;
//! #         delivery.end().await?;
//! #         Ok(())
//! #     }));
//! #     let queue = QueueName::new("dbo.OrderQueue").expect("the name is valid");
//! #     let poison = PoisonPolicy::new(3, PoisonAction::EndConversation);
//! #     broker.worker(queue, handler).poison(poison).run(std::future::pending()).await.expect("the worker works");
//! # }
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = Emulator::start().await?;
//! # let broker = ssbroker::client::Broker::connect(&emulator.connection_string("msdb")).await?;
//! # broker.batch(OBJECTS).await?;
//! # tokio::spawn(serve(broker.clone()));
//! use std::time::Duration;
//! use ssbroker::client::DiscardReplies;
//!
//! let requester = broker.requester("//shop/web", DiscardReplies).open().await?;
//! let request = requester.request("//shop/orders", "//shop/new-order", b"one teapot").contract("//shop/order");
//! let reply = request.timeout(Duration::from_secs(10)).send().await?;
//! assert_eq!(reply.body.as_bytes(), b"yours");
//! # Ok(()) }
//! ```
//!
//! With [`remember_as`](client::RequesterBuilder::remember_as) requests survive a restart of the program.
//!
//! # Activate
//!
//! The activator launches handler processes when messages arrive: `ssbroker activator run --config activator.toml`, or
//! [`activator::Activator`] inside another program.
//!
//! # Set up
//!
//! The library creates nothing unasked. Asked to, it creates what a [`Topology`](client::Topology) declares and the
//! database lacks, and names every difference with the statement that mends it.
//!
//! ```
//! # use ssbroker_emulator::Emulator;
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = Emulator::start().await?;
//! # let broker = ssbroker::client::Broker::connect(&emulator.connection_string("msdb")).await?;
//! use ssbroker::client::{QueueSettings, SentBy, Topology, Validation};
//!
//! let topology = Topology::new()
//!     .message_type("//shop/new-order", Validation::None)
//!     .contract("//shop/order", [("//shop/new-order", SentBy::Initiator)])
//!     .queue("dbo.OrderQueue", QueueSettings::default())
//!     .service("//shop/orders", "dbo.OrderQueue", ["//shop/order"]);
//! let verification = broker.ensure_objects(&topology).await?;
//! println!("{verification}");
//! verification.into_result()?;
//! # Ok(()) }
//! ```
//!
//! # Observe
//!
//! Spans of `tracing`: `ssbroker.send` (`conversation`, `messages`, `bytes`), `ssbroker.receive` (`queue`, `messages`) and
//! `ssbroker.handle` (`queue`, `conversation`, `message_type`, `sequence`). The SQL driver logs every server error at
//! ERROR, also those that are handled here: let a filter such as `info,tiberius=off` silence it.
//!
//! Numbers through the `metrics` facade, with the feature `metrics` and once the program has installed a recorder
//! (constants in [`client::telemetry`]):
//!
//! | name | kind | labels | what |
//! |---|---|---|---|
//! | `ssbroker_sent_messages_total` | counter | | messages the server took |
//! | `ssbroker_sent_bytes_total` | counter | | bytes of their bodies |
//! | `ssbroker_received_messages_total` | counter | `queue` | messages received; one given back counts again |
//! | `ssbroker_batch_messages` | histogram | `queue` | messages of each batch |
//! | `ssbroker_batches_total` | counter | `queue`, `outcome` | batches `committed`, `given_back`, `rolled_back`, `failed` |
//! | `ssbroker_handle_seconds` | histogram | `queue`, `outcome` | time of a handler: `ok`, `failed` |
//! | `ssbroker_message_age_seconds` | histogram | `queue` | from coming into the queue to the call of the handler |
//! | `ssbroker_active_handlers` | gauge | `queue` | handlers at work |
//! | `ssbroker_repeated_messages_total` | counter | `queue` | skipped because they were handled before |
//! | `ssbroker_leases_lost_total` | counter | `queue` | leases of long workers lost to somebody else |
//! | `ssbroker_breakers_opened_total` | counter | `queue` | handlers of a message type that only failed |
//! | `ssbroker_parked_messages_total` | counter | `queue`, `action` | put aside: `parked`, `conversation_ended` |
//! | `ssbroker_retried_messages_total` | counter | `queue` | failed attempts that are tried again |
//! | `ssbroker_connections_opened_total` | counter | | connections made |
//! | `ssbroker_connect_failures_total` | counter | `kind` | attempts to connect that failed |
//! | `ssbroker_connections_lost_total` | counter | `queue` | receivers that lost their connection |
//! | `ssbroker_reconnects_total` | counter | `queue` | receivers connected again |
//! | `ssbroker_pool_connections` | gauge | `state` | connections of the pool: `idle`, `lent` |
//! | `ssbroker_pool_dialogs_total` | counter | `event` | dialogs `begun`, `reused`, `retired`, `replaced`, `ended_by_peer` |
//!
//! # Features
//!
//! `activator`, `cli`, `emulator` and `metrics` are on by default. With `default-features = false` only [`client`] is left,
//! without their dependencies; `json` adds typed JSON bodies to it. Off by default: `kerberos` (`Integrated Security=true` logs in as the account of this
//! process; needs the headers of MIT Kerberos to build) and `ntlm` (`Integrated Security=true` with `User ID=DOMAIN\user`
//! and a password). Both double the dependencies; `ntlm` compiles here, neither has been tried against a domain.

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

/// So are those of the recipes.
#[cfg(doctest)]
#[doc = include_str!("../samples/recipes.md")]
struct Recipes;
