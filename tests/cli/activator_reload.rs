//! `ssbroker activator run` as a process beside the embedded broker: notification services come and go with the file, and
//! SIGHUP has it read again.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ssbroker::client::Broker;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::support::{Backend, Embedded};

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(30);

struct Daemon {
    process: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Daemon {
    fn start(config: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
        command.args(["activator", "run", "--config"]).arg(config);
        let mut process = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, log }
    }

    /// Reads on until a line says this.
    async fn says(&mut self, what: &str) {
        let mut said = Vec::new();
        let read = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                let found = line.contains(what);
                said.push(line);
                if found {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(DEADLINE, read).await.unwrap_or(false);
        assert!(found, "it does not say {what:?}:\n{}", said.join("\n"));
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

async fn create(broker: &Broker, name: &str) {
    let contract = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";
    broker.batch(&format!("CREATE QUEUE [q{name}]")).await.unwrap();
    broker.batch(&format!("CREATE SERVICE [//{name}] ON QUEUE [q{name}] ([{contract}])")).await.unwrap();
}

fn text(folder: &Path, connection: &str, services: &[&str]) -> String {
    let mut text = format!("[state]\ndir = '{}'\n", folder.join("state").display());
    for service in services {
        text.push_str(&format!(
            "[[notification]]\nname = \"//{service}\"\nconnection = '''{connection}'''\n"
        ));
    }
    text.push_str("[[app]]\nname = \"a\"\ncommand = \"true\"\n");
    text.push_str("on = { database = \"msdb\", schema = \"dbo\", queue = \"q\" }\n");
    text
}

#[tokio::test]
async fn notification_services_come_and_go_with_the_file_and_sighup_has_it_read_again() {
    let embedded = Embedded::start().await;
    let connection = embedded.connection_string();
    let broker = Broker::connect(&connection).await.unwrap();
    for name in ["a", "b"] {
        create(&broker, name).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("activator.toml");
    let save = |services: &[&str]| std::fs::write(&file, text(folder.path(), &connection, services)).unwrap();
    save(&["a"]);
    let mut daemon = Daemon::start(&file);
    daemon.says("listening on //a, queue").await;
    save(&["a", "b"]);
    daemon.says("configuration: notification service //b is listened on").await;
    daemon.says("listening on //b, queue").await;
    save(&["b"]);
    daemon.says("configuration: notification service //a is not listened on any more").await;
    daemon.signal("HUP");
    daemon.says("the configuration was read again and is the same").await;
    daemon.signal("TERM");
    let status = tokio::time::timeout(DEADLINE, daemon.process.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
}
