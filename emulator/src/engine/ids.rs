//! Identifiers of everything the engine keeps, and the source of new uuids.
//!
//! Plain data: this file must not know what the identifiers stand for beyond their names.

use uuid::Uuid;

/// Where new uuids come from: random in production, seeded in tests.
pub trait IdSource {
    /// A uuid that no earlier call has returned.
    fn uuid(&mut self) -> Uuid;
}

/// A catalog identifier that counts in whole numbers.
pub trait NumericId: Copy + Ord + std::fmt::Debug {
    /// The identifier of that number.
    fn from_number(number: i32) -> Self;

    /// Its number.
    fn number(self) -> i32;
}

macro_rules! numeric_id {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i32);

        impl NumericId for $name {
            fn from_number(number: i32) -> Self {
                $name(number)
            }

            fn number(self) -> i32 {
                self.0
            }
        }
    )*};
}

numeric_id! {
    /// `database_id`; 1 to 4 are the system databases.
    DatabaseId;
    /// `schema_id`
    SchemaId;
    /// `object_id` of a table, queue or procedure; event notifications count among them.
    ObjectId;
    /// `principal_id` in a database: users and roles.
    PrincipalId;
    /// `principal_id` at the server: logins.
    LoginId;
    /// `message_type_id`
    MessageTypeId;
    /// `service_contract_id`
    ContractId;
    /// `service_id`
    ServiceId;
    /// `route_id`
    RouteId;
    /// `remote_service_binding_id`
    BindingId;
    /// `priority_id`
    PriorityId;
}

/// A session of this instance. Never used again after it closed, unlike its `@@SPID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl SessionId {
    /// The engine itself: timers, lifetimes, queue monitors.
    pub const SYSTEM: SessionId = SessionId(0);
}

/// A transaction; for explicit ones also the descriptor that clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxnId(pub u64);

/// A row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

/// An object with its database: what a queue or table is known by across the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its database.
    pub database: DatabaseId,
    /// Its id there.
    pub object: ObjectId,
}

/// A queue of the instance.
pub type QueueKey = ObjectKey;

/// A table of the instance.
pub type TableKey = ObjectKey;

impl ObjectKey {
    /// The object `object` of `database`.
    pub const fn new(database: DatabaseId, object: ObjectId) -> ObjectKey {
        ObjectKey { database, object }
    }
}

/// A name that compares by the default collation: case is ignored, so are trailing blanks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FoldedName(Box<str>);

impl FoldedName {
    /// The comparison form of `name`.
    pub fn new(name: &str) -> FoldedName {
        FoldedName(name.trim_end_matches(' ').chars().flat_map(char::to_lowercase).collect())
    }
}

/// Whether two names are the same by the default collation.
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || FoldedName::new(left) == FoldedName::new(right)
}

#[cfg(test)]
mod tests {
    use super::{FoldedName, same_name};

    #[test]
    fn folded_names_ignore_case_and_trailing_blanks_only() {
        assert_eq!(FoldedName::new("Größe  "), FoldedName::new("GRÖSSE".replace("SS", "ß").as_str()));
        assert_ne!(FoldedName::new(" a"), FoldedName::new("a"));
        assert!(same_name("dbo", "DBO "));
        assert!(!same_name("a", "á"));
    }
}
