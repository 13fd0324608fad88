//! Names as they stand in the text: identifiers, multi-part names, variables, data types.
//!
//! Must not know whether anything by such a name exists.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A range of bytes of the batch text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// First byte.
    pub(crate) start: usize,
    /// One past the last byte.
    pub(crate) end: usize,
}

/// One identifier without its delimiters; `]]` and `""` are already undone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ident {
    /// The name as spelled.
    pub(crate) text: String,
    /// Written `[so]` or `"so"`: never a keyword, so `[DEFAULT]` differs from `DEFAULT`.
    pub(crate) delimited: bool,
}

impl Ident {
    /// An identifier written without delimiters.
    pub(crate) fn new(text: impl Into<String>) -> Ident {
        Ident { text: text.into(), delimited: false }
    }

    /// The name as spelled.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Equality under the default, case-insensitive collation.
    pub(crate) fn is(&self, other: &str) -> bool {
        eq_ignore_case(&self.text, other)
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name of one to four parts: `[[[server.]database.]schema.]name`.
///
/// An omitted middle part (`db..t`) is an identifier with empty text. Column references use the same
/// shape, with the table before the column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ObjectName {
    /// The parts in the order written; never empty.
    pub(crate) parts: Vec<Ident>,
}

impl ObjectName {
    /// A name of a single part.
    pub(crate) fn single(ident: Ident) -> ObjectName {
        ObjectName { parts: vec![ident] }
    }

    /// The last part: the object's (or column's) own name.
    pub(crate) fn name(&self) -> &Ident {
        self.parts.last().expect("an object name has at least one part")
    }

    /// The schema, or the table of a column reference.
    pub(crate) fn schema(&self) -> Option<&Ident> {
        self.part_before_last(1)
    }

    /// The database.
    pub(crate) fn database(&self) -> Option<&Ident> {
        self.part_before_last(2)
    }

    /// The linked server.
    pub(crate) fn server(&self) -> Option<&Ident> {
        self.part_before_last(3)
    }

    fn part_before_last(&self, distance: usize) -> Option<&Ident> {
        let index = self.parts.len().checked_sub(distance + 1)?;
        self.parts.get(index).filter(|part| !part.text.is_empty())
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            let separator = if index == 0 { "" } else { "." };
            write!(f, "{separator}{part}")?;
        }
        Ok(())
    }
}

/// A variable's name with its `@` (or `@@`), spelled as written; compares and hashes without case.
#[derive(Debug, Clone)]
pub(crate) struct VariableName(String);

impl VariableName {
    /// A variable by its name with the leading `@`.
    pub(crate) fn new(text: impl Into<String>) -> VariableName {
        VariableName(text.into())
    }

    /// The name with its `@`, as spelled.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name starts with `@@`, the form of the server's own functions such as `@@ROWCOUNT`.
    pub(crate) fn is_system(&self) -> bool {
        self.0.starts_with("@@")
    }
}

impl PartialEq for VariableName {
    fn eq(&self, other: &VariableName) -> bool {
        eq_ignore_case(&self.0, &other.0)
    }
}

impl Eq for VariableName {}

impl Hash for VariableName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for character in self.0.chars().flat_map(char::to_lowercase) {
            character.hash(state);
        }
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A data type as written, e.g. `nvarchar(max)`, `decimal(10, 2)`, `dbo.OrderList`.
///
/// Spellings of several words and the ISO synonyms are already reduced to the server's own name:
/// `national character varying(20)` is `nvarchar(20)`, `double precision` is `float`, `integer` is `int`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataTypeName {
    /// The type's name, with its schema if one was written.
    pub(crate) name: ObjectName,
    /// What stood in parentheses.
    pub(crate) arguments: TypeArguments,
}

/// The parenthesised part of a data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeArguments {
    /// Nothing was written.
    None,
    /// `(n)`: a length, a precision or a fractional-seconds scale, depending on the type.
    One(u32),
    /// `(precision, scale)`.
    Two(u32, u32),
    /// `(max)`.
    Max,
    /// `xml(collection)`, with or without CONTENT or DOCUMENT.
    XmlSchemaCollection(ObjectName),
}

/// Equality under the default collation as far as names need it: Unicode simple case folding.
pub(crate) fn eq_ignore_case(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        return left.eq_ignore_ascii_case(right);
    }
    left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase))
}
