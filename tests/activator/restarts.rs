//! What survives the daemon: handlers that run, and notifications that were not acted on.

use super::daemon::{Daemon, config, eventually, is_running, pids, program, shell, signal, text, within};
use super::site::{order, until};
use ssbroker::activator::control::Request;
use ssbroker::activator::journal::{Entry, Journal, JournalError, Process, Replay};
use ssbroker::activator::launch::{LaunchId, Outcome, Target};
use ssbroker::activator::{ActivatorError, Record};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const SLEEPER: &str = "exec sleep 300";

/// Opens the journal of a daemon that has ended. A process that another test is starting at this moment holds a copy of
/// the lock until its program runs.
async fn open(state: &Path) -> (Journal, Replay) {
    eventually("the journal is free", || Journal::open(state).ok()).await
}

async fn replay(state: &Path) -> Replay {
    open(state).await.1
}

fn target(queue: &str) -> Target {
    Target { server: "S".into(), database: "Sales".into(), schema: "dbo".into(), queue: queue.into() }
}

#[tokio::test]
async fn handlers_survive_the_daemon_and_count_again() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", SLEEPER, "max = 2"));
    let first = Daemon::start(config.clone());
    first.notify("orders").await.unwrap();
    let pid = first.launched(1).await[0];
    first.crash().await;
    assert!(is_running(pid));

    let second = Daemon::start(config);
    assert_eq!(second.launched(1).await, [pid]);
    assert!(matches!(second.records()[..], [Record::Adopted { .. }]));
    second.notify("orders").await.unwrap();
    second.notify("orders").await.unwrap();
    assert_eq!(pids(&second.records()).len(), 2, "the adopted one occupies one of two slots");
    signal(&pid.to_string(), "KILL");
    assert_eq!(second.launched(3).await.len(), 3, "its slot is free again");
    assert_eq!(second.outcomes(1).await, [Outcome::Unknown], "only its parent could know");
    let records = second.stop().await;
    assert_eq!(records.iter().filter(|record| matches!(record, Record::Exited { .. })).count(), 3);
}

#[tokio::test]
async fn an_adopted_handler_is_stopped_like_any_other() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", SLEEPER, ""));
    let first = Daemon::start(config.clone());
    first.notify("orders").await.unwrap();
    let pid = first.launched(1).await[0];
    first.crash().await;

    let second = Daemon::start(config);
    second.launched(1).await;
    second.stop().await;
    eventually("the adopted handler ends", || (!is_running(pid)).then_some(())).await;
    assert!(replay(state.path()).await.running.is_empty());
}

#[tokio::test]
async fn a_handler_that_ended_while_no_daemon_ran_is_not_counted() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", SLEEPER, ""));
    let first = Daemon::start(config.clone());
    first.notify("orders").await.unwrap();
    let pid = first.launched(1).await[0];
    first.crash().await;
    signal(&pid.to_string(), "KILL");
    eventually("the handler ends", || (!is_running(pid)).then_some(())).await;

    let second = Daemon::start(config);
    assert_ne!(second.launched(1).await, [pid], "it may not have received, so another one looks");
    second.stop().await;
}

#[tokio::test]
async fn handlers_that_are_told_to_end_with_their_daemon_are_started_by_the_next_one() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", SLEEPER, ""));
    let first = Daemon::start(config.clone());
    first.notify("orders").await.unwrap();
    first.launched(1).await;
    first.stop().await;
    assert_eq!(replay(state.path()).await.kept.len(), 1);

    let second = Daemon::start(config);
    second.launched(1).await;
    second.stop().await;
}

#[tokio::test]
async fn a_handler_of_an_application_that_is_gone_is_ended_by_the_next_daemon() {
    let state = TempDir::new().unwrap();
    let first = Daemon::start(config(state.path(), &shell("orders", SLEEPER, "")));
    first.notify("orders").await.unwrap();
    let pid = first.launched(1).await[0];
    first.crash().await;

    let second = Daemon::start(config(state.path(), &shell("returns", SLEEPER, "")));
    assert_eq!(second.outcomes(1).await, [Outcome::Unknown]);
    assert!(!is_running(pid));
    second.stop().await;
    let replay = replay(state.path()).await;
    assert!(replay.running.is_empty() && replay.kept.is_empty(), "{replay:?}");
}

#[tokio::test]
async fn a_process_that_was_started_and_not_journalled_is_found_by_its_launch_id() {
    let state = TempDir::new().unwrap();
    let launch = LaunchId::random();
    let (mut journal, _) = open(state.path()).await;
    let intent =
        Entry::Intent { launch, app: "orders".into(), service: "//n".into(), target: target("orders") };
    journal.append(&intent).unwrap();
    drop(journal);
    let mut sleeper = Command::new("sleep");
    sleeper.arg("300").env("SSBROKER_LAUNCH_ID", launch.to_string()).process_group(0);
    let mut child = sleeper.spawn().unwrap();

    let daemon = Daemon::start(config(state.path(), &shell("orders", SLEEPER, "")));
    assert_eq!(daemon.launched(1).await, [child.id()]);
    let records = daemon.stop().await;
    assert!(matches!(records[0], Record::Adopted { launch: adopted, .. } if adopted == launch));
    child.wait().unwrap();
}

