//! Whether the servers are as a configuration needs them: `activator check --live`.
//!
//! Connects to every enabled notification service with its own login, looks, and changes nothing. What a running daemon
//! would warn of is found here by the same rules (`reconcile::findings`), and besides what keeps it from running at all.

use crate::activator::config::{Application, Config, DeadLetter, FeedSettings, Kind, NotificationService};
use crate::activator::log_lines;
use crate::activator::reconcile::findings::{self, Destination, bracketed};
use crate::activator::reconcile::{missing_queue, rights};
use crate::activator::status::warnings::Found;
use crate::client::{
    self, Broker, BrokerOptions, DatabaseState, Error, ErrorKind, QueueLocation, QueueName, QueueState,
    ServiceName, ServiceState, Table, Visible,
};
use serde::Serialize;
use std::fmt;

/// How much something found matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The activator works without it; what is lost is said.
    Warning,
    /// Something does not work until it is cured.
    Fault,
    /// A statement was refused for want of a permission, so that more cannot be said.
    Refused,
    /// The server cannot be reached, or refuses the login.
    Unreachable,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LiveFinding {
    /// How much it matters.
    pub severity: Severity,
    /// The application or notification service it is about.
    pub subject: String,
    /// What kind of thing it is; the same text for the same kind.
    pub id: &'static str,
    /// What is wrong.
    pub text: String,
    /// What helps, often as T-SQL.
    pub cure: String,
}

impl fmt::Display for LiveFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Fault => "fault",
            Severity::Refused => "refused",
            Severity::Unreachable => "unreachable",
        };
        write!(f, "{severity}: {}: {} [{}]\n    {}", self.subject, self.text, self.id, self.cure)
    }
}

/// Looks at everything a configuration names on its servers. An empty answer: all is well.
///
/// Dropping the future closes the connections.
pub async fn check_live(config: &Config) -> Vec<LiveFinding> {
    let mut check = Check { config, findings: Vec::new(), placed: vec![false; config.applications.len()] };
    for service in config.notifications.iter().filter(|service| service.enabled) {
        if let Err(error) = check.service(service).await {
            check.failure(&service.name, &error);
        }
    }
    check.nowhere();
    check.findings
}

/// Where tables are looked for, and for whom.
#[derive(Clone, Copy)]
struct Place<'a> {
    subject: &'a str,
    database: &'a str,
    login: &'a str,
}

struct Check<'a> {
    config: &'a Config,
    findings: Vec<LiveFinding>,
    /// Whether the queue of the application at the same position was found anywhere.
    placed: Vec<bool>,
}

