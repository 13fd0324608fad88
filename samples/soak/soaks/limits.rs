//! Goals D5 and D6: whatever happens, never more than max processes, none unaccounted for, and every message read.
//!
//! A schedule is one daemon's life, from a seed: messages, notifications that are lost or dropped, handlers that end without
//! receiving, and the death of the daemon. The handlers write down that they run, so nothing here believes the daemon.

use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ssbroker::activator::control::{self, Answer as ControlAnswer, Request};
use ssbroker::client::Broker;
use ssbroker_emulator::Emulator;
use tempfile::TempDir;

use super::random::Random;
use super::{Answer, Budget, Child, ensure};

/// Processes at most.
const MAX: usize = 3;
/// Events of a schedule.
const EVENTS: u32 = 40;
/// How long anything may take before the soak fails.
const PATIENCE: Duration = Duration::from_secs(60);

const OBJECTS: &[&str] = &[
    "CREATE QUEUE dbo.Notifications",
    "CREATE SERVICE [//notify] ON QUEUE dbo.Notifications \
     ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])",
    "CREATE QUEUE dbo.Orders",
    "CREATE SERVICE [//Orders] ON QUEUE dbo.Orders ([DEFAULT])",
    ACTIVATION,
];
const ACTIVATION: &str = "CREATE EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders FOR QUEUE_ACTIVATION TO SERVICE \
                          '//notify', 'current database'";
const NO_ACTIVATION: &str = "DROP EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders";
const LOSE_NOTIFICATIONS: &str = "RECEIVE conversation_handle FROM dbo.Notifications";
const SEND: &str = "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//Orders] TO SERVICE '//Orders' WITH ENCRYPTION = \
                    OFF; SEND ON CONVERSATION @h (0x01)";

/// Runs one schedule for each unit of the budget. `program` is the `ssbroker` that is the daemon and its handlers.
pub(crate) async fn run(budget: Budget, program: &Path) -> Answer {
    let mut counts = Counts::default();
    while budget.has_left(counts.schedules) {
        let mut schedule = Schedule::set(counts.schedules + 1, program).await?;
        schedule.run().await.map_err(|error| format!("seed {}: {error}", schedule.seed))?;
        counts.schedules += 1;
        counts.kills += schedule.kills;
        counts.messages += schedule.messages;
        counts.processes += started(&schedule.log()).len();
        counts.most = counts.most.max(schedule.most);
    }
    let Counts { schedules, kills, messages, processes, most } = counts;
    Ok(format!(
        "D5, D6: {schedules} schedules, {messages} messages all read, {processes} processes all accounted for, at most {most} of \
         {MAX} at once, {kills} kill -9 of the daemon"
    ))
}

#[derive(Default)]
struct Counts {
    schedules: u64,
    kills: u64,
    messages: u64,
    processes: usize,
    most: usize,
}

struct Schedule {
    seed: u64,
    random: Random,
    program: PathBuf,
    folder: TempDir,
    /// Kept because the server ends with it.
    _emulator: Emulator,
    broker: Broker,
    kills: u64,
    messages: u64,
    most: usize,
}

impl Schedule {
    async fn set(seed: u64, program: &Path) -> Result<Self, Box<dyn Error>> {
        let (emulator, folder) = (Emulator::start().await?, TempDir::new()?);
        let connection = emulator.connection_string("msdb");
        let broker = Broker::connect(&connection).await?;
        for statement in OBJECTS {
            broker.batch(statement).await?;
        }
        let schedule = Self {
            seed,
            random: Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            program: program.to_owned(),
            folder,
            _emulator: emulator,
            broker,
            kills: 0,
            messages: 0,
            most: 0,
        };
        std::fs::write(schedule.config(), schedule.text(&connection))?;
        Ok(schedule)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("activator.toml")
    }

    /// Where handlers write down that they run.
    fn log(&self) -> PathBuf {
        self.folder.path().join("processes")
    }

