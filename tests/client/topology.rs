//! Set-up against a server: what is created, what is verified, and that nothing is created unasked.

use std::sync::Arc;

use ssbroker::client::{
    Broker, ErrorKind, QueueName, QueueSettings, SentBy, Table, Topology, Validation, Verification,
};

use super::objects::Objects;
use crate::support::Backend;

const NOTIFICATIONS: &str = "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";

async fn broker() -> (Arc<dyn Backend>, Broker) {
    let backend = crate::support::start().await;
    let broker = Broker::connect(&backend.connection_string()).await.unwrap();
    (backend, broker)
}

fn topology() -> Topology {
    Topology::new()
        .message_type("//topology/ask", Validation::WellFormedXml)
        .message_type("//topology/answer", Validation::None)
        .message_type("//topology/end", Validation::Empty)
        .contract(
            "//topology/contract",
            [
                ("//topology/ask", SentBy::Initiator),
                ("//topology/answer", SentBy::Target),
                ("//topology/end", SentBy::Any),
            ],
        )
        .queue("dbo.TopologyInitiator", QueueSettings::default())
        .queue("TopologyTarget", QueueSettings::default().retention(true))
        .queue("dbo.TopologyEvents", QueueSettings::default().poison_message_handling(false))
        .service("//topology/initiator", "dbo.TopologyInitiator", [] as [&str; 0])
        .service("//topology/target", "dbo.TopologyTarget", ["//topology/contract"])
        .service("//topology/events", "dbo.TopologyEvents", [NOTIFICATIONS])
        .activation_event("TopologyActivation", "dbo.TopologyTarget", "//topology/events")
        .route("TopologyRoute", ssbroker::client::RouteSettings::to("LOCAL"))
}

fn objects_of(findings: &[ssbroker::client::Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.object.as_str()).collect()
}

fn assert_complete(verification: &Verification) {
    assert!(verification.is_complete(), "{verification}");
}

#[tokio::test]
async fn what_is_missing_is_created_once_and_works() {
    let (_backend, broker) = broker().await;
    let topology = topology().queue("dbo.Unused", QueueSettings::default().off());
    let topology = topology.service("//topology/unused", "dbo.Unused", [] as [&str; 0]);
    let before = broker.verify_objects(&topology).await.unwrap();
    assert_eq!(before.missing().len(), 14, "{before}");
    let made = broker.ensure_objects(&topology).await.unwrap();
    assert_complete(&made);
    assert_eq!(made.created(), objects_of(before.missing()));
    let again = broker.ensure_objects(&topology).await.unwrap();
    assert_complete(&again);
    assert!(again.created().is_empty());
    let dialog = broker.dialog("//topology/initiator", "//topology/target").contract("//topology/contract");
    dialog.begin().await.unwrap().send("//topology/ask", b"<a/>".to_vec()).await.unwrap();
    let queue = QueueName::new("dbo.TopologyTarget").unwrap();
    let batch = broker.receive(queue).open().await.unwrap().next().await.unwrap();
    assert_eq!(batch.messages()[0].body.as_bytes(), b"<a/>");
    let mut events = broker.receive(QueueName::new("dbo.TopologyEvents").unwrap()).open().await.unwrap();
    assert!(
        events.next().await.unwrap().messages()[0].body.as_bytes().len() > 10,
        "the activator hears of it"
    );
}

