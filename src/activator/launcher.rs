//! Starts one process: its command line, its environment, its files, and the word from the trampoline that it runs.
//!
//! The handler's environment is the daemon's own without the variables that connection strings are taken from, plus the
//! application's variables, plus those that tell it what it was launched for. Decides nothing and writes no journal.

use crate::activator::accounts::{self, AccountError, Identity};
use crate::activator::config::{Config, ConnectionString, NotificationService};
use crate::activator::feed::Assignment;
use crate::activator::journal::Process;
use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::listener::Link;
use crate::activator::output::Runs;
use crate::activator::own_children::OwnChildren;
use crate::activator::platform::{self, Ending};
use crate::activator::supervisor::LaunchOrder;
use crate::activator::trampoline::{Handover, Surroundings};
use crate::client::BrokerOptions;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// How long a start may take, from the trampoline to the handler's first instruction: a folder on a dead network drive
/// must not hold a slot for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest report that is read from a trampoline.
const LONGEST_REPORT: u64 = 4 * 1024;
/// The only variable that holds a secret.
const CONNECTION: &str = "SSBROKER_CONNECTION";

/// Starts handlers.
#[derive(Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    runs: Arc<Runs>,
    own_children: OwnChildren,
    /// One for each notification service, in the order of the configuration.
    endpoints: Vec<Endpoint>,
    /// Variables of the daemon's environment that are not for handlers. A variable once named stays one of them: the secret
    /// is in the daemon's environment whatever its configuration says later.
    secret_variables: BTreeSet<String>,
}

/// What a handler is told about a server.
#[derive(Debug)]
struct Endpoint {
    /// The address as the daemon itself uses it: `host,port`.
    address: String,
    options: BrokerOptions,
    /// Exactly as configured. Its database is that of the notification service, which need not be the queue's; that one
    /// is in `SSBROKER_DATABASE`.
    connection: ConnectionString,
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
        let secret_variables = config.secret_variables.clone();
        Self { program, runs, own_children, endpoints: endpoints(config, links), secret_variables }
    }

    /// From the next launch on, tells handlers of the notification services of `config`.
    pub(super) fn rebind(&mut self, config: &Config, links: &[Link]) {
        self.endpoints = endpoints(config, links);
        self.secret_variables.extend(config.secret_variables.iter().cloned());
    }

    /// Starts the trampoline, which goes on by itself. Blocks for the time of a posix_spawn, about a millisecond.
    pub(super) fn start(&self, order: &LaunchOrder) -> Result<Started, StartError> {
        let endpoint = self.endpoints.get(order.listener).ok_or(StartError::NoListener(order.listener))?;
        let started = self.spawn(order, endpoint);
        if started.is_err() {
            self.runs.discard(order.launch);
        }
        started
    }

    fn spawn(&self, order: &LaunchOrder, endpoint: &Endpoint) -> Result<Started, StartError> {
        let identity = accounts::of(&order.app).map_err(StartError::Account)?;
        let owner = identity.as_ref().map(|identity| (identity.uid, identity.gid));
        let (ours, theirs) =
            std::os::unix::net::UnixStream::pair().map_err(failed("make the status channel"))?;
        ours.set_nonblocking(true).map_err(failed("make the status channel"))?;
        let status = UnixStream::from_std(ours).map_err(failed("make the status channel"))?;
        let files = self.runs.create(order.launch, owner).map_err(failed("create the output files"))?;
        let surroundings = surroundings(order, identity.as_ref(), files.err);
        let mut command = self.command(order, endpoint, identity.as_ref(), &surroundings);
        command.stderr(Stdio::from(OwnedFd::from(theirs)));
        let assignment = assignment(order, endpoint, owner);
        match assignment {
            Some(_) => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
            None => command.stdin(Stdio::null()).stdout(files.out),
        };
        let started = self.own_children.start(|| {
            let child = command.spawn()?;
            let pid = child.id().expect("a child that was not waited for has its process id");
            Ok(((child, pid), pid))
        });
        let (mut child, pid) = started.map_err(failed("start the helper process"))?;
        // It holds the other end of the status channel, which must not outlive the start in this process.
        drop(command);
        let process = platform::identify(pid).map_err(|error| {
            // What cannot be named later must not run.
            let _ = child.start_kill();
            failed("find the new process")(error)
        })?;
        let feed =
            assignment.and_then(|assignment| Some((assignment, (child.stdin.take()?, child.stdout.take()?))));
        let own_children = self.own_children.clone();
        Ok(Started { launch: order.launch, process, child, status, feed, own_children })
    }

    fn command(
        &self,
        order: &LaunchOrder,
        endpoint: &Endpoint,
        identity: Option<&Identity>,
        surroundings: &Surroundings,
    ) -> Command {
        let app = &order.app;
        let mut command = Command::new(&self.program);
        command.args(surroundings.call(&app.command, order.arguments()));
        self.secret_variables.iter().for_each(|name| {
            command.env_remove(name);
        });
        if let Some((name, home)) = identity.and_then(|identity| identity.entry.as_ref()) {
            // The daemon's own would be those of another user.
            command.envs([("HOME", home), ("USER", name), ("LOGNAME", name)]);
        }
        command.envs(app.environment.iter()).envs(variables(order, endpoint));
        SERVICE_MANAGER.iter().for_each(|ours| {
            command.env_remove(ours);
        });
        if app.pass_connection {
            command.env(CONNECTION, endpoint.connection.expose());
        } else {
            // The daemon may have got its own in a variable of this name.
            command.env_remove(CONNECTION);
        }
        command
    }
}

