//! The Service Broker objects a client test works with, made afresh for each test, and a look at what lies in the queues.
//!
//! Names carry a random part, so that tests may share a database and a server may keep what a failed test left.

use std::sync::Arc;

use ssbroker::client::{
    Body, Broker, BrokerOptions, ConversationHandle, Destination, Message, MessageTypeName, OutgoingMessage,
    Row,
};

use crate::support::Backend;

/// One contract with two services.
pub(crate) struct Objects {
    /// Lives as long as its objects are used.
    backend: Arc<dyn Backend>,
    pub(crate) broker: Broker,
    pub(crate) initiator: String,
    pub(crate) target: String,
    pub(crate) contract: String,
    pub(crate) request: String,
    pub(crate) reply: String,
    pub(crate) end_of_stream: String,
    pub(crate) initiator_queue: String,
    pub(crate) target_queue: String,
}

impl Objects {
    /// Connects with the backend's own options and makes the objects.
    pub(crate) async fn create(backend: Arc<dyn Backend>) -> Self {
        Self::create_with(backend, |options| options).await
    }

    /// The same with changed options.
    pub(crate) async fn create_with(
        backend: Arc<dyn Backend>,
        change: impl FnOnce(BrokerOptions) -> BrokerOptions,
    ) -> Self {
        let options: BrokerOptions = backend.connection_string().parse().unwrap();
        let broker = Broker::with_options(change(options)).await.unwrap();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let name = |what: &str| format!("//test/{id}/{what}");
        let objects = Self {
            backend,
            broker,
            initiator: name("initiator"),
            target: name("target"),
            contract: name("contract"),
            request: name("request"),
            reply: name("reply"),
            end_of_stream: name("end"),
            initiator_queue: format!("initiator_{id}"),
            target_queue: format!("target_{id}"),
        };
        objects.broker.batch(&objects.script()).await.unwrap();
        objects
    }

    fn script(&self) -> String {
        let Self {
            initiator,
            target,
            contract,
            request,
            reply,
            end_of_stream,
            initiator_queue,
            target_queue,
            ..
        } = self;
        format!(
            "CREATE MESSAGE TYPE [{request}] VALIDATION = NONE;
             CREATE MESSAGE TYPE [{reply}] VALIDATION = NONE;
             CREATE MESSAGE TYPE [{end_of_stream}] VALIDATION = EMPTY;
             CREATE CONTRACT [{contract}] ([{request}] SENT BY INITIATOR, [{reply}] SENT BY TARGET,
                 [{end_of_stream}] SENT BY INITIATOR);
             CREATE QUEUE [{initiator_queue}];
             CREATE QUEUE [{target_queue}];
             CREATE SERVICE [{initiator}] ON QUEUE [{initiator_queue}] ([{contract}]);
             CREATE SERVICE [{target}] ON QUEUE [{target_queue}] ([{contract}]);"
        )
    }

    /// The server they are on.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A request with this text.
    pub(crate) fn message(&self, text: &str) -> OutgoingMessage {
        OutgoingMessage::new(MessageTypeName::new(&self.request).unwrap(), Body::utf8(text))
    }

    /// Requests with the texts 0, 1, 2, ...
    pub(crate) fn messages(&self, count: usize) -> Vec<OutgoingMessage> {
        (0..count).map(|number| self.message(&number.to_string())).collect()
    }

    /// Where a pool sends to.
    pub(crate) fn destination(&self) -> Destination {
        Destination::new(&*self.initiator, &*self.target).unwrap().contract(&*self.contract).unwrap()
    }

    /// The texts of all requests in the target queue, in the order of each conversation.
    pub(crate) async fn waiting(&self) -> Vec<String> {
        let sql = format!(
            "SELECT message_body FROM [{}] WHERE message_type_name = @P1 ORDER BY queuing_order",
            self.target_queue
        );
        let results = self.broker.execute(&sql, &[self.request.as_str().into()]).await.unwrap();
        results.into_rows().iter().map(text).collect()
    }

    /// On how many conversations messages wait in the target queue.
    pub(crate) async fn conversations(&self) -> i32 {
        let sql = format!("SELECT COUNT(DISTINCT conversation_handle) AS n FROM [{}]", self.target_queue);
        self.broker.execute(&sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
    }

    /// Takes the messages of one conversation group out of a queue, waiting up to ten seconds for the first.
    pub(crate) async fn take(&self, queue: &str) -> Vec<Message> {
        let sql = format!(
            "WAITFOR (RECEIVE conversation_group_id, conversation_handle, message_sequence_number, service_name,
                 service_contract_name, message_type_name, validation, message_enqueue_time, priority, message_body
                 FROM [{queue}]), TIMEOUT 10000"
        );
        let rows = self.broker.execute(&sql, &[]).await.unwrap().into_rows();
        rows.into_iter().map(|row| Message::from_row(row).unwrap()).collect()
    }

    /// Ends the target's side of every conversation that has messages waiting, and tells which they were.
    pub(crate) async fn end_target_sides(&self) -> Vec<ConversationHandle> {
        let sql = format!("SELECT DISTINCT conversation_handle AS handle FROM [{}]", self.target_queue);
        let mut ended = Vec::new();
        for row in self.broker.execute(&sql, &[]).await.unwrap().into_rows() {
            let handle = row.get("handle").unwrap();
            self.broker.attach(handle).end().await.unwrap();
            ended.push(handle);
        }
        ended
    }
}

fn text(row: &Row) -> String {
    let bytes: Option<Vec<u8>> = row.get("message_body").unwrap();
    String::from_utf8(bytes.unwrap_or_default()).unwrap()
}