#[tokio::test]
async fn a_launch_that_was_intended_and_never_made_is_made_after_the_restart() {
    let state = TempDir::new().unwrap();
    let (mut journal, _) = open(state.path()).await;
    let (launch, target) = (LaunchId::random(), target("orders"));
    journal.append(&Entry::Intent { launch, app: "orders".into(), service: "//n".into(), target }).unwrap();
    drop(journal);

    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "")));
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    daemon.stop().await;
    let replay = replay(state.path()).await;
    assert!(replay.kept.is_empty() && replay.unfinished.is_empty(), "{replay:?}");
}

#[tokio::test]
async fn a_notification_that_could_not_be_acted_on_is_acted_on_by_the_next_daemon() {
    let state = TempDir::new().unwrap();
    let broken = shell("orders", "exit 0", "work_dir = \"/no/such/folder\"");
    let first = Daemon::start(config(state.path(), &broken));
    first.notify("orders").await.unwrap();
    first.failure().await;
    let journal = std::fs::read_to_string(state.path().join("journal.jsonl")).unwrap();
    let place = |entry: &str| journal.find(&format!("\"entry\":\"{entry}\""));
    assert!(place("kept").unwrap() < place("failed").unwrap(), "at no moment it is in neither: {journal}");
    first.stop().await;
    assert_eq!(replay(state.path()).await.kept.len(), 1);

    let second = Daemon::start(config(state.path(), &shell("orders", "exit 0", "")));
    assert_eq!(second.outcomes(1).await, [Outcome::Code(0)]);
    second.stop().await;
    assert!(replay(state.path()).await.kept.is_empty());
}

#[tokio::test]
async fn a_kept_notification_of_a_service_that_is_gone_stays_in_the_journal() {
    let state = TempDir::new().unwrap();
    let (mut journal, _) = open(state.path()).await;
    let kept = Entry::Kept { app: "orders".into(), service: "//gone".into(), target: target("orders") };
    journal.append(&kept).unwrap();
    drop(journal);
    let records = Daemon::start(config(state.path(), &shell("orders", "exit 0", ""))).stop().await;
    assert!(pids(&records).is_empty());
    assert_eq!(replay(state.path()).await.kept.len(), 1);
}

#[tokio::test]
async fn two_daemons_do_not_share_a_state_folder() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", "exit 0", ""));
    let first = Daemon::start(config.clone());
    first.notify("orders").await.unwrap();
    let error = Daemon::start(config).refused().await;
    assert!(matches!(error, ActivatorError::Journal(JournalError::InUse(_))), "{error:?}");
}

/// The whole program, killed as the kernel kills. A process that only has the id of an earlier handler is let alone.
#[tokio::test]
async fn c077_after_kill_9_its_handlers_are_taken_up_and_no_stranger_is_signalled() {
    let state = TempDir::new().unwrap();
    let (file, log) = (state.path().join("activator.toml"), state.path().join("pids"));
    let script = format!("echo $$ >> {}; {SLEEPER}", log.display());
    std::fs::write(&file, text(state.path(), &shell("orders", &script, "max = 3"))).unwrap();
    let started = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect::<Vec<u32>>()
    };
    let mut first = run(&file);
    until(state.path(), "orders", |_| Some(())).await;
    for _ in 0..3 {
        order(state.path(), Request::Kick { app: "orders".into() }).await;
    }
    eventually("three handlers", || (started().len() == 3).then_some(())).await;
    first.kill().await.unwrap();
    let handlers = started();
    assert!(handlers.iter().all(|pid| is_running(*pid)), "they outlive the daemon");
    let mut stranger = stranger_with_the_id_of_a_handler(state.path()).await;

    let mut second = run(&file);
    let mut adopted = until(state.path(), "orders", |app| {
        Some(app.children.iter().map(|child| child.pid).collect::<Vec<_>>()).filter(|pids| !pids.is_empty())
    })
    .await;
    adopted.sort_unstable();
    let mut expected = handlers.clone();
    expected.sort_unstable();
    assert_eq!(adopted, expected);
    for _ in 0..3 {
        let told = order(state.path(), Request::Kick { app: "orders".into() }).await;
        assert_eq!(told, "orders: remembered, to be started as soon as it may");
    }
    assert_eq!(started(), handlers, "none is started beside them");
    signal(&second.id().unwrap().to_string(), "TERM");
    assert!(within(second.wait()).await.unwrap().success());
    eventually("they end with their new daemon", || {
        (!handlers.iter().any(|pid| is_running(*pid))).then_some(())
    })
    .await;
    assert!(stranger.try_wait().unwrap().is_none(), "it was never ours");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

fn run(file: &Path) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(program());
    command.args(["activator", "run", "--config"]).arg(file).stderr(std::process::Stdio::null());
    command.kill_on_drop(true).spawn().unwrap()
}

/// A process of somebody else whose id a handler had that ended unseen; in the journal it still runs.
async fn stranger_with_the_id_of_a_handler(state: &Path) -> std::process::Child {
    let stranger = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim_end().to_owned();
    let process = Process { pid: stranger.id(), start_time: 1, boot_id };
    let (launch, (mut journal, _)) = (LaunchId::random(), open(state).await);
    let (app, service, target) = ("orders".to_owned(), "//n".to_owned(), target("orders"));
    journal.append(&Entry::Intent { launch, app, service, target }).unwrap();
    journal.append(&Entry::Started { launch, process }).unwrap();
    stranger
}
