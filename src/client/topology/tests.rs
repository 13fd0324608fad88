//! Declarations and their comparison with a catalog, without a server.

use super::catalog::{Catalog, EventFound, QueueFound, RouteFound, ServiceFound};
use super::compare::compare;
use super::*;

fn topology() -> Topology {
    Topology::new()
        .message_type("//t/ask", Validation::WellFormedXml)
        .message_type("//t/answer", Validation::None)
        .contract("//t/contract", [("//t/ask", SentBy::Initiator), ("//t/answer", SentBy::Target)])
        .queue("Ask", QueueSettings::default())
        .queue("s.Answer", QueueSettings::default().retention(true))
        .service("//t/target", "Ask", ["//t/contract"])
        .activation_event("AskEvent", "Ask", "//t/notifications")
        .route("Far", RouteSettings::to("TCP://far:4022").service("//t/far's".parse().unwrap()))
}

fn queue(schema: &str, name: &str, is_retention_enabled: bool) -> QueueFound {
    QueueFound {
        schema: schema.into(),
        name: name.into(),
        is_receive_enabled: true,
        is_retention_enabled,
        is_poison_message_handling_enabled: true,
    }
}

fn found() -> Catalog {
    let own = |name: &str| ("own".to_owned(), name.to_owned());
    Catalog {
        default_schema: "own".into(),
        folds_case: true,
        is_broker_enabled: true,
        message_types: [("//t/ask", "X"), ("//t/answer", "N")].map(|(a, b)| (a.into(), b.into())).into(),
        contracts: [(
            "//t/contract".to_owned(),
            [("//t/ask".into(), SentBy::Initiator), ("//t/answer".into(), SentBy::Target)].into(),
        )]
        .into(),
        queues: vec![queue("OWN", "ASK", false), queue("s", "Answer", true)],
        services: [(
            "//t/target".to_owned(),
            ServiceFound { queue: own("Ask"), contracts: ["//t/contract".to_owned()].into() },
        )]
        .into(),
        events: vec![EventFound {
            name: "askevent".into(),
            queue: own("Ask"),
            service: "//t/notifications".into(),
            event: "QUEUE_ACTIVATION".into(),
        }],
        routes: vec![RouteFound {
            name: "Far".into(),
            service: Some("//t/far's".into()),
            broker_instance: None,
            address: "tcp://far:4022".into(),
        }],
    }
}

fn statements(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.statement.as_str()).collect()
}

#[test]
fn what_is_as_declared_is_complete_with_schemas_and_case_as_the_server_takes_them() {
    let verification = compare(&topology(), &found());
    assert!(verification.is_complete(), "{verification}");
    assert_eq!(verification.to_string(), "everything is as declared");
}

#[test]
fn everything_is_missing_from_an_empty_database_and_created_in_an_order_that_works() {
    let empty = Catalog { is_broker_enabled: true, ..Catalog::default() };
    let verification = compare(&topology(), &empty);
    assert_eq!(
        statements(verification.missing()),
        [
            "CREATE MESSAGE TYPE [//t/ask] VALIDATION = WELL_FORMED_XML;",
            "CREATE MESSAGE TYPE [//t/answer] VALIDATION = NONE;",
            "CREATE CONTRACT [//t/contract] ([//t/ask] SENT BY INITIATOR, [//t/answer] SENT BY TARGET);",
            "CREATE QUEUE [Ask] WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);",
            "CREATE QUEUE [s].[Answer] WITH STATUS = ON, RETENTION = ON, POISON_MESSAGE_HANDLING (STATUS = ON);",
            "CREATE SERVICE [//t/target] ON QUEUE [Ask] ([//t/contract]);",
            "CREATE EVENT NOTIFICATION [AskEvent] ON QUEUE [Ask] FOR QUEUE_ACTIVATION TO SERVICE \
             N'//t/notifications', N'current database';",
            "CREATE ROUTE [Far] WITH SERVICE_NAME = N'//t/far''s', ADDRESS = N'TCP://far:4022';",
        ]
    );
}

