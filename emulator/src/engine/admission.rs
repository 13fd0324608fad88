//! Whether the receiving side takes a message, and where that side is (spec 1.6, 4.4): location of the target service, its
//! contracts, permission to send, type, direction and body.
//!
//! Reading only; every refusal is a [`BrokerFault`] for the sender. It must not know queues or what follows.

use std::sync::Arc;

use uuid::Uuid;

use super::broker_faults::BrokerFault;
use super::definitions::{
    Contract, Endpoint, MessageKind, MessageType, PendingSend, Permission, Route, Securable, Service,
    UserAccess,
};
use super::ids::{ContractId, DatabaseId};
use super::permission_rule;
use super::routing::{self, Destination, Host, Located};
use super::security;
use super::send::usage;
use super::state::DatabaseState;
use super::system_messages::{self, BodyProblem};
use super::tx::{Principal, Tx};

impl Tx<'_> {
    /// Finds the database of the target service of a conversation that begins.
    pub(super) fn locate_target(&self, sender: &Endpoint) -> Located {
        let databases = self.state().databases.values();
        let hosts: Vec<Host> = databases
            .map(|database| Host {
                database: database.def.id,
                broker: database.def.broker_guid,
                available: takes_part(database),
                has_service: database.services.find(&*sender.far_service).is_some(),
            })
            .collect();
        let home = self.state().database(sender.database);
        let routes: Vec<&Route> =
            home.into_iter().flat_map(|home| home.routes.iter()).map(|route| &**route).collect();
        let instance = sender.inbound.far_broker_instance.as_deref();
        let to = Destination {
            service: &sender.far_service,
            instance: instance.and_then(|text| Uuid::try_parse(text).ok()),
            conversation: sender.conversation_id,
            home: sender.database,
        };
        routing::locate(&routes, &hosts, to, self.now())
    }

    /// Whether a service takes a new conversation, and on which of its contracts (spec 4.4).
    pub(super) fn admit(
        &self,
        sender: &Endpoint,
        database: DatabaseId,
        service: &Service,
    ) -> Result<Arc<Contract>, BrokerFault> {
        let contract = self.state().contract(database, &sender.contract_name).cloned();
        let contract = contract.ok_or_else(|| BrokerFault::contract_unknown(&sender.contract_name))?;
        if !service.contracts.contains(&contract.id) {
            return Err(BrokerFault::contract_not_offered(&service.name, &contract.name));
        }
        if !self.may_send(sender, database, service) {
            return Err(BrokerFault::no_send_permission(&service.name));
        }
        Ok(contract)
    }

    /// Whether a database lets a conversation of another one in (C066, C098): the initiator's database has to be
    /// TRUSTWORTHY, also for what the broker itself sends. What the target sends back needs nothing (Microsoft's tutorial of
    /// a conversation between two databases sets the option for the initiator alone).
    pub(super) fn is_trusted_in(&self, sender: &Endpoint, database: DatabaseId) -> bool {
        let own = || self.state().database(sender.database);
        !sender.is_initiator || sender.database == database || own().is_some_and(|own| own.def.trustworthy)
    }

    /// Whether the owner of the initiating service may send to the target service; the broker itself always may.
    fn may_send(&self, sender: &Endpoint, database: DatabaseId, service: &Service) -> bool {
        let own = self.state().entry::<Service>(sender.database, sender.service);
        let Some(user) = own.map(|own| own.owner).filter(|_| !sender.is_system) else {
            return sender.is_system;
        };
        let login = security::login_of(self.state(), sender.database, user);
        let owner = Principal { login, database: sender.database, user, confined: false };
        permission_rule::has_permission(
            self.state(),
            &owner,
            Permission::Send,
            Securable::Service(database, service.id),
        )
    }

    /// Checks type, direction and body as the receiver declares them, and gives the receiver's type.
    pub(super) fn accept(
        &self,
        database: DatabaseId,
        contract: ContractId,
        sender: &Endpoint,
        send: &PendingSend,
    ) -> Result<Arc<MessageType>, BrokerFault> {
        let name = &*send.message_type;
        let message_type = self.state().message_type(database, name).cloned();
        let message_type = message_type.ok_or_else(|| BrokerFault::message_type_unknown(name))?;
        if send.kind != MessageKind::User {
            return Ok(message_type);
        }
        let contract = self.state().entry::<Contract>(database, contract);
        let contract = contract.ok_or_else(|| BrokerFault::contract_unknown(&sender.contract_name))?;
        check_direction(contract, &message_type, sender.is_initiator)?;
        match system_messages::validate(&message_type.validation, send.body.as_deref()) {
            Ok(()) => Ok(message_type),
            Err(BodyProblem::NotEmpty) => Err(BrokerFault::body_invalid(name)),
            Err(BodyProblem::Xml(problem)) => Err(BrokerFault::xml_invalid(
                &problem,
                sender.conversation_id,
                sender.is_initiator,
                send.sequence,
            )),
        }
    }
}

/// Whether the receiver's contract lets that side send the type.
fn check_direction(
    contract: &Contract,
    message_type: &MessageType,
    from_initiator: bool,
) -> Result<(), BrokerFault> {
    let name = &message_type.name;
    match usage(contract, message_type.id) {
        None => Err(BrokerFault::message_type_not_in_remote_contract(name, &contract.name)),
        Some(usage) if from_initiator && !usage.by_initiator => Err(BrokerFault::sent_by_initiator(name)),
        Some(usage) if !from_initiator && !usage.by_target => Err(BrokerFault::sent_by_target(name)),
        Some(_) => Ok(()),
    }
}

/// Whether the broker of a database takes and sends messages (spec 1.10).
pub(super) fn takes_part(database: &DatabaseState) -> bool {
    database.def.broker_enabled && database.def.user_access != UserAccess::Single
}
