//! Values go out and come back equal; what does not fit is refused.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use super::{TypeInfo, read_value, write_type_info, write_value};
use crate::tds::buffer::OutputBuffer;
use crate::tds::error::ProtocolError;
use crate::tds::wire::WireReader;
use crate::value::{
    Collation, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Length, SqlType, Text, Time, Value,
};

fn written(ty: SqlType, value: &Value) -> Bytes {
    let mut buffer = OutputBuffer::default();
    write_type_info(buffer.tail(), ty, Collation::DEFAULT);
    write_value(&mut buffer, ty, value).unwrap();
    let mut bytes = BytesMut::new();
    buffer.move_to(usize::MAX, &mut bytes);
    bytes.freeze()
}

fn read(bytes: Bytes) -> Result<(SqlType, Value), ProtocolError> {
    let mut reader = WireReader::new(bytes);
    let info = TypeInfo::read(&mut reader)?;
    let value = read_value(&mut reader, &info)?;
    assert!(reader.is_empty(), "{} bytes are left", reader.remaining());
    Ok((info.ty, value))
}

fn misfit(ty: SqlType, value: &Value) -> String {
    write_value(&mut OutputBuffer::default(), ty, value).unwrap_err().to_string()
}

fn binary(length: usize) -> Value {
    Value::Binary((0..length).map(|n| n as u8).collect())
}

fn samples() -> Vec<(SqlType, Value)> {
    let day = Date(738_000);
    let at = |ticks, scale| Time { ticks, scale };
    let moment = |ticks, scale| DateTime2 { date: day, time: at(ticks, scale) };
    let decimal = |precision, scale| SqlType::Decimal { precision, scale };
    vec![
        (SqlType::Bit, Value::Bit(true)),
        (SqlType::TinyInt, Value::TinyInt(255)),
        (SqlType::SmallInt, Value::SmallInt(-2)),
        (SqlType::Int, Value::Int(i32::MIN)),
        (SqlType::BigInt, Value::BigInt(i64::MAX)),
        (decimal(9, 2), Value::Decimal(Decimal { unscaled: -12_345, scale: 2 })),
        (decimal(38, 0), Value::Decimal(Decimal::whole(10_i128.pow(38) - 1))),
        (decimal(19, 19), Value::Decimal(Decimal { unscaled: 1, scale: 19 })),
        (SqlType::Money, Value::Money(-9_223_372_036_854_775_000)),
        (SqlType::SmallMoney, Value::Money(-12_3400)),
        (SqlType::Real, Value::Real(1.5)),
        (SqlType::Float, Value::Float(-0.1)),
        (SqlType::UniqueIdentifier, Value::Uuid(Uuid::from_u128(0x6f9619ff_8b86_d011_b42d_00c04fc964ff))),
        (SqlType::Date, Value::Date(day)),
        (SqlType::Time(0), Value::Time(at(863_990_000_000, 0))),
        (SqlType::Time(7), Value::Time(at(863_999_999_999, 7))),
        (SqlType::DateTime2(3), Value::DateTime2(moment(10_000, 3))),
        (
            SqlType::DateTimeOffset(7),
            Value::DateTimeOffset(DateTimeOffset { utc: moment(1, 7), offset_minutes: -90 }),
        ),
        (SqlType::DateTime, Value::DateTime(DateTime { days: -1, thirds: 25_919_999 })),
        (SqlType::SmallDateTime, Value::DateTime(DateTime { days: 40_000, thirds: 18_000 * 61 })),
        (SqlType::Char(3), Value::varchar("a€ ")),
        (SqlType::varchar(10), Value::varchar("")),
        (SqlType::VarChar(Length::Max), Value::varchar(&"x".repeat(9000))),
        (SqlType::NChar(2), Value::nvarchar("世界")),
        (SqlType::nvarchar(4000), Value::nvarchar(&"ü".repeat(4000))),
        (SqlType::NVarChar(Length::Max), Value::nvarchar(&"😀".repeat(50_000))),
        (SqlType::NVarChar(Length::Max), Value::Text(Text::from_units(vec![0xD800, 0x41], true))),
        (SqlType::Binary(4), binary(4)),
        (SqlType::VarBinary(Length::Limited(8000)), binary(8000)),
        (SqlType::VarBinary(Length::Max), binary(0)),
        (SqlType::VarBinary(Length::Max), binary(200_000)),
        (SqlType::Xml, Value::Xml(Text::unicode("<a>ü</a>"))),
    ]
}

