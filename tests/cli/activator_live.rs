//! `activator check --live`: every missing permission, object and mismatch has its name, its cure and its exit code.

use crate::client::several_addresses::Twofold;
use crate::support::Embedded;
use ssbroker::client::Broker;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;
use tokio::process::Command;

const SET_UP: &str = "CREATE QUEUE dbo.Notifications; CREATE QUEUE dbo.Orders;
GO
CREATE SERVICE [//notify] ON QUEUE dbo.Notifications ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
GO
CREATE EVENT NOTIFICATION A ON QUEUE dbo.Orders FOR QUEUE_ACTIVATION TO SERVICE '//notify', 'current database';
GO
CREATE EVENT NOTIFICATION D ON QUEUE dbo.Orders FOR BROKER_QUEUE_DISABLED TO SERVICE '//notify', 'current database';";

struct Place {
    folder: TempDir,
    embedded: Embedded,
    owner: Broker,
}

impl Place {
    async fn new() -> Self {
        let embedded = Embedded::start().await;
        let master = Broker::connect(&embedded.emulator.connection_string("master")).await.unwrap();
        master.batch("CREATE DATABASE Sales;").await.unwrap();
        let owner = Broker::connect(&embedded.emulator.connection_string("Sales")).await.unwrap();
        crate::support::run_script(&owner, SET_UP).await;
        Self { folder: TempDir::new().unwrap(), embedded, owner }
    }

    async fn run(&self, sql: &str) {
        self.owner.batch(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Checks a configuration with this `on`, as the owner.
    async fn check(&self, on: &str) -> (i32, String) {
        self.check_as(&self.embedded.emulator.connection_string("Sales"), on).await
    }

    async fn check_as(&self, connection: &str, on: &str) -> (i32, String) {
        told(&check(&self.write(connection, on)).await)
    }

    fn write(&self, connection: &str, on: &str) -> PathBuf {
        let file = self.folder.path().join("activator.toml");
        let text = format!(
            "[[notification]]\nname = \"//notify\"\nconnection = '''{connection}'''\n[[app]]\nname = \"orders\"\ncommand = \"sh\"\n{on}\n"
        );
        std::fs::write(&file, text).unwrap();
        file
    }
}

const ORDERS: &str = r#"on = { database = "Sales", schema = "dbo", queue = "Orders" }"#;

async fn check(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssbroker"))
        .args(["activator", "check", "--live"])
        .arg(file)
        .output()
        .await
        .unwrap()
}

fn told(output: &Output) -> (i32, String) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_as_it_should_be_exits_0() {
    let place = Place::new().await;
    let (code, text) = place.check(ORDERS).await;
    assert!(code == 0 && text.contains("the servers are as they should be"), "{code}\n{text}");
}

/// Pains 1, 10, 23, 24 and 27, and C067.
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_has_its_name_and_its_statement_and_exits_1() {
    let place = Place::new().await;
    let other = r#"on = { server = "ELSEWHERE", database = "Sales", schema = "dbo", queue = "Orders" }"#;
    for (change, on, id, cure, undo) in [
        (
            "",
            r#"on = { database = "Sales", schema = "dbo", queue = "Order" }"#,
            "queue-missing",
            "the nearest is dbo.Orders",
            "",
        ),
        (
            "",
            r#"on = { database = "Nowhere", schema = "dbo", queue = "Orders" }"#,
            "database-missing",
            "correct `on.database`",
            "",
        ),
        ("", &format!("{other}\nstrict_server = true"), "server-name", "set the server to SSBROKER", ""),
        (
            "ALTER QUEUE dbo.Orders WITH STATUS = OFF;",
            ORDERS,
            "queue-disabled",
            "ALTER QUEUE [dbo].[Orders] WITH STATUS = ON;",
            "ALTER QUEUE dbo.Orders WITH STATUS = ON;",
        ),
        (
            "ALTER QUEUE dbo.Notifications WITH STATUS = OFF;",
            ORDERS,
            "notification-queue-disabled",
            "ALTER QUEUE [dbo].[Notifications] WITH STATUS = ON;",
            "ALTER QUEUE dbo.Notifications WITH STATUS = ON;",
        ),
        (
            "ALTER DATABASE Sales SET DISABLE_BROKER;",
            ORDERS,
            "broker-disabled",
            "SET ENABLE_BROKER",
            "ALTER DATABASE Sales SET ENABLE_BROKER;",
        ),
        (
            "DROP EVENT NOTIFICATION A ON QUEUE dbo.Orders;",
            ORDERS,
            "notification-missing",
            "CREATE EVENT NOTIFICATION [OrdersActivation] ON QUEUE [dbo].[Orders] FOR QUEUE_ACTIVATION TO SERVICE '//notify'",
            "CREATE EVENT NOTIFICATION A ON QUEUE dbo.Orders FOR QUEUE_ACTIVATION TO SERVICE '//notify', 'current database';",
        ),
        (
            "ALTER SERVICE [//notify] (DROP CONTRACT [http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);",
            ORDERS,
            "contract-missing",
            "ALTER SERVICE [//notify] (ADD CONTRACT",
            "",
        ),
        ("DROP SERVICE [//notify];", ORDERS, "service-missing", "CREATE SERVICE [//notify]", ""),
    ] {
        if !change.is_empty() {
            place.run(change).await;
        }
        let (code, text) = place.check(on).await;
        assert!(
            code == 1 && text.contains(&format!("[{id}]")) && text.contains(cure),
            "{id}: {code}\n{text}"
        );
        if !undo.is_empty() {
            place.run(undo).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_name_of_the_server_is_a_warning_unless_it_decides() {
    let place = Place::new().await;
    let on = r#"on = { server = "ELSEWHERE", database = "Sales", schema = "dbo", queue = "Orders" }"#;
    let (code, text) = place.check(on).await;
    assert!(
        code == 0 && text.contains("calls itself SSBROKER; it is launched all the same"),
        "{code}\n{text}"
    );
}

/// Pain 19: what a login lacks is named one by one, and granting it is enough.
#[tokio::test(flavor = "multi_thread")]
async fn each_missing_permission_is_named_with_its_grant() {
    let place = Place::new().await;
    let master = Broker::connect(&place.embedded.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE LOGIN ea WITH PASSWORD = 'Secret-456';").await.unwrap();
    place.run("CREATE USER ea FOR LOGIN ea;").await;
    let address = place.embedded.emulator.address();
    let connection = format!(
        "server=tcp:{},{};database=Sales;user id=ea;password=Secret-456;encrypt=false",
        address.ip(),
        address.port()
    );
    let (code, text) = place.check_as(&connection, ORDERS).await;
    assert!(
        code == 1 && text.contains("GRANT VIEW DEFINITION ON SERVICE::[//notify] TO [ea];"),
        "{code}\n{text}"
    );
    place.run("GRANT VIEW DEFINITION ON SERVICE::[//notify] TO ea; GRANT VIEW DEFINITION ON dbo.Notifications TO ea;").await;
    let (code, text) = place.check_as(&connection, ORDERS).await;
    assert!(code == 1 && text.contains("GRANT RECEIVE ON [dbo].[Notifications] TO [ea];"), "{code}\n{text}");
    place.run("GRANT RECEIVE ON dbo.Notifications TO ea;").await;
    let (code, text) = place.check_as(&connection, ORDERS).await;
    assert_eq!(code, 0, "{text}");
    for grant in [
        "GRANT SELECT ON [dbo].[Orders] TO [ea];",
        "GRANT VIEW DEFINITION TO [ea];",
        "GRANT VIEW SERVER STATE TO [ea];",
    ] {
        assert!(text.contains(grant), "{grant}\n{text}");
    }
    assert!(!text.contains("Secret"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_be_reached_or_logged_in_to_exits_3_and_an_unreadable_file_2() {
    let place = Place::new().await;
    let connection = place.embedded.emulator.connection_string("Sales");
    let wrong = connection.replace(place.embedded.emulator.password(), "wrong");
    let (code, text) = place.check_as(&wrong, ORDERS).await;
    assert!(code == 3 && text.contains("unreachable: //notify"), "{code}\n{text}");
    let (code, _) = place.check_as("server=tcp:127.0.0.1,1;user id=a;password=b", ORDERS).await;
    assert_eq!(code, 3);
    assert_eq!(told(&check(Path::new("/no/such/file.toml")).await).0, 2);
}

/// Case C132: the command line and what the activator connects with do not wait for a dead address either.
#[tokio::test(flavor = "multi_thread")]
async fn c132_a_name_with_a_dead_address_is_reached_by_the_command_line() {
    let place = Place::new().await;
    let Some(twofold) = Twofold::beside(place.embedded.emulator.address()).await else { return };
    let there = place.embedded.emulator.connection_string("Sales");
    for connection in twofold.connection_strings(&there) {
        let file = place.write(&connection, ORDERS);
        let mut command = twofold.command(Path::new(env!("CARGO_BIN_EXE_ssbroker")));
        let output = command.args(["activator", "check", "--live"]).arg(&file).output().await.unwrap();
        let (code, text) = told(&output);
        assert!(code == 0 && text.contains("the servers are as they should be"), "{code}\n{text}");
    }
}

/// Pain 27: what `reenable` takes besides, each with its statement.
#[tokio::test(flavor = "multi_thread")]
async fn what_switching_a_queue_on_again_takes_is_checked_where_it_is_asked_for() {
    let place = Place::new().await;
    let on = format!("{ORDERS}\nreenable = {{ at_most = 2 }}");
    assert_eq!(place.check(&on).await.0, 0);
    place.run("DROP EVENT NOTIFICATION D ON QUEUE dbo.Orders;").await;
    assert_eq!(place.check(ORDERS).await.0, 0, "without it a warning");
    let (code, text) = place.check(&on).await;
    assert!(
        code == 1 && text.contains("and it is never switched on again [disabled-unheard]"),
        "{code}\n{text}"
    );
    place.run(&cure(&text, "disabled-unheard")).await;
    assert_eq!(place.check(&on).await.0, 0);

    let connection = listener(&place).await;
    let (code, text) = place.check_as(&connection, &on).await;
    assert!(code == 1 && text.contains("lacks ALTER for [Sales].[dbo].[Orders]"), "{code}\n{text}");
    place.run(&cure(&text, "right-alter")).await;
    let (code, text) = place.check_as(&connection, &on).await;
    assert_eq!(code, 0, "{text}");
}

/// The table of runs, where one is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_of_runs_is_told() {
    let place = Place::new().await;
    let with = format!("{ORDERS}\n[history]\ntable = \"//notify\"");
    let (code, text) = place.check(&with).await;
    assert!(
        code == 1 && text.contains("ssbroker.runs: it does not exist in database Sales"),
        "{code}\n{text}"
    );
    assert!(cure(&text, "history-table").contains("13-runs.sql"), "{text}");
    crate::support::run_script(&place.owner, include_str!("../../sql/13-runs.sql")).await;
    assert_eq!(place.check(&with).await.0, 0);
}

/// What the activator needs to receive for a handler and to put failed messages aside.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_fed_handler_takes_is_checked_where_there_is_one() {
    let place = Place::new().await;
    let fed = format!("{ORDERS}\nkind = \"feed\"");
    let (code, text) = place.check(&fed).await;
    assert!(code == 1 && text.matches("[feed-tables]").count() == 2, "{code}\n{text}");
    assert!(text.contains("ssbroker.dead_letters: it does not exist in database Sales"), "{text}");
    assert!(cure(&text, "feed-tables").contains("05-dead-letters.sql"), "{text}");
    let ends = format!("{fed}\nfeed = {{ dead_letter = \"end\" }}");
    assert_eq!(place.check(&ends).await.0, 0, "it needs no table");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = std::fs::read_to_string(root.join("sql/05-dead-letters.sql")).unwrap();
    crate::support::run_script(&place.owner, &script).await;
    assert_eq!(place.check(&fed).await.0, 0);

    let (connection, queue) = (listener(&place).await, "[Sales].[dbo].[Orders]");
    place.run("GRANT SELECT ON SCHEMA::ssbroker TO ea;").await;
    let (code, text) = place.check_as(&connection, &fed).await;
    assert!(code == 1 && text.contains(&format!("lacks RECEIVE on {queue}")), "{code}\n{text}");
    place.run(&cure(&text, "right-receive")).await;
    let (code, text) = place.check_as(&connection, &fed).await;
    assert_eq!(code, 0, "{text}");
}

/// The queue is in one database, the notification service in another: (a) 'current database', (b) the other broker's
/// identifier, (c) trust on top.
#[tokio::test(flavor = "multi_thread")]
async fn c066_a_service_in_another_database_takes_its_broker_id_and_trust() {
    let place = Place::new().await;
    let notes = notification_database(&place).await;
    let connection = place.embedded.emulator.connection_string("Notes");
    let (sales_id, notes_id) = (broker_id(&place.owner).await, broker_id(&notes).await);
    place.run("CREATE EVENT NOTIFICATION A ON QUEUE dbo.Orders FOR QUEUE_ACTIVATION TO SERVICE '//notify', 'current database';").await;
    let (code, text) = place.check_as(&connection, ORDERS).await;
    let elsewhere = format!("goes to broker {sales_id}, but //notify is in broker {notes_id}");
    assert!(code == 1 && text.to_uppercase().contains(&elsewhere.to_uppercase()), "{code}\n{text}");
    let cure = cure(&text, "notification-elsewhere");
    send(&place).await;
    assert_eq!(waiting(&notes).await, 0, "(a)");

    assert!(cure.contains(&notes_id), "{cure}");
    place.run("RECEIVE conversation_handle FROM dbo.Orders;").await;
    // The server may have dropped the one that failed by itself.
    drop(place.owner.batch("DROP EVENT NOTIFICATION A ON QUEUE dbo.Orders;").await);
    place.run(&cure[cure.find("CREATE EVENT NOTIFICATION").unwrap()..]).await;
    let (code, text) = place.check_as(&connection, ORDERS).await;
    assert!(
        code == 1 && text.contains("[notification-held]") && text.contains("is not TRUSTWORTHY, so"),
        "{code}\n{text}"
    );
    send(&place).await;
    let (code, text) = place.check_as(&connection, ORDERS).await;
    let held = "waits in the transmission queue of Sales: Access to the target database is denied (916)";
    assert!(code == 1 && text.contains(held), "{code}\n{text}");
    assert_eq!(waiting(&notes).await, 0, "(b)");

    let trust = self::cure(&text, "notification-held");
    assert!(trust.starts_with("make a notification service in database [Sales]"), "{trust}");
    place.run(&trust[trust.find("ALTER DATABASE").unwrap()..]).await;
    assert_eq!(waiting(&notes).await, 1, "(c)");
    let (code, text) = place.check_as(&connection, ORDERS).await;
    assert_eq!(code, 0, "{text}");
}

/// The other half of C069 is a vector of the conformance suite.
#[tokio::test(flavor = "multi_thread")]
async fn c069_a_service_without_the_contract_of_notifications_fails_the_check() {
    let place = Place::new().await;
    place.run("DROP SERVICE [//notify];").await;
    place.run("CREATE SERVICE [//notify] ON QUEUE dbo.Notifications;").await;
    let (code, text) = place.check(ORDERS).await;
    let lacks = "service //notify lacks the contract http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";
    assert!(code == 1 && text.contains(lacks), "{code}\n{text}");
    place.run(&cure(&text, "contract-missing")).await;
    let (_, text) = place.check(ORDERS).await;
    assert!(!text.contains("contract-missing"), "{text}");
}

/// Pain 23: the name as newer pages print it, made into a contract by somebody who believed them.
#[tokio::test(flavor = "multi_thread")]
async fn the_contract_name_with_https_is_told_from_the_right_one() {
    let place = Place::new().await;
    let wrong = "https://schemas.microsoft.com/SQL/Notifications/PostEventNotification";
    place.run("DROP SERVICE [//notify]; CREATE MESSAGE TYPE [//m] VALIDATION = NONE;").await;
    place.run(&format!("CREATE CONTRACT [{wrong}] ([//m] SENT BY ANY);")).await;
    place.run(&format!("CREATE SERVICE [//notify] ON QUEUE dbo.Notifications ([{wrong}]);")).await;
    let (code, text) = place.check(ORDERS).await;
    let told = format!("it lists {wrong}, which is another contract: the name begins with http://");
    assert!(code == 1 && text.contains(&told), "{code}\n{text}");
}

/// A login that may listen and look, and no more; answers its connection string.
async fn listener(place: &Place) -> String {
    let master = Broker::connect(&place.embedded.emulator.connection_string("master")).await.unwrap();
    master
        .batch("CREATE LOGIN ea WITH PASSWORD = 'Secret-456'; GRANT VIEW SERVER STATE TO ea;")
        .await
        .unwrap();
    place.run("CREATE USER ea FOR LOGIN ea; GRANT VIEW DEFINITION TO ea; GRANT SELECT ON dbo.Orders TO ea; GRANT RECEIVE ON dbo.Notifications TO ea;").await;
    let address = place.embedded.emulator.address();
    format!(
        "server=tcp:{},{};database=Sales;user id=ea;password=Secret-456;encrypt=false",
        address.ip(),
        address.port()
    )
}

/// Moves the notification service into a database of its own; answers the connection to that.
async fn notification_database(place: &Place) -> Broker {
    let master = Broker::connect(&place.embedded.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE DATABASE Notes;").await.unwrap();
    let notes = Broker::connect(&place.embedded.emulator.connection_string("Notes")).await.unwrap();
    let there = "CREATE QUEUE dbo.Notifications; CREATE SERVICE [//notify] ON QUEUE dbo.Notifications \
                 ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);";
    notes.batch(there).await.unwrap();
    let here = "DROP EVENT NOTIFICATION A ON QUEUE dbo.Orders; DROP EVENT NOTIFICATION D ON QUEUE dbo.Orders; DROP SERVICE \
                [//notify]; CREATE SERVICE [//orders] ON QUEUE dbo.Orders ([DEFAULT]);";
    place.run(here).await;
    notes
}

async fn broker_id(broker: &Broker) -> String {
    broker.inspect_database(None).await.unwrap().unwrap().broker_id.to_string().to_uppercase()
}

async fn send(place: &Place) {
    place.run("DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//orders] TO SERVICE '//orders' WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);").await;
}

async fn waiting(notes: &Broker) -> i32 {
    let results = notes.batch("SELECT COUNT(*) AS n FROM dbo.Notifications;").await.unwrap();
    results.first_row().unwrap().get("n").unwrap()
}

/// The cure of a finding: the line below it.
fn cure(text: &str, id: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.ends_with(&format!("[{id}]")));
    lines.nth(1).unwrap_or_else(|| panic!("no {id} in\n{text}")).trim().to_owned()
}
