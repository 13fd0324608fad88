//! TYPE_INFO: a type as the wire describes it (MS-TDS 2.2.5.6). A table of the type bytes in both directions.

use bytes::{BufMut, BytesMut};

use crate::tds::error::ProtocolError;
use crate::tds::wire::WireReader;
use crate::value::{Collation, Length, SqlType};

/// Length that stands for `(max)`, hence for values in chunks.
const MAX_LENGTH: u16 = 0xFFFF;
/// Largest length of a sql_variant with its description.
const VARIANT_LENGTH: u32 = 8009;
/// Flag of a collation whose non-Unicode texts are UTF-8.
const UTF8_COLLATION: u32 = 1 << 26;
/// Flags of collations that compare code units or code points.
const BINARY_COLLATION: u32 = 0b11 << 24;

/// How the bytes of a value are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// No bytes at all; the value is NULL.
    Absent,
    /// So many bytes; never NULL.
    Fixed(usize),
    /// A length of one byte; 0 is NULL.
    ByteLength,
    /// A length of two bytes; 0xFFFF is NULL.
    ShortLength,
    /// A length of four bytes; 0xFFFFFFFF is NULL.
    LongLength,
    /// Chunks (PLP, MS-TDS 2.2.5.2.3).
    Chunks,
    /// A sql_variant: a length of four bytes, then the value's own type.
    Variant,
}

/// The type of a parameter as a client sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeInfo {
    /// The SQL type.
    pub(crate) ty: SqlType,
    /// How its values are delimited.
    pub(crate) form: Form,
    /// Collation of a character type.
    pub(crate) collation: Collation,
    /// Whether non-Unicode text is UTF-8 instead of code page 1252.
    pub(crate) utf8: bool,
}

impl TypeInfo {
    /// A type without collation.
    pub(crate) fn new(ty: SqlType, form: Form) -> TypeInfo {
        TypeInfo { ty, form, collation: Collation::DEFAULT, utf8: false }
    }

    /// Reads a description. NULLTYPE, the type of a bare NULL, counts as `int`, as an untyped NULL does in T-SQL.
    pub(crate) fn read(message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
        let byte = message.u8("data type")?;
        if let Some(ty) = fixed_type(byte) {
            return Ok(ty);
        }
        match byte {
            0x24 | 0x26 | 0x68 | 0x6D | 0x6E | 0x6F => nullable_type(byte, message),
            0x37 | 0x3F | 0x6A | 0x6C => decimal_type(message),
            0x28 => Ok(TypeInfo::new(SqlType::Date, Form::ByteLength)),
            0x29..=0x2B => fractional_type(byte, message),
            0x25 | 0x27 | 0x2D | 0x2F => short_type(byte, message),
            0xA5 | 0xA7 | 0xAD | 0xAF | 0xE7 | 0xEF => string_type(byte, message),
            0x22 | 0x23 | 0x63 => long_type(byte, message),
            0x62 => {
                message.u32("sql_variant length")?;
                Ok(TypeInfo::new(SqlType::SqlVariant, Form::Variant))
            }
            0xF1 => xml_type(message),
            0xF0 => Err(ProtocolError::unsupported("CLR types as parameters")),
            0xF3 => Err(ProtocolError::unsupported("table-valued parameters")),
            0xF4 => Err(ProtocolError::unsupported("json as a parameter type; send nvarchar(max)")),
            0xF5 => Err(ProtocolError::unsupported("vector as a parameter type")),
            unknown => Err(message.malformed(format!("unknown data type 0x{unknown:02X}"))),
        }
    }

    /// The same type with the collation that follows in the message.
    pub(crate) fn with_collation(mut self, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
        let flags = message.u32("collation")?;
        message.u8("collation sort id")?;
        self.utf8 = flags & UTF8_COLLATION != 0;
        self.collation =
            if flags & BINARY_COLLATION != 0 { Collation::Binary } else { Collation::CaseInsensitive };
        Ok(self)
    }
}

