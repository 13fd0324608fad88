//! The commands of a script.
//!
//! | command | does |
//! |---|---|
//! | `x: > T-SQL` | runs a batch in session `x` (of `sa`, in database `test`, opened on first use); `$h1` stands for the uuid shown as `h1`; prints `blocked` when the batch waits |
//! | `x: wait` | prints the outcome of the batch that was blocked, or `blocked` |
//! | `x: cancel` | cancels the batch that is blocked, and prints its outcome |
//! | `x: close` | closes the session, as a lost connection does |
//! | `x: login USER PASSWORD [database=D]` | opens session `x` for another login |
//! | `x: dialog FROM TO [BODY ...]` | begins a dialog, sends the bodies as `varchar`, one transaction each, prints the handle |
//! | `x: receive QUEUE [top=N] [timeout=MS]` | receives handle, sequence number, type and body |
//! | `advance 5s` | moves the clock (`ms`, `s`, `m`, `d`) |
//! | `dump queues`, `dump endpoints`, `dump transmission`, `dump monitors` | lists them |
//! | `load NAME` | runs the batches of `testscripts/fixtures/NAME.sql` as `sa` |

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use goldenscript::{ArgumentConsumer, Command, Context, Runner};
use ssbroker_emulator::output::Event;
use ssbroker_emulator::value::Value;
use tokio::runtime::Runtime;

use super::client::Client;
use super::labels::Labels;
use super::render::Renderer;
use super::server::{Server, runtime};

/// The database that every script has.
const DATABASE: &str = "test";
/// The session that loads fixtures and dumps; no prefix can name it.
const OWN: &str = "";

const ENDPOINTS: &str = "SELECT conversation_handle, is_initiator, state, far_service, send_sequence AS sent, \
     receive_sequence AS received FROM sys.conversation_endpoints WHERE is_system = 0";
const TRANSMISSION: &str = "SELECT conversation_handle, to_service_name, message_sequence_number AS seq, \
     message_type_name, message_body, transmission_status FROM sys.transmission_queue";
const MONITORS: &str = "SELECT q.name, m.state, m.tasks_waiting FROM sys.dm_broker_queue_monitors AS m \
     JOIN sys.service_queues AS q ON q.object_id = m.queue_id";
const QUEUES: &str =
    "SELECT name, is_receive_enabled, is_enqueue_enabled FROM sys.service_queues WHERE is_ms_shipped = 0";

/// A script's run: its broker, its sessions and the names it has given.
pub(super) struct Script {
    runtime: Runtime,
    server: Server,
    clients: HashMap<String, Client>,
    labels: Labels,
}

impl Script {
    /// A fresh broker with the empty database `test`.
    pub(super) fn start() -> Script {
        let runtime = runtime();
        let server = runtime.block_on(async { Server::start() });
        let mut script = Script { runtime, server, clients: HashMap::new(), labels: Labels::default() };
        script.prepare("CREATE DATABASE test").expect("a database can be created");
        script
    }

    /// Runs a batch that must succeed, in a session of its own.
    fn prepare(&mut self, batch: &str) -> Result<(), String> {
        let client = Client::new(self.server.administrator("master"));
        let (client, events) = self.runtime.block_on(client.run(batch.to_owned()))?;
        self.runtime.block_on(client.close());
        let failed = events.iter().flatten().find(|event| matches!(event, Event::Error(_)));
        failed.map_or(Ok(()), |error| Err(format!("{error:?}")))
    }

    /// The session of that name, opened on first use.
    fn client(&mut self, name: &str) -> Client {
        let open = || Client::new(self.server.administrator(DATABASE));
        self.clients.remove(name).unwrap_or_else(open)
    }

    fn batch(&mut self, session: &str, batch: &str) -> Result<String, String> {
        let batch = self.labels.substitute(batch);
        let client = self.client(session);
        let outcome = self.runtime.block_on(client.run(batch));
        self.outcome(session, outcome)
    }

    fn wait(&mut self, session: &str) -> Result<String, String> {
        let client = self.client(session);
        let outcome = self.runtime.block_on(client.outcome());
        self.outcome(session, outcome)
    }

    fn outcome(
        &mut self,
        session: &str,
        outcome: Result<(Client, Option<Vec<Event>>), String>,
    ) -> Result<String, String> {
        let (client, events) = outcome?;
        self.clients.insert(session.to_owned(), client);
        Ok(events.map_or("blocked".to_owned(), |events| self.rendered(&events, session != OWN)))
    }

    fn rendered(&mut self, events: &[Event], counts: bool) -> String {
        Renderer { labels: &mut self.labels, start: self.server.start_time(), counts }.render(events)
    }

