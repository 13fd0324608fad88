//! CREATE, ALTER and DROP SERVICE (spec 1.5).
//!
//! What it does to conversations and waiting sessions waits for the commit. It must not know delivery.

use std::sync::Arc;

use super::broker_errors;
use super::broker_faults::BrokerFault;
use super::conversation::is_finished;
use super::definitions::{
    BrokerPriority, Contract, Effect, Endpoint, ObjectKind, Permission, Securable, Service,
};
use super::errors;
use super::ids::{ContractId, QueueKey};
use super::locks::{LockDuration, LockMode};
use super::message_types::{FIRST_USER_ID, refuse_system};
use super::objects::ObjectName;
use super::tx::{Op, Tx};
use crate::error::SqlError;

/// A change of the contracts of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractChange {
    /// ADD CONTRACT
    Add(String),
    /// DROP CONTRACT
    Drop(String),
}

impl Tx<'_> {
    /// CREATE SERVICE. Errors: 262, 2714 (U-37), 8404, 15151, 911, 916.
    pub fn create_service(
        &mut self,
        name: &str,
        owner: Option<&str>,
        queue: &ObjectName,
        contracts: &[&str],
    ) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateService, Securable::Database(database))?;
        if self.state().service(database, name).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let owner = self.new_owner(owner)?;
        let queue = self.referenced_queue(queue)?;
        let mut offered = Vec::with_capacity(contracts.len());
        for contract in contracts {
            self.add_contract(&mut offered, contract)?;
        }
        let id = self.allocate::<Service>(database);
        self.put_definition(
            id,
            Service { id, name: name.into(), owner, queue: queue.object, contracts: offered },
        );
        Ok(())
    }

    /// ALTER SERVICE: another queue, other contracts. The service's messages move along; peers of dialogs on a dropped
    /// contract get -8469 (U-07, U-08). Errors: 8404, 8493, 9663, 15151, 911, 916. Waits until nobody receives from the
    /// queues.
    pub fn alter_service(
        &mut self,
        name: &str,
        queue: Option<&ObjectName>,
        changes: &[ContractChange],
    ) -> Op<()> {
        self.require_writable()?;
        let old = self.own_service(name, "alter")?;
        let (mut contracts, mut dropped) = (old.contracts.clone(), Vec::new());
        for change in changes {
            match change {
                ContractChange::Add(contract) => self.add_contract(&mut contracts, contract)?,
                ContractChange::Drop(contract) => dropped.push(self.drop_offer(&mut contracts, contract)?),
            }
        }
        let queue = match queue {
            Some(queue) => self.referenced_queue(queue)?.object,
            None => old.queue,
        };
        if queue == old.queue && contracts == old.contracts {
            return Err(broker_errors::alter_service_changes_nothing(name).into());
        }
        self.move_service(&old, queue)?;
        self.fail_peers(&old, &dropped);
        self.put_definition(old.id, Service { queue, contracts, ..Service::clone(&old) });
        Ok(())
    }

    /// DROP SERVICE: its messages and conversations go, their peers get -8470. Errors: 3716 while a broker priority names
    /// it, 9663, 15151. Waits until nobody uses the queue or one of the conversations.
    pub fn drop_service(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let old = self.own_service(name, "drop")?;
        let database = self.database();
        let names = |priority: &Arc<BrokerPriority>| priority.local_service == Some(old.id);
        if self.database_state(database).priorities.iter().any(names) {
            return Err(errors::bound_to_others("service", name).into());
        }
        let queue = QueueKey::new(database, old.queue);
        self.lock_object(queue, LockMode::X, LockDuration::Transaction)?;
        for endpoint in self.endpoints_of(&old) {
            self.lock_group(endpoint.group)?;
            if !is_finished(endpoint.state()) {
                self.fail_peer(&endpoint, &BrokerFault::remote_service_dropped());
            }
            self.push_effect(Effect::Remove(endpoint.handle, queue));
        }
        self.push_effect(Effect::Interrupt(queue, old.id, broker_errors::underlying_service_dropped()));
        self.drop_permissions_on(Securable::Service(database, old.id));
        self.drop_definition::<Service>(old.id);
        Ok(())
    }

    fn move_service(&mut self, service: &Service, to: super::ids::ObjectId) -> Op<()> {
        let (from, to) = (QueueKey::new(self.database(), service.queue), QueueKey::new(self.database(), to));
        if from == to {
            return Ok(());
        }
        self.lock_object(from, LockMode::X, LockDuration::Transaction)?;
        self.lock_object(to, LockMode::X, LockDuration::Transaction)?;
        self.push_effect(Effect::MoveMessages(service.id, from, to));
        self.push_effect(Effect::Interrupt(from, service.id, broker_errors::underlying_service_altered()));
        Ok(())
    }

    fn fail_peers(&mut self, service: &Service, dropped: &[ContractId]) {
        for endpoint in self.endpoints_of(service) {
            if !endpoint.is_initiator
                && dropped.contains(&endpoint.contract)
                && !is_finished(endpoint.state())
            {
                self.fail_peer(&endpoint, &BrokerFault::remote_service_altered());
            }
        }
    }

    fn fail_peer(&mut self, endpoint: &Endpoint, fault: &BrokerFault) {
        let peer = self.state().endpoints.side(endpoint.conversation_id, !endpoint.is_initiator).cloned();
        if let Some(peer) = peer {
            self.push_fault(&peer, fault);
        }
    }

    fn endpoints_of(&self, service: &Service) -> Vec<Arc<Endpoint>> {
        self.state().endpoints.of_service(self.database(), service.id).cloned().collect()
    }

    fn own_service(&self, name: &str, action: &str) -> Result<Arc<Service>, SqlError> {
        let database = self.database();
        let found = self.state().service(database, name).cloned();
        let found = found.ok_or_else(|| errors::not_found_or_denied(action, "service", name))?;
        let securable = Securable::Service(database, found.id);
        self.require_for_ddl(&[Permission::Alter], securable, action, "service", name)?;
        refuse_system(found.id.0, "service", name)?;
        Ok(found)
    }

    /// A queue of the current database that the principal may put a service on. U-10: REFERENCES or CONTROL.
    fn referenced_queue(&self, name: &ObjectName) -> Result<QueueKey, SqlError> {
        let refused = || errors::not_found_or_denied("find", "queue", &name.to_string());
        let (queue, object) = self.find_object(name)?.ok_or_else(refused)?;
        let allowed =
            self.has_permission(Permission::References, Securable::Object(queue.database, queue.object));
        let fits = queue.database == self.database() && matches!(object.kind, ObjectKind::Queue(_));
        if allowed && fits { Ok(queue) } else { Err(refused()) }
    }

    fn add_contract(&self, contracts: &mut Vec<ContractId>, name: &str) -> Result<(), SqlError> {
        let contract = self.referenced_contract(name)?.id;
        if contracts.contains(&contract) {
            return Err(broker_errors::contract_repeated(name));
        }
        contracts.push(contract);
        Ok(())
    }

    fn drop_offer(&self, contracts: &mut Vec<ContractId>, name: &str) -> Result<ContractId, SqlError> {
        let missing = || errors::not_found_or_denied("find", "contract", name);
        let contract = self.state().contract(self.database(), name).map(|it| it.id).ok_or_else(missing)?;
        let at = contracts.iter().position(|offered| *offered == contract).ok_or_else(missing)?;
        Ok(contracts.remove(at))
    }

    fn referenced_contract(&self, name: &str) -> Result<Arc<Contract>, SqlError> {
        let database = self.database();
        let found = self.state().contract(database, name).cloned();
        let allowed = |id| self.has_permission(Permission::References, Securable::Contract(database, id));
        // System contracts may be used by everybody.
        let found = found.filter(|contract| contract.id.0 < FIRST_USER_ID || allowed(contract.id));
        found.ok_or_else(|| errors::not_found_or_denied("find", "contract", name))
    }
}
