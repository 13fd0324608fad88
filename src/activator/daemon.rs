//! The activator as its user sees it: built from a configuration, run until it is told to stop.
//!
//! Puts the parts together and takes them apart again in order; what happens in between is in `event_loop`.

use crate::activator::accounts::{self, AccountError};
use crate::activator::children::Children;
use crate::activator::config::{Config, ConfigFile, NotificationService};
use crate::activator::control::ControlServer;
use crate::activator::event_loop::{EventLoop, Observer};
use crate::activator::feed;
use crate::activator::history::History;
use crate::activator::inbox::{EventSender, Inbox};
use crate::activator::journal::{Journal, JournalError, Replay};
use crate::activator::launcher::Launcher;
use crate::activator::ledger::Ledger;
use crate::activator::listener::{Link, Listeners};
use crate::activator::milestone::{Milestone, Milestones};
use crate::activator::output::Runs;
use crate::activator::own_children::OwnChildren;
use crate::activator::pauses::Pauses;
use crate::activator::platform;
use crate::activator::reenabling::Reenabling;
use crate::activator::reload::{ReloadHandle, Reloader, Request};
use crate::activator::run_table::RunTable;
use crate::activator::status::Board;
use crate::activator::supervisor::{Record, Supervisor};
use crate::activator::web::Web;
use crate::client::{self, BrokerOptions};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

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
    milestones: Milestones,
    inbox: Inbox,
    file: Option<ConfigFile>,
    reload: ReloadHandle,
    reload_requests: mpsc::Receiver<Request>,
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
    /// The address for metrics cannot be listened on.
    Metrics {
        /// The address.
        listen: SocketAddr,
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
            Self::Metrics { listen, .. } => write!(f, "cannot listen on {listen} for metrics"),
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
            Self::Output { source, .. } | Self::Metrics { source, .. } | Self::System(source) => Some(source),
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
        let (reload, reload_requests) = ReloadHandle::new();
        Self {
            config: Arc::new(config),
            program: None,
            observer: Box::new(|_| {}),
            milestones: Milestones::untold(),
            inbox: Inbox::new(),
            file: None,
            reload,
            reload_requests,
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

    /// Tells `tell` how far the daemon is, for a service manager, and with a `pace` again and again that its loop turns. It
    /// is called on tasks of the daemon and must be quick.
    #[must_use]
    pub fn milestones(
        mut self,
        pace: Option<Duration>,
        tell: impl Fn(Milestone) + Send + Sync + 'static,
    ) -> Self {
        self.milestones = Milestones { pace, tell: Arc::new(tell) };
        self
    }

    /// Reads its configuration again from `file`, where it came from, whenever that is changed or a [`ReloadHandle`] asks.
    ///
    /// A change is in effect as soon as it is read: notification services are listened on or no more, an application that
    /// is gone has its processes asked to end, and what else differs counts from the next launch on. Changes of `[log]`,
    /// `[state]` and `[metrics]` wait for the next start, and the log says so. A file that cannot be used changes nothing.
    #[must_use]
    pub fn reload_from(mut self, file: ConfigFile) -> Self {
        self.file = Some(file);
        self
    }

    /// A way to ask for the configuration to be read again.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle {
        self.reload.clone()
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
    /// state folder takes them up again. They stay children of this process, so those that end are left to it to reap.
    pub async fn run(mut self, shutdown: mpsc::Receiver<()>) -> Result<(), ActivatorError> {
        let (reloading, milestones) = (self.reloading(), self.milestones.clone());
        let (events, reload) = (self.event_sender(), self.reload_handle());
        let (state_dir, metrics) = (self.config.state.dir.clone(), bind(self.config.metrics.listen).await?);
        let own_children = OwnChildren::default();
        // Everything that serves others ends with this future.
        let mut helpers = JoinSet::new();
        if self.reaps_orphans {
            helpers.spawn(own_children.clone().reap_strangers());
        }
        let mut event_loop = self.prepare(own_children).await?;
        event_loop.listen_to_all();
        helpers.spawn(reloading);
        helpers.spawn(ControlServer::new(&event_loop, events.clone(), reload).run(state_dir));
        helpers.spawn(milestones.clone().beat(events.clone()));
        if let Some(listener) = metrics {
            helpers.spawn(Web { board: event_loop.board.clone(), events }.run(listener));
        }
        milestones.tell(Milestone::Ready);
        let (listeners, run_table) = event_loop.run(shutdown, &milestones).await;
        tokio::join!(listeners.finish(), run_table.finish());
        helpers.shutdown().await;
        Ok(())
    }

    /// What reads the configuration again; without a file nothing does.
    fn reloading(&mut self) -> impl Future<Output = ()> + Send + 'static {
        let events = self.event_sender();
        let (_, unused) = ReloadHandle::new();
        let requests = std::mem::replace(&mut self.reload_requests, unused);
        let reloader = self.file.take().map(|file| Reloader::new(file, Arc::clone(&self.config), events));
        async move {
            if let Some(reloader) = reloader {
                reloader.run(requests).await;
            }
        }
    }

    /// The loop with everything an earlier daemon left taken up.
    async fn prepare(self, own_children: OwnChildren) -> Result<EventLoop, ActivatorError> {
        let links = judge(&self.config)?;
        let addresses: Vec<String> = links.iter().map(Link::address).collect();
        let board = Board::new(&self.config, &addresses, SystemTime::now());
        let program = self.program.map_or_else(platform::own_program, Ok).map_err(ActivatorError::System)?;
        platform::identify(std::process::id()).map_err(ActivatorError::System)?;
        let dir = &self.config.state.dir;
        let (journal, replay) = open_journal(dir).await.map_err(ActivatorError::Journal)?;
        let output = |source| ActivatorError::Output { dir: dir.clone(), source };
        let runs = Arc::new(Runs::open(dir).map_err(output)?);
        let feeds = Arc::new(feed::Shared::open(dir).map_err(output)?);
        let reenabling = Reenabling::open(dir, Instant::now(), SystemTime::now());
        let (config, sender, ids) = (Arc::clone(&self.config), self.inbox.sender(), Arc::clone(&runs));
        let listeners = Listeners::new(config, sender, board.clone(), reenabling.clone());
        let table = self.config.history.table.clone();
        let mut event_loop = EventLoop {
            supervisor: Supervisor::new(Arc::clone(&self.config), move || ids.next_id()),
            ledger: Ledger::new(journal),
            launcher: Launcher::new(program, Arc::clone(&runs), own_children, &self.config, &links),
            children: Children::new(Arc::clone(&runs), feeds, self.inbox.sender(), board.clone()),
            pauses: Pauses::open(dir),
            history: History::open(dir),
            config: Arc::clone(&self.config),
            run_table: table.map(|service| RunTable::of(service, listeners.links())).unwrap_or_default(),
            listeners,
            reenabling,
            board,
            inbox: self.inbox,
            observer: self.observer,
            due: VecDeque::new(),
            is_stopped: false,
        };
        event_loop.recover(replay).await;
        runs.prune().map_err(output)?;
        runs.fill_stock();
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

/// Listens for whoever collects metrics, if that is wanted.
async fn bind(listen: Option<SocketAddr>) -> Result<Option<TcpListener>, ActivatorError> {
    let Some(listen) = listen else { return Ok(None) };
    let bound = TcpListener::bind(listen).await;
    bound.map(Some).map_err(|source| ActivatorError::Metrics { listen, source })
}

/// Whether a configuration can be run here: the connections if so.
pub(super) fn judge(config: &Config) -> Result<Vec<Link>, ActivatorError> {
    let links = connections(config)?;
    accounts::check(config).map_err(|(app, source)| ActivatorError::Account { app, source })?;
    Ok(links)
}

/// The connection of every notification service, in order; none is made yet.
pub(super) fn connections(config: &Config) -> Result<Vec<Link>, ActivatorError> {
    config.notifications.iter().map(connection).collect()
}

/// The connection of one notification service.
pub(super) fn connection(service: &NotificationService) -> Result<Link, ActivatorError> {
    let options = BrokerOptions::from_connection_string(service.connection.expose());
    options
        .map(Link::new)
        .map_err(|source| ActivatorError::Connection { service: service.name.clone(), source })
}
