//! What the server has: the answer of [`statements::CATALOG`](super::super::statements::CATALOG), read into plain values.

use std::collections::{BTreeMap, BTreeSet};

use super::super::error::{Error, ErrorKind, Result};
use super::super::rows::{Results, Row};
use super::declaration::SentBy;

/// The broker's objects in one database, as far as the login may see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    pub(super) default_schema: String,
    /// Whether the names of queues, routes and event notifications compare without case. Those of message types,
    /// contracts and services compare byte by byte, whatever the collation.
    pub(super) folds_case: bool,
    pub(super) is_broker_enabled: bool,
    /// `N`, `E` or `X`, with a `S` behind it for a schema collection.
    pub(super) message_types: BTreeMap<String, String>,
    pub(super) contracts: BTreeMap<String, BTreeMap<String, SentBy>>,
    pub(super) queues: Vec<QueueFound>,
    pub(super) services: BTreeMap<String, ServiceFound>,
    pub(super) events: Vec<EventFound>,
    pub(super) routes: Vec<RouteFound>,
}

#[derive(Clone, Debug)]
pub(super) struct QueueFound {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) is_receive_enabled: bool,
    pub(super) is_retention_enabled: bool,
    pub(super) is_poison_message_handling_enabled: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ServiceFound {
    pub(super) queue: (String, String),
    pub(super) contracts: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub(super) struct EventFound {
    pub(super) name: String,
    pub(super) queue: (String, String),
    pub(super) service: String,
    pub(super) event: String,
}

#[derive(Clone, Debug)]
pub(super) struct RouteFound {
    pub(super) name: String,
    pub(super) service: Option<String>,
    pub(super) broker_instance: Option<String>,
    pub(super) address: String,
}

impl Catalog {
    /// Reads the result sets, which come in the order of the text.
    pub(super) fn read(results: Results) -> Result<Self> {
        let mut sets = results.into_sets().into_iter().map(|set| set.into_rows());
        let mut rows =
            || sets.next().ok_or_else(|| Error::new(ErrorKind::Protocol, "the catalog is incomplete"));
        let mut catalog = Self::default();
        for row in rows()? {
            catalog.default_schema =
                row.get::<Option<String>>("default_schema")?.unwrap_or_else(|| "dbo".into());
            catalog.folds_case = row.get::<i32>("folds_case")? == 1;
            catalog.is_broker_enabled = row.get("is_broker_enabled")?;
        }
        for row in rows()? {
            catalog.message_types.insert(row.get("name")?, row.get("validation")?);
        }
        for row in rows()? {
            let messages = catalog.contracts.entry(row.get("contract_name")?).or_default();
            messages.insert(row.get("message_type_name")?, sent_by(&row)?);
        }
        catalog.queues = rows()?.iter().map(queue).collect::<Result<_>>()?;
        for row in rows()? {
            let found = ServiceFound { queue: queue_of(&row)?, contracts: BTreeSet::new() };
            catalog.services.insert(row.get("name")?, found);
        }
        for row in rows()? {
            let service = catalog.services.entry(row.get("service_name")?).or_default();
            service.contracts.insert(row.get("contract_name")?);
        }
        catalog.events = rows()?.iter().map(event).collect::<Result<_>>()?;
        catalog.routes = rows()?.iter().map(route).collect::<Result<_>>()?;
        Ok(catalog)
    }

    /// Whether two names are the same to this database's collation.
    pub(super) fn same(&self, left: &str, right: &str) -> bool {
        left == right || (self.folds_case && left.to_lowercase() == right.to_lowercase())
    }
}

fn sent_by(row: &Row) -> Result<SentBy> {
    Ok(match (row.get("is_sent_by_initiator")?, row.get("is_sent_by_target")?) {
        (true, true) => SentBy::Any,
        (false, true) => SentBy::Target,
        (_, false) => SentBy::Initiator,
    })
}

fn queue(row: &Row) -> Result<QueueFound> {
    Ok(QueueFound {
        schema: row.get("schema_name")?,
        name: row.get("name")?,
        is_receive_enabled: row.get("is_receive_enabled")?,
        is_retention_enabled: row.get("is_retention_enabled")?,
        is_poison_message_handling_enabled: row
            .get::<Option<bool>>("is_poison_message_handling_enabled")?
            .unwrap_or(true),
    })
}

fn queue_of(row: &Row) -> Result<(String, String)> {
    Ok((row.get("schema_name")?, row.get("queue_name")?))
}

fn event(row: &Row) -> Result<EventFound> {
    Ok(EventFound {
        name: row.get("name")?,
        queue: queue_of(row)?,
        service: row.get("service_name")?,
        event: row.get("event_name")?,
    })
}

fn route(row: &Row) -> Result<RouteFound> {
    Ok(RouteFound {
        name: row.get("name")?,
        service: row.get("service_name")?,
        broker_instance: row.get("broker_instance")?,
        address: row.get("address")?,
    })
}
