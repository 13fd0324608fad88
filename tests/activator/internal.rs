//! What code that the server activates may not do, and a handler with a login of its own may.

use super::site::Site;
use ssbroker::client::Broker;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(40);

/// Writes down how many rows of another database and how many sessions of the server it sees, or the error.
const LOOK: &str = "
    BEGIN TRY
        INSERT INTO dbo.Seen SELECT N'archive', COUNT(*) FROM Archive.dbo.Old;
    END TRY
    BEGIN CATCH
        INSERT INTO dbo.Seen VALUES (N'archive', ERROR_NUMBER());
    END CATCH;
    INSERT INTO dbo.Seen SELECT N'sessions', COUNT(*) FROM sys.dm_exec_sessions;";

/// Error for a database that the current context may not use.
const NO_ACCESS: i32 = 916;

/// Spec 5.4: trusted only inside its database.
#[tokio::test(flavor = "multi_thread")]
async fn c061_an_activated_procedure_is_confined_to_its_database_and_a_handler_is_not() {
    let site = Site::new(&[]).await;
    // Its connection is a second session to be seen.
    let _master = set_up(&site).await;
    site.run("EXEC dbo.Looks;").await;
    let (rows, sessions) = seen(&site).await;
    assert!(rows == 2 && sessions > 1, "by hand: {rows} {sessions}");

    site.send("Orders", 1).await;
    let (rows, sessions) = seen(&site).await;
    assert_eq!((rows, sessions), (NO_ACCESS, 1), "activated");

    site.run("ALTER DATABASE Sales SET TRUSTWORTHY ON;").await;
    site.send("Orders", 1).await;
    let (rows, sessions) = seen(&site).await;
    assert!(rows == 2 && sessions > 1, "trusted: {rows} {sessions}");
    site.run("ALTER DATABASE Sales SET TRUSTWORTHY OFF; ALTER QUEUE dbo.Orders WITH ACTIVATION (DROP);")
        .await;

    site.send("Orders", 1).await;
    let handler = handler(&site).await;
    handler.batch(&format!("RECEIVE conversation_handle FROM dbo.Orders; {LOOK}")).await.unwrap();
    let (rows, sessions) = seen(&site).await;
    assert!(rows == 2 && sessions > 1, "a handler's login: {rows} {sessions}");
}

async fn set_up(site: &Site) -> Broker {
    let master = Broker::connect(&site.embedded.emulator.connection_string("master")).await.unwrap();
    for sql in [
        "CREATE DATABASE Archive;",
        "CREATE LOGIN handler WITH PASSWORD = 'Secret-789'; GRANT VIEW SERVER STATE TO handler;",
    ] {
        master.batch(sql).await.unwrap();
    }
    let archive = Broker::connect(&site.embedded.emulator.connection_string("Archive")).await.unwrap();
    for sql in [
        "CREATE TABLE dbo.Old (id int NOT NULL); INSERT INTO dbo.Old VALUES (1), (2);",
        "CREATE USER handler FOR LOGIN handler; GRANT SELECT ON dbo.Old TO handler;",
    ] {
        archive.batch(sql).await.unwrap();
    }
    site.run("CREATE TABLE dbo.Seen (what nvarchar(20) NOT NULL, number int NOT NULL);").await;
    site.run("CREATE QUEUE dbo.Orders; CREATE SERVICE [//Orders] ON QUEUE dbo.Orders ([DEFAULT]);").await;
    site.run(&format!("CREATE PROCEDURE dbo.Looks AS BEGIN {LOOK} END")).await;
    site.run(
        "CREATE PROCEDURE dbo.Reads AS BEGIN DECLARE @h uniqueidentifier; RECEIVE TOP (1) @h = conversation_handle FROM \
         dbo.Orders; IF @h IS NOT NULL EXEC dbo.Looks; END",
    )
    .await;
    site.run(
        "ALTER QUEUE dbo.Orders WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.Reads, MAX_QUEUE_READERS = 1, EXECUTE AS \
         OWNER);",
    )
    .await;
    site.run("CREATE USER handler FOR LOGIN handler; GRANT RECEIVE ON dbo.Orders TO handler; GRANT INSERT ON dbo.Seen TO handler;").await;
    master
}

async fn handler(site: &Site) -> Broker {
    let address = site.embedded.emulator.address();
    let connection = format!(
        "server=tcp:{},{};database=Sales;user id=handler;password=Secret-789;encrypt=false",
        address.ip(),
        address.port()
    );
    Broker::connect(&connection).await.unwrap()
}

/// What was written down, once both are there; then it is forgotten.
async fn seen(site: &Site) -> (i32, i32) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let rows = site.run("SELECT what, number FROM dbo.Seen;").await.into_rows();
        let number = |what: &str| {
            let row = rows.iter().find(|row| row.get::<String>("what").unwrap() == what)?;
            Some(row.get::<i32>("number").unwrap())
        };
        if let (Some(archive), Some(sessions)) = (number("archive"), number("sessions")) {
            site.run("DELETE FROM dbo.Seen;").await;
            return (archive, sessions);
        }
        assert!(Instant::now() < deadline, "nothing was written down");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
