//! CREATE, ALTER and DROP BROKER PRIORITY (spec 1.8).
//!
//! How a level is chosen for an endpoint is decided in `priorities.rs`; existing endpoints never change.

use std::sync::Arc;

use super::broker_errors;
use super::definitions::{BrokerPriority, Permission, Securable};
use super::errors;
use super::ids::{ContractId, FoldedName, ServiceId};
use super::priorities::DEFAULT_LEVEL;
use super::tx::{Op, Tx};
use crate::error::SqlError;

/// A criterion of a broker priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    /// ANY
    Any,
    /// A name.
    Named(String),
}

/// SET of CREATE and ALTER BROKER PRIORITY; `None` stays as it is, or takes the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriorityOptions {
    /// CONTRACT_NAME
    pub contract: Option<Criterion>,
    /// LOCAL_SERVICE_NAME
    pub local_service: Option<Criterion>,
    /// REMOTE_SERVICE_NAME
    pub remote_service: Option<Criterion>,
    /// PRIORITY_LEVEL; `Some(None)` is DEFAULT.
    pub level: Option<Option<i64>>,
}

impl Tx<'_> {
    /// CREATE BROKER PRIORITY. Errors: 262, 2714 (U-37), 8402 for a level outside 1 to 10, 15151.
    pub fn create_broker_priority(&mut self, name: &str, options: &PriorityOptions) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::Alter, Securable::Database(database))?;
        if self.find_priority(name).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let id = self.allocate::<BrokerPriority>(database);
        let blank = BrokerPriority {
            id,
            name: name.into(),
            contract: None,
            local_service: None,
            remote_service: None,
            level: DEFAULT_LEVEL,
        };
        let priority = self.changed_priority(&blank, options)?;
        self.put_definition(id, priority);
        Ok(())
    }

    /// ALTER BROKER PRIORITY. Errors: 8402, 15151.
    pub fn alter_broker_priority(&mut self, name: &str, options: &PriorityOptions) -> Op<()> {
        self.require_writable()?;
        let old = self.own_priority(name, "alter")?;
        let priority = self.changed_priority(&old, options)?;
        self.put_definition(old.id, priority);
        Ok(())
    }

    /// DROP BROKER PRIORITY. Errors: 15151.
    pub fn drop_broker_priority(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let old = self.own_priority(name, "drop")?;
        self.drop_definition::<BrokerPriority>(old.id);
        Ok(())
    }

    fn changed_priority(
        &self,
        old: &BrokerPriority,
        options: &PriorityOptions,
    ) -> Result<BrokerPriority, SqlError> {
        Ok(BrokerPriority {
            contract: match &options.contract {
                None => old.contract,
                Some(criterion) => self.contract_criterion(criterion)?,
            },
            local_service: match &options.local_service {
                None => old.local_service,
                Some(criterion) => self.service_criterion(criterion)?,
            },
            remote_service: match &options.remote_service {
                None => old.remote_service.clone(),
                Some(Criterion::Any) => None,
                Some(Criterion::Named(name)) => Some(name.as_str().into()),
            },
            level: options.level.map_or(Ok(old.level), level)?,
            ..old.clone()
        })
    }

    fn contract_criterion(&self, criterion: &Criterion) -> Result<Option<ContractId>, SqlError> {
        let Criterion::Named(name) = criterion else { return Ok(None) };
        let found = self.state().contract(self.database(), name);
        found.map(|it| Some(it.id)).ok_or_else(|| errors::not_found_or_denied("find", "contract", name))
    }

    fn service_criterion(&self, criterion: &Criterion) -> Result<Option<ServiceId>, SqlError> {
        let Criterion::Named(name) = criterion else { return Ok(None) };
        let found = self.state().service(self.database(), name);
        found.map(|it| Some(it.id)).ok_or_else(|| errors::not_found_or_denied("find", "service", name))
    }

    fn own_priority(&self, name: &str, action: &str) -> Result<Arc<BrokerPriority>, SqlError> {
        let refused = || errors::not_found_or_denied(action, "broker priority", name);
        let found = self.find_priority(name).ok_or_else(refused)?;
        let allowed = self.has_permission(Permission::Alter, Securable::Database(self.database()));
        if allowed { Ok(found) } else { Err(refused()) }
    }

    fn find_priority(&self, name: &str) -> Option<Arc<BrokerPriority>> {
        self.database_state(self.database()).priorities.find(&FoldedName::new(name)).cloned()
    }
}

fn level(wanted: Option<i64>) -> Result<u8, SqlError> {
    let Some(wanted) = wanted else { return Ok(DEFAULT_LEVEL) };
    let level = u8::try_from(wanted).ok().filter(|level| (1..=10).contains(level));
    level.ok_or_else(|| broker_errors::clause_value("PRIORITY_LEVEL", "it must be from 1 to 10"))
}
