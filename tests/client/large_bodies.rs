//! Case C131: bodies and answers of every size, however they fall into packets; what they cost; and a limit for them.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use ssbroker::client::{Body, Broker, BrokerOptions, Error, ErrorKind, MessageTypeName, SqlValue};
use tokio::io::AsyncReadExt;

use super::connections::{broker, plain};
use super::fake_server::{FakeServer, LARGEST, Recording};
use super::objects::Objects;
use super::work::{child_test, memory};
use crate::support::{Backend, Embedded};

const LARGE: usize = 64 << 20;
/// What a process grows by besides bodies: buffers of packets, first use of code.
const BESIDES: usize = 8 << 20;

/// Sizes around the boundaries of a packet, and of what fits into a column.
fn sizes(packet_size: usize) -> Vec<usize> {
    (packet_size - 20..=packet_size + 20).chain([0, 1, 7_999, 8_000, 8_001]).collect()
}

/// Bytes that differ from place to place and from size to size.
fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 31 + size) as u8).collect()
}

#[tokio::test]
async fn c131_bodies_around_packet_boundaries_arrive_whole() {
    let emulator = Arc::new(Embedded::start().await);
    for packet_size in [512, 4_096, 32_767] {
        let text = format!("{};Packet Size={packet_size}", emulator.connection_string());
        let options = |_| text.parse::<BrokerOptions>().unwrap();
        let objects = Objects::create_with(Arc::clone(&emulator) as Arc<dyn Backend>, options).await;
        let mut sizes = sizes(packet_size);
        sizes.extend((sizes.len()..200).map(|number| number * 7_919 % 20_000));
        if packet_size == 4_096 {
            sizes.push(LARGE);
        }
        let request = MessageTypeName::new(&*objects.request).unwrap();
        let dialog = objects.begin_with(&[]).await;
        for size in &sizes {
            dialog.send(&request, Body::bytes(bytes(*size))).await.unwrap();
        }
        let mut receiver = objects.broker.receive(objects.queue()).max_messages(201).open().await.unwrap();
        let batch = receiver.next().await.unwrap();
        let hashes = batch.messages().iter().map(|message| Sha256::digest(message.body.as_bytes()));
        let expected = sizes.iter().map(|size| Sha256::digest(bytes(*size)));
        assert!(hashes.eq(expected), "packet size {packet_size}");
        batch.commit().await.unwrap();
    }
}

#[tokio::test]
async fn c131_values_of_streamed_types_and_long_batches_arrive_whole() {
    let embedded = Embedded::start().await;
    for packet_size in [512, 4_096, 32_767] {
        let text = format!("{};Packet Size={packet_size}", embedded.connection_string());
        let broker = Broker::with_options(plain(&text)).await.unwrap();
        for size in sizes(packet_size) {
            let text: String = bytes(size).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
            let xml = format!("<a>{text}ß</a>");
            let values =
                [SqlValue::from(text.as_str()), SqlValue::from(xml.as_str()), SqlValue::from(bytes(size))];
            let echo = "SELECT @P1 AS text, CAST(@P2 AS xml) AS xml, @P3 AS bytes, 7 AS last";
            let results = broker.execute(echo, &values).await.unwrap();
            let row = results.first_row().unwrap();
            let seen: (String, String) = (row.get("text").unwrap(), row.get("xml").unwrap());
            assert!(seen == (text, xml) && row.get::<Vec<u8>>("bytes").unwrap() == bytes(size), "{size}");
            assert_eq!(row.get::<i32>("last").unwrap(), 7);
        }
    }
    let broker = broker(&embedded.emulator, |options| options).await;
    let long = format!("DECLARE @n int = 7; {} SELECT @n AS number", "SET @n = @n + 0; ".repeat(20_000));
    assert!(long.len() > 300 << 10);
    assert_eq!(broker.batch(&long).await.unwrap().first_row().unwrap().get::<i32>("number").unwrap(), 7);
}

/// Names, texts and values of many types, then an error: whatever may lie across a boundary.
const VARIED: &str = "SELECT N'größe' AS [ein langer Name], CAST(N'text' AS nvarchar(max)) AS t, CAST(0x010203 AS varbinary(max)) AS \
     b, CAST('<a/>' AS xml) AS x, NEWID() AS id, SYSUTCDATETIME() AS moment, 1.25 AS d, CAST(NULL AS int) AS nothing, \
     CAST(7 AS bigint) AS large; PRINT 'information'; SELECT 'second' AS s; RAISERROR('the end', 16, 1)";

async fn ask(options: BrokerOptions) -> Result<String, Error> {
    let broker = Broker::with_options(options).await?;
    broker.batch(VARIED).await.map(|results| format!("{:?}", results.into_rows()))
}

