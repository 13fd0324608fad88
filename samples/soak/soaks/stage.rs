//! An embedded broker with one contract and two services, and a look at what is left in it.

use std::error::Error;

use ssbroker::client::{Body, Broker, Dialog, DialogBuilder, MessageTypeName, OutgoingMessage, QueueName};
use ssbroker_emulator::Emulator;

/// The names of the objects.
pub(crate) const REQUEST: &str = "//soak/request";
pub(crate) const LAST: &str = "//soak/last";
const CONTRACT: &str = "//soak/contract";

const OBJECTS: &str = "CREATE MESSAGE TYPE [//soak/request] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//soak/last] VALIDATION = EMPTY;
    CREATE CONTRACT [//soak/contract] ([//soak/request] SENT BY INITIATOR, [//soak/last] SENT BY INITIATOR);
    CREATE QUEUE [soak_initiator]; CREATE QUEUE [soak_target];
    CREATE SERVICE [//soak/initiator] ON QUEUE [soak_initiator];
    CREATE SERVICE [//soak/target] ON QUEUE [soak_target] ([//soak/contract]);
    CREATE TABLE [dbo].[handled] (body nvarchar(100) NOT NULL PRIMARY KEY);";

const TABLES: &[&str] = &[
    include_str!("../../../sql/05-dead-letters.sql"),
    include_str!("../../../sql/05-retries.sql"),
    include_str!("../../../sql/05-work-items.sql"),
];

/// A server with its objects.
pub(crate) struct Stage {
    pub(crate) emulator: Emulator,
    pub(crate) broker: Broker,
}

impl Stage {
    /// Starts a server on a free port and makes the objects.
    pub(crate) async fn set() -> Result<Self, Box<dyn Error>> {
        Self::set_on(Emulator::start().await?).await
    }

    /// Makes the objects on a server.
    pub(crate) async fn set_on(emulator: Emulator) -> Result<Self, Box<dyn Error>> {
        let broker = Broker::connect(&emulator.connection_string("msdb")).await?;
        broker.batch(OBJECTS).await?;
        for script in TABLES {
            for batch in script.split("\nGO\n").filter(|batch| !batch.trim().is_empty()) {
                broker.batch(batch).await?;
            }
        }
        Ok(Self { emulator, broker })
    }

    /// A new dialog that begins with requests of these texts.
    pub(crate) async fn begin(&self, texts: &[String], is_whole: bool) -> Result<Dialog, Box<dyn Error>> {
        let mut messages = Vec::with_capacity(texts.len() + 1);
        for text in texts {
            messages.push(OutgoingMessage::new(MessageTypeName::new(REQUEST)?, Body::utf8(text.as_str())));
        }
        if is_whole {
            messages.push(OutgoingMessage::new(MessageTypeName::new(LAST)?, Body::empty()));
        }
        let (dialog, outcomes) = self.dialog().begin_with(&messages).await?;
        outcomes.into_iter().try_for_each(|outcome| outcome.into_result())?;
        Ok(dialog)
    }

    fn dialog(&self) -> DialogBuilder {
        self.broker.dialog("//soak/initiator", "//soak/target").contract(CONTRACT)
    }

    /// Whether the target's queue is switched on.
    pub(crate) async fn is_on(&self) -> Result<bool, Box<dyn Error>> {
        let on =
            "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = 'soak_target'";
        Ok(self.count(on).await? == 1)
    }

    /// The number a query answers in its column `n`.
    pub(crate) async fn count(&self, sql: &str) -> Result<i32, Box<dyn Error>> {
        let results = self.broker.execute(sql, &[]).await?;
        Ok(results.first_row().ok_or("the query answered no row")?.get("n")?)
    }
}

/// The queue of the target service.
pub(crate) fn target_queue() -> Result<QueueName, Box<dyn Error>> {
    Ok(QueueName::in_schema("dbo", "soak_target")?)
}

/// The queue of the initiator service.
pub(crate) fn initiator_queue() -> Result<QueueName, Box<dyn Error>> {
    Ok(QueueName::in_schema("dbo", "soak_initiator")?)
}