    /// One handler in four ends without a word to the server.
    fn text(&self, connection: &str) -> String {
        let script = format!(
            "echo $$ $SSBROKER_LAUNCH_ID >> {}; [ $(($(od -An -N1 -tu1 /dev/urandom) % 4)) = 0 ] && exit 0; \
             exec {} digest-handler x msdb dbo Orders",
            self.log().display(),
            self.program.display()
        );
        format!(
            "[state]\ndir = {:?}\n[[notification]]\nname = \"//notify\"\nconnection = '''{connection}'''\n\
             [[app]]\nname = \"Orders\"\ncommand = \"sh\"\nargs = [\"-c\", '''{}''']\nmax = {MAX}\npass_connection = true\n\
             on = {{ database = \"msdb\", schema = \"dbo\", queue = \"Orders\" }}\n",
            self.folder.path().display().to_string(),
            script,
        )
    }

    async fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut daemon = self.start()?;
        for _ in 0..EVENTS {
            match self.random.below(10) {
                0..=3 => self.send().await?,
                4 => {
                    daemon.kill().await?;
                    self.kills += 1;
                    daemon = self.start()?;
                }
                5 => drop(self.broker.batch(LOSE_NOTIFICATIONS).await?),
                // Either fails when it has been done before.
                6 => drop(self.broker.batch(NO_ACTIVATION).await),
                7 => drop(self.broker.batch(ACTIVATION).await),
                _ => tokio::time::sleep(Duration::from_millis(self.random.below(400))).await,
            }
            self.check_limit()?;
        }
        self.drained().await?;
        self.accounted().await?;
        daemon.kill().await?;
        Ok(())
    }

    fn start(&self) -> Result<Child, Box<dyn Error>> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(["activator", "run", "--config"]).arg(self.config());
        Ok(command.stderr(Stdio::null()).kill_on_drop(true).spawn()?)
    }

    async fn send(&mut self) -> Result<(), Box<dyn Error>> {
        for _ in 0..3 {
            self.broker.batch(SEND).await?;
            self.messages += 1;
        }
        Ok(())
    }

    fn check_limit(&mut self) -> Result<(), Box<dyn Error>> {
        let running = started(&self.log()).into_iter().filter(|(pid, _)| is_running(*pid)).count();
        self.most = self.most.max(running);
        ensure(running <= MAX, format!("{running} processes at once"))
    }

    async fn drained(&mut self) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + PATIENCE;
        loop {
            let results = self.broker.batch("SELECT COUNT(*) AS n FROM dbo.Orders WITH (NOLOCK)").await?;
            let waiting = results.first_row().ok_or("no count")?.get::<i32>("n")?;
            if waiting == 0 {
                return Ok(());
            }
            ensure(Instant::now() < end, format!("{waiting} messages have no reader"))?;
            self.check_limit()?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every process that ever ran is in the history or runs as a child of the daemon.
    async fn accounted(&self) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + PATIENCE;
        loop {
            let known = self.known().await;
            let mut unaccounted = started(&self.log());
            unaccounted.retain(|(_, launch)| !known.contains(launch));
            if unaccounted.is_empty() {
                return Ok(());
            }
            ensure(Instant::now() < end, format!("{unaccounted:?} are unaccounted for"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The launches that the daemon tells of; none while it starts.
    async fn known(&self) -> HashSet<String> {
        let state = self.folder.path();
        let mut known = HashSet::new();
        let history = Request::History { app: "Orders".into(), count: 1000 };
        if let Ok(ControlAnswer::History(runs)) = control::ask(state, history).await {
            known.extend(runs.iter().map(|run| run.launch_id.to_string()));
        }
        if let Ok(ControlAnswer::Status(status)) = control::ask(state, Request::Status).await {
            known.extend(
                status.apps.iter().flat_map(|app| &app.children).map(|child| child.launch_id.to_string()),
            );
        }
        known
    }
}

/// Process id and launch id of every process that ever ran.
fn started(log: &Path) -> Vec<(u32, String)> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let parse = |line: &str| {
        line.split_once(' ').and_then(|(pid, launch)| Some((pid.parse().ok()?, launch.to_owned())))
    };
    text.lines().filter_map(parse).collect()
}

/// Whether there is such a process and it is no zombie.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
