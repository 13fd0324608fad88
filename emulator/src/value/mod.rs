//! Values and their SQL types: what an expression yields, a column stores and the wire carries.
//!
//! A value carries what cannot be derived from its bytes: a text knows whether it is Unicode and its collation, a
//! decimal its scale. Declared types ([`SqlType`]) belong to columns, variables and expressions. This module must not
//! know T-SQL, the engine or the wire; conversions between types live in `relational::convert`.

mod collation;
mod decimal;
mod text;
mod time;
mod types;

use bytes::Bytes;
use uuid::Uuid;

pub use collation::Collation;
pub use decimal::Decimal;
pub use text::Text;
pub use time::{Date, DateTime, DateTime2, DateTimeOffset, Time, Timestamp};
pub use types::{Column, Length, SqlType};

/// One SQL value. `Null` has no type of its own: its type is that of the expression, column or variable it stands in.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// NULL of any type.
    #[default]
    Null,
    /// `bit`
    Bit(bool),
    /// `tinyint`
    TinyInt(u8),
    /// `smallint`
    SmallInt(i16),
    /// `int`
    Int(i32),
    /// `bigint`
    BigInt(i64),
    /// `decimal` and `numeric`
    Decimal(Decimal),
    /// `money` and `smallmoney`, in ten-thousandths
    Money(i64),
    /// `real`
    Real(f32),
    /// `float`
    Float(f64),
    /// `char`, `varchar`, `nchar`, `nvarchar`, `text`, `ntext`
    Text(Text),
    /// `binary`, `varbinary`, `image`, `rowversion`
    Binary(Bytes),
    /// `uniqueidentifier`
    Uuid(Uuid),
    /// `date`
    Date(Date),
    /// `time`
    Time(Time),
    /// `datetime` and `smalldatetime`, which both count from 1900
    DateTime(DateTime),
    /// `datetime2`
    DateTime2(DateTime2),
    /// `datetimeoffset`
    DateTimeOffset(DateTimeOffset),
    /// `xml`: the serialised text, without an encoding declaration
    Xml(Text),
}

impl Value {
    /// An `nvarchar` in the default collation.
    pub fn nvarchar(text: &str) -> Value {
        Value::Text(Text::unicode(text))
    }

    /// A `varchar` in the default collation; characters outside its code page become `?`.
    pub fn varchar(text: &str) -> Value {
        Value::Text(Text::code_page(text))
    }

    /// `true` for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl From<Uuid> for Value {
    fn from(value: Uuid) -> Value {
        Value::Uuid(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Int(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::BigInt(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
