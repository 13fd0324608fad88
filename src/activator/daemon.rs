//! The activator as its user sees it: built from a configuration, run until it is told to stop.
//!
//! Puts the parts together and takes them apart again in order; what happens in between is in `event_loop`.

use crate::activator::accounts::{self, AccountError};
use crate::activator::children::Children;
use crate::activator::config::Config;
use crate::activator::event_loop::{EventLoop, Observer};
use crate::activator::feed;
use crate::activator::inbox::{EventSender, Inbox};
use crate::activator::journal::{Journal, JournalError, Replay};
use crate::activator::launch::LaunchId;
use crate::activator::launcher::Launcher;
use crate::activator::ledger::Ledger;
use crate::activator::listener::Listener;
use crate::activator::output::Runs;
use crate::activator::own_children::OwnChildren;
use crate::activator::platform;
use crate::activator::supervisor::{Record, Supervisor};
use crate::client::{self, BrokerOptions};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long the listeners may take to commit what is in their hands when everything else has stopped.
const LISTENERS_PATIENCE: Duration = Duration::from_secs(2);

/// How often, and how far apart, a lock that is taken is looked at again.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The daemon: listens for notifications and keeps between min and max handlers running for each queue.
///
/// ```no_run
/// # use ssbroker::activator::{Activator, config};
/// # async fn example(config: config::Config) -> Result<(), Box<dyn std::error::Error>> {
/// let (request_stop, shutdown) = tokio::sync::mpsc::channel(1);
/// let activator = Activator::new(config).observe(|record| eprintln!("{record}"));
/// tokio::spawn(async move {
///     // Waits for whatever is to end the daemon, such as a signal.
///     request_stop.send(()).await
/// });
/// activator.run(shutdown).await?;
/// # Ok(())
/// # }
/// ```
pub struct Activator {
    config: Arc<Config>,
    program: Option<PathBuf>,
    observer: Observer,
    inbox: Inbox,
    reaps_orphans: bool,
}

/// Why the activator does not start. Once it runs it goes on whatever happens, and says so in the log.
#[derive(Debug)]
#[non_exhaustive]
pub enum ActivatorError {
    /// The connection string of a notification service is not valid.
    Connection {
        /// Name of the service.
        service: String,
        /// What is wrong with it; never shows the password.
        source: client::Error,
    },
    /// The journal cannot be kept, so no launch would be safe.
    Journal(JournalError),
    /// The folder of the handlers' output cannot be used.
    Output {
        /// The state folder.
        dir: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// An application asks for a user or a group it cannot have.
    Account {
        /// Name of the application.
        app: String,
        /// Why not.
        source: AccountError,
    },
    /// Processes cannot be told apart on this system.
    System(io::Error),
}

impl fmt::Display for ActivatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { service, .. } => {
                write!(f, "the connection string of notification service {service} is not valid")
            }
            Self::Journal(_) => f.write_str("the journal cannot be kept"),
            Self::Output { dir, .. } => {
                write!(f, "cannot use the folder for the handlers' output in {}", dir.display())
            }
            Self::Account { app, .. } => write!(f, "application {app} cannot have the account it asks for"),
            Self::System(_) => f.write_str("processes cannot be watched here"),
        }
    }
}

impl Error for ActivatorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connection { source, .. } => Some(source),
            Self::Journal(source) => Some(source),
            Self::Account { source, .. } => Some(source),
            Self::Output { source, .. } | Self::System(source) => Some(source),
        }
    }
}

