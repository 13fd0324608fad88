//! The handle everything starts from: cheap to clone, shared by tasks, owner of the connection pool.

use std::fmt;

use uuid::Uuid;

use super::body::Body;
use super::dialog::{Dialog, DialogBuilder};
use super::dialog_pool::{DialogPool, PoolOptions};
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::{MessageTypeName, QueueName, ServiceName};
use super::options::BrokerOptions;
use super::pool::{PooledSession, SessionPool};
use super::rows::Results;
use super::sending;
use super::server_codes;
use super::session::Session;
use super::statements::{self, Scope, Statement};
use super::values::SqlValue;

/// A connection to the Service Broker of one database.
///
/// Clones share one pool of connections, which are made when needed, checked after idle time, discarded when a request on
/// them was not read to its end, and replaced with growing pauses after a network failure.
///
/// ```no_run
/// # use ssbroker::client::{Broker, Body};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let broker = Broker::connect("Server=db;Database=Shop;User ID=shop;Password=secret").await?;
/// let dialog = broker.dialog("//shop/web", "//shop/orders").contract("//shop/order").begin().await?;
/// dialog.send("//shop/new-order", Body::utf8("{\"id\": 7}")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Broker {
    sessions: SessionPool,
}

/// Which broker answers on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokerInstance {
    /// The name of the database.
    pub database: String,
    /// The broker's identifier. It changes with `NEW_BROKER`, and differs after failing over to a copy made without
    /// `ENABLE_BROKER`.
    pub id: Uuid,
    /// Whether the broker is enabled. While it is not, messages wait in the transmission queue.
    pub is_enabled: bool,
}

impl Broker {
    /// Connects to the database that an ADO.NET connection string names; see [`BrokerOptions`] for its keywords.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a faulty string; `Connect`, `Tls` or `LoginFailed` when the first connection
    /// cannot be made. That one attempt is not repeated, so that wrong settings show at once.
    ///
    /// Dropping the future closes the half-made connection.
    pub async fn connect(connection_string: &str) -> Result<Self> {
        Self::with_options(BrokerOptions::from_connection_string(connection_string)?).await
    }

    /// Connects with options made field by field.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// Dropping the future closes the half-made connection.
    pub async fn with_options(options: BrokerOptions) -> Result<Self> {
        let sessions = SessionPool::new(options.check()?.check_login()?);
        sessions.prove().await?;
        Ok(Self { sessions })
    }

    /// Starts describing a new dialog from one of our services to another service.
    ///
    /// Names may be texts or checked names; a faulty one is reported when the dialog is begun.
    #[must_use = "a dialog is begun by calling `begin` on the builder"]
    pub fn dialog<F, T>(&self, from: F, to: T) -> DialogBuilder
    where
        F: TryInto<ServiceName>,
        T: TryInto<ServiceName>,
        Error: From<F::Error> + From<T::Error>,
    {
        DialogBuilder::new(
            self.clone(),
            from.try_into().map_err(Error::from),
            to.try_into().map_err(Error::from),
        )
    }

    /// Takes up a conversation that exists already, for example one whose handle was stored or came with a message.
    ///
    /// Nothing is asked of the server: whether the conversation exists shows at the first use.
    #[must_use]
    pub fn attach(&self, conversation: ConversationHandle) -> Dialog {
        Dialog::new(self.clone(), conversation)
    }

    /// Sends one message on several conversations at once, as one statement: on all of them or on none. The body is
    /// stored once.
    ///
    /// # Errors
    /// The server's, for the first conversation that cannot be sent on; [`ErrorKind::CommitUnknown`] when the answer was
    /// lost; `Config` for more than 2,000 conversations. No conversations at all is no error and sends nothing.
    ///
    /// Dropping the future leaves it open whether the message was sent.
    pub async fn send_on<M>(
        &self,
        conversations: &[ConversationHandle],
        message_type: M,
        body: impl Into<Body>,
    ) -> Result<()>
    where
        M: TryInto<MessageTypeName>,
        Error: From<M::Error>,
    {
        let message = OutgoingMessage::new(message_type.try_into()?, body);
        let mut session = self.session().await?;
        sending::send_on(&mut session, Scope::Own, conversations, &message).await
    }