    fn login(&mut self, session: &str, mut args: ArgumentConsumer<'_>) -> Result<String, Box<dyn Error>> {
        let database: String = args.take_key("database").unwrap_or(DATABASE).to_owned();
        let (user, password) = (positional(&mut args)?, positional(&mut args)?);
        args.reject_next()?;
        match self.runtime.block_on(self.server.login(&user, &password, &database)) {
            Ok(opened) => {
                self.clients.insert(session.to_owned(), Client::new(opened));
                Ok(String::new())
            }
            Err(error) => Ok(error),
        }
    }

    fn dialog(&mut self, session: &str, mut args: ArgumentConsumer<'_>) -> Result<String, Box<dyn Error>> {
        let (from, to) = (positional(&mut args)?, positional(&mut args)?);
        let mut batch = format!(
            "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [{from}] TO SERVICE '{to}' WITH ENCRYPTION = OFF;"
        );
        while let Some(body) = args.next_pos() {
            batch.push_str(&format!(" SEND ON CONVERSATION @h ('{body}');"));
        }
        args.reject_next()?;
        batch.push_str(" SELECT @h AS conversation_handle;");
        let answer = self.batch(session, &batch)?;
        match answer.lines().collect::<Vec<_>>()[..] {
            ["conversation_handle", handle, "(1 row)"] => Ok(handle.to_owned()),
            _ => Ok(answer),
        }
    }

    fn receive(&mut self, session: &str, mut args: ArgumentConsumer<'_>) -> Result<String, Box<dyn Error>> {
        let top = args.take_key("top").map_or(String::new(), |top| format!("TOP ({top}) "));
        let timeout = args.take_key("timeout");
        let queue = positional(&mut args)?;
        args.reject_next()?;
        let receive = format!(
            "RECEIVE {top}conversation_handle, message_sequence_number AS seq, message_type_name, message_body FROM {queue}"
        );
        let batch = match timeout {
            Some(timeout) => format!("WAITFOR ({receive}), TIMEOUT {timeout};"),
            None => receive,
        };
        Ok(self.batch(session, &batch)?)
    }

    fn load(&mut self, fixture: &str) -> Result<String, String> {
        let batches = super::fixture(fixture);
        batches.iter().map(|batch| self.batch(OWN, batch)).collect()
    }

    fn dump(&mut self, what: &str) -> Result<String, String> {
        match what {
            "endpoints" => self.batch(OWN, ENDPOINTS),
            "transmission" => self.batch(OWN, TRANSMISSION),
            "monitors" => self.batch(OWN, MONITORS),
            "queues" => self.dump_queues(),
            other => Err(format!("nothing to dump is called {other}")),
        }
    }

    /// Every user queue with its switches and messages, locked or not.
    fn dump_queues(&mut self) -> Result<String, String> {
        let client = self.client(OWN);
        let (client, events) = self.runtime.block_on(client.run(QUEUES.to_owned()))?;
        self.clients.insert(OWN.to_owned(), client);
        let mut listing = String::new();
        for event in events.iter().flatten() {
            let Event::Row(row) = event else { continue };
            let [Value::Text(name), Value::Bit(receive), Value::Bit(enqueue)] = row.as_slice() else {
                continue;
            };
            let name = String::from_utf16_lossy(name.units());
            let (receive, enqueue) = (on_off(*receive), on_off(*enqueue));
            let messages = self.batch(OWN, &format!(
                "SELECT status, conversation_handle, message_sequence_number AS seq, message_type_name, message_body \
                 FROM [{name}] WITH (NOLOCK)"
            ))?;
            listing.push_str(&format!("{name}: receive {receive}, enqueue {enqueue}\n{messages}"));
        }
        Ok(listing)
    }
}

impl Runner for Script {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        let session = context.prefix.as_deref().unwrap_or("a");
        let mut args = command.consume_args();
        match command.name.as_str() {
            "wait" => Ok(self.wait(session)?),
            "cancel" => {
                let client = self.client(session);
                client.cancel();
                self.clients.insert(session.to_owned(), client);
                Ok(self.wait(session)?)
            }
            "close" => {
                let client = self.client(session);
                self.runtime.block_on(client.close());
                Ok(String::new())
            }
            "login" => self.login(session, args),
            "dialog" => self.dialog(session, args),
            "receive" => self.receive(session, args),
            "advance" => {
                let by = duration(&positional(&mut args)?)?;
                self.runtime.block_on(self.server.advance(by));
                Ok(String::new())
            }
            "dump" => Ok(self.dump(&positional(&mut args)?)?),
            "load" => Ok(self.load(&positional(&mut args)?)?),
            batch => Ok(self.batch(session, batch)?),
        }
    }
}

fn positional(args: &mut ArgumentConsumer<'_>) -> Result<String, String> {
    args.next_pos().map(str::to_owned).ok_or("an argument is missing".to_owned())
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A duration such as `500ms`, `5s`, `30m` or `2d`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| format!("{text} is not a duration"))?;
    match &text[digits..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number * 60)),
        "d" => Ok(Duration::from_secs(number * 86_400)),
        _ => Err(format!("{text} is not a duration")),
    }
}
