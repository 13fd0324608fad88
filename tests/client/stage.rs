//! A database of its own with the tables of the sending half, and what tests of lost dialogs ask of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ssbroker::client::{
    Broker, BrokerOptions, ConversationHandle, DialogPool, MessageKind, PoolOptions, QueueName, Receiver,
    Repair,
};

use super::objects::Objects;
use crate::support::{Embedded, InDatabase, run_script};

const SCRIPTS: [&str; 3] = [
    include_str!("../../sql/06-shared-pool.sql"),
    include_str!("../../sql/07-sending.sql"),
    include_str!("../../sql/08-delayed-messages.sql"),
];

pub(crate) struct Stage {
    pub(crate) backend: Arc<InDatabase>,
    pub(crate) objects: Objects,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::on(Embedded::start().await, |options| options).await
    }

    pub(crate) async fn with_manual_clock() -> Self {
        Self::on(Embedded::with_manual_clock().await, |options| options).await
    }

    pub(crate) async fn on(embedded: Embedded, change: impl FnOnce(BrokerOptions) -> BrokerOptions) -> Self {
        let backend = InDatabase::create(embedded, "ssb1").await;
        let objects = Objects::create_with(backend.clone(), change).await;
        for script in SCRIPTS {
            run_script(&objects.broker, script).await;
        }
        Self { backend, objects }
    }

    pub(crate) fn pool(&self, options: PoolOptions) -> DialogPool {
        self.objects.broker.dialog_pool(options).unwrap()
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.objects.broker.batch(sql).await.unwrap();
    }

    pub(crate) async fn number(&self, sql: &str) -> i32 {
        self.objects.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get(0).unwrap()
    }

    /// Lets messages to the target pile up in the transmission queue, or arrive.
    pub(crate) async fn target_takes_messages(&self, takes: bool) {
        let status = if takes { "ON" } else { "OFF" };
        self.run(&format!("ALTER QUEUE [{}] WITH STATUS = {status}", self.objects.target_queue)).await;
    }

    /// A connection to the database `master`.
    pub(crate) async fn master(&self) -> Broker {
        Broker::connect(&self.backend.embedded.emulator.connection_string("master")).await.unwrap()
    }

    /// Makes a second database `b` with the service `//far` on queue `q`, which takes the same contract from anybody.
    pub(crate) async fn far_database(&self) -> Broker {
        let master = self.master().await;
        master.batch("CREATE DATABASE b").await.unwrap();
        master.batch("ALTER DATABASE ssb1 SET TRUSTWORTHY ON").await.unwrap();
        let b = Broker::connect(&self.backend.embedded.emulator.connection_string("b")).await.unwrap();
        let Objects { request, reply, contract, .. } = &self.objects;
        b.batch(&format!(
            "CREATE MESSAGE TYPE [{request}] VALIDATION = NONE; CREATE MESSAGE TYPE [{reply}] VALIDATION = NONE;
             CREATE CONTRACT [{contract}] ([{request}] SENT BY INITIATOR, [{reply}] SENT BY TARGET); CREATE QUEUE q;
             CREATE SERVICE [//far] ON QUEUE q ([{contract}]); GRANT SEND ON SERVICE::[//far] TO public;"
        ))
        .await
        .unwrap();
        b
    }

    /// The initiator's side of every dialog that is open.
    pub(crate) async fn open_dialogs(&self) -> Vec<ConversationHandle> {
        let sql = "SELECT conversation_handle AS h FROM sys.conversation_endpoints WHERE is_initiator = 1 AND state = 'CO'";
        let rows = self.objects.broker.execute(sql, &[]).await.unwrap().into_rows();
        rows.iter().map(|row| row.get("h").unwrap()).collect()
    }

    /// Lets every open dialog fail with a broker's error.
    pub(crate) async fn fail_all(&self, number: u32) {
        for dialog in self.open_dialogs().await {
            self.backend.embedded.emulator.fail_conversation(dialog.as_uuid(), number, "injected by a test");
        }
    }

    pub(crate) async fn unsent(&self) -> Vec<(Option<i32>, String)> {
        let sql = "SELECT error_code, message_body FROM ssbroker.unsent ORDER BY id";
        let rows = self.objects.broker.execute(sql, &[]).await.unwrap().into_rows();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        rows.iter()
            .map(|row| {
                (row.get(0).unwrap(), text(row.get::<Option<Vec<u8>>>(1).unwrap().unwrap_or_default()))
            })
            .collect()
    }

    /// A reader of the initiator's queue.
    pub(crate) async fn reader(&self) -> Receiver {
        let queue = QueueName::in_schema("dbo", &*self.objects.initiator_queue).unwrap();
        self.objects.broker.receive(queue).open().await.unwrap()
    }

    /// Hands Error and EndDialog messages to the pool until none comes for that long; returns what was done.
    pub(crate) async fn repair_with_a_reader(&self, pool: &DialogPool, idle: Duration) -> Vec<Repair> {
        let mut reader = self.reader().await;
        let mut done = Vec::new();
        while let Some(mut batch) = reader.next_within(idle).await.unwrap() {
            let mut busy = false;
            for message in batch.take_messages() {
                assert!(!matches!(message.kind, MessageKind::DialogTimer), "nobody sets timers here");
                let repair = pool.on_error(&mut batch, &message).await.unwrap();
                busy |= repair == Repair::Busy;
                done.push(repair);
            }
            if busy { batch.give_back().await.unwrap() } else { batch.commit().await.unwrap() }
        }
        done
    }
}

/// Texts `key:number`, as numbers by key in the order given.
pub(crate) fn by_key(texts: &[String]) -> BTreeMap<String, Vec<u32>> {
    let mut keys: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for text in texts {
        let (key, number) = text.split_once(':').unwrap();
        keys.entry(key.to_owned()).or_default().push(number.parse().unwrap());
    }
    keys
}
