//! The methods of xml values: value, query, exist, nodes; and the paths they take.
//!
//! Of XQuery there are paths: child, descendant, attribute, self and parent steps, name tests with namespaces, `text()`,
//! `node()`, and predicates that count or compare with a literal (coverage 6.6). Anything else answers 40510. This folder
//! must not know expressions or rows.

mod parse;
mod select;
mod write;

pub(crate) use parse::{Namespaces, Path, parse_path};

use crate::error::SqlError;
use crate::relational::convert::convert;
use crate::relational::errors;
use crate::value::{SqlType, Value};
use select::{select, with_document};

/// A method that yields a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum XmlMethod {
    /// `.value(path, type)`
    Value(SqlType),
    /// `.exist(path)`
    Exist,
    /// `.query(path)`
    Query,
}

impl XmlMethod {
    /// The type of what it yields.
    pub(crate) fn result(&self) -> SqlType {
        match self {
            XmlMethod::Value(ty) => *ty,
            XmlMethod::Exist => SqlType::Bit,
            XmlMethod::Query => SqlType::Xml,
        }
    }
}

/// Applies a method to an xml value. NULL yields NULL.
///
/// # Errors
/// Those of converting what `value` finds; 40510 for a path out of the node of a row of `.nodes()`.
pub(crate) fn apply(method: &XmlMethod, path: &Path, target: &Value) -> Result<Value, SqlError> {
    let Value::Xml(text) = target else { return Ok(Value::Null) };
    with_document(&text.to_string(), |context| {
        context.check(path)?;
        let found = select(path, context);
        match method {
            XmlMethod::Exist => Ok(Value::Bit(!found.is_empty())),
            XmlMethod::Query => {
                let whole: String = found.iter().map(write::serialized).collect();
                Ok(Value::Xml(crate::value::Text::unicode(&whole)))
            }
            XmlMethod::Value(ty) => match found.first() {
                None => Ok(Value::Null),
                Some(item) => convert(Value::nvarchar(&item.string()), *ty, None, true),
            },
        }
    })?
}

/// The rows of `.nodes(path)`: each holds one node in a form that only the methods understand.
///
/// # Errors
/// 9400 for what is no xml; 40510 as for [`apply`].
pub(crate) fn nodes(path: &Path, target: &Value) -> Result<Vec<Value>, SqlError> {
    let Value::Xml(text) = target else { return Ok(Vec::new()) };
    with_document(&text.to_string(), |context| {
        context.check(path)?;
        Ok(select(path, context).iter().map(|item| Value::Xml(write::as_context(item))).collect())
    })?
}

/// Checks that `value` gets a path that finds one node at most.
///
/// # Errors
/// 2389
pub(crate) fn require_singleton(path: &Path) -> Result<(), SqlError> {
    if path.is_singleton() { Ok(()) } else { Err(errors::not_a_singleton()) }
}

#[cfg(test)]
mod tests;
