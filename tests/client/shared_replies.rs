//! One reply that several tasks wait for.

use std::time::Duration;

use ssbroker::client::{
    Body, DiscardReplies, ErrorKind, MessageTypeName, PendingReply, QueueName, Requester, SharedReply,
};
use tokio::task::JoinSet;

use super::objects::Objects;

async fn requester(objects: &Objects) -> Requester {
    let builder = objects.broker.requester(&*objects.initiator, DiscardReplies);
    builder.remember_as("web").open().await.unwrap()
}

async fn ask(objects: &Objects, requester: &Requester) -> PendingReply {
    let request = requester.request(&*objects.target, &*objects.request, Body::utf8("what time is it"));
    request.contract(&*objects.contract).timeout(Duration::from_secs(60)).post().await.unwrap()
}

async fn objects() -> Objects {
    let objects = Objects::create(crate::support::start().await).await;
    crate::support::run_script(&objects.broker, include_str!("../../sql/09-waiters.sql")).await;
    objects
}

/// The service answers, or ends with an error.
async fn answer(objects: &Objects, error: Option<i32>) {
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let mut batch = objects.broker.receive(queue).open().await.unwrap().next().await.unwrap();
    let reply = MessageTypeName::new(&*objects.reply).unwrap();
    let conversation = batch.messages()[0].conversation;
    match error {
        Some(code) => batch.end_with_error(conversation, code, "no clock").await.unwrap(),
        None => {
            batch.send(conversation, &reply, Body::utf8("noon")).await.unwrap();
            batch.end(conversation).await.unwrap();
        }
    }
    batch.commit().await.unwrap();
}

fn wait_in_tasks(reply: &SharedReply, count: usize) -> JoinSet<Result<String, ssbroker::client::Error>> {
    (0..count)
        .map(|_| {
            let reply = reply.clone();
            async move { Ok(reply.reply().await?.body.to_utf8()?.to_owned()) }
        })
        .collect()
}

#[tokio::test]
async fn all_who_wait_get_the_reply_and_one_who_goes_ends_only_its_own_wait() {
    let objects = objects().await;
    let requester = requester(&objects).await;
    let reply = ask(&objects, &requester).await.share();
    let waiting = wait_in_tasks(&reply, 5);
    let mut leaving = wait_in_tasks(&reply, 1);
    tokio::task::yield_now().await;
    leaving.abort_all();
    assert!(leaving.join_next().await.unwrap().unwrap_err().is_cancelled());
    answer(&objects, None).await;
    for text in waiting.join_all().await {
        assert_eq!(text.unwrap(), "noon");
    }
    assert_eq!(requester.stats().delivered, 1);
    assert_eq!(requester.unfinished().await.unwrap().len(), 1, "remembered until it is settled");
    reply.clone().settle().await.unwrap();
    assert_eq!(requester.unfinished().await.unwrap().len(), 0);
    assert_eq!(reply.settle().await.unwrap_err().kind(), ErrorKind::NoReply, "settled once");
}

#[tokio::test]
async fn all_who_wait_get_the_error() {
    let objects = objects().await;
    let requester = requester(&objects).await;
    let reply = ask(&objects, &requester).await.share();
    let waiting = wait_in_tasks(&reply, 3);
    answer(&objects, Some(7)).await;
    for outcome in waiting.join_all().await {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RequestFailed);
        assert_eq!(error.conversation_error().unwrap().code, 7);
    }
}
