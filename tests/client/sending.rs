//! Begin, send, end: what arrives, in which order, at which cost, and what each failure is called.

use std::time::{Duration, Instant};

use ssbroker::client::{
    Body, Broker, BrokerOptions, ErrorKind, MessageKind, MessageTypeName, OutgoingMessage, PoolOptions,
    SqlDateTime, server_codes,
};

use super::objects::Objects;

async fn objects() -> Objects {
    Objects::create(crate::support::start().await).await
}

#[tokio::test]
async fn messages_arrive_in_the_order_of_sending_and_an_empty_body_as_none() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    for text in ["first", "", "third"] {
        dialog.send(&*objects.request, Body::utf8(text)).await.unwrap();
    }
    let received = objects.take(&objects.target_queue).await;
    let bodies: Vec<_> = received.iter().map(|message| message.body.to_utf8().unwrap().to_owned()).collect();
    assert_eq!(bodies, ["first", "", "third"]);
    assert_eq!(received.iter().map(|message| message.sequence_number).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(received.iter().all(|message| message.contract == objects.contract && message.is_user_message()));
}

#[tokio::test]
async fn a_dialog_and_its_first_hundred_messages_cost_one_round_trip() {
    let objects = objects().await;
    let before = objects.broker.requests_sent();
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let (_dialog, outcomes) = builder.begin_with(&objects.messages(100)).await.unwrap();
    assert_eq!(objects.broker.requests_sent() - before, 1);
    assert_eq!(outcomes.len(), 100);
    assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(objects.waiting().await, expected);
}

#[tokio::test]
async fn more_messages_than_fit_one_request_are_still_one_transaction() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    let before = objects.broker.requests_sent();
    let outcomes = dialog.send_many(&objects.messages(250)).await.unwrap();
    assert_eq!(objects.broker.requests_sent() - before, 5, "begin, three requests, commit");
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_sent()).count(), 250);
    assert_eq!(outcomes[249].index(), 249);
    assert_eq!(objects.waiting().await.len(), 250);
}

#[tokio::test]
async fn a_refused_message_has_its_own_outcome_and_the_others_are_sent() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    let mut messages = objects.messages(7);
    messages[2].message_type = MessageTypeName::new(&objects.reply).unwrap();
    messages[4].message_type = MessageTypeName::new("//test/no-such-type").unwrap();
    let outcomes = dialog.send_many(&messages).await.unwrap();
    let numbers: Vec<_> =
        outcomes.iter().map(|outcome| outcome.error().and_then(|e| e.server_number())).collect();
    let (wrong_side, unknown) = (server_codes::TYPE_SENT_BY_TARGET, server_codes::MESSAGE_TYPE_NOT_FOUND);
    assert_eq!(numbers, [None, None, Some(wrong_side), None, Some(unknown), None, None]);
    assert_eq!(objects.waiting().await, ["0", "1", "3", "5", "6"]);
}

#[tokio::test]
async fn a_dialog_that_cannot_be_begun_names_the_missing_object() {
    let objects = objects().await;
    let error = objects.broker.dialog("//test/nobody", &*objects.target).begin().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error}");
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract("//test/no-contract");
    let error = builder.begin_with(&objects.messages(1)).await.unwrap_err();
    assert_eq!(error.server_number(), Some(server_codes::CONTRACT_NOT_FOUND), "{error}");
    let error = objects.broker.dialog("", &*objects.target).begin().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn sending_on_a_dialog_that_the_peer_ended_says_that_it_is_over() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    dialog.send(&*objects.request, Body::utf8("x")).await.unwrap();
    objects.end_target_sides().await;
    let error = dialog.send(&*objects.request, Body::utf8("y")).await.unwrap_err();
    assert!(error.dialog_is_over() && !error.is_retryable(), "{error}");
    let received = objects.take(&objects.initiator_queue).await;
    assert_eq!(received[0].kind, MessageKind::EndDialog);
    dialog.end().await.unwrap();
}

