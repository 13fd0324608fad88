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

/// Pains 1, 10, 23, 24 and 27, C066, C067 and C069.
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
