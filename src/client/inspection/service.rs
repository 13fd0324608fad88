//! One service, as a listener for event notifications needs it.

use super::super::broker::Broker;
use super::super::error::Result;
use super::super::names::{QueueName, ServiceName};
use super::super::statements::inspection as texts;
use super::{Right, Visible, has, no_answer};

/// What the login can see of a service in the database of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceState {
    /// Its queue.
    pub queue: QueueName,
    /// The contracts it accepts dialogs on.
    pub contracts: Visible<Vec<String>>,
    /// Whether the login has VIEW DEFINITION on it.
    pub sees_definition: bool,
    /// Whether the login has REFERENCES on the schema of its queue.
    pub refers_to_schema: bool,
}

impl Broker {
    /// Looks at a service. `None`: it does not exist, or is hidden for want of VIEW DEFINITION; the server does not tell
    /// the two apart.
    ///
    /// # Errors
    /// The server's, or those of connecting. Cancelling is safe.
    pub async fn inspect_service(&self, service: &ServiceName) -> Result<Option<ServiceState>> {
        let mut session = self.session().await?;
        let rows = session.execute(&texts::service_contracts(service)).await?.into_rows();
        let Some(first) = rows.first() else { return Ok(None) };
        let queue =
            QueueName::in_schema(first.get::<String>("schema_name")?, first.get::<String>("queue_name")?)?;
        let mut contracts = Vec::new();
        for row in &rows {
            contracts.extend(row.get::<Option<String>>("contract")?);
        }
        let rights = session.execute(&texts::service_rights(service, queue.schema())).await?;
        let rights = rights.first_row().ok_or_else(no_answer)?;
        let (sees_definition, refers_to_schema) =
            (has(rights, "sees_service")?, has(rights, "refers_to_schema")?);
        // A contract that is not listed is absent only for somebody who sees every definition.
        let is_whole = !contracts.is_empty() || has(rights, "sees_definitions")?;
        let contracts =
            if is_whole { Visible::Known(contracts) } else { Visible::Hidden(Right::ViewDefinition) };
        Ok(Some(ServiceState { queue, contracts, sees_definition, refers_to_schema }))
    }
}