impl Check<'_> {
    async fn service(&mut self, service: &NotificationService) -> client::Result<()> {
        let options =
            BrokerOptions::from_connection_string(service.connection.expose())?.with_max_pool_size(1);
        let broker = Broker::with_options(options).await?;
        let Some(here) = broker.inspect_database(None).await? else { return Ok(()) };
        let name = ServiceName::new(&*service.name)?;
        match broker.inspect_service(&name).await? {
            Some(state) => self.notification_queue(&broker, service, &here, &state).await?,
            None => self.add(Severity::Fault, &service.name, missing_service(&service.name, &here)),
        }
        if self.config.history.table.as_ref() == Some(&service.name) {
            let place = Place { subject: &service.name, database: &here.database, login: &here.login };
            self.tables(&broker, Table::Runs, "history-table", place).await?;
        }
        for (position, app) in self.config.applications.iter().enumerate().filter(|(_, app)| app.enabled) {
            self.app(&broker, service, &here, position, app).await?;
        }
        Ok(())
    }

    async fn notification_queue(
        &mut self,
        broker: &Broker,
        service: &NotificationService,
        here: &DatabaseState,
        state: &ServiceState,
    ) -> client::Result<()> {
        let Some(queue) = broker.inspect_queue(&state.queue).await? else { return Ok(()) };
        let login = bracketed(&here.login);
        if !queue.can_receive {
            self.add(
                Severity::Fault,
                &service.name,
                Found {
                    id: "right-receive",
                    text: format!("login {} lacks RECEIVE on {}", here.login, state.queue),
                    cure: format!("GRANT RECEIVE ON {} TO {login};", state.queue),
                },
            );
        }
        if state.contracts.missing().is_some() {
            self.add(
                Severity::Warning,
                &service.name,
                Found {
                    id: "contract-hidden",
                    text: format!(
                        "login {} does not see whether {} has the contract of event notifications",
                        here.login, service.name
                    ),
                    cure: format!("GRANT VIEW DEFINITION TO {login};"),
                },
            );
        }
        for found in findings::of_service(&service.name, state, &queue) {
            self.add(severity(found.id), &service.name, found);
        }
        Ok(())
    }

    async fn app(
        &mut self,
        broker: &Broker,
        service: &NotificationService,
        here: &DatabaseState,
        position: usize,
        app: &Application,
    ) -> client::Result<()> {
        let queue = QueueName::in_schema(&app.on.schema, &app.on.queue)?;
        let location = QueueLocation::in_database(&app.on.database, queue);
        let Some(state) = broker.inspect_queue(&location).await? else { return Ok(()) };
        self.placed[position] = true;
        self.server_name(app, &here.server_name);
        if state.details == Visible::Known(None) {
            let found = missing_queue(broker, app).await?;
            self.add(Severity::Fault, &app.name, found);
            return Ok(());
        }
        let known_services: Vec<String> =
            self.config.notifications.iter().map(|one| one.name.clone()).collect();
        let to = Destination {
            service: &service.name,
            broker_id: here.broker_id.to_string(),
            known_services: &known_services,
        };
        for found in findings::of_queue(&app.on, &state, &to) {
            self.add(severity(found.id), &app.name, found);
        }
        self.switched_off(app, &state, &to);
        match &app.kind {
            Kind::Feed(settings) => self.feed(service, app, &state, settings).await,
            Kind::Launch | Kind::Resident => Ok(()),
        }
    }

    /// What the activator needs to receive for a handler, and to put failed messages aside.
    async fn feed(
        &mut self,
        service: &NotificationService,
        app: &Application,
        state: &QueueState,
        settings: &FeedSettings,
    ) -> client::Result<()> {
        if !state.database.is_accessible {
            return Ok(());
        }
        if !state.can_receive {
            self.add(Severity::Fault, &app.name, rights::no_receive(&app.on, state));
        }
        if settings.dead_letter == DeadLetter::EndConversation {
            return Ok(());
        }
        let options = BrokerOptions::from_connection_string(service.connection.expose())?;
        let options = options.with_database(&app.on.database).with_max_pool_size(1);
        let broker = Broker::with_options(options).await?;
        let place = Place { subject: &app.name, database: &app.on.database, login: &state.database.login };
        self.tables(&broker, Table::DeadLetters, "feed-tables", place).await
    }

    /// Whether tables of ours are as they have to be.
    async fn tables(
        &mut self,
        broker: &Broker,
        wanted: Table,
        id: &'static str,
        Place { subject, database, login }: Place<'_>,
    ) -> client::Result<()> {
        let tables = broker.verify_tables(&[wanted]).await?;
        for found in tables.missing() {
            let text = format!("{found} in database {database}, or login {login} does not see it");
            self.add(Severity::Fault, subject, Found { id, text, cure: found.statement.clone() });
        }
        for found in tables.different() {
            let (text, cure) = (found.to_string(), found.statement.clone());
            self.add(Severity::Fault, subject, Found { id, text, cure });
        }
        Ok(())
    }

    /// Pains 1 and 2.
    fn server_name(&mut self, app: &Application, actual: &str) {
        let Some(wanted) = &app.on.server else { return };
        if wanted.to_lowercase() == actual.to_lowercase() {
            return;
        }
        let (severity, means) = match app.strict_server {
            true => (Severity::Fault, "with strict_server nothing is launched for it"),
            false => (Severity::Warning, "it is launched all the same"),
        };
        self.add(
            severity,
            &app.name,
            Found {
                id: "server-name",
                text: format!("it names server {wanted}, but the server calls itself {actual}; {means}"),
                cure: format!("set the server to {actual}, or leave it out"),
            },
        );
    }

    /// Pain 27, and what `reenable` takes besides.
    fn switched_off(&mut self, app: &Application, state: &QueueState, to: &Destination<'_>) {
        let is_wanted = app.reenable.is_some();
        if let Some(found) = findings::disabled_unheard(&app.on, state, to, is_wanted) {
            self.add(if is_wanted { Severity::Fault } else { Severity::Warning }, &app.name, found);
        }
        if is_wanted && !state.can_alter {
            self.add(Severity::Fault, &app.name, rights::no_alter(&app.on, state));
        }
    }

    /// Applications whose database is on no server that could be asked.
    fn nowhere(&mut self) {
        if self.findings.iter().any(|found| found.severity == Severity::Unreachable) {
            return;
        }
        for (position, app) in self.config.applications.iter().enumerate() {
            if app.enabled && !self.placed[position] {
                self.findings.push(LiveFinding {
                    severity: Severity::Fault,
                    subject: app.name.clone(),
                    id: "database-missing",
                    text: format!(
                        "none of the servers has a database {} that the login sees",
                        app.on.database
                    ),
                    cure: "correct `on.database`, or add the notification service of its server".to_owned(),
                });
            }
        }
    }

    fn failure(&mut self, service: &str, error: &Error) {
        let severity = match error.kind() {
            ErrorKind::PermissionDenied => Severity::Refused,
            ErrorKind::Connect
            | ErrorKind::Tls
            | ErrorKind::LoginFailed
            | ErrorKind::ConnectionLost
            | ErrorKind::Timeout
            | ErrorKind::PoolExhausted => Severity::Unreachable,
            _ => Severity::Fault,
        };
        let cure = "see the server's own words".to_owned();
        self.add(severity, service, Found { id: "server", text: log_lines::chain(error), cure });
    }

    fn add(&mut self, severity: Severity, subject: &str, found: Found) {
        let Found { id, text, cure } = found;
        let finding = LiveFinding { severity, subject: subject.to_owned(), id, text, cure };
        // Two notification services may see the same queue.
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// The activator does with fewer rights what it can; everything else keeps something from working.
fn severity(id: &str) -> Severity {
    match id {
        "stuck-notified" | "notifications-wait" => Severity::Warning,
        right if right.starts_with("right-") => Severity::Warning,
        _ => Severity::Fault,
    }
}

fn missing_service(service: &str, here: &DatabaseState) -> Found {
    let (name, login) = (bracketed(service), bracketed(&here.login));
    Found {
        id: "service-missing",
        text: format!(
            "there is no service {service} in database {}, or login {} does not see it",
            here.database, here.login
        ),
        cure: format!(
            "GRANT VIEW DEFINITION ON SERVICE::{name} TO {login}; -- or, if it is missing: CREATE QUEUE \
             [dbo].[NotificationQueue]; CREATE SERVICE {name} ON QUEUE [dbo].[NotificationQueue] ([{}]);",
            findings::CONTRACT
        ),
    }
}