#[test]
fn every_type_carries_its_values_and_null() {
    for (ty, value) in samples() {
        assert_eq!(read(written(ty, &value)).unwrap(), (ty, value));
        assert_eq!(read(written(ty, &Value::Null)).unwrap(), (ty, Value::Null));
    }
}

#[test]
fn a_variant_carries_values_with_their_type() {
    let fits = |value: &Value| {
        !matches!(value, Value::Xml(_)) && !matches!(value, Value::Text(t) if t.units().len() > 4000)
    };
    for (_, value) in samples() {
        if fits(&value) && !matches!(&value, Value::Binary(bytes) if bytes.len() > 8000) {
            assert_eq!(read(written(SqlType::SqlVariant, &value)).unwrap().1, value);
        }
    }
    assert_eq!(read(written(SqlType::SqlVariant, &Value::Null)).unwrap().1, Value::Null);
    assert!(misfit(SqlType::SqlVariant, &Value::Xml(Text::unicode("<a/>"))).contains("no place"));
    assert!(misfit(SqlType::SqlVariant, &binary(8001)).contains("too long"));
}

#[test]
fn long_limited_types_and_text_go_out_in_chunks() {
    assert_eq!(
        read(written(SqlType::nvarchar(4001), &Value::nvarchar("a"))).unwrap().0,
        SqlType::NVarChar(Length::Max)
    );
    assert_eq!(
        read(written(SqlType::NText, &Value::nvarchar("a"))).unwrap().0,
        SqlType::NVarChar(Length::Max)
    );
    assert_eq!(
        read(written(SqlType::Image, &binary(3))).unwrap(),
        (SqlType::VarBinary(Length::Max), binary(3))
    );
    assert_eq!(read(written(SqlType::RowVersion, &binary(8))).unwrap(), (SqlType::Binary(8), binary(8)));
}

#[test]
fn values_widen_where_nothing_is_lost() {
    let decimal = SqlType::Decimal { precision: 10, scale: 2 };
    assert_eq!(read(written(SqlType::BigInt, &Value::Int(7))).unwrap().1, Value::BigInt(7));
    assert_eq!(read(written(SqlType::TinyInt, &Value::BigInt(7))).unwrap().1, Value::TinyInt(7));
    assert_eq!(
        read(written(decimal, &Value::Int(7))).unwrap().1,
        Value::Decimal(Decimal { unscaled: 700, scale: 2 })
    );
    assert_eq!(read(written(SqlType::Float, &Value::Real(0.5))).unwrap().1, Value::Float(0.5));
    assert_eq!(read(written(SqlType::varchar(5), &Value::nvarchar("ü"))).unwrap().1, Value::varchar("ü"));
}

#[test]
fn values_that_would_change_are_refused() {
    let decimal = |precision, scale| SqlType::Decimal { precision, scale };
    let moment = Value::DateTime(DateTime { days: 1, thirds: 1 });
    assert!(misfit(SqlType::TinyInt, &Value::Int(256)).contains("too large"));
    assert!(misfit(SqlType::Int, &Value::varchar("1")).contains("types differ"));
    assert!(misfit(decimal(4, 2), &Value::Int(100)).contains("too many digits"));
    let fine = Value::Decimal(Decimal { unscaled: 1, scale: 3 });
    assert!(misfit(decimal(4, 2), &fine).contains("scale"));
    assert!(misfit(SqlType::SmallMoney, &Value::Money(i64::MAX)).contains("too large"));
    assert!(misfit(SqlType::Real, &Value::Float(0.1)).contains("types differ"));
    assert!(misfit(SqlType::SmallDateTime, &moment).contains("out of range"));
    assert!(misfit(SqlType::Time(0), &Value::Time(Time { ticks: 1, scale: 7 })).contains("finer"));
    assert!(misfit(SqlType::varchar(2), &Value::varchar("abc")).contains("too long"));
    assert!(misfit(SqlType::nvarchar(2), &Value::nvarchar("😀a")).contains("too long"));
    assert!(misfit(SqlType::varchar(2), &Value::nvarchar("世")).contains("1252"));
    assert!(misfit(SqlType::VarBinary(Length::Max), &Value::varchar("a")).contains("types differ"));
}

