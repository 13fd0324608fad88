//! A daemon inside the test, its records, and conditions to wait for.

use ssbroker::activator::config::{self, Config, ConfigFile, Reading, Resolver};
use ssbroker::activator::launch::{LaunchId, Outcome};
use ssbroker::activator::notification::{Notice, QueueEvent};
use ssbroker::activator::{Activator, ActivatorError, EventSender, NotHandled, Record, ReloadHandle};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(30);

/// The program with the subcommand through which handlers are started.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ssbroker"))
}

/// The connection string of the only notification service, which is not listened on.
pub(crate) const CONNECTION: &str = "server=tcp:db1,14330;database=Sales;user id=ea;password=s3cret";

struct NoReferences;

impl Resolver for NoReferences {
    fn environment(&self, _name: &str) -> Option<String> {
        None
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// A configuration with its state in `state`, and `apps` in TOML.
pub(crate) fn config(state: &Path, apps: &str) -> Config {
    parse(&text(state, apps))
}

/// As [`config`], as the text of a file.
pub(crate) fn text(state: &Path, apps: &str) -> String {
    let head = format!("[state]\ndir = {:?}\n", state.display().to_string());
    let notification =
        format!("[[notification]]\nname = \"//n\"\nenabled = false\nconnection = \"{CONNECTION}\"\n");
    format!("{head}{notification}{apps}")
}

pub(crate) fn parse(text: &str) -> Config {
    let loaded = config::parse(Path::new("activator.toml"), Path::new("/"), text.as_bytes(), &NoReferences);
    loaded.unwrap_or_else(|error| panic!("{error}: {:?}", error.faults())).config
}

/// One application that reads `queue` and runs `script` in a shell; `keys` are further TOML keys.
pub(crate) fn shell(queue: &str, script: &str, keys: &str) -> String {
    format!(
        "[[app]]\nname = \"{queue}\"\ncommand = \"sh\"\nargs = [\"-c\", '''{script}''']\n\
         on = {{ database = \"Sales\", schema = \"dbo\", queue = \"{queue}\" }}\n{keys}\n"
    )
}

/// A running daemon. Dropped, it leaves no process behind.
pub(crate) struct Daemon {
    events: EventSender,
    stop: mpsc::Sender<()>,
    records: watch::Receiver<Vec<Record>>,
    task: JoinHandle<Result<(), ActivatorError>>,
}

impl Daemon {
    pub(crate) fn start(config: Config) -> Self {
        Self::with_program(config, program())
    }

    pub(crate) fn with_program(config: Config, program: PathBuf) -> Self {
        Self::of(Activator::new(config).program(program))
    }

    /// A daemon that reads its configuration from `path`, and again when that changes; and how to ask for it.
    pub(crate) fn of_file(path: &Path) -> (Self, ReloadHandle) {
        let file = ConfigFile::new(path, Reading::default(), NoReferences);
        let activator = Activator::new(file.load().unwrap().config).reload_from(file).program(program());
        let handle = activator.reload_handle();
        (Self::of(activator), handle)
    }

    fn of(activator: Activator) -> Self {
        let (sender, records) = watch::channel(Vec::new());
        let observe =
            move |record: &Record| sender.send_modify(|records: &mut Vec<_>| records.push(record.clone()));
        let activator = activator.observe(observe);
        let (stop, shutdown) = mpsc::channel(2);
        Self { events: activator.event_sender(), stop, records, task: tokio::spawn(activator.run(shutdown)) }
    }

    /// Hands in a notification for a queue and waits until the daemon says that it may be committed.
    pub(crate) async fn notify(&self, queue: &str) -> Result<(), NotHandled> {
        let notice = Notice {
            event: QueueEvent::QueueActivation,
            server: "DB1\\SALES".to_owned(),
            database: "Sales".to_owned(),
            schema: "dbo".to_owned(),
            queue: queue.to_owned(),
            post_time: None,
        };
        within(self.events.notified(0, notice)).await
    }

    /// The records so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.records.borrow().clone()
    }

    /// Waits until `find` finds something in the records.
    pub(crate) async fn until<T>(&self, find: impl Fn(&[Record]) -> Option<T>) -> T {
        let mut records = self.records.clone();
        let found = tokio::time::timeout(DEADLINE, records.wait_for(|records| find(records).is_some())).await;
        assert!(matches!(found, Ok(Ok(_))), "waited in vain: {:#?}", self.records());
        find(&self.records.borrow()).unwrap()
    }

    /// Waits until so many processes have been launched or adopted, and answers their ids in that order.
    pub(crate) async fn launched(&self, count: usize) -> Vec<u32> {
        self.until(|records| Some(pids(records)).filter(|pids| pids.len() >= count)).await
    }

    /// Waits until so many processes have ended, and answers how.
    pub(crate) async fn outcomes(&self, count: usize) -> Vec<Outcome> {
        self.until(|records| Some(outcomes(records)).filter(|outcomes| outcomes.len() >= count)).await
    }

    /// Waits for a launch that failed, and answers it with its reason.
    pub(crate) async fn failure(&self) -> (LaunchId, String) {
        self.until(|records| records.iter().find_map(failure)).await
    }

    pub(crate) async fn request_stop(&self) {
        self.stop.send(()).await.unwrap();
    }

    /// Waits for the end of a daemon that was asked to stop.
    pub(crate) async fn stopped(mut self) -> Vec<Record> {
        within(&mut self.task).await.unwrap().unwrap();
        self.records()
    }

    pub(crate) async fn stop(self) -> Vec<Record> {
        self.request_stop().await;
        self.stopped().await
    }

    /// Ends the daemon as its death would: handlers stay, and nothing more is written.
    pub(crate) async fn crash(mut self) -> Vec<Record> {
        self.task.abort();
        assert!(within(&mut self.task).await.unwrap_err().is_cancelled());
        let records = self.records();
        // What still runs is the test's business now.
        self.records = watch::channel(Vec::new()).1;
        records
    }

    /// Waits for the end of a daemon that does not start.
    pub(crate) async fn refused(mut self) -> ActivatorError {
        within(&mut self.task).await.unwrap().unwrap_err()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.task.abort();
        let records = self.records.borrow();
        for record in records.iter() {
            let Record::Launched { launch, pid, .. } = record else { continue };
            if !records
                .iter()
                .any(|other| matches!(other, Record::Exited { launch: ended, .. } if ended == launch))
            {
                signal(&format!("-{pid}"), "KILL");
            }
        }
    }
}

pub(crate) fn pids(records: &[Record]) -> Vec<u32> {
    let pid = |record: &Record| match record {
        Record::Launched { pid, .. } | Record::Adopted { pid, .. } => Some(*pid),
        _ => None,
    };
    records.iter().filter_map(pid).collect()
}

pub(crate) fn outcomes(records: &[Record]) -> Vec<Outcome> {
    let outcome = |record: &Record| match record {
        Record::Exited { outcome, .. } => Some(*outcome),
        _ => None,
    };
    records.iter().filter_map(outcome).collect()
}

fn failure(record: &Record) -> Option<(LaunchId, String)> {
    match record {
        Record::LaunchFailed { launch, reason, .. } => Some((*launch, reason.clone())),
        _ => None,
    }
}

/// Sends a signal to a process, or to a group if `to` begins with a minus.
pub(crate) fn signal(to: &str, name: &str) {
    let kill = format!("kill -s {name} -- {to} 2>/dev/null");
    Command::new("sh").args(["-c", &kill]).status().unwrap();
}

/// Whether a process runs; one that is not yet reaped does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
}

/// Looks until `find` finds something, for what announces itself to nobody.
pub(crate) async fn eventually<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    let mut look = tokio::time::interval(Duration::from_millis(10));
    loop {
        look.tick().await;
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
    }
}

/// The number a handler has written to a file, once its line is whole.
pub(crate) async fn number_in(path: &Path) -> u32 {
    let read = || std::fs::read_to_string(path).ok()?.strip_suffix('\n')?.parse().ok();
    eventually(&format!("a number in {}", path.display()), read).await
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it does not end in time")
}
