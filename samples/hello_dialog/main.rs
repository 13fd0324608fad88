//! One dialog from its beginning to its end: a greeting goes out, an answer comes back, both sides end.
//!
//! The order of the ends matters. The target ends first, when it has answered; the initiator ends when it has received
//! that. So errors always find somebody, and nothing is left open on the server.
//!
//! `cargo run --example hello_dialog [-- CONNECTION_STRING]`

#![expect(clippy::print_stdout, reason = "a sample says what it does")]

#[path = "../common/mod.rs"]
mod common;

use std::error::Error;

use ssbroker::client::{Body, MessageKind, QueueName};

use common::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::from_arguments().await?;
    let broker = server.prepare(include_str!("objects.sql")).await?;

    // The initiator begins a dialog and sends the first message.
    let dialog =
        broker.dialog("//hello/initiator", "//hello/target").contract("//hello/contract").begin().await?;
    dialog.send("//hello/greeting", Body::utf8("hello, target")).await?;

    // The target receives it, answers and ends, all in one transaction.
    let mut receiver = broker.receive(QueueName::new("dbo.HelloTargetQueue")?).open().await?;
    let mut batch = receiver.next().await?;
    for message in batch.take_messages() {
        println!("the target received: {}", message.body.to_utf8()?);
        batch
            .send(message.conversation, &"//hello/answer".try_into()?, Body::utf8("hello, initiator"))
            .await?;
        batch.end(message.conversation).await?;
    }
    batch.commit().await?;

    // The initiator receives the answer and the end, and ends too.
    let mut receiver = broker.receive(QueueName::new("dbo.HelloInitiatorQueue")?).open().await?;
    let mut is_open = true;
    while is_open {
        let mut batch = receiver.next().await?;
        for message in batch.take_messages() {
            match &message.kind {
                MessageKind::User => println!("the initiator received: {}", message.body.to_utf8()?),
                MessageKind::EndDialog => {
                    println!("the target has ended");
                    is_open = false;
                }
                other => return Err(format!("the dialog failed: {other:?}").into()),
            }
        }
        batch.commit().await?;
    }
    dialog.end().await?;
    println!("the dialog is over");
    Ok(())
}
