//! Cases of reported problems about sending and pools that need nothing but a database (C005, C007, C008, C014, C018, C020),
//! and the pool's limits.

use std::time::{Duration, Instant};

use ssbroker::client::{Body, MessageKind, MessageTypeName, OutgoingMessage, PoolOptions, server_codes};

use super::stage::Stage;

async fn begin(stage: &Stage) -> ssbroker::client::Dialog {
    let objects = &stage.objects;
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target);
    builder.contract(&*objects.contract).begin().await.unwrap()
}

#[tokio::test]
async fn c005_a_null_body_is_refused_and_an_empty_one_arrives_as_no_body() {
    let stage = Stage::start().await;
    let dialog = begin(&stage).await;
    let (handle, request) = (dialog.handle(), &stage.objects.request);
    let send = format!("SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{request}]");
    let refused =
        stage.objects.broker.batch(&format!("DECLARE @b varbinary(max); {send} (@b)")).await.unwrap_err();
    assert_eq!(refused.server_number(), Some(server_codes::BODY_NULL), "{refused}");
    for body in [" (0x)", " (N'')", ""] {
        stage.run(&format!("{send}{body}")).await;
    }
    dialog.send(&**request, Body::empty()).await.unwrap();
    dialog.send(&**request, Body::bytes(Vec::new())).await.unwrap();
    dialog.send(&**request, Body::bytes(vec![0u8])).await.unwrap();
    let bodies: Vec<Vec<u8>> = stage
        .objects
        .take(&stage.objects.target_queue)
        .await
        .into_iter()
        .map(|message| message.body.into_bytes())
        .collect();
    assert_eq!(bodies, [vec![], vec![], vec![], vec![], vec![], vec![0]]);
}

#[tokio::test]
async fn c007_an_xml_value_travels_with_a_byte_order_mark_and_is_read_without() {
    let stage = Stage::start().await;
    let dialog = begin(&stage).await;
    let (handle, request) = (dialog.handle(), &stage.objects.request);
    dialog.send(&**request, Body::bytes(b"\xef\xbb\xbf<a/>".to_vec())).await.unwrap();
    stage
        .run(&format!("DECLARE @x nvarchar(max) = NCHAR(65279) + N'<a/>'; SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{request}] (@x)"))
        .await;
    let received = stage.objects.take(&stage.objects.target_queue).await;
    assert_eq!(received[1].body.as_bytes()[..4], [0xff, 0xfe, 0x3c, 0x00]);
    for message in received {
        assert_eq!(message.body.to_xml_text().unwrap(), "<a/>");
    }
}

#[tokio::test]
async fn c008_bodies_of_every_size_arrive_byte_for_byte() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let request = MessageTypeName::new(&*stage.objects.request).unwrap();
    let sizes = [0, 1, 255, 256, 257, 4_000, 4_001, 8_000, 8_001, 1 << 20, 20 << 20];
    let pattern = |size: usize| (0..size).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
    let messages: Vec<_> =
        sizes.iter().map(|size| OutgoingMessage::new(request.clone(), pattern(*size))).collect();
    let outcomes = pool.send(&stage.objects.destination(), &messages).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
    let received = stage.objects.take(&stage.objects.target_queue).await;
    assert_eq!(received.len(), sizes.len());
    for (message, size) in received.iter().zip(sizes) {
        assert!(message.body.as_bytes() == pattern(size), "{size}");
    }
    let dialog = begin(&stage).await;
    let (handle, request) = (dialog.handle(), &stage.objects.request);
    stage
        .run(&format!(
            "DECLARE @b varbinary = 0x0102; SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{request}] (@b)"
        ))
        .await;
    assert_eq!(stage.objects.take(&stage.objects.target_queue).await[0].body.as_bytes(), [1]);
}

/// The counts of C014; its rates need a server.
#[tokio::test]
async fn c014_a_pool_leaves_a_handful_of_endpoints_where_a_dialog_per_message_leaves_one_each() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(4));
    for _ in 0..20 {
        pool.send(&stage.objects.destination(), &stage.objects.messages(50)).await.unwrap();
    }
    let pooled = stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints").await;
    for _ in 0..20 {
        let dialog = begin(&stage).await;
        dialog.send(&*stage.objects.request, Body::utf8("x")).await.unwrap();
    }
    let all = stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints").await;
    println!(
        "C014: 1000 messages on {pooled} endpoints; 20 messages on dialogs of their own: {}",
        all - pooled
    );
    assert!(pooled <= 8 && all - pooled == 40);
}

