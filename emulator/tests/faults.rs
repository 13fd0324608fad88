//! The fault plan, seen by a real client (features E6).

use std::time::Duration;

use ssbroker_emulator::value::Timestamp;
use ssbroker_emulator::{Clock, Emulator, Fault, ManualClock, Trigger};
use tiberius::error::Error;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::io::DuplexStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

type Connection = Client<Compat<DuplexStream>>;

async fn started() -> (Emulator, ManualClock) {
    let (clock, hands) = Clock::manual(Timestamp::from_unix_ticks(1_780_315_200 * 10_000_000));
    (Emulator::builder().clock(clock).start().await.expect("a port is free"), hands)
}

async fn try_connect(emulator: &Emulator, application: &str) -> Result<Connection, Error> {
    let mut config = Config::new();
    config.authentication(AuthMethod::sql_server("sa", emulator.password()));
    config.encryption(EncryptionLevel::NotSupported);
    config.application_name(application);
    Client::connect(config, emulator.connect().compat()).await
}

async fn connected(emulator: &Emulator, application: &str) -> Connection {
    try_connect(emulator, application).await.expect("the server takes connections")
}

async fn run(connection: &mut Connection, sql: &str) -> Result<(), Error> {
    connection.simple_query(sql).await?.into_results().await.map(drop)
}

async fn number(connection: &mut Connection, sql: &str) -> i32 {
    let answer = connection.simple_query(sql).await.expect("the query is sent");
    let row = answer.into_row().await.expect("the query runs").expect("the query has a row");
    row.get::<i32, _>(0).expect("the number is not NULL")
}

fn code(outcome: Result<(), Error>) -> u32 {
    outcome.expect_err("the statement fails").code().expect("an error of the server")
}

fn is_lost(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::Io { .. }))
}

#[tokio::test]
async fn a_connection_cut_before_a_commit_leaves_nothing_and_one_cut_after_it_leaves_all() {
    let (emulator, _hands) = started().await;
    let mut observer = connected(&emulator, "observer").await;
    run(&mut observer, "CREATE TABLE dbo.t (id int)").await.unwrap();
    for (fault, rows) in [(Fault::CutBefore, 0), (Fault::CutAfter, 1)] {
        let planned = emulator.faults().plan(Trigger::commit().of_application("worker"), fault);
        let mut worker = connected(&emulator, "worker").await;
        run(&mut observer, "BEGIN TRANSACTION; COMMIT").await.unwrap();
        let lost = run(&mut worker, "BEGIN TRANSACTION; INSERT dbo.t VALUES (1); COMMIT").await;
        assert!(is_lost(&lost), "{lost:?}");
        assert_eq!(planned.struck(), 1);
        assert_eq!(number(&mut observer, "SELECT COUNT(*) FROM dbo.t").await, rows);
    }
}

