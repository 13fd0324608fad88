//! A worker: orders come in, each is stored and confirmed in the transaction that received it.
//!
//! An order that cannot be handled does not hold up the others: after three attempts it lies in the dead letters with its
//! reason, and its neighbours are confirmed. One that cannot even be read goes there at once, since reading it again would
//! change nothing. The worker goes when there is nothing to do, as a program does that an activator started.
//!
//! `cargo run --example order_worker [-- CONNECTION_STRING]`

#![expect(clippy::print_stdout, reason = "a sample says what it does")]

#[path = "../common/mod.rs"]
mod common;

use std::error::Error;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ssbroker::client::{
    Body, Broker, Delivery, Handler, HandlerError, MessageTypeName, OutgoingMessage, QueueName,
};

use common::Server;

#[derive(Serialize, Deserialize)]
struct Order {
    number: i32,
    item: String,
}

/// Stores and confirms orders.
struct Orders {
    confirmed: MessageTypeName,
}

impl Handler for Orders {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        // An order that is no JSON is refused here.
        let order: Order = delivery.message().read_body(Body::to_json)?;
        if order.item == "unicorn" {
            // This may be over tomorrow, so it is tried again.
            return Err("there are no unicorns today".into());
        }
        let insert = "INSERT INTO [dbo].[Orders] (number, item) VALUES (@P1, @P2)";
        delivery.execute(insert, &[order.number.into(), order.item.into()]).await?;
        delivery.reply(&self.confirmed, Body::json(&order.number)?).await?;
        Ok(())
    }

    async fn on_end(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        println!("customer {} has gone", delivery.message().conversation);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::from_arguments().await?;
    let broker = server.prepare(include_str!("objects.sql")).await?;
    server.prepare(include_str!("../../sql/05-dead-letters.sql")).await?;
    place_orders(&broker).await?;

    let handler = Orders { confirmed: MessageTypeName::new("//orders/confirmed")? };
    let worker = broker.worker(QueueName::new("dbo.OrderQueue")?, handler).readers(2);
    let reason = worker.drain_then_exit(Duration::from_millis(300)).run(std::future::pending()).await?;
    println!("the worker stopped: {reason:?}");

    for row in
        broker.execute("SELECT number, item FROM [dbo].[Orders] ORDER BY number", &[]).await?.into_rows()
    {
        println!("stored: order {}, {}", row.get::<i32>("number")?, row.get::<String>("item")?);
    }
    let parked = "SELECT attempts, reason FROM [ssbroker].[dead_letters] ORDER BY attempts";
    for row in broker.execute(parked, &[]).await?.into_rows() {
        println!("parked at attempt {}: {}", row.get::<i32>("attempts")?, row.get::<String>("reason")?);
    }
    Ok(())
}

/// The customer: four orders, of which one is damaged and one cannot be had.
async fn place_orders(broker: &Broker) -> Result<(), Box<dyn Error>> {
    let order = |number: i32, item: &str| Body::json(&Order { number, item: item.to_owned() });
    let bodies =
        [order(1, "teapot")?, Body::utf8("a teapot, please"), order(2, "unicorn")?, order(3, "cup")?];
    let message_type = MessageTypeName::new("//orders/order")?;
    let messages = bodies.map(|body| OutgoingMessage::new(message_type.clone(), body));
    let dialog = broker.dialog("//orders/customer", "//orders/shop").contract("//orders/contract");
    let (_dialog, outcomes) = dialog.begin_with(&messages).await?;
    println!("placed {} orders", outcomes.iter().filter(|outcome| outcome.is_sent()).count());
    Ok(())
}
