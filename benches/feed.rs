//! What it costs to have a handler fed by the activator instead of writing it with the library: requests and time per message.
//!
//! The same messages go through a [`Worker`](ssbroker::client::Worker) in this process, and through an activator whose handler
//! (this program again) reads lines and answers them. Requests are counted by the embedded broker, so they do not depend on the
//! machine; times are of one run each, worth their ratio. `cargo bench --bench feed`.
#![allow(clippy::print_stdout, reason = "printing the numbers is what this program is for")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ssbroker::client::{
    Body, Broker, MessageTypeName, OutgoingMessage, PoisonAction, PoisonPolicy, QueueName, handler_fn,
};
use ssbroker_emulator::Emulator;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const MESSAGES: usize = 10_000;
/// Messages of one conversation.
const EACH: usize = 100;
const BODY: &[u8] = &[b'x'; 200];
const PATIENCE: Duration = Duration::from_secs(300);

const OBJECTS: &[&str] = &[
    "CREATE MESSAGE TYPE [//b/ask]",
    "CREATE MESSAGE TYPE [//b/answer]",
    "CREATE CONTRACT [//b/c] ([//b/ask] SENT BY INITIATOR, [//b/answer] SENT BY TARGET)",
    "CREATE QUEUE bi",
    "CREATE QUEUE bt",
    "CREATE QUEUE n",
    "CREATE SERVICE [//b/i] ON QUEUE bi",
    "CREATE SERVICE [//b/t] ON QUEUE bt ([//b/c])",
    "CREATE SERVICE [//n] ON QUEUE n ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])",
    "CREATE EVENT NOTIFICATION e ON QUEUE bt FOR QUEUE_ACTIVATION TO SERVICE '//n', 'current database'",
];
const DEAD_LETTERS: &str = include_str!("../sql/05-dead-letters.sql");

#[tokio::main]
async fn main() -> Outcome {
    if std::env::args().nth(1).as_deref() == Some("--handler") {
        return handle_lines();
    }
    let worker = Stage::set().await?.measure_worker().await?;
    let feed = Stage::set().await?.measure_feed().await?;
    println!("worker: {worker}");
    println!("feed:   {feed}");
    let overhead = feed.seconds - worker.seconds;
    println!("overhead of feeding: {:.0} us a message", 1e6 * overhead / MESSAGES as f64);
    Ok(())
}

/// The handler that is fed: answers each message with its own body.
fn handle_lines() -> Outcome {
    let mut answers = std::io::stdout().lock();
    // The first line says what is fed.
    for line in std::io::stdin().lock().lines().skip(1) {
        let message: serde_json::Value = serde_json::from_str(&line?)?;
        let reply = serde_json::json!({ "type": "//b/answer", "body": message["body"] });
        let answer = serde_json::json!({ "id": message["id"], "reply": reply, "done": true });
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

/// What it took to have every message answered.
struct Cost {
    seconds: f64,
    requests: u64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (messages, requests) = (MESSAGES as f64, self.requests as f64);
        let each = 1e6 * self.seconds / messages;
        write!(
            f,
            "{MESSAGES} messages in {:.2} s, {each:.0} us each, {:.3} requests each",
            self.seconds,
            requests / messages
        )
    }
}

struct Stage {
    emulator: Emulator,
    broker: Broker,
}

impl Stage {
    async fn set() -> Outcome<Self> {
        let emulator = Emulator::start().await?;
        let broker = Broker::connect(&emulator.connection_string("msdb")).await?;
        for batch in OBJECTS.iter().copied().chain(DEAD_LETTERS.split("\nGO\n")) {
            broker.batch(batch).await?;
        }
        let ask = MessageTypeName::new("//b/ask")?;
        for _ in 0..MESSAGES / EACH {
            let messages: Vec<_> =
                (0..EACH).map(|_| OutgoingMessage::new(ask.clone(), Body::from(BODY.to_vec()))).collect();
            broker.dialog("//b/i", "//b/t").contract("//b/c").begin_with(&messages).await?;
        }
        Ok(Self { emulator, broker })
    }

    async fn measure_worker(self) -> Outcome<Cost> {
        let answer = MessageTypeName::new("//b/answer")?;
        let handler = handler_fn(move |delivery| {
            let answer = answer.clone();
            Box::pin(async move {
                let body = delivery.message().body.clone();
                delivery.reply(&answer, body).await?;
                Ok(())
            })
        });
        let stop = CancellationToken::new();
        let policy = PoisonPolicy::new(3, PoisonAction::EndConversation);
        let worker = self.broker.worker(QueueName::new("bt")?, handler).poison(policy);
        let stopped = stop.clone();
        let (before, begun) = (self.requests(), Instant::now());
        let running = tokio::spawn(async move { worker.run(stopped.cancelled()).await });
        let looks = self.answered().await?;
        let cost = self.cost(before, begun, looks);
        stop.cancel();
        running.await??;
        Ok(cost)
    }

    async fn measure_feed(self) -> Outcome<Cost> {
        let folder = TempDir::new()?;
        let config = folder.path().join("activator.toml");
        fs::write(&config, self.text(folder.path())?)?;
        let (before, begun) = (self.requests(), Instant::now());
        let mut daemon = start(&config)?;
        let looks = self.answered().await?;
        let cost = self.cost(before, begun, looks);
        daemon.kill().await?;
        Ok(cost)
    }

    fn text(&self, folder: &Path) -> Outcome<String> {
        Ok(format!(
            "[state]\ndir = \"{}/state\"\n[log]\nlevel = \"error\"\n[[notification]]\nname = \"//n\"\nconnection = '''{}'''\n\
             [[app]]\nname = \"fed\"\nkind = \"feed\"\ncommand = \"{}\"\nargs = [\"--handler\"]\n\
             on = {{ database = \"msdb\", schema = \"dbo\", queue = \"bt\" }}\n",
            folder.display(),
            self.emulator.connection_string("msdb"),
            std::env::current_exe()?.display(),
        ))
    }

    fn requests(&self) -> u64 {
        self.emulator.server_counters().requests.load(Ordering::Relaxed)
    }

    fn cost(&self, before: u64, begun: Instant, looks: u64) -> Cost {
        Cost { seconds: begun.elapsed().as_secs_f64(), requests: self.requests() - before - looks }
    }

    /// Waits until every message is answered; says how often it looked.
    async fn answered(&self) -> Outcome<u64> {
        let (end, mut looks) = (Instant::now() + PATIENCE, 0);
        loop {
            let results = self.broker.batch("SELECT COUNT(*) AS n FROM bi WITH (NOLOCK)").await?;
            looks += 1;
            if usize::try_from(results.first_row().ok_or("no count")?.get::<i32>("n")?)? == MESSAGES {
                return Ok(looks);
            }
            if Instant::now() > end {
                return Err("not every message was answered".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn start(config: &Path) -> Outcome<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.args(["activator", "run", "--config"]).arg(config).stdout(Stdio::null()).kill_on_drop(true);
    Ok(command.spawn()?)
}