#[tokio::test]
async fn the_nth_statement_is_a_deadlock_victim_or_fails_with_a_number() {
    let (emulator, _hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    emulator.faults().plan(Trigger::statement().containing("PRINT").nth(2), Fault::Deadlock);
    let outcome = run(&mut connection, "BEGIN TRANSACTION; PRINT 'one'; PRINT 'two'; PRINT 'three'").await;
    assert_eq!(code(outcome), 1205);
    assert_eq!(number(&mut connection, "SELECT @@TRANCOUNT").await, 0);
    emulator.faults().plan(Trigger::statement().containing("SELECT 7"), Fault::error(9002));
    assert_eq!(code(run(&mut connection, "SELECT 7").await), 9002);
    assert_eq!(number(&mut connection, "SELECT 7").await, 7);
}

#[tokio::test]
async fn a_request_that_matches_is_struck_and_its_text_includes_the_parameters_of_a_call() {
    let (emulator, _hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    emulator.faults().plan(Trigger::request().containing("sp_executesql SELECT @P1"), Fault::error(701));
    let refused = connection.query("SELECT @P1", &[&5]).await.map(drop);
    let refused = match refused {
        Ok(()) => panic!("the request is answered"),
        Err(error) => error,
    };
    assert_eq!(refused.code(), Some(701));
}

#[tokio::test]
async fn an_answer_comes_late_by_the_emulators_clock() {
    let (emulator, hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    let planned = emulator.faults().slow_down(Duration::from_secs(5));
    let answer = tokio::spawn(async move { number(&mut connection, "SELECT 3").await });
    planned.strike().await;
    hands.wait_for_sleepers(1).await;
    assert!(!answer.is_finished());
    planned.end();
    hands.advance(Duration::from_secs(5));
    assert_eq!(answer.await.unwrap(), 3);
}

#[tokio::test]
async fn a_lost_answer_leaves_the_work_done_and_the_client_waiting() {
    let (emulator, _hands) = started().await;
    let mut observer = connected(&emulator, "observer").await;
    run(&mut observer, "CREATE TABLE dbo.t (id int)").await.unwrap();
    let mut worker = connected(&emulator, "worker").await;
    let insert = Trigger::request().containing("INSERT");
    let planned = emulator.faults().plan(insert, Fault::LoseAnswer);
    let waiting = tokio::spawn(async move { run(&mut worker, "INSERT dbo.t VALUES (1)").await });
    planned.strike().await;
    while number(&mut observer, "SELECT COUNT(*) FROM dbo.t").await == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test]
async fn a_failover_cuts_everybody_rolls_back_and_may_change_the_broker() {
    let (emulator, _hands) = started().await;
    let mut one = connected(&emulator, "one").await;
    run(&mut one, "CREATE DATABASE d").await.unwrap();
    run(&mut one, "CREATE TABLE d.dbo.t (id int)").await.unwrap();
    run(&mut one, "BEGIN TRANSACTION; INSERT d.dbo.t VALUES (1)").await.unwrap();
    let broker =
        "SELECT CAST(CAST(service_broker_guid AS binary(4)) AS int) FROM sys.databases WHERE name = 'd'";
    let before = number(&mut one, broker).await;
    emulator.faults().fail_over_to_new_broker("d").unwrap();
    assert!(is_lost(&run(&mut one, "SELECT 1").await));
    let mut two = connected(&emulator, "two").await;
    assert_eq!(number(&mut two, "SELECT COUNT(*) FROM d.dbo.t").await, 0);
    assert_ne!(number(&mut two, broker).await, before);
    assert_eq!(emulator.faults().fail_over_to_new_broker("nowhere").unwrap_err().number, 911);
}

#[tokio::test]
async fn connections_are_refused_for_a_while() {
    let (emulator, hands) = started().await;
    emulator.faults().refuse_connections(Duration::from_secs(10));
    assert!(try_connect(&emulator, "worker").await.is_err());
    hands.advance(Duration::from_secs(10));
    connected(&emulator, "worker").await;
}

const NOTIFIED: &str = "
    CREATE QUEUE dbo.Q; CREATE QUEUE dbo.N;
    CREATE SERVICE S ON QUEUE dbo.Q ([DEFAULT]);
    CREATE SERVICE N ON QUEUE dbo.N ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
    CREATE EVENT NOTIFICATION E ON QUEUE dbo.Q FOR QUEUE_ACTIVATION TO SERVICE 'N', 'current database'";
const SEND: &str = "DECLARE @h uniqueidentifier;
    BEGIN DIALOG @h FROM SERVICE N TO SERVICE 'S' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @h ('x')";
const DRAIN: &str = "RECEIVE * FROM dbo.Q";
const NOTICES: &str = "SELECT COUNT(*) FROM dbo.N";

#[tokio::test]
async fn event_notifications_are_lost_or_late() {
    let (emulator, hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    run(&mut connection, "CREATE DATABASE d").await.unwrap();
    run(&mut connection, "USE d").await.unwrap();
    run(&mut connection, NOTIFIED).await.unwrap();
    emulator.faults().drop_event_notifications(1);
    run(&mut connection, SEND).await.unwrap();
    assert_eq!(number(&mut connection, NOTICES).await, 0);
    run(&mut connection, DRAIN).await.unwrap();
    emulator.faults().delay_event_notifications(Duration::from_secs(3));
    run(&mut connection, SEND).await.unwrap();
    assert_eq!(number(&mut connection, NOTICES).await, 0);
    hands.wait_for_sleepers(1).await;
    hands.advance(Duration::from_secs(3));
    while number(&mut connection, NOTICES).await == 0 {
        tokio::task::yield_now().await;
    }
    emulator.faults().clear();
    run(&mut connection, DRAIN).await.unwrap();
    run(&mut connection, SEND).await.unwrap();
    assert_eq!(number(&mut connection, NOTICES).await, 2);
}

/// Spec 4.2: accepted but unacknowledged messages have an empty status.
#[tokio::test]
async fn messages_whose_acknowledgement_is_withheld_have_arrived_and_stay_pending_until_it_comes() {
    const PENDING: &str = "SELECT COUNT(*) FROM sys.transmission_queue WHERE transmission_status = ''";
    const ARRIVED: &str = "SELECT COUNT(*) FROM dbo.Q";
    const MORE: &str =
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM sys.conversation_endpoints
        WHERE is_initiator = 1); SEND ON CONVERSATION @h ('y')";
    const KNOWN: &str = "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1
        AND far_broker_instance IS NOT NULL";
    let (emulator, _hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    const OBJECTS: &str = "CREATE QUEUE dbo.Q; CREATE SERVICE S ON QUEUE dbo.Q ([DEFAULT]);
        CREATE QUEUE dbo.N; CREATE SERVICE N ON QUEUE dbo.N";
    for sql in ["CREATE DATABASE d", "USE d", OBJECTS] {
        run(&mut connection, sql).await.unwrap();
    }
    emulator.faults().withhold_acknowledgements();
    for sql in [SEND, MORE] {
        run(&mut connection, sql).await.unwrap();
    }
    assert_eq!(number(&mut connection, ARRIVED).await, 2, "one does not hold the next up");
    assert_eq!((number(&mut connection, PENDING).await, number(&mut connection, KNOWN).await), (2, 0));
    run(&mut connection, "ALTER QUEUE dbo.Q WITH STATUS = OFF").await.unwrap();
    run(&mut connection, MORE).await.unwrap();
    run(&mut connection, "ALTER QUEUE dbo.Q WITH STATUS = ON").await.unwrap();
    assert_eq!(number(&mut connection, ARRIVED).await, 3, "none arrives twice by itself");
    assert_eq!(number(&mut connection, PENDING).await, 3);
    emulator.faults().clear();
    assert_eq!((number(&mut connection, PENDING).await, number(&mut connection, KNOWN).await), (0, 1));
    assert_eq!(number(&mut connection, ARRIVED).await, 3);
}

#[tokio::test]
async fn a_queue_is_switched_off_under_its_readers() {
    let (emulator, _hands) = started().await;
    let mut connection = connected(&emulator, "worker").await;
    run(&mut connection, "CREATE DATABASE d").await.unwrap();
    run(&mut connection, "USE d").await.unwrap();
    run(&mut connection, NOTIFIED).await.unwrap();
    run(&mut connection, SEND).await.unwrap();
    run(&mut connection, "BEGIN TRANSACTION; RECEIVE * FROM dbo.Q").await.unwrap();
    emulator.faults().disable_queue("d", "dbo.Q").unwrap();
    assert_eq!(code(run(&mut connection, DRAIN).await), 9617);
    emulator.faults().enable_queue("d", "Q").unwrap();
    run(&mut connection, DRAIN).await.unwrap();
    assert_eq!(emulator.faults().disable_queue("d", "Missing").unwrap_err().number, 15151);
}
