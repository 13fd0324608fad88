//! The stage of the demo: embedded broker, database with its objects, activator with the handler, all in one process
//! except the handlers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ssbroker_emulator::Emulator;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Arguments;
use super::report::{HandlerRun, Handlers};
use crate::activator::config::{self, Resolver};
use crate::activator::supervisor::Record;
use crate::activator::{Activator, ActivatorError};
use crate::cli::exit::CliError;
use crate::cli::{Environment, script};
use crate::client::{Broker, BrokerOptions, Encryption, QueueName};

const DATABASE: &str = "ssbroker_demo";
const SCRIPTS: [(&str, &str); 3] = [
    ("sql/01-enable-broker.sql", include_str!("../../../sql/01-enable-broker.sql")),
    ("sql/02-objects.sql", include_str!("../../../sql/02-objects.sql")),
    ("sql/03-external-activation.sql", include_str!("../../../sql/03-external-activation.sql")),
];
/// Conversations that are neither the server's own nor closed.
const OPEN_CONVERSATIONS: &str =
    "SELECT COUNT(*) AS conversations FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD';";

pub(super) struct Stage {
    emulator: Emulator,
    broker: Broker,
    activator: Mutex<Option<RunningActivator>>,
    watched: Arc<Watched>,
    _folder: StateFolder,
}

struct RunningActivator {
    stop: mpsc::Sender<()>,
    task: JoinHandle<Result<(), ActivatorError>>,
}

impl Stage {
    /// Starts everything.
    pub(super) async fn set(arguments: &Arguments) -> Result<Self, CliError> {
        let emulator = Emulator::start()
            .await
            .map_err(|error| CliError::usage("cannot start the embedded broker").because(error))?;
        let broker = create_database(&emulator).await?;
        let folder = StateFolder::create()?;
        let watched = Arc::new(Watched::default());
        let activator = start_activator(arguments, &emulator, folder.path(), Arc::clone(&watched))?;
        Ok(Self { emulator, broker, activator: Mutex::new(Some(activator)), watched, _folder: folder })
    }

    pub(super) fn broker(&self) -> &Broker {
        &self.broker
    }

    pub(super) fn client_service(&self) -> &'static str {
        "//ssbroker/digest/Client"
    }

    pub(super) fn service(&self) -> &'static str {
        "//ssbroker/digest/Service"
    }

    pub(super) fn contract(&self) -> &'static str {
        "//ssbroker/digest/Contract"
    }

    pub(super) fn reply_queue(&self) -> Result<QueueName, CliError> {
        Ok(QueueName::in_schema("dbo", "DigestReplyQueue")?)
    }

    /// Stops the activator in good order and says what it did.
    pub(super) async fn stop_activator(&self) -> Handlers {
        let activator = self.activator.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(RunningActivator { stop, task }) = activator {
            // Whether it is gone already or stops now, its task ends.
            let _ = stop.send(()).await;
            let _ = task.await;
        }
        self.watched.handlers().told()
    }

    /// Conversations that were left open.
    pub(super) async fn open_conversations(&self) -> Result<u64, CliError> {
        let results = self.broker.execute(OPEN_CONVERSATIONS, &[]).await?;
        let count = results.first_row().map(|row| row.get::<i32>("conversations")).transpose()?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }

    /// How other tools reach the broker.
    pub(super) fn how_to_connect(&self) -> String {
        format!(
            "the broker keeps running until Ctrl-C\n  server    {}\n  database  {DATABASE}\n  user      sa\n  password  {}",
            self.emulator.address(),
            self.emulator.password(),
        )
    }

    /// Stops everything.
    pub(super) async fn clear(self) {
        self.stop_activator().await;
        self.emulator.shutdown().await;
    }
}

