//! The shapes of the texts, and Microsoft's parser as the judge of all of them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;
use crate::client::body::Body;
use crate::client::ids::ConversationGroup;
use crate::client::inspection::QueueLocation;
use crate::client::message::{Message, OutgoingMessage};
use crate::client::names::{ContractName, MessageTypeName, QueueName, ServiceName};
use crate::client::runs::HandlerRun;
use crate::client::topology::{QueueSettings, RouteSettings, SentBy, Validation};

fn message(body: &[u8]) -> OutgoingMessage {
    OutgoingMessage {
        message_type: MessageTypeName::new("//t/request").unwrap(),
        body: Body::bytes(body.to_vec()),
    }
}

fn spec() -> DialogSpec {
    DialogSpec {
        from: ServiceName::new("//t/it's] me").unwrap(),
        to: ServiceName::new("//t/target").unwrap(),
        broker_instance: Some("CURRENT DATABASE".into()),
        contract: Some(ContractName::new("//t/contract").unwrap()),
        lifetime_seconds: Some(600),
        encryption: false,
        relation: Relation::Group(uuid::Uuid::from_u128(1)),
    }
}

fn plain_spec() -> DialogSpec {
    DialogSpec {
        broker_instance: None,
        contract: None,
        lifetime_seconds: None,
        encryption: true,
        relation: Relation::None,
        ..spec()
    }
}

fn every_text() -> Vec<String> {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::from_u128(2));
    let (full, plain) = (spec(), plain_spec());
    let related = DialogSpec { relation: Relation::Conversation(uuid::Uuid::from_u128(3)), ..spec() };
    let (with_body, without) = (message(b"x"), message(b""));
    let many = vec![&with_body; 100];
    let mut statements = vec![
        begin_dialog(&full),
        begin_dialog(&plain),
        begin_dialog(&related),
        send(handle, &with_body),
        send(handle, &without),
        send_on(&[handle, handle, handle], &with_body),
        send_on(&[handle], &without),
        end_conversation(handle),
        end_with_error(handle, 1, "text"),
        conversation_timer(handle, 1),
        attempts_on(handle),
    ];
    for scope in [Scope::Own, Scope::Joined, Scope::Guest] {
        for size in SEND_SIZES {
            statements.push(send_batch(scope, Opening::Existing(handle), &many[..size]));
            statements.push(send_batch(scope, Opening::Begin(&full), &many[..size]));
        }
    }
    let mut texts: Vec<String> = statements.iter().map(|statement| statement.text().to_owned()).collect();
    texts.extend([SESSION_SETTINGS, SESSION_CHECK, BROKER_INSTANCE].map(str::to_owned));
    texts.extend([save_transaction("r"), rollback_to("r")]);
    texts.extend(receiving_texts());
    texts.extend(table_texts());
    texts.extend(request_texts());
    texts.extend(set_up_texts());
    texts.extend(inspection_texts());
    texts
}

fn set_up_texts() -> Vec<String> {
    let message = MessageTypeName::new("//t/it's] a").unwrap();
    let (contract, service) = (ContractName::new("//t/c").unwrap(), ServiceName::new("//t/it's").unwrap());
    let queue = QueueName::in_schema("dbo", "a ]queue").unwrap();
    let usages = [SentBy::Initiator, SentBy::Target, SentBy::Any].map(|by| (message.clone(), by));
    let settings = QueueSettings::default().retention(true);
    let route = RouteSettings::to("LOCAL").service(service.clone()).broker_instance(uuid::Uuid::from_u128(5));
    let mut texts = vec![
        objects::CATALOG.to_owned(),
        objects::ENABLE_BROKER.to_owned(),
        objects::lock(),
        objects::create_contract(&contract, &usages),
        objects::replace_contract(&contract, &usages),
        objects::create_queue(&queue, &settings),
        objects::alter_queue(&queue, &settings.off()),
        objects::create_service(&service, &queue, std::slice::from_ref(&contract)),
        objects::create_service(&service, &queue, &[]),
        objects::move_service(&service, &queue),
        objects::change_contracts(&service, &["//t/c", "//t/d"], &["//t/e"]),
        objects::create_event("e]", &queue, &service),
        objects::drop_event("e]", &queue),
        objects::create_route("r", &route),
        objects::alter_route("r", &RouteSettings::to("TCP://far:4022")),
        tables::COLUMNS.to_owned(),
        tables::DEAD_LETTERS_SCRIPT.to_owned(),
        tables::add_column("t", "c", &tables::column_type("bigint", true)),
        tables::alter_column("t", "c", &tables::column_type("varbinary(max)", false)),
    ];
    for validation in [Validation::None, Validation::Empty, Validation::WellFormedXml] {
        texts.push(objects::create_message_type(&message, validation));
        texts.push(objects::alter_message_type(&message, validation));
    }
    texts
}