#[test]
fn every_difference_is_named_with_the_statement_that_mends_it() {
    let mut other = found();
    other.is_broker_enabled = false;
    other.message_types.insert("//t/ask".into(), "N".into());
    let contract = other.contracts.get_mut("//t/contract").unwrap();
    contract.insert("//t/answer".into(), SentBy::Any);
    contract.insert("//t/more".into(), SentBy::Any);
    other.queues[0].is_receive_enabled = false;
    other.queues[1].is_retention_enabled = false;
    let service = other.services.get_mut("//t/target").unwrap();
    *service =
        ServiceFound { queue: ("dbo".into(), "Ask".into()), contracts: ["//t/other".to_owned()].into() };
    other.events[0].service = "//t/elsewhere".into();
    other.routes[0].address = "LOCAL".into();
    let verification = compare(&topology(), &other);
    let told: Vec<String> = verification.different().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "database: its broker is not enabled: messages wait in the transmission queue",
            "message type //t/ask: its validation is NONE, not WELL_FORMED_XML",
            "contract //t/contract: //t/answer is sent by ANY, not TARGET, it also has //t/more",
            "queue [Ask]: it is switched off",
            "queue [s].[Answer]: retention is off",
            "service //t/target: its queue is [dbo].[Ask], not [Ask]",
            "service //t/target: it does not accept //t/contract, it also accepts //t/other",
            "event notification AskEvent on [Ask]: it sends QUEUE_ACTIVATION to //t/elsewhere",
            "route Far: it is SERVICE_NAME = N'//t/far''s', ADDRESS = N'LOCAL'",
        ]
    );
    assert!(verification.missing().is_empty());
    let mends = statements(verification.different());
    assert_eq!(
        mends[6],
        "ALTER SERVICE [//t/target] (ADD CONTRACT [//t/contract], DROP CONTRACT [//t/other]);"
    );
    assert!(mends[7].starts_with("DROP EVENT NOTIFICATION [AskEvent] ON QUEUE [Ask]; CREATE EVENT"));
}

#[test]
fn case_c003_a_name_that_differs_only_in_case_is_missing_and_the_other_one_is_named() {
    let mut other = found();
    let service = other.services.remove("//t/target").unwrap();
    other.services.insert("//T/Target".into(), service);
    let verification = compare(&topology(), &other);
    assert_eq!(verification.missing()[0].problem, "it does not exist; //T/Target does, but differs in case");
    let error = verification.into_result().unwrap_err();
    assert_eq!(error.kind(), crate::client::ErrorKind::ObjectMissing);
    assert!(error.to_string().contains("to mend it: CREATE SERVICE [//t/target]"), "{error}");
}

#[test]
fn in_a_case_sensitive_database_queues_are_told_apart_by_case() {
    let mut sensitive = found();
    sensitive.folds_case = false;
    assert!(compare(&topology(), &sensitive).missing().iter().any(|finding| finding.object == "queue [Ask]"));
}

#[test]
fn a_faulty_declaration_is_refused_with_its_first_fault() {
    let table = [
        (Topology::new().queue("a.b.c", QueueSettings::default()), "more than two parts"),
        (topology().queue("Ask", QueueSettings::default()), "the queue [Ask] is declared twice"),
        (
            topology().service("//t/x", "Ask", ["//t/none"]),
            "uses the contract //t/none, which is not declared",
        ),
        (topology().service("//t/x", "Nowhere", [] as [&str; 0]), "uses the queue [Nowhere]"),
        (topology().contract("//t/c", [("//t/answer", SentBy::Target)]), "that the initiator may send"),
        (topology().contract("//t/c", [("//t/none", SentBy::Any)]), "uses the message type //t/none"),
        (topology().route("", RouteSettings::to("LOCAL")), "empty"),
    ];
    for (topology, reason) in table {
        let error = topology.check().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let system = Topology::new().queue("q", QueueSettings::default()).service(
        "//t/notifications",
        "q",
        ["http://schemas.microsoft.com/SQL/Notifications/PostEventNotification"],
    );
    assert!(system.check().is_ok());
}