/// Writes the description of a column or parameter that may be NULL. `text`, `ntext` and `image` go out as their `(max)`
/// kin, which clients read alike and which need no text pointers.
pub(crate) fn write_type_info(target: &mut BytesMut, ty: SqlType, collation: Collation) {
    match ty {
        SqlType::Bit => target.put_slice(&[0x68, 1]),
        SqlType::TinyInt => target.put_slice(&[0x26, 1]),
        SqlType::SmallInt => target.put_slice(&[0x26, 2]),
        SqlType::Int => target.put_slice(&[0x26, 4]),
        SqlType::BigInt => target.put_slice(&[0x26, 8]),
        SqlType::Decimal { precision, scale } => {
            target.put_slice(&[0x6C, decimal_len(precision), precision, scale]);
        }
        SqlType::Money => target.put_slice(&[0x6E, 8]),
        SqlType::SmallMoney => target.put_slice(&[0x6E, 4]),
        SqlType::Real => target.put_slice(&[0x6D, 4]),
        SqlType::Float => target.put_slice(&[0x6D, 8]),
        SqlType::UniqueIdentifier => target.put_slice(&[0x24, 16]),
        SqlType::Date => target.put_u8(0x28),
        SqlType::Time(scale) => target.put_slice(&[0x29, scale]),
        SqlType::DateTime2(scale) => target.put_slice(&[0x2A, scale]),
        SqlType::DateTimeOffset(scale) => target.put_slice(&[0x2B, scale]),
        SqlType::DateTime => target.put_slice(&[0x6F, 8]),
        SqlType::SmallDateTime => target.put_slice(&[0x6F, 4]),
        SqlType::Char(_) => put_string(target, 0xAF, ty, Some(collation)),
        SqlType::VarChar(_) | SqlType::Text => put_string(target, 0xA7, ty, Some(collation)),
        SqlType::NChar(_) => put_string(target, 0xEF, ty, Some(collation)),
        SqlType::NVarChar(_) | SqlType::NText => put_string(target, 0xE7, ty, Some(collation)),
        SqlType::Binary(_) | SqlType::RowVersion => put_string(target, 0xAD, ty, None),
        SqlType::VarBinary(_) | SqlType::Image => put_string(target, 0xA5, ty, None),
        SqlType::Xml => target.put_slice(&[0xF1, 0]),
        SqlType::SqlVariant => {
            target.put_u8(0x62);
            target.put_u32_le(VARIANT_LENGTH);
        }
    }
}

/// Writes the description of a column without NULLs. Where a type has a form of fixed length, it must be used: SqlClient
/// breaks the connection when a column without NULLs has the other.
pub(crate) fn write_type_info_not_null(target: &mut BytesMut, ty: SqlType, collation: Collation) {
    match fixed_byte(ty) {
        Some(byte) => target.put_u8(byte),
        None => write_type_info(target, ty, collation),
    }
}

/// The type byte of the form of fixed length, for types that have one.
pub(super) fn fixed_byte(ty: SqlType) -> Option<u8> {
    match ty {
        SqlType::TinyInt => Some(0x30),
        SqlType::Bit => Some(0x32),
        SqlType::SmallInt => Some(0x34),
        SqlType::Int => Some(0x38),
        SqlType::SmallDateTime => Some(0x3A),
        SqlType::Real => Some(0x3B),
        SqlType::Money => Some(0x3C),
        SqlType::DateTime => Some(0x3D),
        SqlType::Float => Some(0x3E),
        SqlType::SmallMoney => Some(0x7A),
        SqlType::BigInt => Some(0x7F),
        _ => None,
    }
}

/// Largest length in bytes of a character or binary type; `None` for those that go out in chunks and for all others.
pub(super) fn limited_bytes(ty: SqlType) -> Option<u16> {
    let limit = |length: u16, unit: u16| (length <= 8000 / unit).then(|| length.max(1) * unit);
    match ty {
        SqlType::Char(n) | SqlType::Binary(n) => limit(n, 1),
        SqlType::VarChar(Length::Limited(n)) | SqlType::VarBinary(Length::Limited(n)) => limit(n, 1),
        SqlType::NChar(n) | SqlType::NVarChar(Length::Limited(n)) => limit(n, 2),
        SqlType::RowVersion => Some(8),
        _ => None,
    }
}

