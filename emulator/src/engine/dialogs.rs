//! BEGIN DIALOG CONVERSATION (spec 2.1): a new initiator endpoint and its conversation group.
//!
//! Nothing is sent and the target is not looked for. It must not know delivery.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::broker_errors;
use super::core::Op;
use super::definitions::{
    BrokerPriority, Contract, Endpoint, EndpointState, Group, Inbound, OwnSide, Permission, Securable,
    Service,
};
use super::ids::DatabaseId;
use super::priorities::{self, Rated};
use super::system_messages::names;
use super::tx::Tx;
use crate::error::SqlError;

/// Longest lifetime in seconds, and the default.
const LONGEST_LIFETIME: i64 = i32::MAX as i64;
/// Longest service name in characters.
const LONGEST_SERVICE_NAME: usize = 256;
/// Longest text of a broker instance in UTF-16 units (8413: 256 bytes).
const LONGEST_INSTANCE: usize = 128;

/// What a new dialog is related to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Related {
    /// RELATED_CONVERSATION: joins the group of that conversation.
    Conversation(Uuid),
    /// RELATED_CONVERSATION_GROUP: joins that group, which is made if it does not exist.
    Group(Uuid),
}

/// The clauses of BEGIN DIALOG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginDialog {
    /// FROM SERVICE
    pub from_service: String,
    /// TO SERVICE
    pub to_service: String,
    /// Broker instance as written: a guid, or `CURRENT DATABASE` in any case.
    pub broker_instance: Option<String>,
    /// ON CONTRACT; `None` is `DEFAULT`.
    pub contract: Option<String>,
    /// RELATED_CONVERSATION or RELATED_CONVERSATION_GROUP
    pub related: Option<Related>,
    /// LIFETIME in seconds; `None` is the longest possible.
    pub lifetime: Option<i64>,
    /// ENCRYPTION
    pub encryption: bool,
}

