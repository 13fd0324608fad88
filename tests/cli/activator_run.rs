//! `ssbroker activator run` as a process beside the embedded broker: notification services come and go with the file,
//! SIGHUP has it read again, and passwords from anywhere log in and show up nowhere.

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
    said: Vec<String>,
}

impl Daemon {
    fn start(config: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
        command.args(["activator", "run", "--config"]).arg(config).envs(variables.iter().copied());
        let mut process = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, log, said: Vec::new() }
    }

    /// Reads on until a line says this.
    async fn says(&mut self, what: &str) {
        let read = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                let found = line.contains(what);
                self.said.push(line);
                if found {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(DEADLINE, read).await.unwrap_or(false);
        assert!(found, "it does not say {what:?}:\n{}", self.said.join("\n"));
    }

    /// Asks it to end and answers everything it has said.
    async fn stop(mut self) -> String {
        self.signal("TERM");
        let rest = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                self.said.push(line);
            }
            self.process.wait().await.unwrap()
        };
        let status = tokio::time::timeout(DEADLINE, rest).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.said.join("\n"));
        self.said.join("\n")
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
    let mut daemon = Daemon::start(&file, &[]);
    daemon.says("listening on //a, queue").await;
    save(&["a", "b"]);
    daemon.says("configuration: notification service //b is listened on").await;
    daemon.says("listening on //b, queue").await;
    save(&["b"]);
    daemon.says("configuration: notification service //a is not listened on any more").await;
    daemon.signal("HUP");
    daemon.says("the configuration was read again and is the same").await;
    daemon.stop().await;
}

/// A queue with a message in it, which the service `//a` is told of.
async fn one_message(broker: &Broker) {
    create(broker, "a").await;
    for sql in [
        "CREATE QUEUE [work]; CREATE QUEUE [asks]; CREATE SERVICE [work] ON QUEUE [work] ([DEFAULT]); \
         CREATE SERVICE [asks] ON QUEUE [asks];",
        "CREATE EVENT NOTIFICATION [n] ON QUEUE [work] FOR QUEUE_ACTIVATION TO SERVICE N'//a', N'current database';",
        "DECLARE @h uniqueidentifier; BEGIN DIALOG CONVERSATION @h FROM SERVICE [asks] TO SERVICE N'work' WITH \
         ENCRYPTION = OFF; SEND ON CONVERSATION @h ('m');",
    ] {
        broker.batch(sql).await.unwrap();
    }
}

#[tokio::test]
async fn c065_a_password_from_environment_file_or_text_logs_in_and_shows_up_nowhere() {
    let embedded = Embedded::start().await;
    let inline = embedded.connection_string();
    let password = inline.split("Password=").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("password");
    std::fs::write(&secret, format!("{password}\n")).unwrap();
    let file = folder.path().join("activator.toml");
    let references =
        ["${env:EA_PASSWORD}".to_owned(), format!("${{file:{}}}", secret.display()), password.clone()];
    for (index, reference) in references.iter().enumerate() {
        let database = format!("secrets{index}");
        let broker = Broker::connect(&inline).await.unwrap();
        broker.batch(&format!("CREATE DATABASE {database}")).await.unwrap();
        one_message(&Broker::connect(&embedded.emulator.connection_string(&database)).await.unwrap()).await;
        let connection = embedded.emulator.connection_string(&database).replace(&password, reference);
        let seen = folder.path().join(&database);
        let handler = format!("env > '{}'; tr '\\0' ' ' < /proc/$PPID/cmdline >> '{0}'", seen.display());
        let app = format!(
            "[[app]]\nname = \"a\"\ncommand = \"sh\"\nargs = [\"-c\", \"\"\"{}\"\"\"]\n\
             on = {{ database = \"{database}\", schema = \"dbo\", queue = \"work\" }}\n",
            handler.replace('\\', "\\\\")
        );
        let head = text(folder.path(), &connection, &["a"]);
        std::fs::write(&file, format!("{}{app}", head.split("[[app]]").next().unwrap())).unwrap();
        let variables = [("EA_PASSWORD", password.as_str())];
        let is_referred_to = reference.starts_with("${env:");
        let mut daemon = Daemon::start(&file, if is_referred_to { &variables } else { &[] });
        daemon.says("ended with exit code 0").await;
        let log = daemon.stop().await;
        let environment = std::fs::read_to_string(&seen).unwrap();
        assert!(environment.contains("SSBROKER_QUEUE=work"), "{environment}");
        assert!(!environment.contains(&password) && !log.contains(&password), "{environment}\n{log}");
    }
}
