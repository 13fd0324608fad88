//! One activator for many servers, idle: goal D8. Fifty embedded brokers with twenty queues each, one daemon in a process.
//!
//! `cargo bench --bench many_servers`. Sessions are counted by the brokers, memory and processor time by the system over ten
//! seconds; afterwards one message to a queue of each broker shows that every one is listened on. Fails when there are more
//! sessions or more memory than the goal. Processor time is told only: one look each second at every server, which D6 needs,
//! is most of it.
#![allow(clippy::print_stdout, reason = "printing the numbers is what this program is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ssbroker::client::Broker;
use ssbroker_emulator::Emulator;
use tempfile::TempDir;
use tokio::process::{Child, Command};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SERVERS: usize = 50;
const QUEUES: usize = 20;
/// How long the daemon is watched.
const IDLE: Duration = Duration::from_secs(10);
/// How long it may take to get ready, and to answer the messages.
const PATIENCE: Duration = Duration::from_secs(120);
/// Ticks of processor time in a second, as the system counts them for programs.
const TICKS: f64 = 100.0;

const CONTRACT: &str = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";

#[tokio::main]
async fn main() -> Outcome {
    let folder = TempDir::new()?;
    let mut servers = Vec::new();
    for at in 0..SERVERS {
        servers.push(server(at).await?);
    }
    let config = folder.path().join("activator.toml");
    fs::write(&config, text(folder.path(), &servers)?)?;
    let daemon = start(&config)?;
    let mut most = 0;
    for (_, broker) in &servers {
        listened_on(broker).await?;
    }
    // The first looks at all queues are over then.
    tokio::time::sleep(IDLE).await;
    let before = Usage::of(&daemon)?;
    tokio::time::sleep(IDLE).await;
    let usage = Usage::of(&daemon)?;
    for (_, broker) in &servers {
        most = most.max(sessions(broker).await?);
    }
    let cpu = 100.0 * (usage.ticks - before.ticks) / TICKS / IDLE.as_secs_f64();
    let met = report("D8 sessions of the daemon at one server, at most", f64::from(most), 2.0)
        & report("D8 resident memory of the daemon in MiB", usage.resident_mib, 30.0);
    report("D8 processor time of the daemon in percent of one processor", cpu, 0.1);
    let took = everyone_answers(&servers, folder.path()).await?;
    println!("D8 a process for a message at each of {SERVERS} servers after {took:.2?}");
    if met { Ok(()) } else { Err("a goal is missed".into()) }
}

/// A broker with its queues, each with an event notification.
async fn server(at: usize) -> Outcome<(Emulator, Broker)> {
    let emulator = Emulator::start().await?;
    let broker = Broker::connect(&emulator.connection_string("msdb")).await?;
    broker.batch("CREATE QUEUE n").await?;
    broker.batch(&format!("CREATE SERVICE [//n{at}] ON QUEUE n ([{CONTRACT}])")).await?;
    for queue in 0..QUEUES {
        broker.batch(&format!("CREATE QUEUE q{queue}")).await?;
        broker.batch(&format!("CREATE SERVICE [//q{queue}] ON QUEUE q{queue} ([DEFAULT])")).await?;
        let notification = format!(
            "CREATE EVENT NOTIFICATION e{queue} ON QUEUE q{queue} FOR QUEUE_ACTIVATION TO SERVICE '//n{at}', "
        );
        broker.batch(&format!("{notification}'current database'")).await?;
    }
    Ok((emulator, broker))
}

/// Every server is a notification service of its own; an application reads the queues of the same name at all of them.
fn text(folder: &Path, servers: &[(Emulator, Broker)]) -> Outcome<String> {
    let mut text = format!("[state]\ndir = \"{}/state\"\n[log]\nlevel = \"error\"\n", folder.display());
    for (at, (emulator, _)) in servers.iter().enumerate() {
        let connection = emulator.connection_string("msdb");
        write!(text, "[[notification]]\nname = \"//n{at}\"\nconnection = '''{connection}'''\n")?;
    }
    for queue in 0..QUEUES {
        write!(
            text,
            "[[app]]\nname = \"q{queue}\"\ncommand = \"sh\"\nargs = [\"-c\", \"echo >> {}/ran\"]\nmax = {SERVERS}\n\
             on = {{ database = \"msdb\", schema = \"dbo\", queue = \"q{queue}\" }}\n",
            folder.display()
        )?;
    }
    Ok(text)
}

fn start(config: &Path) -> Outcome<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.args(["activator", "run", "--config"]).arg(config).stdout(Stdio::null()).kill_on_drop(true);
    Ok(command.spawn()?)
}

async fn listened_on(broker: &Broker) -> Outcome {
    let end = Instant::now() + PATIENCE;
    while sessions(broker).await? == 0 {
        if Instant::now() > end {
            return Err("a server is not listened on".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Sessions of others than this program.
async fn sessions(broker: &Broker) -> Outcome<i32> {
    let text =
        "SELECT COUNT(*) AS n FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID";
    Ok(broker.batch(text).await?.first_row().ok_or("no count")?.get("n")?)
}

/// One message to the first queue of each server; how long it takes until a process ran for each.
async fn everyone_answers(servers: &[(Emulator, Broker)], folder: &Path) -> Outcome<Duration> {
    let begun = Instant::now();
    for (_, broker) in servers {
        broker
            .batch(
                "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//q0] TO SERVICE '//q0' WITH ENCRYPTION = OFF; \
                 SEND ON CONVERSATION @h (0x01)",
            )
            .await?;
    }
    while fs::read(folder.join("ran")).map_or(0, |ran| ran.len()) < servers.len() {
        if begun.elapsed() > PATIENCE {
            return Err("not every server had a process".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(begun.elapsed())
}

/// What a process has used.
struct Usage {
    resident_mib: f64,
    ticks: f64,
}

impl Usage {
    fn of(process: &Child) -> Outcome<Self> {
        let id = process.id().ok_or("the daemon has ended")?;
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory")?;
        let kib: f64 = resident.trim().trim_end_matches(" kB").parse()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        let (_, fields) = stat.rsplit_once(") ").ok_or("no processor time")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        Ok(Self { resident_mib: kib / 1024.0, ticks })
    }
}

/// Prints a number beside its goal; answers whether it is met.
fn report(what: &str, value: f64, goal: f64) -> bool {
    let met = value <= goal;
    println!("{what}: {value:.2} (goal {goal}) {}", if met { "met" } else { "MISSED" });
    met
}
