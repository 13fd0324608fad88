//! Data types as written, resolved to the types of values.
//!
//! User-defined types are not built yet and answer 2715 like unknown ones. Must not know where the type stands, except
//! for the length that goes without saying.

use crate::error::SqlError;
use crate::relational::errors;
use crate::tsql::ast::name::{DataTypeName, TypeArguments};
use crate::value::{Length, SqlType};

/// The type of a variable, parameter or column: a character or binary type without length has length 1.
///
/// # Errors
/// 131 and 1001 for lengths, 2715 for unknown types, 2716 for facets on a type without, 2750 and 2751 for precision and
/// scale.
pub(crate) fn resolve_type(name: &DataTypeName) -> Result<SqlType, SqlError> {
    resolve(name, 1)
}

/// The type of CAST and CONVERT: a character or binary type without length has length 30.
///
/// # Errors
/// As [`resolve_type`].
pub(crate) fn resolve_cast_type(name: &DataTypeName) -> Result<SqlType, SqlError> {
    resolve(name, 30)
}

fn resolve(name: &DataTypeName, default_length: u16) -> Result<SqlType, SqlError> {
    let own = name.name.name().as_str().to_ascii_lowercase();
    if name.name.schema().is_some_and(|schema| !schema.is("sys")) {
        return Err(errors::unknown_type(&name.name.to_string()));
    }
    if let Some(plain) = plain(&own) {
        return without_facets(&own, &name.arguments, plain);
    }
    let length = |most| length(&own, &name.arguments, default_length, most);
    match own.as_str() {
        "char" | "character" => fixed(length(8000)?, &own).map(SqlType::Char),
        "nchar" => fixed(length(4000)?, &own).map(SqlType::NChar),
        "binary" => fixed(length(8000)?, &own).map(SqlType::Binary),
        "varchar" => length(8000).map(SqlType::VarChar),
        "nvarchar" => length(4000).map(SqlType::NVarChar),
        "varbinary" => length(8000).map(SqlType::VarBinary),
        "decimal" | "numeric" | "dec" => decimal(&name.arguments),
        "float" => float(&name.arguments),
        "time" => scale(&own, &name.arguments).map(SqlType::Time),
        "datetime2" => scale(&own, &name.arguments).map(SqlType::DateTime2),
        "datetimeoffset" => scale(&own, &name.arguments).map(SqlType::DateTimeOffset),
        "xml" => xml(&name.arguments),
        "hierarchyid" | "geometry" | "geography" => Err(SqlError::unsupported(format!("data type {own}"))),
        _ => Err(errors::unknown_type(&name.name.to_string())),
    }
}

fn plain(name: &str) -> Option<SqlType> {
    Some(match name {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" | "integer" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "money" => SqlType::Money,
        "smallmoney" => SqlType::SmallMoney,
        "real" => SqlType::Real,
        "text" => SqlType::Text,
        "ntext" => SqlType::NText,
        "image" => SqlType::Image,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "date" => SqlType::Date,
        "datetime" => SqlType::DateTime,
        "smalldatetime" => SqlType::SmallDateTime,
        "rowversion" | "timestamp" => SqlType::RowVersion,
        "sql_variant" => SqlType::SqlVariant,
        "sysname" => SqlType::SYSNAME,
        _ => return None,
    })
}

fn without_facets(name: &str, arguments: &TypeArguments, ty: SqlType) -> Result<SqlType, SqlError> {
    match arguments {
        TypeArguments::None => Ok(ty),
        _ => Err(errors::facets_not_allowed(name)),
    }
}

fn length(name: &str, arguments: &TypeArguments, default: u16, most: u16) -> Result<Length, SqlError> {
    match arguments {
        TypeArguments::None => Ok(Length::Limited(default)),
        TypeArguments::Max => Ok(Length::Max),
        TypeArguments::One(0) => Err(errors::bad_length(0)),
        TypeArguments::One(length) => match u16::try_from(*length) {
            Ok(length) if length <= most => Ok(Length::Limited(length)),
            _ => Err(errors::length_too_large(*length, name, u32::from(most))),
        },
        _ => Err(errors::facets_not_allowed(name)),
    }
}

