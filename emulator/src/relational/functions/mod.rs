//! Built-in functions: a table per family from name to descriptor.
//!
//! A descriptor says how many arguments a function takes, what they are converted to, its type, and its body. The body
//! gets values of those types. Functions that treat their arguments in a special way (COALESCE, aggregates) are bound
//! in `expression`. Must not know expressions or rows.

mod application_locks;
mod date_part;
mod dates;
mod dates_from_parts;
mod math;
mod metadata;
mod session;
mod text;
mod text_edit;

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::environment::Context;
use crate::value::{Collation, SqlType, Text, Value};

pub(crate) use application_locks::ApplicationLock;
pub(crate) use date_part::DatePart;

/// One built-in function.
pub(crate) struct Function {
    /// Its name in upper case.
    pub(crate) name: &'static str,
    /// What its arguments are converted to; the last one repeats for `variadic` functions.
    pub(crate) parameters: &'static [Parameter],
    /// How many arguments must be given.
    pub(crate) required: usize,
    /// Whether any number of arguments may follow.
    pub(crate) variadic: bool,
    /// What NULL among the arguments does.
    pub(crate) nulls: Nulls,
    /// Its type, from those of its arguments.
    pub(crate) result: fn(&[SqlType]) -> SqlType,
    /// What it does.
    pub(crate) body: Body,
}

/// What an argument is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Nothing: any type.
    Any,
    /// Text of either kind; other types become `varchar`.
    Text,
    /// Text or bytes as they are.
    TextOrBinary,
    /// `nvarchar(max)`
    Unicode,
    /// `int`
    Int,
    /// `bigint`
    BigInt,
    /// `float`
    Float,
    /// Any number; other types become `float`.
    Number,
    /// Any date or time; other types become `datetime`.
    Moment,
    /// `varbinary(max)`
    Binary,
    /// `uniqueidentifier`
    Uuid,
    /// A bare word such as `minute`.
    DatePart,
}

/// What NULL among the arguments does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// The result is NULL and the body is not called.
    AnyIsNull,
    /// The body sees it.
    Seen,
}

/// What a function does.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// A function of its arguments alone.
    Pure(fn(&Call<'_>) -> Result<Value, SqlError>),
    /// A function of session or engine as well.
    Session(fn(&Call<'_>, &mut Context<'_, '_>) -> Op<Value>),
}

/// One call.
pub(crate) struct Call<'a> {
    /// The arguments.
    pub(crate) arguments: &'a [Value],
    /// The type the call was bound with.
    pub(crate) ty: SqlType,
    /// Collation of its text arguments.
    pub(crate) collation: Collation,
}

/// The function of that name, compared without case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    let families: [&'static [Function]; 9] = [
        application_locks::FUNCTIONS,
        text::FUNCTIONS,
        text_edit::FUNCTIONS,
        dates::FUNCTIONS,
        dates_from_parts::FUNCTIONS,
        math::FUNCTIONS,
        session::FUNCTIONS,
        metadata::FUNCTIONS,
        metadata::MORE_FUNCTIONS,
    ];
    families.into_iter().flatten().find(|function| function.name.eq_ignore_ascii_case(name))
}

