//! A queue that the server has switched off is switched on again where its application asks for it, within limits, and
//! never one that a person has switched off.

use super::daemon::{program, shell, signal, within};
use super::site::{Site, config_text, cured, login, until, warning};
use ssbroker::activator::Record;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(40);

/// A handler that leaves the poison message to the test.
const IDLE: &str = "exec sleep 300";

/// A queue with a message that is going to be rolled back, and an event for when the server has had enough.
async fn site() -> Site {
    let site = Site::new(&["Orders"]).await;
    site.run(
        "CREATE EVENT NOTIFICATION OrdersOff ON QUEUE dbo.Orders FOR BROKER_QUEUE_DISABLED TO SERVICE '//notify', 'current \
         database';",
    )
    .await;
    site.send("Orders", 1).await;
    site
}

/// Five roll backs in a row.
async fn poison(site: &Site) {
    for _ in 0..5 {
        site.run("BEGIN TRANSACTION; RECEIVE * FROM dbo.Orders; ROLLBACK TRANSACTION;").await;
    }
}

async fn is_on(site: &Site) -> bool {
    let results =
        site.run("SELECT is_receive_enabled AS it FROM sys.service_queues WHERE name = N'Orders';").await;
    results.first_row().unwrap().get("it").unwrap()
}

async fn switched_on(site: &Site) {
    let deadline = Instant::now() + DEADLINE;
    while !is_on(site).await {
        assert!(Instant::now() < deadline, "the queue stays off");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn app(reenable: &str) -> String {
    shell("Orders", IDLE, &format!("reenable = {reenable}"))
}

/// Pain 27.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_the_server_switches_off_is_switched_on_again_within_its_limit() {
    let (state, site) = (TempDir::new().unwrap(), site().await);
    let (file, log) = (state.path().join("activator.toml"), state.path().join("log"));
    let connection = site.embedded.emulator.connection_string("Sales");
    let apps = format!(
        "{}\n[log]\nfile = {:?}\nrotation = \"never\"\n",
        app("{ after = \"100ms\", at_most = 2 }"),
        log.display().to_string()
    );
    std::fs::write(&file, config_text(state.path(), &connection, &apps)).unwrap();
    let mut daemon = run(&file);
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    for time in 1..=2 {
        poison(&site).await;
        switched_on(&site).await;
        let text = format!("switched on again {time} of at most 2 times");
        let told = |app: &ssbroker::activator::status::AppStatus| {
            app.warnings
                .iter()
                .any(|one| one.id == "queue-reenabled" && one.text.contains(&text))
                .then_some(())
        };
        until(state.path(), "Orders", told).await;
        cured(state.path(), "Orders", "queue-disabled").await;
    }
    poison(&site).await;
    let told = warning(state.path(), "Orders", "reenable-given-up").await;
    assert!(told.text.contains("stays off") && !is_on(&site).await, "{told:?}");
    let lines = std::fs::read_to_string(&log).unwrap();
    let count = |level: &str, text: &str| {
        lines.lines().filter(|line| line.contains(level) && line.contains(text)).count()
    };
    for time in ["1 of at most 2 times", "2 of at most 2 times"] {
        let switching = format!("on again, which the server had switched off after five roll backs: {time}");
        assert_eq!(count("WARN", &switching), 1, "{lines}");
    }
    assert_eq!(count("ERROR", "is off once more: it stays off"), 1, "{lines}");
    // A person may, and then it is that person's.
    site.run("ALTER QUEUE dbo.Orders WITH STATUS = ON;").await;
    cured(state.path(), "Orders", "reenable-given-up").await;
    signal(&daemon.id().unwrap().to_string(), "TERM");
    assert!(within(daemon.wait()).await.unwrap().success());
}

fn run(file: &Path) -> tokio::process::Child {
    let mut command = tokio::process::Command::new(program());
    command.args(["activator", "run", "--config"]).arg(file).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_a_person_switches_off_stays_off() {
    let (state, site) = (TempDir::new().unwrap(), site().await);
    let _daemon = site.daemon(state.path(), &app("{ after = \"0s\" }"));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    site.run("ALTER QUEUE dbo.Orders WITH STATUS = OFF;").await;
    let told = warning(state.path(), "Orders", "reenable-untold").await;
    assert!(told.text.contains("a person may have switched it off") && !is_on(&site).await, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_being_asked_for_a_queue_stays_off() {
    let (state, site) = (TempDir::new().unwrap(), site().await);
    let daemon = site.daemon(state.path(), &shell("Orders", IDLE, ""));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    poison(&site).await;
    let told = |record: &Record| matches!(record, Record::QueueDisabled { .. });
    daemon.until(|records| records.iter().any(told).then_some(())).await;
    let told = warning(state.path(), "Orders", "queue-disabled").await;
    assert!(
        told.cure.contains("ALTER QUEUE [dbo].[Orders] WITH STATUS = ON;") && !is_on(&site).await,
        "{told:?}"
    );
}

/// The server's word is written down before its notification is committed.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_said_before_the_daemon_died_is_acted_on_by_the_next() {
    let (state, site) = (TempDir::new().unwrap(), site().await);
    let first = site.daemon(state.path(), &app("{ after = \"1h\" }"));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    poison(&site).await;
    let told = |record: &Record| matches!(record, Record::QueueDisabled { .. });
    first.until(|records| records.iter().any(told).then_some(())).await;
    let records = first.crash().await;
    super::daemon::pids(&records).iter().for_each(|pid| signal(&format!("-{pid}"), "KILL"));
    assert!(!is_on(&site).await);
    let _second = site.daemon(state.path(), &app("{ after = \"0s\" }"));
    switched_on(&site).await;
    warning(state.path(), "Orders", "queue-reenabled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_takes_is_named_and_granting_it_is_enough() {
    let (state, site) = (TempDir::new().unwrap(), site().await);
    site.run("DROP EVENT NOTIFICATION OrdersOff ON QUEUE dbo.Orders;").await;
    let connection = login(&site).await;
    site.run("GRANT VIEW DEFINITION TO ea;").await;
    let _daemon = site.daemon_as(state.path(), &connection, &app("{ after = \"0s\" }"));
    let told = warning(state.path(), "Orders", "disabled-unheard").await;
    assert!(told.text.ends_with("and it is never switched on again"), "{told:?}");
    site.run(&told.cure).await;
    site.run("USE Sales;").await;
    cured(state.path(), "Orders", "disabled-unheard").await;
    poison(&site).await;
    let told = warning(state.path(), "Orders", "right-alter").await;
    assert!(!is_on(&site).await);
    site.run(&told.cure).await;
    site.run("USE Sales;").await;
    cured(state.path(), "Orders", "right-alter").await;
    switched_on(&site).await;
}