fn fixed(length: Length, name: &str) -> Result<u16, SqlError> {
    match length {
        Length::Limited(length) => Ok(length),
        Length::Max => Err(errors::facets_not_allowed(name)),
    }
}

fn decimal(arguments: &TypeArguments) -> Result<SqlType, SqlError> {
    let (precision, scale) = match arguments {
        TypeArguments::None => (18, 0),
        TypeArguments::One(precision) => (*precision, 0),
        TypeArguments::Two(precision, scale) => (*precision, *scale),
        _ => return Err(errors::facets_not_allowed("decimal")),
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(0), _) => Err(errors::bad_length(0)),
        (Ok(precision @ 1..=38), Ok(scale)) if scale <= precision => {
            Ok(SqlType::Decimal { precision, scale })
        }
        (Ok(1..=38), _) => Err(errors::bad_scale(i64::from(scale))),
        _ => Err(errors::length_too_large(precision, "decimal", 38)),
    }
}

fn float(arguments: &TypeArguments) -> Result<SqlType, SqlError> {
    match arguments {
        TypeArguments::None | TypeArguments::One(25..=53) => Ok(SqlType::Float),
        TypeArguments::One(1..=24) => Ok(SqlType::Real),
        TypeArguments::One(bits) => Err(errors::length_too_large(*bits, "float", 53)),
        _ => Err(errors::facets_not_allowed("float")),
    }
}

fn scale(name: &str, arguments: &TypeArguments) -> Result<u8, SqlError> {
    match arguments {
        TypeArguments::None => Ok(7),
        TypeArguments::One(scale @ 0..=7) => Ok(*scale as u8),
        TypeArguments::One(scale) => Err(errors::bad_scale(i64::from(*scale))),
        _ => Err(errors::facets_not_allowed(name)),
    }
}

fn xml(arguments: &TypeArguments) -> Result<SqlType, SqlError> {
    match arguments {
        TypeArguments::None => Ok(SqlType::Xml),
        TypeArguments::XmlSchemaCollection(_) => {
            Err(SqlError::unsupported("xml typed by a schema collection"))
        }
        _ => Err(errors::facets_not_allowed("xml")),
    }
}

#[cfg(test)]
mod tests {
    use super::{resolve_cast_type, resolve_type};
    use crate::tsql::ast::name::{DataTypeName, Ident, ObjectName, TypeArguments};
    use crate::value::{Length, SqlType};

    fn named(name: &str, arguments: TypeArguments) -> DataTypeName {
        DataTypeName { name: ObjectName::single(Ident::new(name)), arguments }
    }

    #[test]
    fn a_length_left_out_depends_on_the_place() {
        let bare = named("NVarChar", TypeArguments::None);
        assert_eq!(resolve_type(&bare), Ok(SqlType::nvarchar(1)));
        assert_eq!(resolve_cast_type(&bare), Ok(SqlType::nvarchar(30)));
        assert_eq!(
            resolve_type(&named("varbinary", TypeArguments::Max)),
            Ok(SqlType::VarBinary(Length::Max))
        );
        assert_eq!(resolve_type(&named("sysname", TypeArguments::None)), Ok(SqlType::SYSNAME));
        let decimal = SqlType::Decimal { precision: 18, scale: 0 };
        assert_eq!(resolve_type(&named("decimal", TypeArguments::None)), Ok(decimal));
    }

    #[test]
    fn wrong_facets_are_refused() {
        let number = |name, arguments| resolve_type(&named(name, arguments)).unwrap_err().number;
        assert_eq!(number("nvarchar", TypeArguments::One(4001)), 131);
        assert_eq!(number("varchar", TypeArguments::One(0)), 1001);
        assert_eq!(number("int", TypeArguments::One(4)), 2716);
        assert_eq!(number("decimal", TypeArguments::Two(5, 6)), 2751);
        assert_eq!(number("nosuch", TypeArguments::None), 2715);
    }
}
