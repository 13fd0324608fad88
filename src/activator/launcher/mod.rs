//! Starts one process: itself where nothing has to be set up for it, else through the trampoline, whose word that the
//! handler runs is waited for.
//!
//! Decides nothing and writes no journal. What a process begins with is worked out in `plan`.

mod plan;
mod started;

pub(super) use started::{Feed, Started};

use crate::activator::accounts::{self, AccountError};
use crate::activator::config::Config;
use crate::activator::launch::LaunchId;
use crate::activator::listener::Link;
use crate::activator::output::Runs;
use crate::activator::own_children::OwnChildren;
use crate::activator::platform::{self, Program, Streams};
use crate::activator::supervisor::LaunchOrder;
use plan::{Endpoint, Plan};
use rustix::pipe::{PipeFlags, pipe_with};
use started::PATIENCE;
use std::collections::{BTreeSet, HashSet};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::UnixStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;

/// Starts handlers.
#[derive(Debug)]
pub(super) struct Launcher {
    starter: Starter,
    /// One for each notification service, in the order of the configuration.
    endpoints: Vec<Arc<Endpoint>>,
    /// Variables of the daemon's environment that are not for handlers. A variable once named stays one of them: the secret
    /// is in the daemon's environment whatever its configuration says later.
    secret_variables: Arc<BTreeSet<String>>,
    /// Programs whose start without a trampoline has not come back yet. The loop starts one after the other, so one that is here
    /// when it is to be started again is on a drive that does not answer: it is left to the trampoline, which can be given up.
    starting: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Why a process was not started.
#[derive(Debug)]
pub(super) enum StartError {
    /// The order names a notification service that is not configured.
    NoListener(usize),
    /// The application cannot run as the user or group it asks for.
    Account(AccountError),
    /// The system refused a step of ours.
    System {
        /// The step.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The trampoline reported why.
    Refused(String),
    /// The trampoline ended without a word.
    Died,
    /// There was no word in time.
    TooLate,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoListener(listener) => write!(f, "there is no notification service number {listener}"),
            Self::Account(_) => f.write_str("it cannot have the account it asks for"),
            Self::System { doing, .. } => write!(f, "cannot {doing}"),
            Self::Refused(reason) => f.write_str(reason),
            Self::Died => f.write_str("the helper process ended before it started the program"),
            Self::TooLate => write!(f, "the program did not start within {PATIENCE:?}"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::System { source, .. } => Some(source),
            Self::Account(source) => Some(source),
            _ => None,
        }
    }
}

impl Launcher {
    /// A launcher for the notification services of `config`, whose connections are `links`. `program` offers the
    /// trampoline's subcommand.
    pub(super) fn new(
        program: PathBuf,
        runs: Arc<Runs>,
        own_children: OwnChildren,
        config: &Config,
        links: &[Link],
    ) -> Self {
        Self {
            starter: Starter { program, runs, own_children },
            endpoints: plan::endpoints(config, links),
            secret_variables: Arc::new(config.secret_variables.clone()),
            starting: Arc::default(),
        }
    }

    /// From the next launch on, tells handlers of the notification services of `config`.
    pub(super) fn rebind(&mut self, config: &Config, links: &[Link]) {
        self.endpoints = plan::endpoints(config, links);
        Arc::make_mut(&mut self.secret_variables).extend(config.secret_variables.iter().cloned());
    }

    /// A launch that was not made: its files go.
    pub(super) fn give_up(&self, launch: LaunchId) {
        self.starter.runs.discard(launch);
    }

    /// The daemon ends: nothing is launched any more.
    pub(super) fn finish(&self) {
        self.starter.runs.clear_stock();
    }

