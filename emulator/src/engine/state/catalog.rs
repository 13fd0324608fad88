//! One catalog: entries by id with an index by name.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::ids::NumericId;

/// Something a [`Catalog`] keeps.
pub trait Entity {
    /// Its identifier.
    type Id: NumericId;
    /// Its name in the form names of this family compare by, with whatever the name is unique in.
    type Name: Ord + std::fmt::Debug;
    /// First id that user-made entries get.
    const FIRST_USER_ID: i32;
    /// Last of them; higher ids belong to built-in entries.
    const LAST_USER_ID: i32 = i32::MAX;
    /// Difference between two ids given one after the other.
    const ID_STEP: i32 = 1;

    /// The identifier.
    fn id(&self) -> Self::Id;

    /// The name to compare by.
    fn name_key(&self) -> Self::Name;
}

/// Entries by id and by name, both in order.
#[derive(Debug)]
pub struct Catalog<T: Entity> {
    entries: BTreeMap<T::Id, Arc<T>>,
    names: BTreeMap<T::Name, T::Id>,
    next: i32,
}

impl<T: Entity> Default for Catalog<T> {
    fn default() -> Catalog<T> {
        Catalog { entries: BTreeMap::new(), names: BTreeMap::new(), next: T::FIRST_USER_ID }
    }
}

impl<T: Entity> Catalog<T> {
    /// The entry of that id.
    pub fn get(&self, id: T::Id) -> Option<&Arc<T>> {
        self.entries.get(&id)
    }

    /// The entry of that name, given in comparison form.
    pub fn find<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&Arc<T>>
    where
        T::Name: Borrow<Q>,
    {
        self.entries.get(self.names.get(name)?)
    }

    /// All entries in order of their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.entries.values()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An id for a new entry. It is not given again, even when the entry is rolled back.
    pub(in crate::engine) fn allocate(&mut self) -> T::Id {
        let id = T::Id::from_number(self.next);
        self.next += T::ID_STEP;
        id
    }

    /// Puts, replaces or removes the entry of `id`; gives the entry before.
    pub(in crate::engine) fn put(&mut self, id: T::Id, value: Option<Arc<T>>) -> Option<Arc<T>> {
        let before = match value {
            Some(value) => {
                debug_assert_eq!(value.id(), id, "an entry is kept under its own id");
                self.entries.insert(id, value)
            }
            None => self.entries.remove(&id),
        };
        self.reindex(id, before.as_deref());
        before
    }

    fn reindex(&mut self, id: T::Id, before: Option<&T>) {
        if let Some(name) = before.map(Entity::name_key)
            && self.names.get(&name) == Some(&id)
        {
            self.names.remove(&name);
        }
        let Some(after) = self.entries.get(&id) else { return };
        self.names.insert(after.name_key(), id);
        if (self.next..=T::LAST_USER_ID).contains(&id.number()) {
            self.next = id.number() + T::ID_STEP;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Catalog;
    use crate::engine::definitions::{MessageType, User, Validation};
    use crate::engine::ids::MessageTypeId;

    fn entry(id: i32, name: &str) -> Option<Arc<MessageType>> {
        let (id, name) = (MessageTypeId(id), name.into());
        Some(Arc::new(MessageType { id, name, owner: User::DBO, validation: Validation::None }))
    }

    #[test]
    fn names_follow_replacement_and_removal() {
        let mut catalog = Catalog::default();
        let id = catalog.allocate();
        assert_eq!(id, MessageTypeId(65536));
        assert!(catalog.put(id, entry(65536, "a")).is_none());
        let before = catalog.put(id, entry(65536, "b"));
        assert!(catalog.find("a").is_none() && catalog.find("b").is_some());
        catalog.put(id, before);
        assert!(catalog.find("a").is_some() && catalog.find("b").is_none());
        catalog.put(id, None);
        assert!(catalog.is_empty() && catalog.find("a").is_none());
    }

    #[test]
    fn ids_are_never_given_twice_and_skip_entries_put_under_higher_ids() {
        let mut catalog: Catalog<MessageType> = Catalog::default();
        assert_ne!(catalog.allocate(), catalog.allocate());
        catalog.put(MessageTypeId(70000), entry(70000, "x"));
        assert_eq!(catalog.allocate(), MessageTypeId(70001));
    }

    #[test]
    fn ordinal_families_tell_names_apart_by_case() {
        let mut catalog = Catalog::default();
        catalog.put(MessageTypeId(1), entry(1, "Type"));
        assert!(catalog.find("type").is_none());
    }
}
