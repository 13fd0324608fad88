//! CREATE, ALTER and DROP MESSAGE TYPE; CREATE and DROP CONTRACT (spec 1.2, 1.3).
//!
//! It must not know conversations beyond telling those of a dropped contract.

use std::sync::Arc;

use super::broker_errors;
use super::broker_faults::BrokerFault;
use super::definitions::{
    BrokerPriority, Contract, ContractUsage, Effect, Endpoint, MessageType, Permission, Securable, Service,
    Validation,
};
use super::errors;
use super::ids::{ContractId, MessageTypeId};
use super::state::UndoableEntity;
use super::tx::{Op, Tx};
use crate::error::SqlError;

/// First id of user-made message types, contracts and services; lower ones are the system's (spec 1.1).
pub(super) const FIRST_USER_ID: i32 = 65536;

/// Who may send messages of a type on a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentBy {
    /// SENT BY INITIATOR
    Initiator,
    /// SENT BY TARGET
    Target,
    /// SENT BY ANY
    Any,
}

impl Tx<'_> {
    /// CREATE MESSAGE TYPE. Errors: 262, 2714 (U-37), 15151, 40510 for schema collections.
    pub fn create_message_type(&mut self, name: &str, owner: Option<&str>, validation: Validation) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateMessageType, Securable::Database(database))?;
        refuse_schemas(&validation)?;
        if self.state().message_type(database, name).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let owner = self.new_owner(owner)?;
        let id = self.allocate::<MessageType>(database);
        self.put_definition(id, MessageType { id, name: name.into(), owner, validation });
        Ok(())
    }

    /// ALTER MESSAGE TYPE: messages that are in a queue already keep what they arrived with. Errors: 9663, 15151, 40510.
    pub fn alter_message_type(&mut self, name: &str, validation: Validation) -> Op<()> {
        self.require_writable()?;
        refuse_schemas(&validation)?;
        let old = self.own_message_type(name, "alter")?;
        self.put_definition(old.id, MessageType { validation, ..MessageType::clone(&old) });
        Ok(())
    }

    /// DROP MESSAGE TYPE. Errors: 3716 while a contract uses it, 9663, 15151.
    pub fn drop_message_type(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let old = self.own_message_type(name, "drop")?;
        let database = self.database();
        let uses =
            |contract: &Arc<Contract>| contract.usages.iter().any(|usage| usage.message_type == old.id);
        if self.database_state(database).contracts.iter().any(uses) {
            return Err(errors::bound_to_others("message type", name).into());
        }
        self.drop_permissions_on(Securable::MessageType(database, old.id));
        self.drop_definition::<MessageType>(old.id);
        Ok(())
    }

    /// CREATE CONTRACT. Errors: 262, 2714 (U-37), 8403, 8492, 15151.
    pub fn create_contract(&mut self, name: &str, owner: Option<&str>, types: &[(&str, SentBy)]) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateContract, Securable::Database(database))?;
        if self.state().contract(database, name).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let owner = self.new_owner(owner)?;
        let usages = self.usages(types)?;
        if !usages.iter().any(|usage| usage.by_initiator) {
            return Err(broker_errors::contract_without_initiator(name).into());
        }
        let id = self.allocate::<Contract>(database);
        self.put_definition(id, Contract { id, name: name.into(), owner, usages });
        Ok(())
    }

    /// DROP CONTRACT: conversations on it end in error (-8487). Errors: 3716 while a service or priority refers to it,
    /// 9663, 15151.
    pub fn drop_contract(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        let found = self.state().contract(database, name).cloned();
        let old = found.ok_or_else(|| errors::not_found_or_denied("drop", "contract", name))?;
        self.require_for_ddl(
            &[Permission::Alter],
            Securable::Contract(database, old.id),
            "drop",
            "contract",
            name,
        )?;
        refuse_system(old.id.0, "contract", name)?;
        if self.is_contract_used(old.id) {
            return Err(errors::bound_to_others("contract", name).into());
        }
        self.fail_conversations_on(old.id);
        self.drop_permissions_on(Securable::Contract(database, old.id));
        self.drop_definition::<Contract>(old.id);
        Ok(())
    }

    /// Both sides of the contract's conversations get an Error.
    fn fail_conversations_on(&mut self, contract: ContractId) {
        let endpoints = self.state().endpoints.of_database(self.database());
        let open: Vec<Arc<Endpoint>> = endpoints.filter(|it| it.contract == contract).cloned().collect();
        for endpoint in open {
            self.push_fault(&endpoint, &BrokerFault::remote_contract_dropped());
            let peer = self.state().endpoints.side(endpoint.conversation_id, !endpoint.is_initiator).cloned();
            // A peer in this database is in the list itself.
            if let Some(peer) = peer.filter(|peer| peer.database != endpoint.database) {
                self.push_fault(&peer, &BrokerFault::remote_contract_dropped());
            }
        }
    }

    /// Leaves an Error for an endpoint that its application has not ended.
    pub(super) fn push_fault(&mut self, endpoint: &Endpoint, fault: &BrokerFault) {
        if !endpoint.own.ended {
            self.push_effect(Effect::Fail(endpoint.handle, fault.code, fault.text.as_str().into()));
        }
    }

    /// Puts a catalog entry of the current database that routing, monitors or delivery look at.
    pub(super) fn put_definition<T: UndoableEntity>(&mut self, id: T::Id, value: T) {
        self.put(self.database(), id, Some(Arc::new(value)));
        self.push_effect(Effect::CatalogChanged);
    }

    /// Removes such an entry.
    pub(super) fn drop_definition<T: UndoableEntity>(&mut self, id: T::Id) {
        self.put::<T>(self.database(), id, None);
        self.push_effect(Effect::CatalogChanged);
    }

    fn is_contract_used(&self, contract: ContractId) -> bool {
        let database = self.database_state(self.database());
        let mut services = database.services.iter().map(|service: &Arc<Service>| &service.contracts);
        let mut priorities =
            database.priorities.iter().map(|priority: &Arc<BrokerPriority>| priority.contract);
        services.any(|contracts| contracts.contains(&contract))
            || priorities.any(|named| named == Some(contract))
    }

    fn own_message_type(&self, name: &str, action: &str) -> Result<Arc<MessageType>, SqlError> {
        let database = self.database();
        let found = self.state().message_type(database, name).cloned();
        let found = found.ok_or_else(|| errors::not_found_or_denied(action, "message type", name))?;
        let securable = Securable::MessageType(database, found.id);
        self.require_for_ddl(&[Permission::Alter], securable, action, "message type", name)?;
        refuse_system(found.id.0, "message type", name)?;
        Ok(found)
    }

    fn usages(&self, types: &[(&str, SentBy)]) -> Result<Vec<ContractUsage>, SqlError> {
        let mut usages: Vec<ContractUsage> = Vec::with_capacity(types.len());
        for (name, sent_by) in types {
            let message_type = self.referenced_message_type(name)?;
            if usages.iter().any(|usage| usage.message_type == message_type) {
                return Err(broker_errors::message_type_repeated(name));
            }
            usages.push(ContractUsage {
                message_type,
                by_initiator: *sent_by != SentBy::Target,
                by_target: *sent_by != SentBy::Initiator,
            });
        }
        Ok(usages)
    }

    fn referenced_message_type(&self, name: &str) -> Result<MessageTypeId, SqlError> {
        let database = self.database();
        let found = self.state().message_type(database, name).map(|message_type| message_type.id);
        let allowed = |id| self.has_permission(Permission::References, Securable::MessageType(database, id));
        // System types may be used by everybody.
        let found = found.filter(|id| id.0 < FIRST_USER_ID || allowed(*id));
        found.ok_or_else(|| errors::not_found_or_denied("find", "message type", name))
    }
}

/// Refuses to change what the system made (9663).
pub(super) fn refuse_system(id: i32, kind: &str, name: &str) -> Result<(), SqlError> {
    if id < FIRST_USER_ID { Err(broker_errors::system_object(kind, name)) } else { Ok(()) }
}

/// The emulator has no XML schema collections.
fn refuse_schemas(validation: &Validation) -> Result<(), SqlError> {
    match validation {
        Validation::ValidXml(_) => {
            Err(SqlError::unsupported("VALIDATION = VALID_XML WITH SCHEMA COLLECTION"))
        }
        _ => Ok(()),
    }
}
