//! Many notification services: several on one server, on several servers, and several daemons on one.

use super::daemon::{Daemon, parse, pids, shell, within};
use super::site::{CONTRACT, Site, config_text, reader, status, until};
use crate::client::fake_server::{Ending, FakeServer, Script};
use ssbroker::activator::control::{self, Answer, Request};
use ssbroker::activator::status::ListenerState;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Pains 4 and 21: one daemon listens on two servers, each with two sessions.
#[tokio::test(flavor = "multi_thread")]
async fn one_daemon_serves_two_servers_with_two_sessions_each() {
    let (state, first, second) =
        (TempDir::new().unwrap(), Site::new(&["Orders"]).await, Site::new(&["Returns"]).await);
    let named = |site: &Site| site.embedded.emulator.connection_string("Sales") + ";application name=watched";
    let other = named(&second);
    let apps = format!(
        "[[notification]]\nname = \"//notify\"\nconnection = '''{other}'''\n{}{}",
        reader("Orders", ""),
        reader("Returns", "")
    );
    let connection = named(&first);
    let daemon = Daemon::start(parse(&config_text(state.path(), &connection, &apps)));
    listening(state.path(), 2).await;
    for site in [&first, &second] {
        let count = "SELECT COUNT(*) AS n FROM sys.dm_exec_sessions WHERE program_name = N'watched';";
        let sessions: i32 = site.run(count).await.first_row().unwrap().get("n").unwrap();
        assert_eq!(sessions, 2, "one waits, one works");
    }
    first.send("Orders", 3).await;
    second.send("Returns", 3).await;
    first.drained("Orders").await;
    second.drained("Returns").await;
    assert_eq!(pids(&daemon.records()).len(), 2);
}

/// Pain 4, within one database.
#[tokio::test(flavor = "multi_thread")]
async fn two_notification_services_in_one_database_are_both_heard() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    site.run("CREATE QUEUE dbo.More; CREATE QUEUE dbo.Returns;").await;
    site.run(&format!("CREATE SERVICE [//more] ON QUEUE dbo.More ([{CONTRACT}]);")).await;
    site.run("CREATE SERVICE [//Returns] ON QUEUE dbo.Returns ([DEFAULT]);").await;
    site.run(
        "CREATE EVENT NOTIFICATION R ON QUEUE dbo.Returns FOR QUEUE_ACTIVATION TO SERVICE '//more', 'current database';",
    )
    .await;
    let connection = site.embedded.emulator.connection_string("Sales");
    let apps = format!(
        "[[notification]]\nname = \"//more\"\nconnection = '''{connection}'''\n{}{}",
        reader("Orders", ""),
        reader("Returns", "")
    );
    let _daemon = Daemon::start(parse(&config_text(state.path(), &connection, &apps)));
    site.send("Orders", 1).await;
    site.send("Returns", 1).await;
    site.drained("Orders").await;
    site.drained("Returns").await;
    let status = status(state.path()).await.unwrap();
    assert!(status.apps.iter().all(|app| app.warnings.is_empty()), "{status:#?}");
    assert!(status.listeners.iter().all(|listener| listener.last_event.is_some()), "{status:#?}");
}

/// Pain 32 (a): the two share the work, and when one dies the other goes on alone.
#[tokio::test(flavor = "multi_thread")]
async fn c059_two_activators_on_one_notification_queue_share_the_work() {
    let (one, two, site) =
        (TempDir::new().unwrap(), TempDir::new().unwrap(), Site::new(&["Orders", "Returns"]).await);
    let apps = reader("Orders", "max = 2") + &reader("Returns", "max = 2");
    let first = site.daemon(one.path(), &apps);
    let second = site.daemon(two.path(), &apps);
    listening(one.path(), 1).await;
    listening(two.path(), 1).await;
    site.send("Orders", 30).await;
    site.send("Returns", 30).await;
    site.drained("Orders").await;
    site.drained("Returns").await;
    let launched = pids(&first.records()).len() + pids(&second.records()).len();
    assert!((2..=8).contains(&launched), "{launched} processes, at most two of each daemon and queue");
    first.crash().await;
    site.send("Orders", 5).await;
    site.send("Returns", 5).await;
    site.drained("Orders").await;
    site.drained("Returns").await;
    drop(second);
}