async fn create_database(emulator: &Emulator) -> Result<Broker, CliError> {
    let address = emulator.address();
    let server = format!("{},{}", address.ip(), address.port());
    let options =
        BrokerOptions::new(&server, "sa", emulator.password())?.with_encryption(Encryption::LoginOnly);
    let master = Broker::with_options(options.clone()).await?;
    master.batch(&format!("CREATE DATABASE [{DATABASE}];")).await?;
    let broker = Broker::with_options(options.with_database(DATABASE)).await?;
    for (name, text) in SCRIPTS {
        script::run(&broker, name, text).await?;
    }
    Ok(broker)
}

fn start_activator(
    arguments: &Arguments,
    emulator: &Emulator,
    folder: &Path,
    watched: Arc<Watched>,
) -> Result<RunningActivator, CliError> {
    let program = std::env::current_exe()
        .map_err(|error| CliError::usage("cannot find this program's own file").because(error))?;
    let text = configuration(arguments, emulator, folder, &program);
    let name = Path::new("demo.toml");
    let resolver: &dyn Resolver = &Environment::default();
    let loaded = config::parse(name, folder, text.as_bytes(), resolver)
        .map_err(|error| CliError::usage("the demo's own configuration is refused").because(error))?;
    let (stop, stops) = mpsc::channel(1);
    let activator = Activator::new(loaded.config).observe(move |record| watched.see(record));
    Ok(RunningActivator { stop, task: tokio::spawn(activator.run(stops)) })
}

/// The activator's configuration, as a user would write it.
fn configuration(arguments: &Arguments, emulator: &Emulator, folder: &Path, program: &Path) -> String {
    let quoted = |text: String| toml::Value::String(text).to_string();
    let address = emulator.address();
    let connection = format!(
        "server=tcp:{},{};database={DATABASE};user id=sa;password={};encrypt=false",
        address.ip(),
        address.port(),
        emulator.password()
    );
    format!(
        "[state]\ndir = {dir}\n\n[[notification]]\nname = \"//ssbroker/Notifications\"\nconnection = {connection}\n\n\
         [[app]]\nname = \"digest\"\non = {{ database = \"{DATABASE}\", schema = \"dbo\", queue = \"DigestQueue\" }}\n\
         command = {program}\nargs = [\"digest-handler\", \"%sqlserver%\", \"%database%\", \"%schema%\", \"%queue%\", \
         \"--work\", \"{work}ms\"]\nmin = {min}\nmax = {max}\nstop_grace = \"5s\"\npass_connection = true\n",
        dir = quoted(folder.display().to_string()),
        connection = quoted(connection),
        program = quoted(program.display().to_string()),
        work = arguments.work.as_millis(),
        min = arguments.min,
        max = arguments.max,
    )
}

/// Watches the activator's records.
#[derive(Default)]
struct Watched {
    handlers: Mutex<Watch>,
}

#[derive(Default)]
struct Watch {
    handlers: Handlers,
    alive: u64,
}

impl Watch {
    fn told(&self) -> Handlers {
        self.handlers.clone()
    }
}

impl Watched {
    fn handlers(&self) -> std::sync::MutexGuard<'_, Watch> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, record: &Record) {
        let mut watch = self.handlers();
        match record {
            Record::Notified { .. } | Record::AtMax { .. } => watch.handlers.notifications += 1,
            Record::Launched { pid, .. } => {
                watch.handlers.runs.push(HandlerRun { pid: *pid, lasted: None });
                watch.alive += 1;
                watch.handlers.max_alive = watch.handlers.max_alive.max(watch.alive);
            }
            Record::Exited { pid: Some(pid), lasted, .. } => {
                watch.alive = watch.alive.saturating_sub(1);
                let run = watch.handlers.runs.iter_mut().rev().find(|run| run.pid == *pid);
                if let Some(run) = run {
                    run.lasted = *lasted;
                }
            }
            _ => {}
        }
    }
}

/// A folder of the demo's own, removed at its end.
struct StateFolder(PathBuf);

impl StateFolder {
    fn create() -> Result<Self, CliError> {
        let name = format!("ssbroker-demo-{}", uuid::Uuid::new_v4());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)
            .map_err(|error| CliError::usage(format!("cannot create {}", path.display())).because(error))?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // What cannot be removed lies in the folder for temporary files, where it does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