#[tokio::test]
async fn what_differs_is_named_left_alone_and_mended_by_the_statement_named() {
    let (_backend, broker) = broker().await;
    assert_complete(&broker.ensure_objects(&topology()).await.unwrap());
    broker
        .batch(
            "ALTER QUEUE dbo.TopologyTarget WITH STATUS = OFF, RETENTION = OFF;
             ALTER SERVICE [//topology/target] ON QUEUE dbo.TopologyInitiator;
             ALTER SERVICE [//topology/initiator] (ADD CONTRACT [//topology/contract]);
             ALTER MESSAGE TYPE [//topology/answer] VALIDATION = EMPTY;
             ALTER ROUTE TopologyRoute WITH ADDRESS = N'TCP://elsewhere:4022';
             DROP SERVICE [//topology/events];",
        )
        .await
        .unwrap();
    let verification = broker.ensure_objects(&topology()).await.unwrap();
    println!("{verification}");
    assert_eq!(verification.created(), ["service //topology/events"]);
    assert_eq!(
        objects_of(verification.different()),
        [
            "message type //topology/answer",
            "queue [TopologyTarget]",
            "service //topology/initiator",
            "service //topology/target",
            "route TopologyRoute"
        ]
    );
    for finding in verification.different() {
        broker.batch(&finding.statement).await.unwrap();
    }
    let error = verification.into_result().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectDiffers);
    assert!(error.to_string().contains("ALTER SERVICE [//topology/target] ON QUEUE [dbo].[TopologyTarget]"));
    assert_complete(&broker.verify_objects(&topology()).await.unwrap());
}

#[tokio::test]
async fn a_set_up_that_fails_half_way_creates_nothing() {
    let (_backend, broker) = broker().await;
    broker.batch("CREATE TABLE dbo.TopologyEvents (id int)").await.unwrap();
    let error = broker.ensure_objects(&topology()).await.unwrap_err();
    assert_eq!(error.server_number(), Some(2714), "{error:?}");
    assert!(error.to_string().contains("creating queue [dbo].[TopologyEvents]"), "{error}");
    let verification = broker.verify_objects(&topology()).await.unwrap();
    assert_eq!(verification.missing().len(), 12, "{verification}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_programs_may_set_up_at_once() {
    let (_backend, broker) = broker().await;
    let programs = (0..8).map(|_| {
        let broker = broker.clone();
        tokio::spawn(async move { broker.ensure_objects(&topology()).await.unwrap() })
    });
    let mut created = 0;
    for program in programs.collect::<Vec<_>>() {
        let verification = program.await.unwrap();
        assert_complete(&verification);
        created += verification.created().len();
    }
    assert_eq!(created, 12, "each object is created by one program");
}

#[tokio::test]
async fn the_librarys_tables_are_created_once_and_their_columns_verified() {
    let (_backend, broker) = broker().await;
    let tables = [Table::DeadLetters];
    assert_eq!(broker.verify_tables(&tables).await.unwrap().missing().len(), 2);
    let made = broker.ensure_tables(&tables).await.unwrap();
    assert_complete(&made);
    assert_eq!(made.created(), ["table ssbroker.attempts", "table ssbroker.dead_letters"]);
    assert!(broker.ensure_tables(&tables).await.unwrap().created().is_empty());
    broker
        .batch(
            "DROP TABLE ssbroker.attempts; CREATE TABLE ssbroker.attempts (conversation_handle uniqueidentifier NOT NULL,
             message_sequence_number bigint NOT NULL, attempts smallint NOT NULL, last_reason nvarchar(2000) NULL)",
        )
        .await
        .unwrap();
    let verification = broker.ensure_tables(&tables).await.unwrap();
    let told: Vec<String> = verification.different().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "table ssbroker.attempts: its column attempts is smallint NOT NULL, not int NOT NULL",
            "table ssbroker.attempts: it lacks the column last_attempt",
        ]
    );
}

/// The columns are read from the scripts, so this shows that what the server then has is what they say.
#[tokio::test]
async fn every_table_of_the_library_is_created_and_verified() {
    let (_backend, broker) = broker().await;
    let made = broker.ensure_tables(&Table::ALL).await.unwrap();
    assert_complete(&made);
    assert_eq!(made.created().len(), 12, "{:?}", made.created());
    assert_complete(&broker.verify_tables(&Table::ALL).await.unwrap());
}

/// The tables refuse what the library never writes: a lease without its end, and names that are empty.
#[tokio::test]
async fn the_tables_refuse_half_a_lease_and_empty_names() {
    let (_backend, broker) = broker().await;
    assert_complete(&broker.ensure_tables(&Table::ALL).await.unwrap());
    let item = "INSERT INTO ssbroker.work_items (queue_name, stored, due, attempts, lease, leased_until, conversation_group_id,
        conversation_handle, message_sequence_number, service_name, service_contract_name, message_type_name, validation,
        priority) VALUES (N'q', SYSUTCDATETIME(), SYSUTCDATETIME(), 0, ";
    let rest = ", NEWID(), NEWID(), 0, N's', N'c', N't', N'N ', 5)";
    for (lease, is_taken) in [
        ("NULL, NULL", true),
        ("NEWID(), SYSUTCDATETIME()", true),
        ("NEWID(), NULL", false),
        ("NULL, SYSUTCDATETIME()", false),
    ] {
        let taken = broker.batch(&format!("{item}{lease}{rest}")).await;
        assert_eq!(taken.is_ok(), is_taken, "{lease}: {taken:?}");
    }
    for empty in [
        "INSERT INTO ssbroker.waiters (conversation_handle, requester, created, deadline, is_ended)
            VALUES (NEWID(), N'', SYSUTCDATETIME(), SYSUTCDATETIME(), 0)",
        "INSERT INTO ssbroker.pool_dialogs (pool_name, route, place, from_service_name, to_service_name, contract_name)
            VALUES (N'', 1, 1, N'f', N't', N'c')",
    ] {
        assert_eq!(broker.batch(empty).await.unwrap_err().server_number(), Some(547), "{empty}");
    }
}

/// Goal L10: plain use creates no object.
#[tokio::test]
async fn l10_plain_use_creates_nothing() {
    let objects = Objects::create(crate::support::start().await).await;
    let count = "SELECT (SELECT COUNT(*) FROM sys.objects) + (SELECT COUNT(*) FROM sys.services) + \
                 (SELECT COUNT(*) FROM sys.service_contracts) + (SELECT COUNT(*) FROM sys.service_message_types) + \
                 (SELECT COUNT(*) FROM sys.routes) + (SELECT COUNT(*) FROM sys.event_notifications) + \
                 (SELECT COUNT(*) FROM sys.schemas) AS objects";
    let before: i32 =
        objects.broker.execute(count, &[]).await.unwrap().first_row().unwrap().get("objects").unwrap();
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let (dialog, _) = builder.begin_with(&objects.messages(3)).await.unwrap();
    dialog.timer(std::time::Duration::from_secs(60)).await.unwrap();
    let pool = objects.broker.dialog_pool(ssbroker::client::PoolOptions::default()).unwrap();
    pool.send(&objects.destination(), &objects.messages(3)).await.unwrap();
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let mut receiver = objects.broker.receive(queue).open().await.unwrap();
    receiver.next().await.unwrap().commit().await.unwrap();
    let missing = objects.broker.verify_tables(&[Table::DeadLetters]).await.unwrap();
    assert_eq!(missing.missing().len(), 2, "not even when asked to look");
    objects.broker.verify_objects(&topology()).await.map(drop).unwrap();
    let after: i32 =
        objects.broker.execute(count, &[]).await.unwrap().first_row().unwrap().get("objects").unwrap();
    println!("L10: {before} objects before, {after} after");
    assert_eq!(before, after);
}