/// The target ends first, always; nothing is sent on a dialog after its end-of-stream message.
#[tokio::test]
async fn c018_recycling_by_age_lets_the_target_end_first_and_leaves_nothing() {
    let stage = Stage::start().await;
    let end_of_stream = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let pool =
        stage.pool(PoolOptions::default().width(1).max_age(Duration::ZERO).end_of_stream(end_of_stream));
    let sending = async {
        for number in 0..10 {
            pool.send(&stage.objects.destination(), &[stage.objects.message(&number.to_string())])
                .await
                .unwrap();
        }
        pool.close().await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), pool.drained()).await.unwrap();
    };
    let mut texts = Vec::new();
    let mut dialogs = 0;
    let handling = async {
        while texts.len() < 10 || dialogs < pool.stats().begun {
            let messages = stage.objects.take(&stage.objects.target_queue).await;
            let last = messages.len() - 1;
            for (at, message) in messages.into_iter().enumerate() {
                if message.message_type == stage.objects.end_of_stream {
                    assert_eq!(at, last, "something was sent after the end of the stream");
                    stage.objects.broker.attach(message.conversation).end().await.unwrap();
                    dialogs += 1;
                } else {
                    texts.push(message.body.to_utf8().unwrap().to_owned());
                }
            }
        }
    };
    let ending = stage.repair_with_a_reader(&pool, Duration::from_millis(500));
    let ((), (), repairs) = tokio::join!(sending, handling, ending);
    let stats = pool.stats();
    println!("C018: {} dialogs, each ended by the target first; leaked {}", stats.begun, stats.leaked);
    assert!(
        stats.begun == 10 && stats.retired == stats.begun && repairs.len() as u64 == stats.begun,
        "{stats:?}"
    );
    assert_eq!((stats.leaked, stats.retiring, stats.open), (0, 0, 0));
    texts.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(texts, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(
        stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1").await,
        0
    );
    let unset = "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE state <> 'CD' OR security_timestamp < '2000-01-01'";
    assert_eq!(stage.number(unset).await, 0);
}

#[tokio::test]
async fn c020_retention_keeps_what_was_received_until_the_dialog_ends() {
    let stage = Stage::start().await;
    let queue = &stage.objects.target_queue;
    stage.run(&format!("ALTER QUEUE [{queue}] WITH RETENTION = ON")).await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &stage.objects.messages(1_000)).await.unwrap();
    let received = stage.objects.take(queue).await;
    assert_eq!(received.len(), 1_000);
    let kept = format!("SELECT COUNT(*) FROM [{queue}] WHERE status = 0");
    assert_eq!(stage.number(&kept).await, 1_000);
    let again = stage.objects.broker.batch(&format!("RECEIVE * FROM [{queue}]")).await.unwrap();
    assert_eq!(again.into_rows().len(), 0);
    stage.objects.broker.attach(received[0].conversation).end().await.unwrap();
    assert_eq!(stage.number(&kept).await, 0);
}

#[tokio::test]
async fn a_dialog_is_retired_by_bytes_and_by_age_as_by_messages() {
    let stage = Stage::start().await;
    let end = || MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let by_bytes = stage.pool(PoolOptions::default().width(1).max_bytes(100).end_of_stream(end()));
    let message = stage.objects.message(&"x".repeat(60));
    for _ in 0..4 {
        by_bytes.send(&stage.objects.destination(), std::slice::from_ref(&message)).await.unwrap();
    }
    let stats = by_bytes.stats();
    assert_eq!((stats.begun, stats.retired, stats.open), (2, 2, 0), "{stats:?}");
    let by_age = stage.pool(PoolOptions::default().width(1).max_age(Duration::ZERO).end_of_stream(end()));
    for _ in 0..3 {
        by_age.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    }
    let stats = by_age.stats();
    assert_eq!((stats.begun, stats.retired, stats.open), (3, 2, 1), "{stats:?}");
}

#[tokio::test]
async fn a_dialog_begun_or_ended_by_the_pool_never_gets_the_other_sides_end_of_stream_twice() {
    let stage = Stage::start().await;
    let end = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let pool = stage.pool(PoolOptions::default().width(1).max_sends(1).end_of_stream(end));
    for _ in 0..5 {
        pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    }
    pool.close().await.unwrap();
    let ends = format!(
        "SELECT COUNT(*) FROM [{}] WHERE message_type_name = N'{}'",
        stage.objects.target_queue, stage.objects.end_of_stream
    );
    assert_eq!(stage.number(&ends).await, 5);
    assert_eq!(stage.objects.end_target_sides().await.len(), 5);
    let ended = stage.repair_with_a_reader(&pool, Duration::from_millis(100)).await;
    assert_eq!((ended.len(), pool.retiring().len(), pool.leaked()), (5, 0, 0));
    let queue = stage.objects.take(&stage.objects.initiator_queue);
    let nothing = tokio::time::timeout(Duration::from_millis(20), queue).await;
    assert!(nothing.is_err() || nothing.unwrap().iter().all(|message| message.kind != MessageKind::User));
}

#[tokio::test]
async fn a_rate_is_kept_to_over_all_calls_of_the_pool() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(4).rate(200.0, 20));
    let started = Instant::now();
    let calls = (0..6).map(|_| {
        let (pool, destination, messages) =
            (pool.clone(), stage.objects.destination(), stage.objects.messages(10));
        tokio::spawn(async move { pool.send(&destination, &messages).await.unwrap() })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let elapsed = started.elapsed();
    assert_eq!(stage.objects.waiting().await.len(), 60);
    assert!(
        elapsed >= Duration::from_millis(190),
        "60 messages with 20 at once and 200 a second in {elapsed:?}"
    );
}
