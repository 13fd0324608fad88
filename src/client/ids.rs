//! Identifiers the server makes: conversation handles and conversation groups.
//!
//! They are types of their own, so that one cannot be passed for the other.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::error::{Error, Result};
use super::values::{FromSqlValue, SqlValue};

/// One side of a conversation. The other side has another handle for the same conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationHandle(Uuid);

/// A conversation group: the unit of locking, and of what one RECEIVE returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationGroup(Uuid);

macro_rules! identifier {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Takes an identifier that came from elsewhere, for example from a table.
            #[must_use]
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// The plain identifier.
            #[must_use]
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for SqlValue {
            fn from(id: $name) -> Self {
                SqlValue::Uuid(id.0)
            }
        }

        impl FromSqlValue for $name {
            fn from_sql_value(value: &SqlValue) -> Result<Self> {
                Uuid::from_sql_value(value).map(Self)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            /// Accepts the usual forms of a uniqueidentifier, with or without braces.
            fn from_str(text: &str) -> Result<Self> {
                Uuid::from_str(text.trim()).map(Self).map_err(|error| {
                    Error::config(format!(concat!("'{}' is not a ", $what), text)).with_cause(error)
                })
            }
        }
    };
}

identifier!(ConversationHandle, "conversation handle");
identifier!(ConversationGroup, "conversation group");

impl ConversationGroup {
    /// A new random identifier, for beginning dialogs in a group of one's own making.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_with_and_without_braces_and_refused_otherwise() {
        let plain: ConversationHandle = "3f2504e0-4f89-11d3-9a0c-0305e82c3301".parse().unwrap();
        let braced: ConversationHandle = " {3F2504E0-4F89-11D3-9A0C-0305E82C3301} ".parse().unwrap();
        assert_eq!(plain, braced);
        let error = "order 7".parse::<ConversationHandle>().unwrap_err();
        assert_eq!(error.to_string(), "'order 7' is not a conversation handle");
    }
}