/// How a service manager addresses the daemon: a handler that used them would speak in its name.
const SERVICE_MANAGER: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

fn endpoints(config: &Config, links: &[Link]) -> Vec<Endpoint> {
    let services = config.notifications.iter().zip(links);
    let endpoint = |(service, link): (&NotificationService, &Link)| Endpoint {
        address: link.address(),
        options: link.options().clone(),
        connection: service.connection.clone(),
    };
    services.map(endpoint).collect()
}

/// What the trampoline sets up. Pain 17: a handler that runs in another folder than configured.
fn surroundings(order: &LaunchOrder, identity: Option<&Identity>, standard_error: PathBuf) -> Surroundings {
    let app = &order.app;
    Surroundings {
        standard_error,
        work_dir: app.work_dir.clone(),
        uid: identity.map(|identity| identity.uid),
        gid: identity.map(|identity| identity.gid),
        groups: identity.map(|identity| identity.groups.clone()).unwrap_or_default(),
        umask: app.umask,
        memory: app.limits.memory,
        cpu: app.limits.cpu.map(|cpu| cpu.as_secs()),
        files: app.limits.files.map(u64::from),
    }
}

/// What a process is to be fed with, if it is to be fed.
fn assignment(order: &LaunchOrder, endpoint: &Endpoint, owner: Option<(u32, u32)>) -> Option<Assignment> {
    let (app, target) = (&order.app, &order.target);
    let settings = app.kind.feed()?.clone();
    Some(Assignment {
        app: app.name.clone(),
        launch: order.launch,
        options: endpoint.options.clone().with_database(&*target.database),
        database: target.database.clone(),
        schema: target.schema.clone(),
        queue: target.queue.clone(),
        settings,
        timeout: app.timeout,
        owner,
        handed_over: Arc::default(),
    })
}

