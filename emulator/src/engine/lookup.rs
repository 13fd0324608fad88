//! Look-ups that several broker statements share: the queue of an endpoint, its definition, names for messages.
//!
//! Reading only. It must not know locks or what the caller is about to do.

use std::sync::Arc;

use uuid::Uuid;

use super::broker_errors;
use super::definitions::{
    Contract, Endpoint, MessageType, Object, ObjectKind, QueueDef, QueuedMessage, Service, StoredMessage,
};
use super::ids::{DatabaseId, QueueKey};
use super::state::State;
use super::tx::Tx;
use crate::error::SqlError;

impl State {
    /// The queue of an endpoint's service; `None` while the service is being dropped.
    pub(super) fn queue_of(&self, endpoint: &Endpoint) -> Option<QueueKey> {
        let service = self.entry::<Service>(endpoint.database, endpoint.service)?;
        Some(QueueKey::new(endpoint.database, service.queue))
    }

    /// The definition of a queue.
    pub(super) fn queue_def(&self, queue: QueueKey) -> Option<&QueueDef> {
        match &self.object(queue)?.kind {
            ObjectKind::Queue(def) => Some(def),
            _ => None,
        }
    }

    /// The options of a queue that exists.
    pub(crate) fn queue_options(&self, queue: QueueKey) -> Option<&QueueDef> {
        self.queue_def(queue)
    }

    /// Whether messages can be put into the queue.
    pub(super) fn takes_messages(&self, queue: QueueKey) -> bool {
        self.queue_def(queue).is_some_and(|def| def.enqueue_enabled)
    }

    /// Schema and name of a queue.
    pub(super) fn queue_names(&self, queue: QueueKey) -> Option<(Arc<str>, Arc<str>)> {
        let object = self.object(queue)?;
        let schema = self.database(queue.database)?.schemas.get(object.schema)?;
        Some((Arc::clone(&schema.name), Arc::clone(&object.name)))
    }

    /// A queue as messages name it: `schema.queue`.
    pub(super) fn queue_title(&self, queue: QueueKey) -> String {
        self.queue_names(queue).map_or_else(String::new, |(schema, name)| format!("{schema}.{name}"))
    }

    /// The service of that name.
    pub(super) fn service(&self, database: DatabaseId, name: &str) -> Option<&Arc<Service>> {
        self.database(database)?.services.find(name)
    }

    /// The contract of that name.
    pub(super) fn contract(&self, database: DatabaseId, name: &str) -> Option<&Arc<Contract>> {
        self.database(database)?.contracts.find(name)
    }

    /// The message type of that name.
    pub(super) fn message_type(&self, database: DatabaseId, name: &str) -> Option<&Arc<MessageType>> {
        self.database(database)?.message_types.find(name)
    }

    /// A stored message with every column a queue shows.
    pub(super) fn queue_row(&self, message: &StoredMessage) -> Option<QueuedMessage> {
        let endpoint = self.endpoints.get(message.handle)?;
        Some(QueuedMessage {
            status: message.status,
            priority: message.priority,
            queuing_order: message.queuing_order,
            group: endpoint.group,
            handle: message.handle,
            sequence: message.sequence,
            kind: message.kind,
            service: endpoint.service,
            service_name: Arc::clone(&endpoint.service_name),
            contract: endpoint.contract,
            contract_name: Arc::clone(&endpoint.contract_name),
            message_type: message.message_type.id,
            message_type_name: Arc::clone(&message.message_type.name),
            validation: message.message_type.validation.clone(),
            body: message.body.clone(),
            message_id: message.message_id,
            enqueued: message.enqueued,
        })
    }
}

impl Tx<'_> {
    /// The endpoint of a handle in the current database; 8426 for one that is not there or about to go.
    pub(super) fn endpoint(&self, handle: Uuid) -> Result<Arc<Endpoint>, SqlError> {
        self.endpoint_in(self.database(), handle)
    }

    /// The endpoint of a handle in a database, with the same error.
    pub(super) fn endpoint_in(&self, database: DatabaseId, handle: Uuid) -> Result<Arc<Endpoint>, SqlError> {
        let found = self.state().endpoints.get(handle);
        let found = found.filter(|endpoint| endpoint.database == database && !endpoint.own.removed);
        found.cloned().ok_or_else(|| broker_errors::handle_not_found(handle))
    }

    /// A queue with its definition.
    pub(super) fn queue_object(&self, queue: QueueKey) -> Option<(Arc<Object>, QueueDef)> {
        let object = self.state().object(queue)?;
        match &object.kind {
            ObjectKind::Queue(def) => Some((Arc::clone(object), def.clone())),
            _ => None,
        }
    }
}