impl fmt::Debug for Activator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activator").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Activator {
    /// An activator for `config`. Nothing happens before [`run`](Self::run).
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            program: None,
            observer: Box::new(|_| {}),
            inbox: Inbox::new(),
            reaps_orphans: false,
        }
    }

    /// The program that offers the subcommand of [`trampoline`](super::trampoline); this one if not set.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Reaps orphans of handlers where they become children of this process: as process 1 of a container, or as a subreaper.
    /// For a program that is nothing but the activator, since it takes the exit status of every child that the activator
    /// has not started; not done if not set.
    #[must_use]
    pub fn reap_orphans(mut self) -> Self {
        self.reaps_orphans = true;
        self
    }

    /// Shows every decision to `observer` as well as to the log. It is called on the daemon's loop and must be quick.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Record) + Send + Sync + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// A way to hand events to this activator besides its listeners.
    #[must_use]
    pub fn event_sender(&self) -> EventSender {
        self.inbox.sender()
    }

    /// Runs until a message comes over `shutdown` and every handler has ended.
    ///
    /// The first message asks every handler to end (SIGTERM to its process group), and after the application's grace
    /// kills what still runs; a second message kills at once. So a stop takes no longer than the longest grace and a few
    /// seconds (pain 16). A closed channel is no request. A server that cannot be reached ends nothing: it is tried for
    /// ever.
    ///
    /// # Errors
    /// [`ActivatorError`], before anything is launched.
    ///
    /// # Cancellation
    /// Dropping the future leaves handlers running, as the death of the process would; the next activator with the same
    /// state folder takes them up again.
    pub async fn run(self, shutdown: mpsc::Receiver<()>) -> Result<(), ActivatorError> {
        let options = self.connections()?;
        let stop_listening = CancellationToken::new();
        let event_sender = self.event_sender();
        let config = Arc::clone(&self.config);
        let own_children = OwnChildren::default();
        let mut helpers = JoinSet::new();
        if self.reaps_orphans {
            helpers.spawn(own_children.clone().reap_strangers());
        }
        let event_loop = self.prepare(&options, own_children, stop_listening.clone()).await?;
        let listeners = listen(&config, options, &event_sender, &stop_listening);
        // A run that is dropped must not leave listeners that consume notifications for nobody.
        let _stop_with_me = stop_listening.drop_guard();
        event_loop.run(shutdown).await;
        finish(listeners).await;
        Ok(())
    }

    /// The parsed connection of every notification service, in order.
    fn connections(&self) -> Result<Vec<BrokerOptions>, ActivatorError> {
        let parse = |service: &super::config::NotificationService| {
            BrokerOptions::from_connection_string(service.connection.expose())
                .map_err(|source| ActivatorError::Connection { service: service.name.clone(), source })
        };
        self.config.notifications.iter().map(parse).collect()
    }

    /// The loop with everything an earlier daemon left taken up.
    async fn prepare(
        self,
        options: &[BrokerOptions],
        own_children: OwnChildren,
        stop_listening: CancellationToken,
    ) -> Result<EventLoop, ActivatorError> {
        let program = self.program.map_or_else(platform::own_program, Ok).map_err(ActivatorError::System)?;
        platform::identify(std::process::id()).map_err(ActivatorError::System)?;
        accounts::check(&self.config).map_err(|(app, source)| ActivatorError::Account { app, source })?;
        let dir = &self.config.state.dir;
        let (journal, replay) = open_journal(dir).await.map_err(ActivatorError::Journal)?;
        let output = |source| ActivatorError::Output { dir: dir.clone(), source };
        let runs = Arc::new(Runs::open(dir).map_err(output)?);
        let feeds = Arc::new(feed::Shared::open(dir).map_err(output)?);
        let mut event_loop = EventLoop {
            supervisor: Supervisor::new(Arc::clone(&self.config), LaunchId::random),
            ledger: Ledger::new(journal),
            launcher: Launcher::new(program, Arc::clone(&runs), own_children, &self.config, options),
            children: Children::new(Arc::clone(&runs), feeds, self.inbox.sender()),
            config: Arc::clone(&self.config),
            inbox: self.inbox,
            observer: self.observer,
            stop_listening,
            due: VecDeque::new(),
            is_stopped: false,
        };
        event_loop.recover(replay).await;
        runs.prune().map_err(output)?;
        Ok(event_loop)
    }
}

/// Opens the journal. A process that a daemon was starting when it was killed holds that daemon's lock until its program
/// runs; so a lock that is taken is looked at again before it counts.
async fn open_journal(dir: &Path) -> Result<(Journal, Replay), JournalError> {
    for _ in 0..LOCK_ATTEMPTS {
        match Journal::open(dir) {
            Err(JournalError::InUse(_)) => tokio::time::sleep(LOCK_PAUSE).await,
            opened => return opened,
        }
    }
    Journal::open(dir)
}

/// Starts a task for each enabled notification service.
fn listen(
    config: &Config,
    options: Vec<BrokerOptions>,
    events: &EventSender,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for (index, (service, options)) in config.notifications.iter().zip(options).enumerate() {
        if service.enabled {
            let listener = Listener::new(index, &service.name, options, events.clone(), stop.clone());
            tasks.spawn(listener.run());
        } else {
            tracing::info!(target: "activator", "notification service {} is not enabled", service.name);
        }
    }
    tasks
}

/// Lets the listeners commit what they have. One that does not come to an end is dropped: its notification comes again.
async fn finish(mut listeners: JoinSet<()>) {
    let all = async { while listeners.join_next().await.is_some() {} };
    if tokio::time::timeout(LISTENERS_PATIENCE, all).await.is_err() {
        tracing::warn!(target: "activator", "a listener does not stop and is dropped");
    }
}
