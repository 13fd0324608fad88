//! Declared types of columns, variables and expressions.

use super::collation::Collation;

/// Declared length of a character or binary type, in characters (bytes for binary and code-page types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Length {
    /// `(n)`: 1 to 8000, 1 to 4000 for Unicode types.
    Limited(u16),
    /// `(max)`
    Max,
}

/// A SQL type with its facets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// `bit`
    Bit,
    /// `tinyint`
    TinyInt,
    /// `smallint`
    SmallInt,
    /// `int`
    Int,
    /// `bigint`
    BigInt,
    /// `decimal(p, s)` and `numeric(p, s)`
    Decimal {
        /// 1 to 38
        precision: u8,
        /// 0 to `precision`
        scale: u8,
    },
    /// `money`
    Money,
    /// `smallmoney`
    SmallMoney,
    /// `real`
    Real,
    /// `float`
    Float,
    /// `char(n)`
    Char(u16),
    /// `varchar(n)`, `varchar(max)`
    VarChar(Length),
    /// `nchar(n)`
    NChar(u16),
    /// `nvarchar(n)`, `nvarchar(max)`, `sysname`
    NVarChar(Length),
    /// `text`
    Text,
    /// `ntext`
    NText,
    /// `binary(n)`
    Binary(u16),
    /// `varbinary(n)`, `varbinary(max)`
    VarBinary(Length),
    /// `image`
    Image,
    /// `uniqueidentifier`
    UniqueIdentifier,
    /// `date`
    Date,
    /// `time(scale)`
    Time(u8),
    /// `datetime`
    DateTime,
    /// `smalldatetime`
    SmallDateTime,
    /// `datetime2(scale)`
    DateTime2(u8),
    /// `datetimeoffset(scale)`
    DateTimeOffset(u8),
    /// `xml`
    Xml,
    /// `rowversion`, also called `timestamp`
    RowVersion,
    /// `sql_variant`
    SqlVariant,
}

impl SqlType {
    /// `nvarchar(n)`.
    pub const fn nvarchar(length: u16) -> SqlType {
        SqlType::NVarChar(Length::Limited(length))
    }

    /// `varchar(n)`.
    pub const fn varchar(length: u16) -> SqlType {
        SqlType::VarChar(Length::Limited(length))
    }

    /// `sysname`: `nvarchar(128)`.
    pub const SYSNAME: SqlType = SqlType::nvarchar(128);

    /// Whether values are [`super::Text`].
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            SqlType::Char(_)
                | SqlType::VarChar(_)
                | SqlType::NChar(_)
                | SqlType::NVarChar(_)
                | SqlType::Text
                | SqlType::NText
        )
    }

    /// Whether values are byte strings.
    pub const fn is_binary(self) -> bool {
        matches!(self, SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image | SqlType::RowVersion)
    }
}

/// A column of a result set, table or view.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name; empty for an unnamed expression.
    pub name: String,
    /// Declared type.
    pub ty: SqlType,
    /// Whether NULL may occur.
    pub nullable: bool,
    /// Collation; of meaning for text only.
    pub collation: Collation,
}

impl Column {
    /// A nullable column in the default collation.
    pub fn new(name: impl Into<String>, ty: SqlType) -> Column {
        Column { name: name.into(), ty, nullable: true, collation: Collation::DEFAULT }
    }

    /// A column without NULLs in the default collation.
    pub fn not_null(name: impl Into<String>, ty: SqlType) -> Column {
        Column { nullable: false, ..Column::new(name, ty) }
    }
}
