//! Request and reply: several callers ask a service for prices and wait, each for its own reply.
//!
//! Shows JSON bodies, progress messages, an error from the target, a time-out with its late reply, and requests that are
//! remembered in a table, so that a program that starts again takes up the replies it has not used yet.
//!
//! `cargo run --example request_reply [-- CONNECTION_STRING]`

#![expect(clippy::print_stdout, reason = "a sample says what it does")]

#[path = "../common/mod.rs"]
mod common;

use std::error::Error;
use std::time::Duration;

use serde_json::{Value, json};
use ssbroker::client::{
    Body, Broker, Delivery, DiscardReplies, Handler, HandlerError, PoisonAction, PoisonPolicy, QueueName,
    Request, Requester, Wait,
};

use common::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::from_arguments().await?;
    let broker = server.prepare(include_str!("objects.sql")).await?;
    server.prepare(include_str!("../../sql/08-waiters.sql")).await?;
    let service = tokio::spawn(serve(broker.clone()));

    // One requester for the whole program; any number of callers share its reply queue.
    let requester = broker.requester("//quote/client", DiscardReplies).remember_as("quotes").open().await?;
    let (teapot, cup) = tokio::join!(ask(&requester, "teapot").send(), ask(&requester, "cup").send());
    for reply in [teapot?, cup?] {
        println!("price: {}", reply.body.to_json::<Value>()?["price"]);
        reply.settle().await?;
    }

    let refused = ask(&requester, "unicorn").send().await.expect_err("nobody sells unicorns");
    println!("refused: {refused}");

    // This reply is late: it goes to the recovery handler, which discards it.
    let late = ask(&requester, "palace").timeout(Duration::from_millis(20)).send().await;
    println!("late: {}", late.expect_err("a palace takes a second"));

    // A program that ends here has a request open. Started again under the same name it finds and finishes it.
    drop(ask(&requester, "saucer").note("for the shop window").post().await?);
    drop(requester);
    let requester = broker.requester("//quote/client", DiscardReplies).remember_as("quotes").open().await?;
    for request in requester.unfinished().await? {
        let note = request.note.unwrap_or_default();
        let reply = requester.attach(request.conversation, final_price(Wait::default()))?.reply().await?;
        println!("taken up again {note}: {}", reply.body.to_json::<Value>()?["price"]);
        reply.settle().await?;
    }
    service.abort();
    Ok(())
}

fn ask(requester: &Requester, item: &str) -> Request {
    let request = requester.request("//quote/service", "//quote/ask", Body::utf8(item));
    request.contract("//quote/contract").until(|message_type, _| message_type == "//quote/price")
}

/// Progress messages are of another type.
fn final_price(wait: Wait) -> Wait {
    wait.until(|message_type, _| message_type == "//quote/price")
}

/// The service: a progress message, then the price, then the end.
struct Quote;

impl Handler for Quote {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let item = delivery.message().body.to_utf8()?.to_owned();
        if item == "unicorn" {
            delivery.end_with_error(404, "there are no unicorns").await?;
            return Ok(());
        }
        delivery.reply(&"//quote/progress".try_into()?, Body::utf8("calculating")).await?;
        if item == "palace" {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let price = Body::json(&json!({ "item": item, "price": item.len() * 7 }))?;
        delivery.reply(&"//quote/price".try_into()?, price).await?;
        delivery.end().await?;
        Ok(())
    }
}

async fn serve(broker: Broker) -> Result<(), ssbroker::client::Error> {
    let worker = broker.worker(QueueName::new("dbo.QuoteServiceQueue")?, Quote);
    let poison = PoisonPolicy::new(3, PoisonAction::EndConversation);
    worker.poison(poison).run(std::future::pending()).await.map(drop)
}
