//! What the library says about messages that were sent and did not arrive (C001, C002, C003, C009, C049), and draining.

use std::time::Duration;

use ssbroker::client::{
    Body, Broker, ConversationState, Destination, ErrorKind, MessageKind, PoolOptions, server_codes,
};

use super::stage::Stage;
use crate::support::Embedded;

async fn send_to(stage: &Stage, target: &str) -> ssbroker::client::Dialog {
    let objects = &stage.objects;
    let dialog = objects
        .broker
        .dialog(&*objects.initiator, target)
        .contract(&*objects.contract)
        .begin()
        .await
        .unwrap();
    dialog.send(&*objects.request, Body::bytes(vec![1u8])).await.unwrap();
    dialog
}

async fn create_target(stage: &Stage, name: &str) {
    let objects = &stage.objects;
    stage
        .run(&format!("CREATE SERVICE [{name}] ON QUEUE [{}] ([{}])", objects.target_queue, objects.contract))
        .await;
}

#[tokio::test]
async fn c001_a_misspelt_target_is_undelivered_with_a_reason_until_it_is_created() {
    let stage = Stage::start().await;
    let wrong = format!("{}x", stage.objects.target);
    let dialog = send_to(&stage, &wrong).await;
    let status = stage.objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!((status.state, status.pending), (Some(ConversationState::Conversing), Some(1)));
    assert!(
        status.is_delivered() == Some(false) && status.reason.contains("no service of that name"),
        "{status:?}"
    );
    assert_eq!(stage.number(&format!("SELECT COUNT(*) FROM [{}]", stage.objects.initiator_queue)).await, 0);
    create_target(&stage, &wrong).await;
    let status = stage.objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!((status.is_delivered(), status.reason.as_str()), (Some(true), ""), "{status:?}");
    assert_eq!(stage.objects.waiting().await.len(), 1);
}

#[tokio::test]
async fn c002_a_broker_that_is_off_keeps_the_message_and_require_enabled_refuses_before() {
    let stage = Stage::on(Embedded::start().await, |options| options.with_max_pool_size(1)).await;
    let master = Broker::connect(&stage.backend.embedded.emulator.connection_string("master")).await.unwrap();
    let set = async |what: &str| {
        master.batch(&format!("ALTER DATABASE ssb1 SET {what} WITH ROLLBACK IMMEDIATE")).await.unwrap();
        assert!(stage.objects.broker.instance().await.is_err(), "its session was killed");
    };
    set("DISABLE_BROKER").await;
    let strict = stage.pool(PoolOptions::default().require_enabled(true));
    let error = strict.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokerDisabled, "{error}");
    let dialog = send_to(&stage, &stage.objects.target).await;
    let status = stage.objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert!(status.pending == Some(1) && status.reason.contains("disabled in the sender"), "{status:?}");
    set("ENABLE_BROKER").await;
    let status = stage.objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!(status.is_delivered(), Some(true), "{status:?}");
    assert_eq!(stage.objects.waiting().await.len(), 1);
    assert!(
        strict.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap()[0].is_sent()
    );
}

#[tokio::test]
async fn c003_a_target_in_another_letter_case_is_another_service_while_queues_follow_the_collation() {
    let stage = Stage::start().await;
    let dialog = send_to(&stage, &stage.objects.target.to_uppercase()).await;
    let status = stage.objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!(status.is_delivered(), Some(false), "{status:?}");
    let queue = stage.objects.target_queue.to_uppercase();
    assert_eq!(stage.number(&format!("SELECT COUNT(*) FROM DBO.[{queue}]")).await, 0);
    send_to(&stage, &stage.objects.target).await;
    assert_eq!(stage.objects.take(&queue).await.len(), 1);
}

