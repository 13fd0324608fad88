//! The broker's options of a database: ENABLE_BROKER, DISABLE_BROKER, NEW_BROKER, ERROR_BROKER_CONVERSATIONS and
//! HONOR_BROKER_PRIORITY (spec 1.10).
//!
//! It must not know delivery: what the options change for conversations waits for the commit.

use std::sync::Arc;

use super::broker_errors;
use super::broker_faults::BrokerFault;
use super::databases::Termination;
use super::definitions::{Database, Effect, Endpoint};
use super::ids::DatabaseId;
use super::tx::{Op, Tx};
use crate::error::SqlError;

/// An option of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerOption {
    /// ENABLE_BROKER
    Enable,
    /// DISABLE_BROKER
    Disable,
    /// NEW_BROKER: a new guid; all conversations go without a word (U-09).
    New,
    /// ERROR_BROKER_CONVERSATIONS: enabled; every conversation ends with an Error.
    ErrorConversations,
    /// HONOR_BROKER_PRIORITY
    HonorPriority(bool),
}

impl Tx<'_> {
    /// ALTER DATABASE ... SET of a broker option. All but HONOR_BROKER_PRIORITY need the database for themselves, unless
    /// it is as asked already. Errors: 226 inside a transaction, 5011, 5070, 9772. Blocks until other sessions have left the database, unless `termination` says otherwise.
    pub fn alter_database_broker(
        &mut self,
        name: &str,
        option: BrokerOption,
        termination: Termination,
    ) -> Op<()> {
        self.require_no_transaction("ALTER DATABASE")?;
        let old = self.alterable_database(name)?;
        if is_as_asked(&old, option) {
            return Ok(());
        }
        if !matches!(option, BrokerOption::HonorPriority(_)) {
            self.claim_database(old.id, termination)?;
        }
        let mut changed = Database::clone(&old);
        match option {
            BrokerOption::HonorPriority(on) => changed.honor_priority = on,
            BrokerOption::Disable => changed.broker_enabled = false,
            BrokerOption::Enable | BrokerOption::ErrorConversations => {
                self.check_broker_id(&old)?;
                changed.broker_enabled = true;
            }
            BrokerOption::New => {
                changed.broker_guid = self.new_uuid();
                changed.broker_enabled = true;
            }
        }
        self.put_database(old.id, Some(Arc::new(changed)));
        match option {
            BrokerOption::New => self.push_removals(old.id),
            BrokerOption::ErrorConversations => self.fail_conversations(old.id),
            _ => {}
        }
        self.push_effect(Effect::CatalogChanged);
        Ok(())
    }

    fn check_broker_id(&self, database: &Database) -> Result<(), SqlError> {
        let mut others = self.state().databases.values().map(|other| &other.def);
        let twin = others.find(|other| {
            other.id != database.id && other.broker_enabled && other.broker_guid == database.broker_guid
        });
        match twin {
            Some(twin) => Err(broker_errors::broker_id_in_use(&database.name, &twin.name)),
            None => Ok(()),
        }
    }

    fn push_removals(&mut self, database: DatabaseId) {
        for endpoint in self.conversations_of(database) {
            if let Some(queue) = self.state().queue_of(&endpoint) {
                self.push_effect(Effect::Remove(endpoint.handle, queue));
            }
        }
    }

    fn fail_conversations(&mut self, database: DatabaseId) {
        for endpoint in self.conversations_of(database) {
            self.push_fault(&endpoint, &BrokerFault::database_restored());
            let peer = self.state().endpoints.side(endpoint.conversation_id, !endpoint.is_initiator).cloned();
            if let Some(peer) = peer.filter(|peer| peer.database != database) {
                self.push_fault(&peer, &BrokerFault::remote_database_restored());
            }
        }
    }

    fn conversations_of(&self, database: DatabaseId) -> Vec<Arc<Endpoint>> {
        self.state().endpoints.of_database(database).cloned().collect()
    }
}

/// Whether nothing is left to change: enabling an enabled broker succeeds at once (coverage 6.1).
fn is_as_asked(database: &Database, option: BrokerOption) -> bool {
    match option {
        BrokerOption::Enable => database.broker_enabled,
        BrokerOption::Disable => !database.broker_enabled,
        BrokerOption::HonorPriority(on) => database.honor_priority == on,
        BrokerOption::New | BrokerOption::ErrorConversations => false,
    }
}