#[test]
fn the_older_and_fixed_forms_of_clients_are_read() {
    let parameter = |bytes: &[u8]| read(Bytes::copy_from_slice(bytes)).unwrap();
    assert_eq!(parameter(&[0x1F]), (SqlType::Int, Value::Null));
    assert_eq!(parameter(&[0x38, 5, 0, 0, 0]), (SqlType::Int, Value::Int(5)));
    let collation = [9, 4, 0xD0, 0, 0x34];
    let ntext = [&[0x63, 0xFF, 0xFF, 0xFF, 0x7F], &collation[..], &[2, 0, 0, 0, b'x', 0]].concat();
    assert_eq!(parameter(&ntext), (SqlType::NText, Value::nvarchar("x")));
    let null_ntext = [&[0x63, 0, 0, 0, 0], &collation[..], &[0xFF; 4]].concat();
    assert_eq!(parameter(&null_ntext), (SqlType::NText, Value::Null));
    assert_eq!(
        parameter(&[0x22, 0, 0, 0, 0, 1, 0, 0, 0, 9]),
        (SqlType::Image, Value::Binary(Bytes::from_static(&[9])))
    );
    let short_binary = (SqlType::VarBinary(Length::Limited(3)), Value::Binary(Bytes::from_static(&[7])));
    assert_eq!(parameter(&[0x25, 3, 1, 7]), short_binary);
}

#[test]
fn chunks_of_unknown_total_length_are_joined() {
    let mut bytes = BytesMut::from(&[0xA5, 0xFF, 0xFF][..]);
    bytes.put_u64_le(u64::MAX - 1);
    for chunk in [&b"ab"[..], &b"c"[..]] {
        bytes.put_u32_le(chunk.len() as u32);
        bytes.put_slice(chunk);
    }
    bytes.put_u32_le(0);
    assert_eq!(read(bytes.freeze()).unwrap().1, Value::Binary(Bytes::from_static(b"abc")));
}

#[test]
fn xml_is_read_in_both_encodings_without_its_declaration() {
    let xml = |body: &[u8]| {
        let mut bytes = BytesMut::from(&[0xF1, 0][..]);
        bytes.put_u64_le(u64::MAX - 1);
        bytes.put_u32_le(body.len() as u32);
        bytes.put_slice(body);
        bytes.put_u32_le(0);
        read(bytes.freeze()).map(|(_, value)| value)
    };
    let expected = Value::Xml(Text::unicode("<a>ü</a>"));
    let utf16: Vec<u8> = "\u{FEFF}<a>ü</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(xml(&utf16).unwrap(), expected);
    assert_eq!(xml(&utf16[2..]).unwrap(), expected);
    assert_eq!(xml("<?xml version=\"1.0\" encoding=\"utf-8\"?><a>ü</a>".as_bytes()).unwrap(), expected);
    assert!(xml(&[b'<', 0xFF, b'>']).is_err());
}

#[test]
fn types_the_emulator_lacks_are_named() {
    let refused = |byte: u8| read(Bytes::copy_from_slice(&[byte, 0, 0, 0, 0])).unwrap_err().to_string();
    assert!(refused(0xF3).contains("table-valued parameters"));
    assert!(refused(0xF0).contains("CLR types"));
    assert!(refused(0xF4).contains("json"));
    assert!(refused(0x77).contains("unknown data type 0x77"));
    assert!(refused(0x26).contains("of length 0"));
}

#[test]
fn a_large_value_of_one_chunk_is_not_copied() {
    let body: Bytes = vec![7; 100_000].into();
    let mut message = BytesMut::new();
    message.put_u64_le(100_000);
    message.put_u32_le(100_000);
    message.put_slice(&body);
    message.put_u32_le(0);
    let message = message.freeze();
    let info = TypeInfo::new(SqlType::VarBinary(Length::Max), super::info::Form::Chunks);
    let Value::Binary(read) = read_value(&mut WireReader::new(message.clone()), &info).unwrap() else {
        panic!("no binary")
    };
    assert_eq!(read.as_ptr(), message[12..].as_ptr());
}