fn request_texts() -> Vec<String> {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::from_u128(2));
    let (spec, queue) = (spec(), QueueName::in_schema("dbo", "a ]queue").unwrap());
    let remembered = Remembered { requester: "web", note: None, timeout_seconds: 30 };
    let (with_body, without) = (message(b"x"), message(b""));
    let statements = [
        request(&spec, &with_body, None),
        request(&spec, &without, Some(remembered)),
        store_reply(handle, 0, "//t/reply", &Body::utf8("x"), true),
        conclude_request(handle, 7, "no"),
        read_request(handle),
        give_up_waiting(handle, -1),
        forget_request(handle),
        forget_old_requests(60, 1_000),
        unfinished_requests("web"),
        still_queued(&queue, handle, 0),
        conversation_exists(handle),
        Statement::new(WAITERS_TABLES),
    ];
    statements.iter().map(|statement| statement.text().to_owned()).collect()
}

fn receiving_texts() -> Vec<String> {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::from_u128(2));
    let group = ConversationGroup::from_uuid(uuid::Uuid::from_u128(4));
    let queue = QueueName::in_schema("dbo", "a ]queue").unwrap();
    let mut texts = Vec::new();
    let selections = [
        Selection::NextGroup,
        Selection::Conversation(handle),
        Selection::Group(group),
        Selection::DueRetries,
        Selection::WorkItem { id: 7, lease: uuid::Uuid::from_u128(5) },
    ];
    let next = Selection::NextGroup;
    let plain = selections.map(|selection| (selection, Bodies::All));
    for (selection, bodies) in plain.into_iter().chain([(next, Bodies::Stored), (next, Bodies::UpTo(9))]) {
        let spec = ReceiveSpec { selection, bodies, ..ReceiveSpec::new(queue.clone()) };
        texts.push(receive(&spec, Some(Duration::from_secs(30))));
        texts.push(receive(&spec, None));
        texts.push(commit_and_receive(&spec));
        texts.push(receive_fewer(&spec, group, 1));
    }
    texts.extend([COMMIT, GIVE_BACK, GIVE_BACK_AND_GO_ON, UNDO_HANDLING].map(str::to_owned));
    texts.extend([TRANSACTION_STATE, ROLL_BACK, MESSAGE_TABLES].map(str::to_owned));
    texts.extend(message_table_texts());
    texts
}

/// The tables of attempts, dead letters, retries and work items.
fn message_table_texts() -> Vec<String> {
    let message = received();
    let service = ServiceName::new("//t/service").unwrap();
    let (lease, second) = (uuid::Uuid::from_u128(6), Duration::from_secs(1));
    let failed = Failed {
        message: received(),
        queue: "[dbo].[q]".to_owned(),
        attempts: 3,
        retries: 1,
        reason: "reason".to_owned(),
    };
    let run = HandlerRun {
        launch_id: lease,
        app: "a".to_owned(),
        host: "h".to_owned(),
        pid: Some(7),
        ended: std::time::SystemTime::UNIX_EPOCH.into(),
        seconds: Some(0.5),
        exit_code: None,
        signal: Some(9),
        stderr_tail: String::new(),
    };
    let mut statements = vec![
        read_attempts(&message),
        exhausted_attempts(3),
        count_attempt(&message, "reason"),
        note_reason(&message, "reason"),
        uncount_attempt(&message),
        forget_attempts(&message),
        forget_attempts_between(&message, &message),
        prune_attempts(1000, second),
        park(&failed, "attempts"),
        schedule_retry(&failed, second),
        put_off_retry(&failed, second),
        next_retry("[dbo].[q]"),
        list_dead_letters(None, 0, 100),
        get_dead_letter(1),
        delete_dead_letter(1),
        hand_back_dead_letter(1),
        purge_dead_letters(Some("[dbo].[q]"), second, 1000),
        claim_work_item("[dbo].[q]", lease, second),
        extend_lease(1, lease, second),
        release_work_item(1, lease, second, "reason"),
        return_work_item(1, lease),
        park_work_item(1, lease, "attempts", "reason"),
        next_work_item("[dbo].[q]"),
        note_handled("[dbo].[q]", lease),
        forget_handled("[dbo].[q]", second, 1000),
        keep_run(&run),
        forget_runs(second, 1000),
        queue_of(&service),
        queue_in_catalog("[q]"),
    ];
    statements.extend(LEDGER_SIZES.map(|size| open_ledger(&vec![received(); size])));
    statements.iter().map(|statement| statement.text().to_owned()).collect()
}