/// Pain 3 and C065, as far as a listener goes: a refused login is told and tried again, and the daemon lives.
#[tokio::test(flavor = "multi_thread")]
async fn c065_a_refused_login_is_shown_as_the_listeners_state() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let connection = site.embedded.emulator.connection_string("Sales");
    let wrong = connection.replace(site.embedded.emulator.password(), "wrong");
    let _daemon = site.daemon_as(state.path(), &wrong, &shell("Orders", "exit 0", ""));
    let error = failing(state.path()).await;
    assert!(error.contains("login") && !error.contains("wrong"), "{error}");
}

/// C128, as far as the activator goes: what a server says that is none is told as the listener's state, it is asked again
/// with growing pauses, and all is well once a real one answers.
#[tokio::test(flavor = "multi_thread")]
async fn c128_a_server_that_answers_nonsense_is_told_and_asked_again_with_pauses() {
    let (state, site, fake) =
        (TempDir::new().unwrap(), Site::new(&["Orders"]).await, FakeServer::start().await);
    let nonsense = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    fake.follow([Script { parts: vec![nonsense], ends: Ending::Closes }]).await;
    let address = site.embedded.emulator.address();
    let connection = site.embedded.emulator.connection_string("Sales");
    let connection = connection.replace(&address.port().to_string(), &fake.port().to_string());
    let begun = Instant::now();
    let _daemon = site.daemon_as(state.path(), &connection, &reader("Orders", ""));
    let error = failing(state.path()).await;
    assert!(error.contains("connecting to 127.0.0.1"), "{error}");
    within(async {
        while fake.connections() < 12 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // Two connections, each with pauses that double from at least 25 ms.
    assert!(begun.elapsed() > Duration::from_millis(25 + 50 + 100 + 200), "{:?}", begun.elapsed());
    fake.follow([Script { parts: Vec::new(), ends: Ending::Forwards(address) }]).await;
    site.send("Orders", 1).await;
    site.drained("Orders").await;
    listening(state.path(), 1).await;
}

/// Why the only listener does not work.
async fn failing(state: &Path) -> String {
    within(async {
        loop {
            let status = status(state).await;
            let listener = status.and_then(|status| status.listeners.into_iter().next());
            match listener {
                Some(listener) if listener.state == ListenerState::Failing => return listener.error.unwrap(),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
    .await
}

/// C070: what looks at the queues is refused everything, and notifications go on.
#[tokio::test(flavor = "multi_thread")]
async fn c070_without_a_look_at_the_queues_notifications_still_launch() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let daemon = site.daemon(state.path(), &reader("Orders", ""));
    listening(state.path(), 1).await;
    site.run("ALTER SERVICE [//Orders] ON QUEUE dbo.Notifications; DROP EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders; DROP QUEUE dbo.Orders;").await;
    until(state.path(), "Orders", |app| {
        app.warnings.iter().any(|one| one.id == "queue-missing").then_some(())
    })
    .await;
    site.run("CREATE QUEUE dbo.Orders; ALTER SERVICE [//Orders] ON QUEUE dbo.Orders;").await;
    site.notify_of("Orders").await;
    site.send("Orders", 1).await;
    site.drained("Orders").await;
    assert!(!pids(&daemon.records()).is_empty());
}

async fn listening(state: &Path, count: usize) {
    within(async {
        loop {
            if let Ok(Answer::Status(status)) = control::ask(state, Request::Status).await {
                let listening = status.listeners.iter().filter(|one| one.state == ListenerState::Listening);
                if listening.count() == count {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
