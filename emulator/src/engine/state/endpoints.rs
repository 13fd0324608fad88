//! Conversation endpoints with the indexes the broker asks by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::engine::definitions::Endpoint;
use crate::engine::ids::{DatabaseId, ServiceId};
use crate::value::Timestamp;

/// All endpoints of the instance.
#[derive(Debug, Default)]
pub struct Endpoints {
    by_handle: BTreeMap<Uuid, Arc<Endpoint>>,
    by_conversation: BTreeMap<(Uuid, bool), Uuid>,
    by_group: BTreeSet<(Uuid, Uuid)>,
    by_service: BTreeSet<(DatabaseId, ServiceId, Uuid)>,
    deadlines: BTreeSet<(Timestamp, Uuid)>,
}

impl Endpoints {
    /// The endpoint of that handle.
    pub fn get(&self, handle: Uuid) -> Option<&Arc<Endpoint>> {
        self.by_handle.get(&handle)
    }

    /// One side of a conversation.
    pub fn side(&self, conversation: Uuid, is_initiator: bool) -> Option<&Arc<Endpoint>> {
        self.get(*self.by_conversation.get(&(conversation, is_initiator))?)
    }

    /// All endpoints in order of their handles.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.by_handle.values()
    }

    /// The members of a conversation group.
    pub fn of_group(&self, group: Uuid) -> impl Iterator<Item = &Arc<Endpoint>> {
        let members = self.by_group.range((group, Uuid::nil())..=(group, Uuid::max()));
        members.filter_map(|(_, handle)| self.by_handle.get(handle))
    }

    /// The endpoints of a service.
    pub fn of_service(
        &self,
        database: DatabaseId,
        service: ServiceId,
    ) -> impl Iterator<Item = &Arc<Endpoint>> {
        let range = (database, service, Uuid::nil())..=(database, service, Uuid::max());
        self.by_service.range(range).filter_map(|(.., handle)| self.by_handle.get(handle))
    }

    /// The endpoints of a database.
    pub fn of_database(&self, database: DatabaseId) -> impl Iterator<Item = &Arc<Endpoint>> {
        let range =
            (database, ServiceId(i32::MIN), Uuid::nil())..=(database, ServiceId(i32::MAX), Uuid::max());
        self.by_service.range(range).filter_map(|(.., handle)| self.by_handle.get(handle))
    }

    /// Handles whose deadline (timer, lifetime, purge) is `now` or before, earliest first.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = Uuid> {
        self.deadlines.range(..=(now, Uuid::max())).map(|(_, handle)| *handle)
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Puts, replaces or removes the endpoint of `handle`; gives the endpoint before.
    pub(in crate::engine) fn put(
        &mut self,
        handle: Uuid,
        value: Option<Arc<Endpoint>>,
    ) -> Option<Arc<Endpoint>> {
        let before = match value.clone() {
            Some(endpoint) => self.by_handle.insert(handle, endpoint),
            None => self.by_handle.remove(&handle),
        };
        self.reindex(before.as_deref(), value.as_deref());
        before
    }

    /// Sends change only counters, so each index is touched only when its key changed.
    fn reindex(&mut self, before: Option<&Endpoint>, after: Option<&Endpoint>) {
        let conversation = |it: &Endpoint| (it.conversation_id, it.is_initiator);
        if before.map(conversation) != after.map(conversation) {
            before.map(|it| self.by_conversation.remove(&conversation(it)));
            after.map(|it| self.by_conversation.insert(conversation(it), it.handle));
        }
        replace(&mut self.by_group, before, after, |it| (it.group, it.handle));
        replace(&mut self.by_service, before, after, |it| (it.database, it.service, it.handle));
        let deadline = |it: &Endpoint| Some((it.deadline()?, it.handle));
        let (before, after) = (before.and_then(deadline), after.and_then(deadline));
        if before != after {
            before.map(|key| self.deadlines.remove(&key));
            after.map(|key| self.deadlines.insert(key));
        }
    }
}

fn replace<K: Ord>(
    index: &mut BTreeSet<K>,
    before: Option<&Endpoint>,
    after: Option<&Endpoint>,
    key: impl Fn(&Endpoint) -> K,
) {
    let (before, after) = (before.map(&key), after.map(&key));
    if before == after {
        return;
    }
    before.map(|key| index.remove(&key));
    after.map(|key| index.insert(key));
}
