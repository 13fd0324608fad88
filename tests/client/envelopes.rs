//! Envelopes and typed bodies on their way through the broker.

use ssbroker::client::{Body, Envelope, QueueName, TraceContext};

use super::objects::Objects;

/// Acceptance of the trace context: it crosses SEND and RECEIVE and back, and raw bodies stay untouched.
#[tokio::test]
async fn the_trace_context_crosses_send_and_receive_and_raw_bodies_stay_raw() {
    let objects = Objects::create(crate::support::start().await).await;
    let dialog = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let dialog = dialog.begin().await.unwrap();
    let trace =
        TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Some("a=1")).unwrap();
    let question =
        Envelope::new(Body::json(&7).unwrap()).content_type("application/json").unwrap().traced(&trace);
    dialog.send(&*objects.request, question.clone()).await.unwrap();
    let raw = b"\x89SSB raw".to_vec();
    dialog.send(&*objects.request, raw.clone()).await.unwrap();

    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let mut batch = objects.broker.receive(queue).open().await.unwrap().next().await.unwrap();
    let messages = batch.take_messages();
    let received = messages[0].envelope().unwrap().unwrap();
    assert_eq!(received, question);
    assert_eq!(received.body().to_json::<i32>().unwrap(), 7);
    assert_eq!(messages[1].envelope().unwrap(), None);
    assert_eq!(messages[1].body.as_bytes(), raw);

    let answer = Envelope::answering(&received, Body::empty());
    let reply = objects.reply.as_str().try_into().unwrap();
    batch.send(messages[0].conversation, &reply, answer).await.unwrap();
    batch.commit().await.unwrap();
    let back = objects.take(&objects.initiator_queue).await[0].envelope().unwrap().unwrap();
    assert_eq!(back.correlation_id(), question.message_id());
    let continued = back.trace_context().unwrap();
    assert_eq!((continued.trace_id(), continued.state()), (trace.trace_id(), Some("a=1")));
    assert_ne!(continued.span_id(), trace.span_id());
}

/// What the client writes T-SQL reads, and the other way round.
#[tokio::test]
async fn typed_bodies_mean_the_same_on_both_sides() {
    let objects = Objects::create(crate::support::start().await).await;
    let sql = "SELECT CAST(@P1 AS nvarchar(max)) AS wide, CAST(@P2 AS varchar(max)) AS narrow, \
               CAST(N'gr' + NCHAR(252) + N'n' AS varbinary(max)) AS back";
    let bodies = [Body::utf16("grün"), Body::json(&["a"]).unwrap()];
    let values = bodies.map(|body| body.into_bytes().into());
    let results = objects.broker.execute(sql, &values).await.unwrap();
    let row = results.first_row().unwrap();
    assert_eq!(row.get::<String>("wide").unwrap(), "grün");
    assert_eq!(row.get::<String>("narrow").unwrap(), "[\"a\"]");
    assert_eq!(Body::bytes(row.get::<Vec<u8>>("back").unwrap()).to_utf16().unwrap(), "grün");
}
