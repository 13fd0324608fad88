//! What people ask of a running daemon, and what monitoring sees of it.

use super::daemon::{Daemon, config, outcomes, parse, pids, program, shell, within};
use super::site::{order, status, until};
use ssbroker::activator::control::{self, Answer, Request, socket_path};
use ssbroker::activator::launch::Outcome;
use ssbroker::activator::{Activator, Milestone, Record};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::Command;

/// Pain 36.
#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_processes_and_the_last_exit_and_has_the_documented_names() {
    let state = TempDir::new().unwrap();
    let apps = shell("orders", "echo sorry >&2; exit 3", "") + &shell("returns", "exec sleep 300", "max = 2");
    let daemon = Daemon::start(config(state.path(), &apps));
    daemon.notify("orders").await.unwrap();
    daemon.notify("returns").await.unwrap();
    daemon.outcomes(1).await;
    let output = cli(state.path(), &["status", "--json"]).await;
    assert!(output.status.success(), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in ["version", "started", "apps", "listeners"] {
        assert!(keys(&json).contains(&key.to_owned()), "{json}");
    }
    let fixed = [
        "name",
        "kind",
        "queue",
        "depth",
        "oldest",
        "monitor_state",
        "notification",
        "running",
        "min",
        "max",
        "pending",
        "children",
        "last_exit",
        "warnings",
    ];
    for key in fixed {
        assert!(keys(&json["apps"][0]).contains(&key.to_owned()), "{key}: {json}");
    }
    for key in ["service", "server", "state", "since", "last_event"] {
        assert!(keys(&json["listeners"][0]).contains(&key.to_owned()), "{key}: {json}");
    }
    assert_eq!(
        (&json["apps"][0]["last_exit"]["code"], &json["apps"][0]["last_exit"]["stderr_tail"]),
        (&3.into(), &"sorry".into())
    );
    let child = &json["apps"][1]["children"][0];
    let running = pids(&daemon.records());
    assert!(running.iter().any(|pid| child["pid"] == *pid), "{child}");
    for key in ["launch_id", "pid", "since", "received", "kind"] {
        assert!(keys(child).contains(&key.to_owned()), "{child}");
    }
    let text = String::from_utf8(cli(state.path(), &["status"]).await.stdout).unwrap();
    assert!(text.contains("exit 3") && text.contains("1 of 2"), "{text}");
}

/// Pain 8.
#[tokio::test(flavor = "multi_thread")]
async fn a_kick_starts_a_handler_without_a_notification() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exec sleep 300", "max = 2")));
    within(until(state.path(), "orders", |_| Some(()))).await;
    let output = cli(state.path(), &["kick", "orders"]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "orders: started 1, 1 running");
    daemon.launched(1).await;
    order(state.path(), Request::Kick { app: "orders".into() }).await;
    let told = order(state.path(), Request::Kick { app: "orders".into() }).await;
    assert_eq!(told, "orders: remembered, to be started as soon as it may");
    assert_eq!(pids(&daemon.records()).len(), 2);
    let output = cli(state.path(), &["kick", "order"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the nearest is orders"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_launches_nothing_loses_nothing_and_survives_a_restart() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", "exit 0", ""));
    let daemon = Daemon::start(config.clone());
    within(until(state.path(), "orders", |_| Some(()))).await;
    assert!(cli(state.path(), &["pause", "orders"]).await.status.success());
    daemon.notify("orders").await.unwrap();
    assert!(pids(&daemon.records()).is_empty());
    daemon.crash().await;

    let daemon = Daemon::start(config);
    let (paused, pending) = until(state.path(), "orders", |app| Some((app.paused, app.pending))).await;
    assert!(paused && pending);
    assert!(pids(&daemon.records()).is_empty());
    assert!(cli(state.path(), &["resume"]).await.status.success());
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    assert!(!until(state.path(), "orders", |app| Some(app.paused || app.pending)).await);
}