fn table_texts() -> Vec<String> {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::from_u128(2));
    let queue = QueueName::in_schema("dbo", "a ]queue").unwrap();
    let (full, plain) = (spec(), plain_spec());
    let body = message(b"x");
    let identified = (uuid::Uuid::from_u128(5), message(b"x"));
    let key = PlaceKey { pool: "pool".into(), route: 7 };
    let moment = std::time::SystemTime::UNIX_EPOCH.into();
    let statements = [
        delivery_status(handle),
        pending_messages(handle, -1),
        pending_messages_lent(handle, -1),
        count_pending(&[handle, handle]),
        endpoint(handle),
        note_unsent(&full, Some((handle, 3)), &body, Some(-8489), "reason"),
        note_unsent(&plain, None, &body, None, "reason"),
        make_places(&key, &full, 4),
        claim_place(&key, 1),
        claim_free_place(&key, 4),
        fill_place(&key, 1, Some(handle), true, 1, 2),
        claim_place_of("pool", handle),
        send_once(Scope::Joined, handle, &[&identified]),
        send_once(Scope::Guest, handle, &[&identified]),
        prune_sent(60, 1_000),
        delay(Due::After { seconds: 1, milliseconds: 2 }, &full, Some("key"), &body),
        delay(Due::At(moment), &plain, None, &body),
        due_messages(),
        delete_delayed(&[1, 2]),
        list_unsent(0, 100),
        get_unsent(1),
        delete_unsent(1),
        purge_unsent(Duration::from_secs(1), 1000),
    ];
    let mut texts: Vec<String> = statements.iter().map(|statement| statement.text().to_owned()).collect();
    texts.push(format!("BEGIN TRANSACTION; {}", take_cause(&queue, handle)));
    texts.extend([PENDING_RIGHTS, NEXT_DUE].map(str::to_owned));
    texts
}

fn inspection_texts() -> Vec<String> {
    let queue = QueueName::in_schema("dbo", "a ]queue").unwrap();
    let service = ServiceName::new("//t/service").unwrap();
    let here = QueueLocation::from(&queue);
    let there = QueueLocation::in_database("other ] database", queue);
    let mut texts = vec![
        inspection::ready_queues([&here, &there].into_iter().enumerate()),
        inspection::database_state(Some("x")).text().to_owned(),
        inspection::monitor("x", 1).text().to_owned(),
        inspection::service_contracts(&service).text().to_owned(),
        inspection::service_rights(&service, Some("dbo")).text().to_owned(),
    ];
    for location in [&here, &there] {
        texts.extend([inspection::ready(location), inspection::oldest(location), enable_queue(location)]);
        for statement in [
            inspection::queue_rights(location, "x"),
            inspection::queue_settings(location),
            inspection::queues_of(&location.prefix()),
            inspection::depth(location, 1),
            inspection::depth_by_state(location, 1),
            inspection::event_notifications(location, 1),
        ] {
            texts.push(statement.text().to_owned());
        }
    }
    texts
}

/// Pain 35.
#[test]
fn no_look_counts_or_reads_a_queue() {
    let queue = QueueName::in_schema("dbo", "q").unwrap();
    let location = QueueLocation::from(&queue);
    for text in inspection_texts() {
        assert!(!text.contains("COUNT(") && !text.contains("COUNT_BIG("), "{text}");
    }
    assert!(inspection::ready(&location).starts_with("SELECT TOP (1) "));
    assert!(inspection::ready_queues([(0, &location)].into_iter()).contains("WHERE EXISTS (SELECT 1 FROM"));
    assert!(inspection::oldest(&location).contains("(SELECT TOP (1000) message_enqueue_time FROM [dbo].[q]"));
    assert!(inspection::depth(&location, 1).text().contains("FROM sys.internal_tables"));
}

fn received() -> Message {
    Message {
        kind: crate::client::message::MessageKind::User,
        conversation: ConversationHandle::from_uuid(uuid::Uuid::from_u128(2)),
        group: ConversationGroup::from_uuid(uuid::Uuid::from_u128(4)),
        sequence_number: 0,
        service: "//t/target".to_owned(),
        contract: "//t/contract".to_owned(),
        message_type: "//t/request".to_owned(),
        enqueued_at: None,
        priority: 5,
        body: crate::client::Body::empty(),
    }
}

