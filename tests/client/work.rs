//! What the tests of workers share: objects with the library's tables, a handler, and looks at what is left.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Delivery, Dialog, Handler, HandlerError, MessageKind, MessageTypeName, QueueName, StopReason, Worker,
};

use super::objects::Objects;

const TABLES: &[&str] = &[
    include_str!("../../sql/05-dead-letters.sql"),
    include_str!("../../sql/10-retries.sql"),
    include_str!("../../sql/11-work-items.sql"),
];

/// How long a worker waits before it takes the queue for empty.
pub(super) const IDLE: Duration = Duration::from_millis(200);

/// Objects and the tables of the library.
pub(super) async fn objects() -> Objects {
    let objects = Objects::create(crate::support::start().await).await;
    objects.create_tables().await;
    objects
}

/// Answers each message with its own body; fails or panics on those that say so.
pub(super) struct Echo {
    reply: MessageTypeName,
    handled: Arc<AtomicUsize>,
}

impl Handler for Echo {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.handled.fetch_add(1, Ordering::Relaxed);
        let body = delivery.message().body.clone();
        delivery.reply(&self.reply, body.clone()).await?;
        match body.to_utf8()? {
            "panic" => panic!("the message says so"),
            "fail" => Err("the message says so".into()),
            "refuse" => Err(HandlerError::refuse("the message says so")),
            _ => Ok(()),
        }
    }
}

impl Objects {
    pub(super) async fn create_tables(&self) {
        for script in TABLES {
            crate::support::run_script(&self.broker, script).await;
        }
    }

    pub(super) fn queue(&self) -> QueueName {
        QueueName::in_schema("dbo", &*self.target_queue).unwrap()
    }

    pub(super) async fn count(&self, sql: &str) -> i32 {
        self.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
    }

    /// How many rows a table of the library has.
    pub(super) async fn rows(&self, table: &str) -> i32 {
        self.count(&format!("SELECT COUNT(*) AS n FROM ssbroker.{table}")).await
    }

    pub(super) async fn is_on(&self) -> bool {
        let enabled = "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = ";
        self.count(&format!("{enabled}'{}'", self.target_queue)).await == 1
    }

    pub(super) fn echo(&self) -> (Echo, Arc<AtomicUsize>) {
        let handled = Arc::new(AtomicUsize::new(0));
        let reply = MessageTypeName::new(&*self.reply).unwrap();
        (Echo { reply, handled: Arc::clone(&handled) }, handled)
    }

    pub(super) async fn begin_with(&self, texts: &[&str]) -> Dialog {
        let builder = self.broker.dialog(&*self.initiator, &*self.target).contract(&*self.contract);
        let messages: Vec<_> = texts.iter().map(|text| self.message(text)).collect();
        let (dialog, outcomes) = builder.begin_with(&messages).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
        dialog
    }

    pub(super) async fn replies(&self, count: usize) -> Vec<String> {
        let mut replies = Vec::new();
        while replies.len() < count {
            let messages = self.take(&self.initiator_queue).await;
            assert!(!messages.is_empty(), "only {replies:?} arrived");
            let user = messages.iter().filter(|message| message.kind == MessageKind::User);
            replies.extend(user.map(|message| message.body.to_utf8().unwrap().to_owned()));
        }
        replies
    }
}

/// Lets a worker empty its queue.
pub(super) async fn drain<H: Handler>(worker: Worker<H>) {
    let reason = worker.drain_then_exit(IDLE).run(std::future::pending()).await.unwrap();
    assert_eq!(reason, StopReason::Idle);
}

/// One ignored test of this binary as a process of its own, which is killed with its handle.
pub(super) fn child_test(name: &str, variable: &str, value: &str) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture"]).env(variable, value);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap()
}

/// A figure of this process, in bytes.
pub(super) fn memory(figure: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(figure)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}
