//! Random events with real processes: messages, lost and dropped notifications, handlers that do not receive, and the death
//! of the daemon.
//!
//! A few schedules here; `SSBROKER_SOAK_SCHEDULES` sets how many, for a soak of hours.

use super::daemon::{is_running, program, signal, within};
use super::site::{Site, config_text};
use ssbroker::activator::control::{self, Answer, Request};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};

const MAX: usize = 3;

/// Xorshift, so that a schedule comes from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Goals D5 and D6: never more than max, none unaccounted for, and every message read.
#[tokio::test(flavor = "multi_thread")]
async fn d5_d6_whatever_happens_every_message_is_read_and_max_is_kept() {
    let schedules =
        std::env::var("SSBROKER_SOAK_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    for seed in 1..=schedules {
        schedule(seed).await;
    }
}

async fn schedule(seed: u64) {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let (file, log) = (state.path().join("activator.toml"), state.path().join("pids"));
    let connection = site.embedded.emulator.connection_string("Sales");
    std::fs::write(&file, config_text(state.path(), &connection, &application(&log))).unwrap();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut daemon = start(&file);
    for _ in 0..40 {
        match random.below(10) {
            0..=3 => site.send("Orders", 3).await,
            4 => {
                daemon.start_kill().unwrap();
                daemon.wait().await.unwrap();
                daemon = start(&file);
            }
            5 => drop(site.run("RECEIVE conversation_handle FROM dbo.Notifications;").await),
            6 => {
                drop(site.owner.batch("DROP EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders;").await)
            }
            7 => drop(site.owner.batch(ACTIVATION).await),
            _ => tokio::time::sleep(Duration::from_millis(random.below(400))).await,
        }
        check(seed, &log);
    }
    within(drained(&site, seed, &log)).await;
    accounted(seed, state.path(), &log).await;
    signal(&daemon.id().unwrap().to_string(), "TERM");
    assert!(within(daemon.wait()).await.unwrap().success());
}

const ACTIVATION: &str = "CREATE EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders FOR QUEUE_ACTIVATION TO SERVICE \
                          '//notify', 'current database';";

/// One handler in four ends without a word to the server.
fn application(log: &Path) -> String {
    let script = format!(
        "echo $$ $SSBROKER_LAUNCH_ID >> {}; [ $(($(od -An -N1 -tu1 /dev/urandom) % 4)) = 0 ] && exit 0; exec {} digest-handler x Sales dbo Orders",
        log.display(),
        program().display()
    );
    super::daemon::shell("Orders", &script, &format!("max = {MAX}\npass_connection = true"))
}

fn start(file: &Path) -> Child {
    let mut command = Command::new(program());
    command.args(["activator", "run", "--config"]).arg(file).stderr(std::process::Stdio::null());
    command.kill_on_drop(true).spawn().unwrap()
}

/// Process id and launch id of every process that ever ran.
fn started(log: &Path) -> Vec<(u32, String)> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let parse = |line: &str| {
        line.split_once(' ').and_then(|(pid, launch)| Some((pid.parse().ok()?, launch.to_owned())))
    };
    text.lines().filter_map(parse).collect()
}

fn check(seed: u64, log: &Path) {
    let running = started(log).into_iter().filter(|(pid, _)| is_running(*pid)).count();
    assert!(running <= MAX, "seed {seed}: {running} processes");
}

async fn drained(site: &Site, seed: u64, log: &Path) {
    while site.waiting("Orders").await > 0 {
        check(seed, log);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Every process that ever ran is in the history or runs as a child of the daemon.
async fn accounted(seed: u64, state: &Path, log: &Path) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let mut known: HashSet<String> = HashSet::new();
        if let Ok(Answer::History(runs)) =
            control::ask(state, Request::History { app: "Orders".into(), count: 1000 }).await
        {
            known.extend(runs.iter().map(|run| run.launch_id.to_string()));
        }
        if let Ok(Answer::Status(status)) = control::ask(state, Request::Status).await {
            known.extend(status.apps[0].children.iter().map(|child| child.launch_id.to_string()));
        }
        let mut unaccounted = started(log);
        unaccounted.retain(|(_, launch)| !known.contains(launch));
        if unaccounted.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "seed {seed}: {unaccounted:?} are unaccounted for");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