    /// A pool of dialogs that share this broker's connections.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when the options contradict each other.
    pub fn dialog_pool(&self, options: PoolOptions) -> Result<DialogPool> {
        DialogPool::new(self.clone(), options)
    }

    /// Runs one of the caller's own statements, with the values as `@P1`, `@P2`, ..., on a connection of the pool.
    ///
    /// The statement runs in `sp_executesql`: what it begins it must end, or the server raises error 266 and the connection
    /// is discarded. Settings are restored by the server at its end. The connection is closed after a statement that names
    /// what outlives that: application locks, session context, opened keys and cursors. A procedure of yours that takes a lock
    /// for its session must release it.
    ///
    /// # Errors
    /// The server's; [`ErrorKind::CommitUnknown`] when the answer was lost, since the statement may have committed.
    ///
    /// Dropping the future leaves it open whether the statement was run; its connection is closed.
    pub async fn execute(&self, sql: &str, values: &[SqlValue]) -> Result<Results> {
        let mut session = self.session().await?;
        if statements::may_outlive_statement(sql) {
            session.mark_altered();
        }
        let answer = session.execute(&Statement::with_values(sql, values)).await;
        answer.map_err(|error| {
            if error.server_number() == Some(server_codes::TRANSACTION_COUNT_MISMATCH) {
                session.condemn();
            }
            error.into_commit_outcome()
        })
    }

    /// Runs a plain batch, for example one of a set-up script. It holds no `GO`: that separates batches in tools, and the
    /// server does not know it. A transaction it leaves open is rolled back.
    ///
    /// After a batch that may change its session (`SET`, `USE`, `EXECUTE`, temporary tables and the like) the connection
    /// is closed, so that the next borrower does not inherit that: in a loop use [`execute`](Self::execute), where the
    /// server restores the settings.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    ///
    /// Dropping the future leaves it open how far the batch was run; its connection is closed.
    pub async fn batch(&self, sql: &str) -> Result<Results> {
        let mut session = self.session().await?;
        if statements::may_alter_session(sql) {
            session.mark_altered();
        }
        let answer = session.batch(sql).await;
        if session.is_clean() {
            session.rollback_if_open().await?;
        }
        answer.map_err(Error::into_commit_outcome)
    }

    /// Asks which broker answers. Compare the identifier with an earlier one to tell a failover to another broker from a
    /// lost connection.
    ///
    /// # Errors
    /// The server's, or those of connecting. Cancelling is safe.
    pub async fn instance(&self) -> Result<BrokerInstance> {
        instance_of(&mut *self.session().await?).await
    }

    /// The queue of a service in this database.
    ///
    /// # Errors
    /// [`ErrorKind::ObjectMissing`] when there is no such service, or its definition is hidden for want of VIEW DEFINITION:
    /// the server does not tell the two apart. Cancelling is safe.
    pub async fn queue_of(&self, service: &ServiceName) -> Result<QueueName> {
        let mut session = self.session().await?;
        sending::queue_of(&mut session, service).await
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &BrokerOptions {
        self.sessions.options()
    }

    /// How many requests all connections of this broker have sent, set-up of connections included; each is one round trip.
    #[must_use]
    pub fn requests_sent(&self) -> u64 {
        self.sessions.requests_sent()
    }

    /// Lends a session for short work.
    pub(crate) async fn session(&self) -> Result<PooledSession> {
        self.sessions.get().await
    }

    /// Makes a session that belongs to the caller alone, as receivers need one. One attempt.
    pub(crate) async fn dedicated_session(&self) -> Result<Session> {
        self.sessions.dedicated().await
    }
}

/// Asks which broker answers on a session.
pub(crate) async fn instance_of(session: &mut Session) -> Result<BrokerInstance> {
    let results = session.batch(statements::BROKER_INSTANCE).await?;
    let row = results
        .first_row()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "the server does not list its current database"))?;
    Ok(BrokerInstance {
        database: row.get("database_name")?,
        id: row.get("broker_instance")?,
        is_enabled: row.get("is_enabled")?,
    })
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options();
        f.debug_struct("Broker")
            .field("host", &options.host())
            .field("database", &options.database())
            .finish()
    }
}