#[tokio::test]
async fn an_error_reaches_the_peer_with_code_and_text() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    dialog.send(&*objects.request, Body::utf8("x")).await.unwrap();
    objects.take(&objects.target_queue).await;
    dialog.end_with_error(4711, "out of <paper> & ink").await.unwrap();
    let received = objects.take(&objects.target_queue).await;
    let MessageKind::Error(error) = &received[0].kind else { panic!("{received:?}") };
    assert_eq!((error.code, error.description.as_str()), (4711, "out of <paper> & ink"));
    assert!(error.is_from_peer());
}

#[tokio::test]
async fn a_message_on_several_conversations_goes_to_all_or_to_none() {
    let objects = objects().await;
    let mut handles = Vec::new();
    for _ in 0..3 {
        let builder =
            objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
        handles.push(builder.begin().await.unwrap().handle());
    }
    objects.broker.send_on(&handles, &*objects.request, Body::utf8("to all")).await.unwrap();
    assert_eq!(objects.waiting().await, ["to all", "to all", "to all"]);
    objects.broker.attach(handles[1]).end().await.unwrap();
    let error = objects.broker.send_on(&handles, &*objects.request, Body::utf8("none")).await.unwrap_err();
    assert!(error.dialog_is_over(), "{error}");
    assert_eq!(objects.waiting().await.len(), 3);
}

#[tokio::test]
async fn a_conversation_timer_puts_a_message_on_our_own_queue() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    dialog.timer(Duration::from_millis(300)).await.unwrap();
    let received = objects.take(&objects.initiator_queue).await;
    assert_eq!(received[0].kind, MessageKind::DialogTimer);
    assert_eq!(received[0].conversation, dialog.handle());
}

#[tokio::test]
async fn a_large_body_is_sent_whole() {
    let objects = objects().await;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, &*objects.target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    let body: Vec<u8> = (0..5_000_000u32).map(|number| (number % 251) as u8).collect();
    let messages =
        [objects.message("small"), OutgoingMessage::new(objects.message("").message_type, body.clone())];
    assert!(dialog.send_many(&messages).await.unwrap().iter().all(|outcome| outcome.is_sent()));
    let received = objects.take(&objects.target_queue).await;
    assert!(received[1].body.as_bytes() == body);
}

#[tokio::test]
async fn a_dropped_request_never_leaves_its_answer_to_the_next_one() {
    let objects =
        Objects::create_with(crate::support::start().await, |options| options.with_max_pool_size(1)).await;
    for number in 0..20 {
        let slow = objects.broker.batch("WAITFOR DELAY '00:00:00.050'; SELECT 'stale' AS answer");
        drop(tokio::time::timeout(Duration::from_millis(number * 4), slow).await);
        let results =
            objects.broker.execute("SELECT @P1 AS answer", &[(number as i32).into()]).await.unwrap();
        assert_eq!(results.first_row().unwrap().get::<i32>("answer").unwrap(), number as i32);
    }
}

#[tokio::test]
async fn a_request_beyond_the_command_timeout_has_an_unknown_outcome_and_the_pool_goes_on() {
    let change = |options: BrokerOptions| {
        options.with_max_pool_size(1).with_command_timeout(Duration::from_millis(200))
    };
    let objects = Objects::create_with(crate::support::start().await, change).await;
    let error = objects.broker.execute("WAITFOR DELAY '00:01:00'", &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitUnknown, "{error}");
    objects.broker.execute("SELECT 1", &[]).await.unwrap();
}

#[tokio::test]
async fn a_transaction_left_open_by_a_statement_does_not_reach_the_next_one() {
    let objects =
        Objects::create_with(crate::support::start().await, |options| options.with_max_pool_size(1)).await;
    let error = objects.broker.execute("BEGIN TRANSACTION", &[]).await.unwrap_err();
    assert_eq!(error.server_number(), Some(server_codes::TRANSACTION_COUNT_MISMATCH), "{error}");
    objects.broker.batch("BEGIN TRANSACTION").await.unwrap();
    let results = objects.broker.batch("SELECT @@TRANCOUNT AS open_transactions").await.unwrap();
    assert_eq!(results.first_row().unwrap().get::<i32>(0).unwrap(), 0);
}

