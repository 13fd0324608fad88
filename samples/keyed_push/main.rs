//! Data integration: changes of many records are pushed over four dialogs, and those of one record stay in order.
//!
//! The dialog of a change is chosen by the id of its record, so a record always uses the same dialog, and a dialog keeps
//! the order of its messages. Four dialogs are four conversation groups: four readers work side by side.
//!
//! `cargo run --example keyed_push [-- CONNECTION_STRING]`

#![expect(clippy::print_stdout, reason = "a sample says what it does")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ssbroker::client::{
    Body, Broker, Delivery, Destination, Handler, HandlerError, MessageTypeName, OutgoingMessage,
    PoisonAction, PoisonPolicy, PoolOptions, QueueName, SendOutcome,
};

use common::Server;

const DIALOGS: usize = 4;
const RECORDS: u32 = 40;
const CHANGES: u32 = 5;

/// The version-th change of a record.
#[derive(Serialize, Deserialize)]
struct Change {
    id: u32,
    version: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::from_arguments().await?;
    let broker = server.prepare(include_str!("objects.sql")).await?;
    push(&broker).await?;

    let copy = Copy::default();
    let worker = broker.worker(QueueName::new("dbo.CopyQueue")?, copy.clone()).readers(DIALOGS);
    let poison = PoisonPolicy::new(1, PoisonAction::EndConversation);
    worker.poison(poison).drain_then_exit(Duration::from_millis(300)).run(std::future::pending()).await?;
    let state = copy.state.lock().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{} records are up to date at version {CHANGES}, {} out of order, over {} conversations",
        state.versions.values().filter(|version| **version == CHANGES).count(),
        state.out_of_order,
        state.conversations.len()
    );
    Ok(())
}

/// The source: in each round every record changes once. The pool puts the same id on the same dialog.
async fn push(broker: &Broker) -> Result<(), Box<dyn Error>> {
    let pool = broker.dialog_pool(PoolOptions::default().width(DIALOGS))?;
    let destination = Destination::new("//push/source", "//push/copy")?.contract("//push/contract")?;
    let message_type = MessageTypeName::new("//push/change")?;
    for version in 1..=CHANGES {
        for id in 0..RECORDS {
            let change = OutgoingMessage::new(message_type.clone(), Body::json(&Change { id, version })?);
            let outcomes = pool.send(&destination.clone().key(id.to_string()), &[change]).await?;
            outcomes.into_iter().try_for_each(SendOutcome::into_result)?;
        }
    }
    println!("pushed {} changes over {} dialogs", RECORDS * CHANGES, pool.stats().begun);
    Ok(())
}

/// The other side: it keeps the last version of each record.
#[derive(Clone, Default)]
struct Copy {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    versions: BTreeMap<u32, u32>,
    conversations: BTreeSet<String>,
    out_of_order: u32,
}

impl Handler for Copy {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let change: Change = delivery.message().body.to_json()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.conversations.insert(delivery.message().conversation.to_string());
        let before = state.versions.insert(change.id, change.version).unwrap_or(0);
        state.out_of_order += u32::from(before + 1 != change.version);
        Ok(())
    }
}