#[test]
fn every_text_passes_microsofts_parser() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/tsql-check");
    if !tool.exists() {
        println!("skipped: {} is not there", tool.display());
        return;
    }
    let script = every_text().join("\nGO\n");
    let mut checker = Command::new(tool)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    checker.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = checker.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn names_are_quoted_and_the_target_is_a_parameter() {
    let spec = spec();
    let statement = begin_dialog(&spec);
    assert!(
        statement.text().contains("FROM SERVICE [//t/it's]] me] TO SERVICE @to, @instance"),
        "{statement:?}"
    );
    assert_eq!(
        statement.declarations(),
        "@to nvarchar(256), @instance nvarchar(128), @related uniqueidentifier"
    );
}

#[test]
fn an_empty_body_is_not_an_argument() {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::nil());
    let empty = message(b"");
    assert!(!send(handle, &empty).text().contains("@body"));
    assert!(!send_on(&[handle], &empty).declarations().contains("@body"));
}

#[test]
fn a_batch_uses_the_smallest_text_that_holds_it_and_its_text_does_not_depend_on_the_messages() {
    let handle = ConversationHandle::from_uuid(uuid::Uuid::nil());
    let owned: Vec<_> = (0..20).map(|size| message(&vec![0; size * 1000])).collect();
    let messages: Vec<_> = owned.iter().collect();
    let text = |count: usize| {
        let statement = send_batch(Scope::Own, Opening::Existing(handle), &messages[..count]);
        assert!(statement.parameters().len() < 2_100);
        (statement.text().to_owned(), statement.declarations())
    };
    assert_eq!(text(6), text(20));
    assert_eq!(text(2), text(5));
    assert_ne!(text(5), text(6));
}

/// Outside a transaction RECEIVE would commit by itself: the messages would be gone.
#[tokio::test]
async fn what_is_received_inside_a_transaction_is_not_received_without_one() {
    let emulator = ssbroker_emulator::Emulator::start().await.unwrap();
    let broker = crate::client::Broker::connect(&emulator.connection_string("msdb")).await.unwrap();
    let objects = "CREATE QUEUE q; CREATE SERVICE [//s] ON QUEUE q ([DEFAULT]); DECLARE @h uniqueidentifier; BEGIN DIALOG @h \
                   FROM SERVICE [//s] TO SERVICE N'//s' WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);";
    broker.batch(objects).await.unwrap();
    let look = "SELECT conversation_handle, conversation_group_id FROM q";
    let rows = broker.execute(look, &[]).await.unwrap();
    let row = rows.first_row().unwrap();
    let queue = QueueName::new("q").unwrap();
    let (handle, group) =
        (row.get("conversation_handle").unwrap(), row.get("conversation_group_id").unwrap());
    let fewer = receive_fewer(&ReceiveSpec::new(queue.clone()), ConversationGroup::from_uuid(group), 1);
    for (text, number) in [(fewer, 3903), (take_cause(&queue, handle), 628)] {
        assert_eq!(broker.batch(&text).await.unwrap_err().server_number(), Some(number), "{text}");
        assert_eq!(broker.execute(look, &[]).await.unwrap().into_rows().len(), 1, "{text}");
    }
}

/// A batch that is given back goes to the latest savepoint of that name, which must be the one before its RECEIVE.
#[test]
fn a_look_at_a_dead_dialog_in_a_batch_does_not_hide_the_savepoint_of_the_batch() {
    let queue = QueueName::in_schema("dbo", "q").unwrap();
    let look = take_cause(&queue, ConversationHandle::from_uuid(uuid::Uuid::from_u128(2)));
    let saved = |text: &str| -> Vec<String> {
        let after = text.split("SAVE TRANSACTION ").skip(1);
        after.map(|rest| rest.split([';', ' ']).next().unwrap().to_owned()).collect()
    };
    let received = saved(&receive(&ReceiveSpec::new(queue.clone()), None));
    assert!(!received.is_empty() && saved(&look).iter().all(|name| !received.contains(name)), "{look}");
}

/// Leases and counts of pruned rows read how many rows a statement has changed; a server may have NOCOUNT as its default.
#[test]
fn a_session_counts_rows_whatever_the_servers_default_is() {
    assert!(SESSION_SETTINGS.contains("NOCOUNT") && SESSION_SETTINGS.ends_with(" OFF;"));
}

#[test]
fn a_callers_values_are_numbered_from_one() {
    let values = [SqlValue::from(7), SqlValue::from(vec![1u8])];
    let statement = Statement::with_values("SELECT @P1, @P2", &values);
    assert_eq!(statement.declarations(), "@P1 int, @P2 varbinary(max)");
}