impl Tx<'_> {
    /// Begins a dialog and returns its handle. Errors: 8412, 8413, 8423 (U-12), 8425, 8411, 8426, 8414, 9601, 9610, 229.
    /// Waits for the lock of the group that the dialog joins.
    pub fn begin_dialog(&mut self, dialog: &BeginDialog) -> Op<Uuid> {
        self.require_writable()?;
        let (service, contract) = self.parties(dialog)?;
        let instance = self.named_instance(dialog)?;
        let expires = self.expiry(dialog.lifetime)?;
        let group = self.group_for(dialog, &service)?;
        self.lock_group(group)?;
        self.put_group_of(self.database(), group, &service, false);
        let handle = self.new_uuid();
        let endpoint = Endpoint {
            handle,
            conversation_id: self.new_uuid(),
            is_initiator: true,
            database: self.database(),
            service: service.id,
            service_name: Arc::clone(&service.name),
            contract: contract.id,
            contract_name: Arc::clone(&contract.name),
            group,
            far_service: dialog.to_service.as_str().into(),
            names_instance: instance.is_some(),
            owner: self.principal().user,
            expires,
            is_system: false,
            encryption: dialog.encryption,
            priority: self.priority_of(self.database(), &contract, &service, &dialog.to_service),
            own: OwnSide::default(),
            inbound: Inbound { far_broker_instance: instance, ..Inbound::default() },
        };
        self.put_endpoint(handle, Some(Arc::new(endpoint)));
        self.core.broker.counters.begin_dialogs += 1;
        Ok(handle)
    }

    /// The level of a new endpoint of `service` (spec 1.8).
    pub(super) fn priority_of(
        &self,
        database: DatabaseId,
        contract: &Contract,
        service: &Service,
        remote_service: &str,
    ) -> u8 {
        let rated = Rated { contract: contract.id, local_service: service.id, remote_service };
        let database = self.state().database(database);
        let all = database.into_iter().flat_map(|database| database.priorities.iter());
        priorities::level(all.map(|priority: &Arc<BrokerPriority>| &**priority), rated)
    }

    /// Makes the group unless it exists.
    pub(super) fn put_group_of(
        &mut self,
        database: DatabaseId,
        id: Uuid,
        service: &Service,
        is_system: bool,
    ) {
        if !self.state().groups.contains_key(&id) {
            let group = Group { id, database, service: service.id, is_system };
            self.put_group(id, Some(Arc::new(group)));
        }
    }

    /// The initiating service and the contract, and the right to use both.
    fn parties(&mut self, dialog: &BeginDialog) -> Result<(Arc<Service>, Arc<Contract>), SqlError> {
        let database = self.database();
        let name = dialog.from_service.as_str();
        let service = self.state().service(database, name).cloned();
        // U-12: 8423 rather than 15151.
        let service = service.ok_or_else(|| broker_errors::service_not_found(name))?;
        if !(1..=LONGEST_SERVICE_NAME).contains(&dialog.to_service.encode_utf16().count()) {
            return Err(broker_errors::malformed_service_name(&dialog.to_service));
        }
        let name = dialog.contract.as_deref().unwrap_or(names::DEFAULT);
        let contract = self.state().contract(database, name).cloned();
        let contract = contract.ok_or_else(|| broker_errors::contract_not_found(name))?;
        self.require(Permission::Receive, Securable::Object(database, service.queue))?;
        self.require(Permission::References, Securable::Contract(database, contract.id))?;
        Ok((service, contract))
    }

    /// The broker instance a dialog names, in the form endpoints keep.
    fn named_instance(&self, dialog: &BeginDialog) -> Result<Option<Arc<str>>, SqlError> {
        let Some(text) = dialog.broker_instance.as_deref() else { return Ok(None) };
        if text.eq_ignore_ascii_case("CURRENT DATABASE") {
            return Ok(Some(self.own_instance()));
        }
        let guid =
            (text.encode_utf16().count() <= LONGEST_INSTANCE).then(|| Uuid::try_parse(text).ok()).flatten();
        guid.map(|guid| Some(instance_text(guid)))
            .ok_or_else(|| broker_errors::malformed_broker_instance(text))
    }

    /// The broker guid of the current database as endpoints keep it.
    pub(super) fn own_instance(&self) -> Arc<str> {
        let database = self.state().database(self.database());
        instance_text(database.map(|database| database.def.broker_guid).unwrap_or_default())
    }

    fn expiry(&self, lifetime: Option<i64>) -> Result<crate::value::Timestamp, SqlError> {
        let seconds = lifetime.unwrap_or(LONGEST_LIFETIME);
        if !(1..=LONGEST_LIFETIME).contains(&seconds) {
            return Err(broker_errors::lifetime_out_of_range(seconds));
        }
        Ok(self.now().plus(Duration::from_secs(seconds.unsigned_abs())))
    }

    fn group_for(&mut self, dialog: &BeginDialog, service: &Service) -> Result<Uuid, SqlError> {
        match dialog.related {
            None => Ok(self.new_uuid()),
            Some(Related::Conversation(handle)) => self.group_of_related(handle, service),
            Some(Related::Group(group)) => self.joinable_group(group, service),
        }
    }

    fn group_of_related(&self, handle: Uuid, service: &Service) -> Result<Uuid, SqlError> {
        let related = self.endpoint(handle)?;
        if matches!(related.state(), EndpointState::DisconnectedOutbound | EndpointState::Closed) {
            return Err(broker_errors::cannot_relate(handle));
        }
        if related.service != service.id {
            return Err(broker_errors::related_service_differs(&service.name));
        }
        Ok(related.group)
    }

    /// U-48: an unknown id makes the group; one held elsewhere cannot be used.
    fn joinable_group(&self, group: Uuid, service: &Service) -> Result<Uuid, SqlError> {
        match self.state().groups.get(&group) {
            Some(known) if known.database != self.database() => Err(broker_errors::group_not_usable(group)),
            Some(known) if known.service != service.id => {
                Err(broker_errors::related_service_differs(&service.name))
            }
            _ => Ok(group),
        }
    }
}

/// A broker guid as texts show it.
pub(super) fn instance_text(guid: Uuid) -> Arc<str> {
    guid.to_string().to_uppercase().into()
}