/// Whether SQL Server has a function of that name which is not built here: 40510 instead of 195.
pub(crate) fn is_unbuilt(name: &str) -> bool {
    const UNBUILT: &[&str] = &[
        "BINARY_CHECKSUM",
        "CHECKSUM",
        "COLLATIONPROPERTY",
        "COMPRESS",
        "CONNECTIONPROPERTY",
        "CURSOR_STATUS",
        "DECOMPRESS",
        "DIFFERENCE",
        "FORMAT",
        "FORMATMESSAGE",
        "GETANSINULL",
        "HASHBYTES",
        "IDENT_INCR",
        "IDENT_SEED",
        "INDEXPROPERTY",
        "INDEX_COL",
        "ISJSON",
        "JSON_MODIFY",
        "JSON_QUERY",
        "JSON_VALUE",
        "LOGINPROPERTY",
        "OBJECT_DEFINITION",
        "OBJECTPROPERTY",
        "OBJECTPROPERTYEX",
        "ODBCSCALE",
        "SESSION_CONTEXT",
        "SOUNDEX",
        "SQL_VARIANT_PROPERTY",
        "STATS_DATE",
        "STRING_ESCAPE",
        "SWITCHOFFSET",
        "TODATETIMEOFFSET",
        "TYPEPROPERTY",
    ];
    UNBUILT.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl Function {
    /// The parameter an argument belongs to.
    pub(crate) fn parameter(&self, index: usize) -> Parameter {
        let last = self.parameters.last().copied().unwrap_or(Parameter::Any);
        self.parameters.get(index).copied().unwrap_or(last)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Call<'_> {
    /// The text at a position; empty when the argument is absent or no text.
    fn text(&self, index: usize) -> Text {
        match self.arguments.get(index) {
            Some(Value::Text(text)) => text.clone(),
            _ => Text::unicode(""),
        }
    }

    /// The text at a position as a string.
    fn string(&self, index: usize) -> String {
        self.text(index).to_string()
    }

    /// The `int` at a position, 0 when absent or NULL.
    fn int(&self, index: usize) -> i32 {
        match self.arguments.get(index) {
            Some(Value::Int(value)) => *value,
            _ => 0,
        }
    }

    /// The `float` at a position, 0 when absent or NULL.
    fn float(&self, index: usize) -> f64 {
        match self.arguments.get(index) {
            Some(Value::Float(value)) => *value,
            _ => 0.0,
        }
    }

    /// Whether an argument was given and is not NULL.
    fn has(&self, index: usize) -> bool {
        self.arguments.get(index).is_some_and(|argument| !argument.is_null())
    }
}

/// A pure function that answers NULL to NULL and takes exactly its parameters.
const fn pure(
    name: &'static str,
    parameters: &'static [Parameter],
    result: fn(&[SqlType]) -> SqlType,
    body: fn(&Call<'_>) -> Result<Value, SqlError>,
) -> Function {
    let required = parameters.len();
    Function {
        name,
        parameters,
        required,
        variadic: false,
        nulls: Nulls::AnyIsNull,
        result,
        body: Body::Pure(body),
    }
}

/// A function of the session; all parameters may be left out, NULL is the body's business.
const fn of_session(
    name: &'static str,
    parameters: &'static [Parameter],
    result: fn(&[SqlType]) -> SqlType,
    body: fn(&Call<'_>, &mut Context<'_, '_>) -> Op<Value>,
) -> Function {
    Function {
        name,
        parameters,
        required: 0,
        variadic: false,
        nulls: Nulls::Seen,
        result,
        body: Body::Session(body),
    }
}

impl Function {
    /// The same function with fewer arguments required.
    const fn requiring(self, required: usize) -> Function {
        Function { required, ..self }
    }

    /// The same function with any number of further arguments, seeing NULL.
    const fn variadic(self, required: usize) -> Function {
        Function { required, variadic: true, nulls: Nulls::Seen, ..self }
    }

    /// The same function, seeing NULL.
    const fn seeing_nulls(self) -> Function {
        Function { nulls: Nulls::Seen, ..self }
    }
}

fn int(_: &[SqlType]) -> SqlType {
    SqlType::Int
}

fn bigint(_: &[SqlType]) -> SqlType {
    SqlType::BigInt
}

fn float(_: &[SqlType]) -> SqlType {
    SqlType::Float
}

fn datetime(_: &[SqlType]) -> SqlType {
    SqlType::DateTime
}

fn sysname(_: &[SqlType]) -> SqlType {
    SqlType::SYSNAME
}

fn variant(_: &[SqlType]) -> SqlType {
    SqlType::SqlVariant
}