/// Bytes of a decimal with its sign.
pub(super) fn decimal_len(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

fn put_string(target: &mut BytesMut, byte: u8, ty: SqlType, collation: Option<Collation>) {
    target.put_u8(byte);
    target.put_u16_le(limited_bytes(ty).unwrap_or(MAX_LENGTH));
    if let Some(collation) = collation {
        target.put_slice(&collation.wire_bytes());
    }
}

fn fixed_type(byte: u8) -> Option<TypeInfo> {
    let (ty, form) = match byte {
        0x1F => (SqlType::Int, Form::Absent),
        0x30 => (SqlType::TinyInt, Form::Fixed(1)),
        0x32 => (SqlType::Bit, Form::Fixed(1)),
        0x34 => (SqlType::SmallInt, Form::Fixed(2)),
        0x38 => (SqlType::Int, Form::Fixed(4)),
        0x3A => (SqlType::SmallDateTime, Form::Fixed(4)),
        0x3B => (SqlType::Real, Form::Fixed(4)),
        0x3C => (SqlType::Money, Form::Fixed(8)),
        0x3D => (SqlType::DateTime, Form::Fixed(8)),
        0x3E => (SqlType::Float, Form::Fixed(8)),
        0x7A => (SqlType::SmallMoney, Form::Fixed(4)),
        0x7F => (SqlType::BigInt, Form::Fixed(8)),
        _ => return None,
    };
    Some(TypeInfo::new(ty, form))
}

fn nullable_type(byte: u8, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    let ty = match (byte, message.u8("data type length")?) {
        (0x24, 16) => SqlType::UniqueIdentifier,
        (0x26, 1) => SqlType::TinyInt,
        (0x26, 2) => SqlType::SmallInt,
        (0x26, 4) => SqlType::Int,
        (0x26, 8) => SqlType::BigInt,
        (0x68, 1) => SqlType::Bit,
        (0x6D, 4) => SqlType::Real,
        (0x6D, 8) => SqlType::Float,
        (0x6E, 4) => SqlType::SmallMoney,
        (0x6E, 8) => SqlType::Money,
        (0x6F, 4) => SqlType::SmallDateTime,
        (0x6F, 8) => SqlType::DateTime,
        (byte, length) => return Err(message.malformed(format!("data type 0x{byte:02X} of length {length}"))),
    };
    Ok(TypeInfo::new(ty, Form::ByteLength))
}

fn decimal_type(message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    message.u8("decimal length")?;
    let (precision, scale) = (message.u8("decimal precision")?, message.u8("decimal scale")?);
    if !(1..=38).contains(&precision) || scale > precision {
        return Err(message.malformed(format!("decimal({precision}, {scale})")));
    }
    Ok(TypeInfo::new(SqlType::Decimal { precision, scale }, Form::ByteLength))
}

fn fractional_type(byte: u8, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    let scale = message.u8("time scale")?;
    if scale > 7 {
        return Err(message.malformed(format!("time scale {scale}")));
    }
    let ty = match byte {
        0x29 => SqlType::Time(scale),
        0x2A => SqlType::DateTime2(scale),
        _ => SqlType::DateTimeOffset(scale),
    };
    Ok(TypeInfo::new(ty, Form::ByteLength))
}

/// The short strings of older protocols; their character types have no collation.
fn short_type(byte: u8, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    let length = u16::from(message.u8("data type length")?).max(1);
    let ty = match byte {
        0x25 => SqlType::VarBinary(Length::Limited(length)),
        0x27 => SqlType::varchar(length),
        0x2D => SqlType::Binary(length),
        _ => SqlType::Char(length),
    };
    Ok(TypeInfo::new(ty, Form::ByteLength))
}

fn string_type(byte: u8, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    let length = message.u16("data type length")?;
    let may_be_max = matches!(byte, 0xA5 | 0xA7 | 0xE7);
    if length > 8000 && !(may_be_max && length == MAX_LENGTH) {
        return Err(message.malformed(format!("data type 0x{byte:02X} of length {length}")));
    }
    let form = if length == MAX_LENGTH { Form::Chunks } else { Form::ShortLength };
    let bounded =
        |unit: u16| if length == MAX_LENGTH { Length::Max } else { Length::Limited((length / unit).max(1)) };
    let ty = match byte {
        0xA5 => SqlType::VarBinary(bounded(1)),
        0xA7 => SqlType::VarChar(bounded(1)),
        0xAD => SqlType::Binary(length.max(1)),
        0xAF => SqlType::Char(length.max(1)),
        0xE7 => SqlType::NVarChar(bounded(2)),
        _ => SqlType::NChar((length / 2).max(1)),
    };
    let info = TypeInfo::new(ty, form);
    if ty.is_text() { info.with_collation(message) } else { Ok(info) }
}

fn long_type(byte: u8, message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    message.u32("data type length")?;
    match byte {
        0x22 => Ok(TypeInfo::new(SqlType::Image, Form::LongLength)),
        0x23 => TypeInfo::new(SqlType::Text, Form::LongLength).with_collation(message),
        _ => TypeInfo::new(SqlType::NText, Form::LongLength).with_collation(message),
    }
}

fn xml_type(message: &mut WireReader) -> Result<TypeInfo, ProtocolError> {
    if message.u8("xml schema flag")? != 0 {
        message.b_varchar("xml schema database")?;
        message.b_varchar("xml schema owner")?;
        message.us_varchar("xml schema collection")?;
    }
    Ok(TypeInfo::new(SqlType::Xml, Form::Chunks))
}