    /// Starts a handler, or the trampoline, which goes on by itself. Takes the time of a posix_spawn, some tenths of a
    /// millisecond, on a thread for blocking work; a program that does not start in five seconds is given up.
    pub(super) async fn start(&self, order: &LaunchOrder) -> Result<Started, StartError> {
        let endpoint = self.endpoints.get(order.listener).ok_or(StartError::NoListener(order.listener))?;
        let (launch, program) = (order.launch, order.app.command.clone());
        let (order, endpoint) = (order.clone(), Arc::clone(endpoint));
        let plan = Plan { order, endpoint, secret_variables: Arc::clone(&self.secret_variables) };
        let directly = lock(&self.starting).insert(program.clone());
        let (report, reported) = oneshot::channel();
        let (starter, starting) = (self.starter.clone(), Arc::clone(&self.starting));
        tokio::task::spawn_blocking(move || {
            let outcome = starter.start(&plan, directly);
            if directly {
                lock(&starting).remove(&program);
            }
            if let Err(late) = report.send(outcome) {
                // Given up meanwhile.
                starter.runs.discard(launch);
                let _ = late.map(Started::put_away);
            }
            starter.runs.fill_stock();
        });
        let reported = tokio::time::timeout(PATIENCE, reported).await;
        reported.map_or(Err(StartError::TooLate), |outcome| outcome.unwrap_or(Err(StartError::Died)))
    }
}

fn lock(starting: &Mutex<HashSet<PathBuf>>) -> MutexGuard<'_, HashSet<PathBuf>> {
    starting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is needed for a start, whatever is started. Its calls block.
#[derive(Debug, Clone)]
struct Starter {
    /// This program.
    program: PathBuf,
    runs: Arc<Runs>,
    own_children: OwnChildren,
}

impl Starter {
    /// Without a trampoline only if `directly` and if nothing has to be set up.
    fn start(&self, plan: &Plan, directly: bool) -> Result<Started, StartError> {
        let launch = plan.order.launch;
        let identity = accounts::of(&plan.order.app).map_err(StartError::Account)?;
        let owner = identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let files = self.runs.create(launch, owner).map_err(failed("create the output files"))?;
        let surroundings = plan.surroundings(identity.as_ref(), files.err_path);
        let environment = plan.environment(platform::own_environment(), identity.as_ref());
        let (feed, input, output) = match plan.assignment(owner) {
            Some(assignment) => {
                let (pipes, input, output) = pipes().map_err(failed("make the pipes of the handler"))?;
                (Some((assignment, pipes)), input, output)
            }
            None => (None, nothing().map_err(failed("open /dev/null"))?, files.out.into()),
        };
        let mut streams = Streams { input, output, errors: files.err.into() };
        let is_plain = directly && surroundings.are_plain();
        let handler = is_plain.then(|| plan.handler(&environment, Path::is_file)).flatten();
        // What cannot be started this way the trampoline tries too: it says why, in words.
        let (pid, status) = match handler.and_then(|handler| self.spawn(&handler, &streams).ok()) {
            Some(pid) => (pid, None),
            None => {
                let (ours, theirs) = status_channel().map_err(failed("make the status channel"))?;
                streams.errors = theirs;
                let trampoline = plan.trampoline(&self.program, &surroundings, environment);
                let pid = self.spawn(&trampoline, &streams).map_err(failed("start the helper process"))?;
                (pid, Some(ours))
            }
        };
        self.started(launch, pid, status, feed)
    }

    /// The process with its identity, by which it can be found again.
    fn started(
        &self,
        launch: LaunchId,
        pid: u32,
        status: Option<UnixStream>,
        feed: Option<Feed>,
    ) -> Result<Started, StartError> {
        let process = platform::identify(pid).map_err(|error| {
            // What cannot be named later must not run.
            platform::end_child(pid);
            self.own_children.forget(pid);
            failed("find the new process")(error)
        })?;
        Ok(Started { launch, process, status, feed, own_children: self.own_children.clone() })
    }

    fn spawn(&self, program: &Program, streams: &Streams) -> io::Result<u32> {
        self.own_children.start(|| platform::spawn(program, streams))
    }
}

/// The daemon's ends of the pipes of a process that is fed, and the two ends of that process.
fn pipes() -> io::Result<((ChildStdin, ChildStdout), OwnedFd, OwnedFd)> {
    let (input, our_input) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_output, output) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = (ChildStdin::from_std(our_input.into())?, ChildStdout::from_std(our_output.into())?);
    Ok((ours, input, output))
}

fn nothing() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

/// Our end and that of the trampoline.
fn status_channel() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::System { doing, source }
}