/// Pains 18 and 38.
#[tokio::test(flavor = "multi_thread")]
async fn the_history_tells_how_each_run_ended_and_survives_a_restart() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", "echo one; echo last words >&2; exit 4", ""));
    let daemon = Daemon::start(config.clone());
    for count in 1..=3 {
        daemon.notify("orders").await.unwrap();
        daemon.outcomes(count).await;
    }
    let records = daemon.stop().await;
    assert_eq!(outcomes(&records), [Outcome::Code(4); 3]);
    let _daemon = Daemon::start(config);
    within(until(state.path(), "orders", |_| Some(()))).await;
    let runs = match control::ask(state.path(), Request::History { app: "orders".into(), count: 2 })
        .await
        .unwrap()
    {
        Answer::History(runs) => runs,
        other => panic!("{other:?}"),
    };
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].outcome, runs[0].stderr_tail.as_str()), (Outcome::Code(4), "last words"));
    assert!(runs[0].seconds.unwrap() < 30.0 && runs[0].pid.is_some());
    let text = String::from_utf8(cli(state.path(), &["status", "--history", "orders"]).await.stdout).unwrap();
    assert!(text.contains("exit 4") && text.contains("last words"), "{text}");
    let mode = std::fs::metadata(state.path().join("history.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_is_private_goes_with_the_daemon_and_survives_nonsense() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "")));
    within(until(state.path(), "orders", |_| Some(()))).await;
    let socket = socket_path(state.path());
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // One that says nothing and one that says nonsense harm nobody.
    let _silent = UnixStream::connect(&socket).await.unwrap();
    let mut rude = UnixStream::connect(&socket).await.unwrap();
    rude.write_all(b"\xff\n").await.unwrap();
    let mut rude = UnixStream::connect(&socket).await.unwrap();
    rude.write_all(b"{\"v\":9,\"op\":\"status\"}\n").await.unwrap();
    let mut answer = vec![0; 200];
    let length = within(rude.read(&mut answer)).await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).starts_with("{\"v\":1,\"error\":\"version 9"));
    assert!(status(state.path()).await.is_some());
    daemon.stop().await;
    assert!(!socket.exists());
    let output = cli(state.path(), &["status"]).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_health_and_readiness_are_served() {
    let state = TempDir::new().unwrap();
    // A port that is free now; should somebody take it first, the daemon says so and the test fails.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = format!(
        "[state]\ndir = {:?}\n[metrics]\nlisten = \"127.0.0.1:{port}\"\n[[notification]]\nname = \"//n\"\n\
         connection = \"server=tcp:127.0.0.1,1;user id=a;password=b\"\n{}",
        state.path().display().to_string(),
        shell("orders", "exit 5", "")
    );
    let daemon = Daemon::start(parse(&text));
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    until(state.path(), "orders", |app| (app.running == 0).then_some(())).await;
    let page = get(port, "/metrics").await;
    for sample in [
        "ssbroker_activator_launches_total{app=\"orders\"} 1",
        "ssbroker_activator_handler_failures_total{app=\"orders\"} 1",
        "ssbroker_activator_handlers{app=\"orders\"} 0",
        "ssbroker_activator_listener_up{service=\"//n\",server=\"127.0.0.1,1\"} 0",
    ] {
        assert!(page.contains(sample), "{sample} is missing in\n{page}");
    }
    assert!(page.trim_end().ends_with("# EOF") && page.contains("application/openmetrics-text"));
    assert!(get(port, "/healthz").await.starts_with("HTTP/1.1 200"));
    let unready = get(port, "/readyz").await;
    assert!(unready.starts_with("HTTP/1.1 503") && unready.contains("not listening on //n"), "{unready}");
    assert!(get(port, "/").await.starts_with("HTTP/1.1 404"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_manager_is_told_ready_alive_and_stopping() {
    let state = TempDir::new().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let activator = Activator::new(config(state.path(), &shell("orders", "exit 0", "")))
        .program(program())
        .milestones(Some(Duration::from_millis(20)), move |milestone| teller.lock().unwrap().push(milestone));
    let (stop, shutdown) = tokio::sync::mpsc::channel(1);
    let daemon = tokio::spawn(activator.run(shutdown));
    super::daemon::eventually("two beats", || {
        let beats = told.lock().unwrap().iter().filter(|one| **one == Milestone::Alive).count();
        (beats >= 2).then_some(())
    })
    .await;
    stop.send(()).await.unwrap();
    within(daemon).await.unwrap().unwrap();
    let told = told.lock().unwrap();
    assert_eq!((told[0], told.last()), (Milestone::Ready, Some(&Milestone::Stopping)), "{told:?}");
}

/// The whole program under a service manager's socket.
#[tokio::test(flavor = "multi_thread")]
async fn systemd_is_told_over_its_socket_and_handlers_do_not_inherit_it() {
    let state = TempDir::new().unwrap();
    let (socket, file, seen) =
        (state.path().join("notify"), state.path().join("activator.toml"), state.path().join("seen"));
    let receiver = tokio::net::UnixDatagram::bind(&socket).unwrap();
    let text = format!(
        "[state]\ndir = {:?}\n[[notification]]\nname = \"//n\"\nenabled = false\n\
         connection = \"server=x;user id=a;password=b\"\n{}",
        state.path().display().to_string(),
        shell("orders", &format!("env > {}.new; mv {0}.new {0}", seen.display()), "")
    );
    std::fs::write(&file, text).unwrap();
    let mut daemon = Command::new(program())
        .args(["activator", "run", "--config"])
        .arg(&file)
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "200000")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let next = async || {
        let mut text = vec![0; 500];
        let length = within(receiver.recv(&mut text)).await.unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut heard = vec![next().await];
    while !(heard.iter().any(|one| one == "READY=1\n") && heard.iter().any(|one| one == "WATCHDOG=1\n")) {
        heard.push(next().await);
    }
    order(state.path(), Request::Kick { app: "orders".into() }).await;
    super::daemon::eventually("the handler's environment", || seen.exists().then_some(())).await;
    assert!(!std::fs::read_to_string(&seen).unwrap().contains("NOTIFY_SOCKET"));
    super::daemon::signal(&daemon.id().unwrap().to_string(), "TERM");
    while next().await != "STOPPING=1\n" {}
    assert!(within(daemon.wait()).await.unwrap().success());
}

/// Pain 37.
#[tokio::test(flavor = "multi_thread")]
async fn log_lines_carry_rfc_3339_times_as_text_and_as_json() {
    for format in ["text", "json"] {
        let state = TempDir::new().unwrap();
        let (file, log) = (state.path().join("activator.toml"), state.path().join("log"));
        let text = format!(
            "[log]\nfile = {:?}\nformat = \"{format}\"\nrotation = \"never\"\n[state]\ndir = {:?}\n[[notification]]\nname = \
             \"//n\"\nenabled = false\nconnection = \"server=x;user id=a;password=b\"\n{}",
            log.display().to_string(),
            state.path().display().to_string(),
            shell("orders", "exit 3", "")
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(program());
        command.args(["activator", "run", "--config"]).arg(&file).kill_on_drop(true);
        let _daemon = command.spawn().unwrap();
        within(until(state.path(), "orders", |_| Some(()))).await;
        order(state.path(), Request::Kick { app: "orders".into() }).await;
        until(state.path(), "orders", |app| app.last_exit.clone()).await;
        let line = super::daemon::eventually("the exit in the log", || {
            let text = std::fs::read_to_string(&log).ok()?;
            text.lines().find(|line| line.contains("exit code 3")).map(str::to_owned)
        })
        .await;
        let stamp = if format == "json" {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["app"], "orders");
            line["timestamp"].as_str().unwrap().to_owned()
        } else {
            line.split(' ').next().unwrap().to_owned()
        };
        let shape: String = stamp.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
        assert!(shape.starts_with("0000-00-00T00:00:00.") && shape.ends_with('Z'), "{stamp}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kick_of_a_disabled_application_is_refused() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "enabled = false")));
    within(until(state.path(), "orders", |_| Some(()))).await;
    let answer = control::ask(state.path(), Request::Kick { app: "orders".into() }).await.unwrap();
    assert_eq!(answer, Answer::Error("orders is not enabled".to_owned()));
    assert!(!daemon.records().iter().any(|record| matches!(record, Record::Launched { .. })));
}

/// Runs a subcommand of `activator` on the daemon with this state folder.
async fn cli(state: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("activator").args(arguments).arg("--state").arg(state);
    within(command.output()).await.unwrap()
}

/// Head and body of a page, once somebody listens there.
async fn get(port: u16, path: &str) -> String {
    let connect = async {
        loop {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let mut stream = within(connect).await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    within(stream.read_to_string(&mut page)).await.unwrap();
    page
}
