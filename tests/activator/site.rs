//! A server with a queue, an event notification on it and a notification service, and daemons that listen there.

use super::daemon::{Daemon, parse, program};
use crate::support::Embedded;
use ssbroker::activator::control::{self, Answer, Request};
use ssbroker::activator::status::{AppStatus, Status, Warning};
use ssbroker::client::{Broker, Results};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(40);

/// The contract of event notifications.
pub(super) const CONTRACT: &str = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";

pub(super) struct Site {
    pub(super) embedded: Embedded,
    /// The owner's connection to the database of the queues.
    pub(super) owner: Broker,
}

impl Site {
    /// With database `Sales`, a queue for each name, a service `//NAME` on each, and event notifications to `//notify`.
    pub(super) async fn new(queues: &[&str]) -> Self {
        Self::on(Embedded::start().await, queues).await
    }

    /// The same on a server of the test's own.
    pub(super) async fn on(embedded: Embedded, queues: &[&str]) -> Self {
        let master = Broker::connect(&embedded.emulator.connection_string("master")).await.unwrap();
        master.batch("CREATE DATABASE Sales;").await.unwrap();
        let owner = Broker::connect(&embedded.emulator.connection_string("Sales")).await.unwrap();
        let site = Self { embedded, owner };
        site.run("CREATE QUEUE dbo.Notifications;").await;
        site.run(&format!("CREATE SERVICE [//notify] ON QUEUE dbo.Notifications ([{CONTRACT}]);")).await;
        for queue in queues {
            site.run(&format!("CREATE QUEUE dbo.[{queue}];")).await;
            site.run(&format!("CREATE SERVICE [//{queue}] ON QUEUE dbo.[{queue}] ([DEFAULT]);")).await;
            site.notify_of(queue).await;
        }
        site
    }

    pub(super) async fn notify_of(&self, queue: &str) {
        self.run(&format!(
            "CREATE EVENT NOTIFICATION [{queue}Activation] ON QUEUE dbo.[{queue}] FOR QUEUE_ACTIVATION TO SERVICE \
             '//notify', 'current database';"
        ))
        .await;
    }

    pub(super) async fn run(&self, sql: &str) -> Results {
        self.owner.batch(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Sends messages to a queue, each on a dialog of its own from the service to itself.
    pub(super) async fn send(&self, queue: &str, count: usize) {
        for _ in 0..count {
            self.run(&format!(
                "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//{queue}] TO SERVICE '//{queue}' WITH \
                 ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
            ))
            .await;
        }
    }

    /// Messages in a queue.
    pub(super) async fn waiting(&self, queue: &str) -> i32 {
        let results = self.run(&format!("SELECT COUNT(*) AS n FROM dbo.[{queue}] WITH (NOLOCK);")).await;
        results.first_row().unwrap().get("n").unwrap()
    }

    /// Waits until a queue is empty.
    pub(super) async fn drained(&self, queue: &str) {
        let deadline = Instant::now() + DEADLINE;
        while self.waiting(queue).await > 0 {
            assert!(Instant::now() < deadline, "messages stay in {queue}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A daemon with its state in `state`, that listens on `//notify`.
    pub(super) fn daemon(&self, state: &Path, apps: &str) -> Daemon {
        self.daemon_as(state, &self.embedded.emulator.connection_string("Sales"), apps)
    }

    /// The same with a connection string of its own.
    pub(super) fn daemon_as(&self, state: &Path, connection: &str, apps: &str) -> Daemon {
        Daemon::start(parse(&config_text(state, connection, apps)))
    }
}

/// A configuration in TOML.
pub(super) fn config_text(state: &Path, connection: &str, apps: &str) -> String {
    format!(
        "[state]\ndir = {:?}\n[[notification]]\nname = \"//notify\"\nconnection = '''{connection}'''\n{apps}",
        state.display().to_string()
    )
}

/// An application that receives from its queue until that stays empty for two seconds.
pub(super) fn reader(queue: &str, keys: &str) -> String {
    format!(
        "[[app]]\nname = \"{queue}\"\ncommand = {:?}\nargs = [\"digest-handler\", \"%sqlserver%\", \"%database%\", \"%schema%\", \
         \"%queue%\"]\npass_connection = true\non = {{ database = \"Sales\", schema = \"dbo\", queue = \"{queue}\" }}\n{keys}\n",
        program().display().to_string()
    )
}

/// The status of the daemon with this state folder; `None` while it cannot be asked.
pub(super) async fn status(state: &Path) -> Option<Status> {
    match control::ask(state, Request::Status).await {
        Ok(Answer::Status(status)) => Some(*status),
        Ok(other) => panic!("{other:?}"),
        Err(_) => None,
    }
}

/// Asks for the status until `find` finds something in that of an application.
pub(super) async fn until<T>(state: &Path, app: &str, find: impl Fn(&AppStatus) -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let status = status(state).await;
        let of_app = status.as_ref().and_then(|status| status.apps.iter().find(|one| one.name == app));
        if let Some(found) = of_app.and_then(&find) {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {status:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits for a warning of an application.
pub(super) async fn warning(state: &Path, app: &str, id: &str) -> Warning {
    until(state, app, |app| app.warnings.iter().find(|warning| warning.id == id).cloned()).await
}

/// Waits until an application has no such warning.
pub(super) async fn cured(state: &Path, app: &str, id: &str) {
    until(state, app, |app| (!app.warnings.iter().any(|warning| warning.id == id)).then_some(())).await;
}

/// Asks for something that is to be done.
pub(super) async fn order(state: &Path, request: Request) -> String {
    match control::ask(state, request).await.unwrap() {
        Answer::Done(text) => text,
        other => panic!("{other:?}"),
    }
}