#[tokio::test]
async fn c009_a_contract_the_target_does_not_offer_comes_back_as_an_error_and_is_not_resent() {
    let stage = Stage::start().await;
    stage.run(&format!("CREATE SERVICE [//bare] ON QUEUE [{}]", stage.objects.target_queue)).await;
    let bare = Destination::new(&*stage.objects.initiator, "//bare").unwrap();
    let bare = bare.contract(&*stage.objects.contract).unwrap();
    let pool = stage.pool(PoolOptions::default().width(1));
    assert!(pool.send(&bare, &[stage.objects.message("m")]).await.unwrap()[0].is_sent());
    let dialog = stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints WHERE state = 'ER'").await;
    assert_eq!(dialog, 1);
    let handle = {
        let sql = "SELECT conversation_handle FROM sys.conversation_endpoints";
        stage.objects.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get(0).unwrap()
    };
    let status = stage.objects.broker.delivery_status(handle).await.unwrap();
    assert_eq!((status.state, status.is_delivered()), (Some(ConversationState::Failed), Some(false)));
    let error =
        stage.objects.broker.attach(handle).send(&*stage.objects.request, Body::empty()).await.unwrap_err();
    assert_eq!(error.server_number(), Some(server_codes::CANNOT_SEND_IN_STATE), "{error}");
    stage.repair_with_a_reader(&pool, Duration::from_millis(50)).await;
    assert_eq!(stage.unsent().await, [(Some(-8408), "m".to_owned())]);
    assert_eq!(stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints").await, 0, "ended once");
}

/// Specification section 2.8: ending with an error drops what has not left; a plain end sends it first.
#[tokio::test]
async fn c049_an_end_with_an_error_drops_what_is_pending_and_a_plain_end_does_not() {
    for with_error in [true, false] {
        let stage = Stage::start().await;
        let dialog = send_to(&stage, &stage.objects.target).await;
        let taken = stage.objects.take(&stage.objects.target_queue).await;
        let target = stage.objects.broker.attach(taken[0].conversation);
        let queue = stage.objects.initiator_queue.clone();
        stage.run(&format!("ALTER QUEUE [{queue}] WITH STATUS = OFF")).await;
        for _ in 0..3 {
            target.send(&*stage.objects.reply, Body::utf8("r")).await.unwrap();
        }
        if with_error {
            target.end_with_error(1, "e").await.unwrap()
        } else {
            target.end().await.unwrap()
        }
        stage.run(&format!("ALTER QUEUE [{queue}] WITH STATUS = ON")).await;
        let received = stage.objects.take(&queue).await;
        let replies = received.iter().filter(|message| message.kind == MessageKind::User).count();
        assert_eq!(replies, if with_error { 0 } else { 3 });
        assert!(received.last().unwrap().ends_conversation());
        dialog.end().await.unwrap();
    }
}

/// C049 by the library's own words: the state is read also after the end.
#[tokio::test]
async fn an_ended_or_unknown_conversation_has_no_state() {
    let stage = Stage::start().await;
    let dialog = send_to(&stage, &stage.objects.target).await;
    let handle = dialog.handle();
    stage.objects.end_target_sides().await;
    let status = stage.objects.broker.delivery_status(handle).await.unwrap();
    assert_eq!(status.state, Some(ConversationState::DisconnectedInbound));
    dialog.end().await.unwrap();
    let status = stage.objects.broker.delivery_status(handle).await.unwrap();
    assert_eq!((status.state, status.is_delivered()), (None, Some(false)));
}

#[tokio::test]
async fn drain_waits_until_everything_is_delivered_and_says_how_much_is_not() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(2));
    pool.drain(Duration::ZERO).await.unwrap();
    stage.target_takes_messages(false).await;
    for _ in 0..2 {
        pool.send(&stage.objects.destination(), &stage.objects.messages(3)).await.unwrap();
    }
    let error = pool.drain(Duration::from_millis(30)).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Transient && error.to_string().contains("6 messages"), "{error}");
    let waiting = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.drain(Duration::from_secs(10)).await })
    };
    stage.target_takes_messages(true).await;
    waiting.await.unwrap().unwrap();
    assert_eq!(stage.objects.waiting().await.len(), 6);
}

/// C104: an empty view is not an empty transmission queue.
#[tokio::test]
async fn c104_a_login_that_may_not_see_pending_messages_is_told_so() {
    let stage = Stage::start().await;
    let master = Broker::connect(&stage.backend.embedded.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE LOGIN plain WITH PASSWORD = 'Plain-pw-1'").await.unwrap();
    stage.run("CREATE USER plain FOR LOGIN plain; GRANT VIEW DEFINITION TO plain").await;
    let dialog = send_to(&stage, &format!("{}x", stage.objects.target)).await;
    let text = stage.backend.embedded.emulator.connection_string("ssb1");
    let plain = Broker::connect(&format!("{text};User ID=plain;Password=Plain-pw-1")).await.unwrap();
    let status = plain.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!(status.pending, None, "{status:?}");
    assert_ne!(status.is_delivered(), Some(true));
}

/// FIX-2 with the receiving database's broker off: the message waits in the sender's database (specification 4.3).
#[tokio::test]
async fn a_target_database_whose_broker_is_off_is_named_as_the_reason() {
    let stage = Stage::start().await;
    let b = stage.far_database().await;
    let master = stage.master().await;
    let objects = &stage.objects;
    let dialog = send_to(&stage, "//far").await;
    let status = objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!(status.is_delivered(), Some(true), "{status:?}");
    drop(b);
    master.batch("ALTER DATABASE b SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE").await.unwrap();
    dialog.send(&*objects.request, Body::utf8("2")).await.unwrap();
    let status = objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert!(status.pending == Some(1) && status.reason.contains("unavailable"), "{status:?}");
    master.batch("ALTER DATABASE b SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE").await.unwrap();
    let status = objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!(status.is_delivered(), Some(true), "{status:?}");
}