#[tokio::test]
async fn values_of_every_type_come_back_as_they_went() {
    let objects = objects().await;
    let values = [true.into(), 7.into(), (1i64 << 40).into(), "größe".into(), vec![0u8, 255].into()];
    let sql = "SELECT @P1 AS a, @P2 AS b, @P3 AS c, @P4 AS d, @P5 AS e";
    let results = objects.broker.execute(sql, &values).await.unwrap();
    assert_eq!(results.first_row().unwrap().values(), values);
}

#[tokio::test]
async fn a_wrong_password_fails_at_once_and_does_not_print_it() {
    let backend = crate::support::start().await;
    let text = backend.connection_string();
    let started = Instant::now();
    let error = Broker::connect(&format!("{text};Password=not-the-one")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LoginFailed, "{error:?}");
    assert!(!format!("{error} {error:?}").contains("not-the-one"));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn the_broker_instance_is_known_and_enabled() {
    let objects = objects().await;
    let instance = objects.broker.instance().await.unwrap();
    assert!(instance.is_enabled && !instance.id.is_nil() && !instance.database.is_empty());
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let here = builder.broker_instance(instance.id.to_string()).lifetime(Duration::from_secs(60));
    let (_dialog, outcomes) = here.begin_with(&objects.messages(1)).await.unwrap();
    assert!(outcomes[0].is_sent());
    assert_eq!(objects.waiting().await.len(), 1);
}

/// A `uniqueidentifier` has its first three parts in little-endian order on the wire, and only there.
#[tokio::test]
async fn identifiers_and_moments_mean_the_same_on_both_sides() {
    let objects = objects().await;
    let id = uuid::Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    let moment = SqlDateTime { days: 738_000, nanoseconds: 3_600_000_000_100, offset_minutes: Some(-150) };
    let sql = "SELECT @P1 AS id, CAST(@P1 AS nvarchar(36)) AS text, CAST(@P1 AS binary(16)) AS bytes, @P2 AS moment,
               CASE WHEN @P2 = @P3 THEN 1 ELSE 0 END AS same";
    let elsewhere = SqlDateTime { offset_minutes: Some(60), ..moment };
    let results = objects.broker.execute(sql, &[id.into(), moment.into(), elsewhere.into()]).await.unwrap();
    let row = results.first_row().unwrap();
    assert_eq!(row.get::<uuid::Uuid>("id").unwrap(), id);
    assert_eq!(row.get::<String>("text").unwrap(), "00112233-4455-6677-8899-AABBCCDDEEFF");
    let bytes = [0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
    assert_eq!(row.get::<Vec<u8>>("bytes").unwrap(), bytes);
    assert_eq!(row.get::<SqlDateTime>("moment").unwrap(), moment);
    assert_eq!(row.get::<i32>("same").unwrap(), 1, "instants are compared, not clocks");
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_before_anything_is_sent_whatever_the_way() {
    let backend = crate::support::start().await;
    let objects = Objects::create_with(backend, |options| options.with_max_body(10)).await;
    let (fits, large) = (objects.message("0123456789"), objects.message("0123456789x"));
    let builder =
        || objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let dialog = builder().begin().await.unwrap();
    let pool = objects.broker.dialog_pool(PoolOptions::default()).unwrap();
    let destination = objects.destination();
    let both = [fits.clone(), large.clone()];
    let errors = [
        dialog.send(&*objects.request, large.body.clone()).await.unwrap_err(),
        dialog.send_many(&both).await.unwrap_err(),
        builder().begin_with(&both).await.unwrap_err(),
        objects.broker.send_on(&[dialog.handle()], &*objects.request, large.body.clone()).await.unwrap_err(),
        pool.send(&destination, &both).await.unwrap_err(),
        pool.send_once(&destination, &[(uuid::Uuid::new_v4(), large.clone())]).await.unwrap_err(),
        pool.send_after(&destination, Duration::ZERO, &both).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::MessageRefused, "{error}");
        assert!(error.to_string().contains("11 bytes, more than the 10 allowed"), "{error}");
    }
    assert_eq!(objects.waiting().await.len(), 0);
    pool.send(&destination, &[fits]).await.unwrap();
    assert_eq!(objects.waiting().await, ["0123456789"]);
    assert_eq!(objects.broker.limits().sent_body_bytes, Some(10));
}