/// Case C131: no value, name or text may depend on where its answer is cut into packets, nor on when these come.
#[tokio::test]
async fn c131_an_answer_may_be_cut_into_packets_anywhere() {
    let embedded = Embedded::start().await;
    let connection = embedded.connection_string();
    let recorded = Recording::of(embedded.emulator.address(), async |port| {
        let there = connection.replace(&embedded.emulator.address().port().to_string(), &port.to_string());
        ask(plain(&there)).await.unwrap_err();
    })
    .await;
    let (server, script) = (FakeServer::start().await, recorded[0].script());
    server.follow([script.clone()]).await;
    let expected = ask(server.options()).await.unwrap_err();
    assert!(expected.to_string().contains("50000"), "{expected}");
    let mut cuts = 0;
    for (at, answer) in recorded[0].answers.iter().enumerate() {
        let cuts_in_two = (1..answer.content.len()).map(|cut| answer.in_two_packets(cut));
        let all_cuts: Vec<Vec<u8>> = cuts_in_two.chain([answer.in_packets(1)]).collect();
        for part in all_cuts {
            let mut script = script.clone();
            script.parts[at] = part;
            server.follow([script]).await;
            let error = ask(server.options()).await.unwrap_err();
            assert_eq!(format!("{error:?}"), format!("{expected:?}"));
            cuts += 1;
        }
    }
    println!("C131: {cuts} ways of cutting {} answers", recorded[0].answers.len());
    assert!(cuts > 500 && recorded[0].answers.iter().all(|answer| answer.content.len() < LARGEST));
}

/// Case C131: what receiving or sending a large body costs, measured in a process of its own.
#[tokio::test]
async fn c131_a_large_body_costs_at_most_three_times_its_size() {
    let embedded = Arc::new(Embedded::start().await);
    let objects = Objects::create(Arc::clone(&embedded) as Arc<dyn Backend>).await;
    let dialog = objects.begin_with(&[]).await;
    dialog.send(&*objects.request, Body::utf8("first")).await.unwrap();
    dialog.send(&*objects.request, Body::bytes(bytes(LARGE))).await.unwrap();
    let target = &objects.target_queue;
    for (verb, name) in [("receive", target), ("send", &dialog.handle().to_string())] {
        let task = [verb, name, &objects.request, &embedded.connection_string()].join("|");
        let mut child = child_test("client::large_bodies::measured_process", TASK, &task);
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(child.wait().await.unwrap().success(), "{said}");
        let growth: usize = said.split("growth=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
        println!("C131: to {verb} {} MiB took {} MiB", LARGE >> 20, growth >> 20);
        assert!(growth <= 3 * LARGE + BESIDES, "{verb}: {growth}");
    }
}

const TASK: &str = "SSBROKER_TEST_LARGE_BODY";

/// Not a test: the process whose memory is measured.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn measured_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let [verb, name, request, connection] = task.splitn(4, '|').collect::<Vec<_>>()[..] else {
        panic!("{task}")
    };
    let broker = Broker::connect(connection).await.unwrap();
    let before;
    if verb == "receive" {
        let queue = ssbroker::client::QueueName::in_schema("dbo", name).unwrap();
        let mut receiver = broker.receive(queue).max_messages(1).open().await.unwrap();
        receiver.next().await.unwrap().commit().await.unwrap();
        before = memory("VmRSS");
        let batch = receiver.next().await.unwrap();
        assert_eq!(batch.messages()[0].body.as_bytes().len(), LARGE);
        batch.give_back().await.unwrap();
    } else {
        let dialog = broker.attach(uuid::Uuid::parse_str(name).unwrap().into());
        dialog.send(request, Body::utf8("small")).await.unwrap();
        before = memory("VmRSS");
        dialog.send(request, Body::bytes(vec![7; LARGE])).await.unwrap();
    }
    println!("growth={};", memory("VmHWM") - before);
}

/// Case C131: the limit is the receiver's; the message stays for whoever may take it, and no roll back is counted.
#[tokio::test]
async fn c131_a_body_beyond_the_receivers_limit_is_a_typed_error_and_stays_on_its_queue() {
    let objects = Objects::create(crate::support::start().await).await;
    let dialog = objects.begin_with(&["a", "b"]).await;
    dialog.send(&*objects.request, Body::bytes(bytes(101))).await.unwrap();
    dialog.send(&*objects.request, Body::bytes(bytes(100))).await.unwrap();
    let limited = || objects.broker.receive(objects.queue()).max_body(100).open();
    let mut receiver = limited().await.unwrap();
    let batch = receiver.next().await.unwrap();
    let conversation = batch.messages()[0].conversation;
    assert_eq!(batch.messages().len(), 2, "those before it");
    assert!(batch.commit_and_next().await.unwrap().is_none());
    for _ in 0..6 {
        let error = receiver.next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BodyTooLarge, "{error:?}");
        assert_eq!(error.conversation(), Some(conversation));
        assert!(error.to_string().contains("101 bytes") && !error.is_connection_lost(), "{error}");
    }
    assert!(objects.is_on().await);
    let mut larger =
        objects.broker.receive(objects.queue()).max_body(101).max_messages(1).open().await.unwrap();
    let batch = larger.next().await.unwrap();
    assert_eq!(batch.messages()[0].body.as_bytes(), bytes(101));
    batch.commit().await.unwrap();
    let batch = receiver.next().await.unwrap();
    assert_eq!(batch.messages()[0].body.as_bytes(), bytes(100), "no longer than the limit");
}
