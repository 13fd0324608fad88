//! Takes up a changed configuration while the daemon runs: when its file is saved, and when somebody asks.
//!
//! A file that cannot be used changes nothing and is reported with every fault, once for each set of faults. It is read
//! again a few times before that, since a save may be half done. What a change means is planned and decided in
//! `config::diff` and the [`supervisor`](super::supervisor).

use crate::activator::config::watch::FileWatch;
use crate::activator::config::{Config, ConfigFile, LoadError, Loaded};
use crate::activator::daemon::judge;
use crate::activator::inbox::{EventSender, Until};
use crate::activator::log_lines;
use crate::activator::supervisor::Event;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How often, and how far apart, a file that was changed and cannot be used is read again before it is reported.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);
/// Requests that wait before who asks is held up.
const CAPACITY: usize = 8;

/// Asks a running [`Activator`](super::Activator) to read its configuration again. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReloadHandle {
    requests: mpsc::Sender<Request>,
}

/// What has become of a request to read the configuration again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reloaded {
    /// It means the same as before.
    Unchanged,
    /// It is in effect; the log says what changed.
    Applied,
    /// It cannot be used, for these reasons, and nothing has changed.
    Refused(Vec<String>),
}

/// One request and who waits for its outcome.
pub(super) type Request = oneshot::Sender<Reloaded>;

impl ReloadHandle {
    /// A handle and where its requests arrive.
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (requests, arriving) = mpsc::channel(CAPACITY);
        (Self { requests }, arriving)
    }

    /// Asks, and waits for the outcome. Dropping the future leaves the request in force.
    pub async fn reload(&self) -> Reloaded {
        let nobody =
            || Reloaded::Refused(vec!["the activator does not run, or has no file to read".to_owned()]);
        let (reply, outcome) = oneshot::channel();
        if self.requests.send(reply).await.is_err() {
            return nobody();
        }
        outcome.await.unwrap_or_else(|_gone| nobody())
    }
}

/// Why the file is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Somebody asked, and is told of every fault each time.
    Asked,
    /// It looks different. A save may be half done, and the slow look finds the same faults again and again, which is news
    /// only once.
    Changed,
}

/// The task that reads the file again.
pub(super) struct Reloader {
    file: ConfigFile,
    /// What the file said when it was last accepted.
    current: Arc<Config>,
    events: EventSender,
    /// Faults that were reported last, and not yet mended.
    reported: Vec<String>,
}

impl Reloader {
    pub(super) fn new(file: ConfigFile, current: Arc<Config>, events: EventSender) -> Self {
        Self { file, current, events, reported: Vec::new() }
    }

    /// Watches the file and answers requests until dropped.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut watch = self.watch();
        loop {
            tokio::select! {
                Some(reply) = requests.recv() => {
                    let outcome = self.reload(Cause::Asked).await;
                    // Who has gone does not want to know.
                    let _ = reply.send(outcome);
                }
                () = changed(watch.as_mut()) => {
                    self.reload(Cause::Changed).await;
                }
            }
        }
    }

    fn watch(&self) -> Option<FileWatch> {
        let path = self.file.path().display();
        match FileWatch::new(self.file.path()) {
            Ok((watch, problem)) => {
                if let Some(problem) = problem {
                    tracing::warn!(target: "activator", "changes of {path} are noticed late: {}", log_lines::chain(&problem));
                }
                Some(watch)
            }
            Err(error) => {
                tracing::warn!(target: "activator", "changes of {path} are not noticed: {}", log_lines::chain(&error));
                None
            }
        }
    }

    async fn reload(&mut self, cause: Cause) -> Reloaded {
        let attempts = match cause {
            Cause::Asked => 1,
            Cause::Changed => ATTEMPTS,
        };
        match self.read(attempts).await {
            Ok(loaded) if loaded.config == *self.current => {
                self.reported.clear();
                Reloaded::Unchanged
            }
            Ok(loaded) => self.apply(loaded).await,
            Err(faults) => self.refuse(faults, cause).await,
        }
    }

    /// The configuration, or everything that is wrong with it.
    async fn read(&self, attempts: u32) -> Result<Loaded, Vec<String>> {
        let mut left = attempts;
        loop {
            left -= 1;
            match self.read_once().await {
                Err(_) if left > 0 => tokio::time::sleep(PAUSE).await,
                outcome => return outcome,
            }
        }
    }

    async fn read_once(&self) -> Result<Loaded, Vec<String>> {
        let file = self.file.clone();
        let read = move || {
            let loaded = file.load().map_err(|error| reasons(&error))?;
            judge(&loaded.config).map_err(|error| vec![log_lines::chain(&error)])?;
            Ok(loaded)
        };
        // A network drive may keep a reader waiting.
        tokio::task::spawn_blocking(read).await.expect("reading a configuration does not panic")
    }

    async fn apply(&mut self, loaded: Loaded) -> Reloaded {
        self.reported.clear();
        for warning in &loaded.warnings {
            tracing::warn!(target: "activator", "{warning}");
        }
        let config = Arc::new(loaded.config);
        if self.tell(Event::Reconfigured { config: Arc::clone(&config) }).await {
            self.current = config;
            return Reloaded::Applied;
        }
        Reloaded::Refused(vec!["the activator stops".to_owned()])
    }

    async fn refuse(&mut self, faults: Vec<String>, cause: Cause) -> Reloaded {
        if cause == Cause::Asked || faults != self.reported {
            self.reported.clone_from(&faults);
            self.tell(Event::ReloadRefused { faults: faults.clone() }).await;
        }
        Reloaded::Refused(faults)
    }

    async fn tell(&self, event: Event) -> bool {
        match self.events.send(event, Until::Done).await {
            Ok(acted_on) => acted_on.await.is_ok(),
            Err(_stopped) => false,
        }
    }
}

async fn changed(watch: Option<&mut FileWatch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

fn reasons(error: &LoadError) -> Vec<String> {
    match error {
        LoadError::Invalid(faults) => faults.iter().map(ToString::to_string).collect(),
        unreadable => vec![log_lines::chain(unreadable)],
    }
}
