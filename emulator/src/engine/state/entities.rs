//! How each catalog family is named, numbered, stored and undone.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{Catalog, DatabaseState, Entity};
use crate::engine::definitions::{
    BrokerPriority, Contract, EventNotification, Login, MessageType, NotificationScope, Object,
    RemoteServiceBinding, Route, Schema, Service, User,
};
use crate::engine::ids::{
    BindingId, ContractId, DatabaseId, FoldedName, LoginId, MessageTypeId, ObjectId, PrincipalId, PriorityId,
    RouteId, SchemaId, ServiceId,
};
use crate::engine::undo::Undo;

/// An entity kept in a catalog of a database.
pub trait DatabaseEntity: Entity + Sized {
    /// Its catalog.
    fn catalog(database: &DatabaseState) -> &Catalog<Self>;
}

/// How such an entity is changed and put back.
pub(in crate::engine) trait UndoableEntity: DatabaseEntity {
    /// Its catalog, to change.
    fn catalog_mut(database: &mut DatabaseState) -> &mut Catalog<Self>;

    /// The record that puts `before` back.
    fn undo(database: DatabaseId, id: Self::Id, before: Option<Arc<Self>>) -> Undo;
}

/// Ids of user-made message types, contracts, services, routes, bindings and priorities (spec 1.1).
const BROKER_IDS: RangeInclusive<i32> = 65536..=i32::MAX;
/// Ids of user-made schema objects, and the distance between two; the server's look alike but follow no rule.
const OBJECT_IDS: RangeInclusive<i32> = 245_575_913..=1_900_000_000;
/// Ids of event notifications: apart from those of schema objects, with which they share the catalog views.
const NOTIFICATION_IDS: RangeInclusive<i32> = 245_575_921..=1_900_000_000;
/// Ids of user-made principals and schemas; the fixed roles and their schemas follow.
const PRINCIPAL_IDS: RangeInclusive<i32> = 5..=16383;
const OBJECT_ID_STEP: i32 = 16;

macro_rules! entity {
    ($entity:ident, $id:ident, $catalog:ident, $undo:ident, $user_ids:expr, $step:expr, $name:ty, $key:expr) => {
        impl Entity for $entity {
            type Id = $id;
            type Name = $name;
            const FIRST_USER_ID: i32 = *$user_ids.start();
            const LAST_USER_ID: i32 = *$user_ids.end();
            const ID_STEP: i32 = $step;

            fn id(&self) -> $id {
                self.id
            }

            fn name_key(&self) -> $name {
                let key: fn(&$entity) -> $name = $key;
                key(self)
            }
        }

        impl DatabaseEntity for $entity {
            fn catalog(database: &DatabaseState) -> &Catalog<$entity> {
                &database.$catalog
            }
        }

        impl UndoableEntity for $entity {
            fn catalog_mut(database: &mut DatabaseState) -> &mut Catalog<$entity> {
                &mut database.$catalog
            }

            fn undo(database: DatabaseId, id: $id, before: Option<Arc<$entity>>) -> Undo {
                Undo::$undo(database, id, before)
            }
        }
    };
}

entity!(Schema, SchemaId, schemas, Schema, PRINCIPAL_IDS, 1, FoldedName, |it| FoldedName::new(&it.name));
entity!(Object, ObjectId, objects, Object, OBJECT_IDS, OBJECT_ID_STEP, (SchemaId, FoldedName), |it| {
    (it.schema, FoldedName::new(&it.name))
});
entity!(MessageType, MessageTypeId, message_types, MessageType, BROKER_IDS, 1, Arc<str>, |it| {
    Arc::clone(&it.name)
});
entity!(Contract, ContractId, contracts, Contract, BROKER_IDS, 1, Arc<str>, |it| Arc::clone(&it.name));
entity!(Service, ServiceId, services, Service, BROKER_IDS, 1, Arc<str>, |it| Arc::clone(&it.name));
entity!(Route, RouteId, routes, Route, BROKER_IDS, 1, FoldedName, |it| FoldedName::new(&it.name));
entity!(RemoteServiceBinding, BindingId, bindings, Binding, BROKER_IDS, 1, FoldedName, |it| {
    FoldedName::new(&it.name)
});
entity!(BrokerPriority, PriorityId, priorities, Priority, BROKER_IDS, 1, FoldedName, |it| {
    FoldedName::new(&it.name)
});
entity!(
    EventNotification,
    ObjectId,
    event_notifications,
    EventNotification,
    NOTIFICATION_IDS,
    OBJECT_ID_STEP,
    (NotificationScope, FoldedName),
    |it| (it.scope, FoldedName::new(&it.name))
);
entity!(User, PrincipalId, users, User, PRINCIPAL_IDS, 1, FoldedName, |it| FoldedName::new(&it.name));

impl Entity for Login {
    type Id = LoginId;
    type Name = FoldedName;
    const FIRST_USER_ID: i32 = 257;

    fn id(&self) -> LoginId {
        self.id
    }

    fn name_key(&self) -> FoldedName {
        FoldedName::new(&self.name)
    }
}
