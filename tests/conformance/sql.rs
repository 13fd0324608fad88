//! T-SQL over a connection, whichever it is: the statements that nearly every vector needs, and what they answer.
//!
//! In every text `#` stands for the identifier of the running vector, so that names differ from those of all other
//! vectors. It must not know which server answers.

use ssbroker::client::{FromSqlValue, Row};
use uuid::Uuid;

use super::message::{COLUMNS, Message};

/// How long a vector waits for something that must come.
const PATIENCE_MILLISECONDS: u32 = 60_000;

/// The dialog of most vectors.
const PLAIN_DIALOG: &str = "FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF";

/// An error of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) number: u32,
    pub(crate) text: String,
}

/// A conversation endpoint as the catalog shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) handle: Uuid,
    pub(crate) conversation: Uuid,
    pub(crate) group: Uuid,
    pub(crate) is_initiator: bool,
    pub(crate) state: String,
}

/// Writes the vector's identifier into a text.
pub(crate) fn fill_in(sql: &str, id: &str) -> String {
    sql.replace('#', id)
}

/// A connection to the server under test.
pub(crate) trait Sql {
    /// What `#` stands for.
    fn id(&self) -> &str;

    /// Runs a text, with the values as `@P1`, `@P2`, ...; without values as a plain batch.
    async fn attempt(&self, sql: &str, values: &[Uuid]) -> Result<Vec<Row>, Refusal>;

    /// Runs a text that must succeed, and answers all its rows.
    async fn run(&self, sql: &str, values: &[Uuid]) -> Vec<Row> {
        match self.attempt(sql, values).await {
            Ok(rows) => rows,
            Err(error) => panic!("error {} ({}) for: {}", error.number, error.text, fill_in(sql, self.id())),
        }
    }

    /// The error number of a text that must fail.
    async fn error(&self, sql: &str, values: &[Uuid]) -> u32 {
        match self.attempt(sql, values).await {
            Ok(_) => panic!("no error for: {}", fill_in(sql, self.id())),
            Err(error) => error.number,
        }
    }

    /// The first column of the first row.
    async fn value<T: FromSqlValue>(&self, sql: &str, values: &[Uuid]) -> T {
        let rows = self.run(sql, values).await;
        let row = rows.first().unwrap_or_else(|| panic!("no row for: {}", fill_in(sql, self.id())));
        row.get(0_usize).unwrap()
    }

    /// Begins a dialog from `a_#` to `b_#` on the contract DEFAULT.
    async fn begin(&self) -> Uuid {
        self.begin_with(PLAIN_DIALOG).await
    }

    /// Begins a dialog with these clauses.
    async fn begin_with(&self, clauses: &str) -> Uuid {
        self.value(
            &format!("DECLARE @h uniqueidentifier; BEGIN DIALOG @h {clauses}; SELECT @h AS handle"),
            &[],
        )
        .await
    }

    /// Sends a text as a message of the type DEFAULT. The text must hold no quote.
    async fn send(&self, handle: Uuid, text: &str) {
        self.run(&format!("SEND ON CONVERSATION @P1 MESSAGE TYPE [DEFAULT] ('{text}')"), &[handle]).await;
    }

    /// What a RECEIVE without waiting takes.
    async fn receive(&self, queue: &str) -> Vec<Message> {
        Message::all(self.run(&format!("RECEIVE {COLUMNS} FROM [{queue}]"), &[]).await)
    }

    /// The same for one message at most.
    async fn receive_one(&self, queue: &str) -> Vec<Message> {
        Message::all(self.run(&format!("RECEIVE TOP (1) {COLUMNS} FROM [{queue}]"), &[]).await)
    }

    /// What a RECEIVE takes that waits for something to come.
    async fn wait(&self, queue: &str) -> Vec<Message> {
        self.wait_for(queue, PATIENCE_MILLISECONDS).await
    }

    /// What a RECEIVE takes that waits so long.
    async fn wait_for(&self, queue: &str, milliseconds: u32) -> Vec<Message> {
        wait_for(self, queue, milliseconds).await
    }

    /// All messages in a queue, of any status, in their order in the queue.
    async fn look(&self, queue: &str) -> Vec<Message> {
        Message::all(self.run(&format!("SELECT {COLUMNS} FROM [{queue}] ORDER BY queuing_order"), &[]).await)
    }

    async fn end(&self, handle: Uuid) {
        self.run("END CONVERSATION @P1", &[handle]).await;
    }

    async fn end_with_error(&self, handle: Uuid) {
        self.run("END CONVERSATION @P1 WITH ERROR = 5 DESCRIPTION = N'x<y'", &[handle]).await;
    }

    /// The endpoints of the vector's services.
    async fn endpoints(&self) -> Vec<Endpoint> {
        let rows = self.run(
            "SELECT e.conversation_handle, e.conversation_id, e.conversation_group_id, e.is_initiator, e.state
             FROM sys.conversation_endpoints AS e JOIN sys.services AS s ON s.service_id = e.service_id
             WHERE s.name LIKE N'%#'",
            &[],
        );
        rows.await.iter().map(endpoint).collect()
    }

    async fn endpoint(&self, handle: Uuid) -> Option<Endpoint> {
        self.endpoints().await.into_iter().find(|endpoint| endpoint.handle == handle)
    }

    /// The state of an endpoint, or nothing when it is gone.
    async fn state(&self, handle: Uuid) -> Option<String> {
        self.endpoint(handle).await.map(|endpoint| endpoint.state)
    }

    /// The other side's handle.
    async fn peer(&self, handle: Uuid) -> Uuid {
        let endpoints = self.endpoints().await;
        let own = endpoints.iter().find(|endpoint| endpoint.handle == handle).unwrap();
        let peer = endpoints.iter().find(|it| it.conversation == own.conversation && it.handle != handle);
        peer.unwrap().handle
    }

    /// How many messages of a conversation wait in the transmission queue.
    async fn undelivered(&self, handle: Uuid) -> i32 {
        self.value("SELECT COUNT(*) FROM sys.transmission_queue WHERE conversation_handle = @P1", &[handle])
            .await
    }

    async fn switch(&self, queue: &str, status: &str) {
        self.run(&format!("ALTER QUEUE [{queue}] WITH STATUS = {status}"), &[]).await;
    }

    async fn is_on(&self, queue: &str) -> bool {
        let sql = format!("SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'{queue}'");
        self.value(&sql, &[]).await
    }
}

/// A waiting RECEIVE and nothing else.
pub(super) async fn wait_for<S: Sql + ?Sized>(
    connection: &S,
    queue: &str,
    milliseconds: u32,
) -> Vec<Message> {
    let sql = format!("WAITFOR (RECEIVE {COLUMNS} FROM [{queue}]), TIMEOUT {milliseconds}");
    Message::all(connection.run(&sql, &[]).await)
}

fn endpoint(row: &Row) -> Endpoint {
    Endpoint {
        handle: row.get("conversation_handle").unwrap(),
        conversation: row.get("conversation_id").unwrap(),
        group: row.get("conversation_group_id").unwrap(),
        is_initiator: row.get::<i32>("is_initiator").unwrap() == 1,
        state: row.get("state").unwrap(),
    }
}