/// What tells a handler what it was launched for.
fn variables(order: &LaunchOrder, endpoint: &Endpoint) -> [(&'static str, String); 8] {
    let target = &order.target;
    [
        ("SSBROKER_SERVER", endpoint.address.clone()),
        ("SSBROKER_SERVER_NAME", target.server.clone()),
        ("SSBROKER_DATABASE", target.database.clone()),
        ("SSBROKER_SCHEMA", target.schema.clone()),
        ("SSBROKER_QUEUE", target.queue.clone()),
        ("SSBROKER_APP", order.app.name.clone()),
        ("SSBROKER_LAUNCH_ID", order.launch.to_string()),
        ("SSBROKER_KIND", order.app.kind.name().to_owned()),
    ]
}

/// A process that was started and is a trampoline or a handler by now. Dropping it leaves the process alone.
#[derive(Debug)]
pub(super) struct Started {
    launch: LaunchId,
    process: Process,
    child: Child,
    status: UnixStream,
    feed: Option<Feed>,
    own_children: OwnChildren,
}

/// What a process is to be fed with, and the pipes for it.
pub(super) type Feed = (Assignment, (ChildStdin, ChildStdout));

impl Started {
    pub(super) fn launch(&self) -> LaunchId {
        self.launch
    }

    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    /// What it is to be fed with, if it is to be fed; once.
    pub(super) fn take_feed(&mut self) -> Option<Feed> {
        self.feed.take()
    }

    /// Waits for the handler's program to run. If it does not, nothing of it is left when this returns.
    pub(super) async fn handed_over(&mut self) -> Result<(), StartError> {
        let handover = tokio::time::timeout(PATIENCE, read_report(&mut self.status)).await;
        let error = match handover {
            Ok(Ok(Handover::Done)) => return Ok(()),
            Ok(Ok(Handover::Failed(reason))) => StartError::Refused(reason),
            Ok(Ok(Handover::Died)) => StartError::Died,
            Ok(Err(source)) => StartError::System { doing: "hear from the helper process", source },
            Err(_elapsed) => StartError::TooLate,
        };
        // A program that started in the last moment is ended with its group.
        let _ = platform::signal_group(&self.process, Ending::Kill);
        let _ = self.child.kill().await;
        self.own_children.forget(self.process.pid);
        Err(error)
    }

    /// Waits for the process to end.
    ///
    /// It is reaped then, so its process id may be given to another one. Dropping the future loses nothing.
    pub(super) async fn ended(&mut self) -> Outcome {
        let status = self.child.wait().await;
        self.own_children.forget(self.process.pid);
        status.map_or(Outcome::Unknown, outcome)
    }
}

async fn read_report(status: &mut UnixStream) -> io::Result<Handover> {
    let mut report = Vec::new();
    status.take(LONGEST_REPORT).read_to_end(&mut report).await?;
    Ok(Handover::read(&report))
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Code(code),
        (None, Some(signal)) => Outcome::Signal(signal),
        (None, None) => Outcome::Unknown,
    }
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::System { doing, source }
}

#[cfg(test)]
mod tests {
    use super::{Launcher, surroundings};
    use crate::activator::config::{Config, Resolver, parse};
    use crate::activator::daemon::connections;
    use crate::activator::launch::{LaunchId, Target};
    use crate::activator::output::Runs;
    use crate::activator::own_children::OwnChildren;
    use crate::activator::supervisor::LaunchOrder;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    struct Same;

    impl Resolver for Same {
        fn environment(&self, _name: &str) -> Option<String> {
            Some("s3cret".to_owned())
        }

        fn file(&self, _path: &Path) -> io::Result<String> {
            Ok("s3cret".to_owned())
        }
    }

    fn config(password: &str) -> Config {
        let text = format!(
            "[[notification]]\nname = \"//n\"\nconnection = \"server=x;user id=u;password={password}\"\n\
             [[app]]\nname = \"a\"\ncommand = \"/bin/a\"\non = {{ database = \"D\", schema = \"s\", queue = \"q\" }}\n"
        );
        parse(Path::new("a.toml"), Path::new("/"), text.as_bytes(), &Same).unwrap().config
    }

    #[test]
    fn a_variable_that_held_a_secret_is_for_no_handler_whatever_the_configuration_says_later() {
        let state = tempfile::tempdir().unwrap();
        let (before, after) = (config("${env:EA_PW}"), config("${file:/run/secrets/ea}"));
        let runs = Arc::new(Runs::open(state.path()).unwrap());
        let links = connections(&before).unwrap();
        let mut launcher =
            Launcher::new(PathBuf::from("/bin/x"), runs, OwnChildren::default(), &before, &links);
        launcher.rebind(&after, &connections(&after).unwrap());

        let target =
            Target { server: "S".into(), database: "D".into(), schema: "s".into(), queue: "q".into() };
        let app = Arc::clone(&after.applications[0]);
        let order = LaunchOrder { launch: LaunchId::from_u128(1), app, listener: 0, target };
        let surroundings = surroundings(&order, None, PathBuf::from("/dev/null"));
        let command = launcher.command(&order, &launcher.endpoints[0], None, &surroundings);
        let removed = command.as_std().get_envs().any(|(name, value)| name == "EA_PW" && value.is_none());
        assert!(removed, "{command:?}");
    }
}
