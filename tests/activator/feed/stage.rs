//! A queue with an event notification, a daemon that listens for it, and what has come of the messages.

use crate::activator::daemon::{Daemon, parse, within};
use crate::client::objects::Objects;
use crate::support::{self, run_script};
use ssbroker::activator::config::Config;
use ssbroker::client::{ConversationHandle, Dialog, SqlValue};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Pauses that do not hold up a test.
pub(super) const QUICK: &str = "backoff = { first = \"10ms\", max = \"100ms\" }\nstop_grace = \"5s\"";

pub(super) struct Stage {
    pub(super) objects: Objects,
    pub(super) folder: TempDir,
    connection: String,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let backend = support::start().await;
        let connection = backend.connection_string();
        let objects = Objects::create(backend).await;
        run_script(&objects.broker, include_str!("../../../sql/05-dead-letters.sql")).await;
        let queue = &objects.target_queue;
        let notifications = format!(
            "CREATE QUEUE [notifications];
             CREATE SERVICE [//test/notifications] ON QUEUE [notifications]
                 ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
             CREATE EVENT NOTIFICATION [activation] ON QUEUE [{queue}] FOR QUEUE_ACTIVATION
                 TO SERVICE '//test/notifications', 'current database';"
        );
        objects.broker.batch(&notifications).await.unwrap();
        Self { objects, folder: TempDir::new().unwrap(), connection }
    }

    /// The text of a configuration with one application that is fed; `keys` are further TOML keys.
    pub(super) fn configuration(&self, command: &str, args: &[&str], keys: &str) -> String {
        let state = self.folder.path().join("state").display().to_string();
        format!(
            "[state]\ndir = {state:?}\n[[notification]]\nname = \"//test/notifications\"\nconnection = {:?}\n\
             [[app]]\nname = \"fed\"\nkind = \"feed\"\ncommand = {command:?}\nargs = {args:?}\n\
             on = {{ database = \"msdb\", schema = \"dbo\", queue = {:?} }}\n{keys}\n",
            self.connection, self.objects.target_queue
        )
    }

    pub(super) fn daemon(&self, command: &str, args: &[&str], keys: &str) -> Daemon {
        Daemon::start(self.parsed(command, args, keys))
    }

    pub(super) fn parsed(&self, command: &str, args: &[&str], keys: &str) -> Config {
        parse(&self.configuration(command, args, keys))
    }

    /// A daemon whose handler is this Python program.
    pub(super) fn python(&self, program: &str, keys: &str) -> Daemon {
        let path = self.file("handler.py");
        fs::write(&path, program).unwrap();
        let (path, reply) = (path.display().to_string(), self.objects.reply.clone());
        let log = self.file("log").display().to_string();
        self.daemon("python3", &[&path, &reply, &log], keys)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) async fn dialog(&self) -> Dialog {
        let Objects { broker, initiator, target, contract, .. } = &self.objects;
        broker.dialog(&**initiator, &**target).contract(&**contract).begin().await.unwrap()
    }

    /// Sends a request with this text on a new dialog.
    pub(super) async fn send(&self, text: &str) -> Dialog {
        let dialog = self.dialog().await;
        self.send_on(&dialog, text).await;
        dialog
    }

    pub(super) async fn send_on(&self, dialog: &Dialog, text: &str) {
        let request = self.objects.request.as_str();
        dialog.send(request, ssbroker::client::Body::utf8(text)).await.unwrap();
    }

    /// The texts of the replies and the dialogs they came on, once there are so many.
    pub(super) async fn replies(&self, count: usize) -> Vec<(ConversationHandle, String)> {
        let mut replies = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        while replies.len() < count {
            assert!(Instant::now() < deadline, "waited in vain: {replies:?}");
            let taken = within(self.objects.take(&self.objects.initiator_queue)).await;
            let replied = taken.iter().filter(|message| message.message_type == self.objects.reply);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            replies.extend(replied.map(|message| (message.conversation, text(message.body.as_bytes()))));
        }
        replies
    }

    /// Looks at a number in the database until it is `expected`.
    pub(super) async fn until(&self, sql: &str, expected: i32) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        let reached = async {
            while self.number(sql).await != expected {
                look.tick().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(30), reached).await.is_err() {
            panic!("{sql} is {} and not {expected}", self.number(sql).await);
        }
    }

    pub(super) async fn number(&self, sql: &str) -> i32 {
        self.objects.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
    }

    pub(super) fn waiting_sql(&self) -> String {
        format!("SELECT COUNT(*) AS n FROM [{}]", self.objects.target_queue)
    }

    /// The messages in the dead letters: text, attempts, reason.
    pub(super) async fn dead_letters(&self) -> Vec<(String, i32, String)> {
        let sql = "SELECT message_body, attempts, reason FROM [ssbroker].[dead_letters] ORDER BY id";
        let rows = self.objects.broker.execute(sql, &[]).await.unwrap().into_rows();
        let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
        let read = |row: &ssbroker::client::Row| {
            (text(row.get("message_body").unwrap()), row.get("attempts").unwrap(), row.get("reason").unwrap())
        };
        rows.iter().map(read).collect()
    }

    pub(super) async fn queue_is_on(&self) -> bool {
        let sql = "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = @P1";
        let values = [SqlValue::from(self.objects.target_queue.as_str())];
        let results = self.objects.broker.execute(sql, &values).await.unwrap();
        results.first_row().unwrap().get::<i32>("n").unwrap() == 1
    }
}

/// The lines of a file that a handler appends to.
pub(super) fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
