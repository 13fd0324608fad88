//! Names of Service Broker objects as types, and the only place where an identifier is quoted.
//!
//! Names are compared byte by byte by Service Broker, so they are kept as written. Nothing here knows whether an object
//! exists.

use std::fmt;
use std::str::FromStr;

use super::error::{Error, Result};

/// The longest identifier of the server, in UTF-16 units.
const LONGEST_IDENTIFIER: usize = 128;
/// The longest name TO SERVICE takes, in UTF-16 units.
const LONGEST_SERVICE: usize = 256;

macro_rules! object_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $longest:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Checks and takes a name.
            ///
            /// # Errors
            /// [`ErrorKind::Config`](super::ErrorKind::Config) when it is empty, too long or holds a control character.
            pub fn new(name: impl Into<String>) -> Result<Self> {
                check($what, name.into(), $longest).map(Self)
            }

            /// The name as written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as a quoted identifier for a T-SQL text.
            #[must_use]
            pub fn quoted(&self) -> String {
                quote(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self> {
                Self::new(name)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = Error;

            fn try_from(name: &str) -> Result<Self> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(name: String) -> Result<Self> {
                Self::new(name)
            }
        }

        impl TryFrom<&$name> for $name {
            type Error = Error;

            fn try_from(name: &$name) -> Result<Self> {
                Ok(name.clone())
            }
        }
    };
}

object_name! {
    /// A service: the address a dialog begins from or goes to.
    ServiceName, "service name", LONGEST_SERVICE
}
object_name! {
    /// A contract: which message types a dialog may carry, and who may send them.
    ContractName, "contract name", LONGEST_IDENTIFIER
}
object_name! {
    /// A message type.
    MessageTypeName, "message type name", LONGEST_IDENTIFIER
}

impl MessageTypeName {
    /// The type of a message sent without naming one.
    pub const DEFAULT: &'static str = "DEFAULT";
    /// The type of the broker's own Error messages. The scheme is `http`, whatever newer pages print.
    pub const ERROR: &'static str = "http://schemas.microsoft.com/SQL/ServiceBroker/Error";
    /// The type of the broker's EndDialog messages.
    pub const END_DIALOG: &'static str = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog";
    /// The type of the broker's DialogTimer messages.
    pub const DIALOG_TIMER: &'static str = "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer";
}

/// A queue, with its schema if one was given. Without one the login's default schema is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName {
    schema: Option<String>,
    name: String,
}

impl QueueName {
    /// A queue in a schema, both as plain names without quoting.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) when either is empty, too long or holds a control character.
    pub fn in_schema(schema: impl Into<String>, name: impl Into<String>) -> Result<Self> {
        Ok(Self {
            schema: Some(check("schema name", schema.into(), LONGEST_IDENTIFIER)?),
            name: check("queue name", name.into(), LONGEST_IDENTIFIER)?,
        })
    }

    /// Reads `queue`, `schema.queue`, or either part in brackets or double quotes, as one would write it in T-SQL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) when the text is not such a name. A queue is always read in the
    /// database of the connection, so a third part is refused.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let mut parts = split_parts(text)?;
        let name = parts.pop().ok_or_else(|| Error::config("the queue name is empty"))?;
        let schema = parts.pop();
        if !parts.is_empty() {
            return Err(Error::config(format!(
                "the queue name '{text}' has more than two parts: connect to the database instead of naming it"
            )));
        }
        let name = check("queue name", name, LONGEST_IDENTIFIER)?;
        let schema = schema.map(|schema| check("schema name", schema, LONGEST_IDENTIFIER)).transpose()?;
        Ok(Self { schema, name })
    }

    /// The schema, if one was given.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The queue's own name, without its schema.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name as quoted identifiers for a T-SQL text.
    #[must_use]
    pub fn quoted(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quote(schema), quote(&self.name)),
            None => quote(&self.name),
        }
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

impl FromStr for QueueName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

impl TryFrom<&str> for QueueName {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

impl TryFrom<&QueueName> for QueueName {
    type Error = Error;

    fn try_from(name: &QueueName) -> Result<Self> {
        Ok(name.clone())
    }
}

/// Quotes one identifier with brackets, doubling a closing bracket inside.
pub(crate) fn quote(identifier: &str) -> String {
    format!("[{}]", identifier.replace(']', "]]"))
}

fn check(what: &str, name: String, longest: usize) -> Result<String> {
    if name.is_empty() {
        return Err(Error::config(format!("the {what} is empty")));
    }
    let length = name.encode_utf16().count();
    if length > longest {
        return Err(Error::config(format!(
            "the {what} has {length} characters, more than the {longest} allowed"
        )));
    }
    if let Some(control) = name.chars().find(|character| character.is_control()) {
        return Err(Error::config(format!("the {what} holds the control character {control:?}")));
    }
    Ok(name)
}

/// Splits at dots outside quotes and removes the quoting.
fn split_parts(text: &str) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = take_part(text, rest)?;
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(parts),
            None => {
                return Err(Error::config(format!(
                    "'{text}' is not a queue name: a dot is expected at '{after}'"
                )));
            }
        }
    }
}

fn take_part<'a>(whole: &str, rest: &'a str) -> Result<(String, &'a str)> {
    let close = match rest.chars().next() {
        Some('[') => ']',
        Some('"') => '"',
        _ => {
            let end = rest.find('.').unwrap_or(rest.len());
            return Ok((rest[..end].trim().to_owned(), &rest[end..]));
        }
    };
    let mut part = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != close {
            part.push(character);
        } else if characters.next_if(|(_, next)| *next == close).is_some() {
            part.push(close);
        } else {
            return Ok((part, rest[at + 1..].trim_start()));
        }
    }
    Err(Error::config(format!("'{whole}' is not a queue name: the closing {close} is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_bracket_inside_a_name_is_doubled() {
        let table = [
            ("orders", "[orders]"),
            ("//shop/orders", "[//shop/orders]"),
            ("a]b", "[a]]b]"),
            ("x]; DROP DATABASE y --", "[x]]; DROP DATABASE y --]"),
            ("it's [so]", "[it's [so]]]"),
        ];
        for (name, quoted) in table {
            assert_eq!(ServiceName::new(name).unwrap().quoted(), quoted);
        }
    }

    #[test]
    fn queue_names_are_read_as_in_t_sql() {
        let table = [
            ("orders", None, "orders", "[orders]"),
            ("dbo.orders", Some("dbo"), "orders", "[dbo].[orders]"),
            ("[dbo].[my.orders]", Some("dbo"), "my.orders", "[dbo].[my.orders]"),
            ("\"d\"\"o\".[q]]x]", Some("d\"o"), "q]x", "[d\"o].[q]]x]"),
            (" dbo . orders ", Some("dbo"), "orders", "[dbo].[orders]"),
        ];
        for (text, schema, name, quoted) in table {
            let queue = QueueName::new(text).unwrap();
            assert_eq!(
                (queue.schema(), queue.name(), queue.quoted().as_str()),
                (schema, name, quoted),
                "{text}"
            );
            assert_eq!(QueueName::new(queue.quoted()).unwrap(), queue, "quoting is read back");
        }
    }

    #[test]
    fn bad_names_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("dbo.", "empty"),
            ("a.b.c", "more than two parts"),
            ("[open", "closing ]"),
            ("[a]b", "a dot is expected"),
        ] {
            let error = QueueName::new(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(ContractName::new("x".repeat(129)).is_err());
        assert!(ServiceName::new("x".repeat(256)).is_ok());
        assert!(MessageTypeName::new("a\0b").is_err());
    }
}
