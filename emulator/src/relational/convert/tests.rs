//! Tables of conversions: what goes in, what comes out, as SQL Server answers.

use super::{assign, convert, display};
use crate::error::SqlError;
use crate::value::{Decimal, Length, SqlType, Value};

fn cast(value: Value, to: SqlType) -> Result<Value, SqlError> {
    convert(value, to, None, true)
}

fn text_of(value: Value, style: i32) -> String {
    display(&convert(value, SqlType::varchar(40), Some(style), true).unwrap())
}

fn datetime(text: &str) -> Value {
    cast(Value::varchar(text), SqlType::DateTime).unwrap()
}

fn error(value: Value, to: SqlType) -> i32 {
    cast(value, to).unwrap_err().number
}

fn bytes(value: &[u8]) -> Value {
    Value::Binary(value.to_vec().into())
}

#[test]
fn numbers_become_whole_numbers() {
    let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
    assert_eq!(cast(decimal(27, 1), SqlType::Int), Ok(Value::Int(2)));
    assert_eq!(cast(decimal(-27, 1), SqlType::Int), Ok(Value::Int(-2)));
    assert_eq!(cast(Value::Float(-2.9), SqlType::Int), Ok(Value::Int(-2)));
    assert_eq!(cast(Value::Money(15_000), SqlType::Int), Ok(Value::Int(2)));
    assert_eq!(cast(Value::varchar(" 42 "), SqlType::Int), Ok(Value::Int(42)));
    assert_eq!(cast(Value::varchar(""), SqlType::Int), Ok(Value::Int(0)));
    assert_eq!(cast(bytes(&[1, 2]), SqlType::Int), Ok(Value::Int(258)));
    assert_eq!(cast(Value::varchar("TRUE"), SqlType::Bit), Ok(Value::Bit(true)));
}

#[test]
fn failed_conversions_have_their_numbers() {
    assert_eq!(error(Value::varchar("abc"), SqlType::Int), 245);
    assert_eq!(error(Value::varchar("1.5"), SqlType::Int), 245);
    assert_eq!(error(Value::varchar("99999999999"), SqlType::Int), 248);
    assert_eq!(error(Value::varchar("300"), SqlType::TinyInt), 244);
    assert_eq!(error(Value::varchar("x"), SqlType::BigInt), 8114);
    assert_eq!(error(Value::Int(300), SqlType::TinyInt), 220);
    assert_eq!(error(Value::BigInt(1 << 40), SqlType::Int), 8115);
    assert_eq!(error(Value::varchar("x"), SqlType::UniqueIdentifier), 8169);
    assert_eq!(error(Value::varchar("x"), SqlType::DateTime), 241);
    assert_eq!(error(Value::varchar("x"), SqlType::Decimal { precision: 5, scale: 2 }), 8114);
    assert_eq!(error(Value::Int(1), SqlType::UniqueIdentifier), 529);
    assert_eq!(error(Value::varchar("1600-01-01"), SqlType::DateTime), 242);
    assert_eq!(
        convert(Value::varchar("x"), SqlType::VarBinary(Length::Max), None, false).unwrap_err().number,
        257
    );
    assert_eq!(convert(Value::Int(1), SqlType::UniqueIdentifier, None, false).unwrap_err().number, 206);
}

#[test]
fn the_error_names_value_and_type() {
    let error = cast(Value::nvarchar("abc"), SqlType::Int).unwrap_err();
    assert!(error.message.contains("nvarchar value 'abc' to data type int"), "{}", error.message);
}

#[test]
fn decimals_round_half_away_from_zero() {
    let two = SqlType::Decimal { precision: 5, scale: 2 };
    let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
    assert_eq!(cast(decimal(2675, 3), two), Ok(decimal(268, 2)));
    assert_eq!(cast(decimal(-2675, 3), two), Ok(decimal(-268, 2)));
    assert_eq!(cast(decimal(2674, 3), two), Ok(decimal(267, 2)));
    assert_eq!(cast(Value::varchar("1.23456"), SqlType::Money), Ok(Value::Money(12_346)));
    assert_eq!(cast(Value::varchar("$1,234.5"), SqlType::Money), Ok(Value::Money(12_345_000)));
    assert_eq!(error(Value::Int(12_345), two), 8115);
}

#[test]
fn bytes_and_text_are_reinterpreted() {
    assert_eq!(cast(bytes(b"ABCD"), SqlType::varchar(10)), Ok(Value::varchar("ABCD")));
    assert_eq!(cast(bytes(b"a\0b\0"), SqlType::nvarchar(10)), Ok(Value::nvarchar("ab")));
    assert_eq!(cast(Value::nvarchar("ab"), SqlType::VarBinary(Length::Limited(10))), Ok(bytes(b"a\0b\0")));
    assert_eq!(cast(Value::varchar("ab"), SqlType::Binary(4)), Ok(bytes(b"ab\0\0")));
    assert_eq!(cast(Value::Int(258), SqlType::VarBinary(Length::Limited(4))), Ok(bytes(&[0, 0, 1, 2])));
    assert_eq!(cast(Value::Int(258), SqlType::Binary(2)), Ok(bytes(&[1, 2])));
    assert_eq!(text_of(bytes(&[0xAB]), 1), "0xAB");
    assert_eq!(text_of(bytes(&[0xAB]), 2), "AB");
    let back = convert(Value::varchar("0xAB"), SqlType::VarBinary(Length::Max), Some(1), true);
    assert_eq!(back, Ok(bytes(&[0xAB])));
}

#[test]
fn identifiers_are_upper_case_and_have_sql_servers_bytes() {
    let id =
        cast(Value::varchar("{6f9619ff-8b86-d011-b42d-00c04fc964ff}"), SqlType::UniqueIdentifier).unwrap();
    assert_eq!(display(&id), "6F9619FF-8B86-D011-B42D-00C04FC964FF");
    let raw = cast(id.clone(), SqlType::VarBinary(Length::Max)).unwrap();
    assert_eq!(display(&raw), "0xFF19966F868B11D0B42D00C04FC964FF");
    assert_eq!(cast(raw, SqlType::UniqueIdentifier), Ok(id));
}

#[test]
fn too_long_text_is_cut_and_short_char_padded() {
    assert_eq!(cast(Value::varchar("abcdef"), SqlType::varchar(3)), Ok(Value::varchar("abc")));
    assert_eq!(cast(Value::varchar("ab"), SqlType::Char(4)), Ok(Value::varchar("ab  ")));
    assert_eq!(cast(Value::Int(1234), SqlType::varchar(3)), Ok(Value::varchar("*")));
    assert_eq!(error(Value::Int(1234), SqlType::nvarchar(3)), 8115);
}

#[test]
fn columns_refuse_what_would_be_cut() {
    let column = |value| assign(value, SqlType::varchar(3), "t", "a");
    assert_eq!(column(Value::varchar("abcd")).unwrap_err().number, 2628);
    assert_eq!(column(Value::varchar("abc  ")), Ok(Value::varchar("abc")));
    assert_eq!(
        assign(bytes(&[1, 2]), SqlType::VarBinary(Length::Limited(1)), "t", "a").unwrap_err().number,
        2628
    );
}

#[test]
fn datetime_counts_in_three_hundredths() {
    assert_eq!(text_of(datetime("2020-01-01T00:00:00.995"), 121), "2020-01-01 00:00:00.997");
    assert_eq!(text_of(datetime("2020-01-01T00:00:00.999"), 121), "2020-01-01 00:00:01.000");
    assert_eq!(text_of(datetime("2020-12-31T23:59:59.999"), 121), "2021-01-01 00:00:00.000");
}

#[test]
fn styles_show_dates_as_documented() {
    let shown = [
        (0, "Dec 30 2006 12:38AM"),
        (1, "12/30/06"),
        (101, "12/30/2006"),
        (103, "30/12/2006"),
        (104, "30.12.2006"),
        (106, "30 Dec 2006"),
        (107, "Dec 30, 2006"),
        (108, "00:38:54"),
        (109, "Dec 30 2006 12:38:54:840AM"),
        (112, "20061230"),
        (113, "30 Dec 2006 00:38:54:840"),
        (114, "00:38:54:840"),
        (120, "2006-12-30 00:38:54"),
        (121, "2006-12-30 00:38:54.840"),
        (126, "2006-12-30T00:38:54.840"),
    ];
    for (style, expected) in shown {
        assert_eq!(text_of(datetime("2006-12-30T00:38:54.840"), style), expected, "style {style}");
    }
    assert_eq!(text_of(datetime("2006-02-03T16:05:00"), 0), "Feb  3 2006  4:05PM");
    assert_eq!(text_of(datetime("2006-02-03T16:05:00"), 126), "2006-02-03T16:05:00");
    assert_eq!(
        convert(datetime("2006-02-03"), SqlType::varchar(30), Some(99), true).unwrap_err().number,
        281
    );
}

#[test]
fn dates_are_read_in_the_usual_notations() {
    let expected = "2006-12-30 16:05:06.500";
    for text in [
        "2006-12-30 16:05:06.500",
        "2006-12-30T16:05:06.5",
        "20061230 16:05:06.500",
        "12/30/2006 4:05:06.500 PM",
        "Dec 30 2006 4:05:06:500PM",
        "30 December 2006 16:05:06.5",
        "December 30, 06 16:05:06.5",
    ] {
        assert_eq!(text_of(datetime(text), 121), expected, "{text}");
    }
    assert_eq!(text_of(datetime("10:20"), 121), "1900-01-01 10:20:00.000");
    assert_eq!(text_of(datetime(""), 121), "1900-01-01 00:00:00.000");
    for bad in ["2006-13-01", "2006-02-30", "25:00", "12:60", "hello", "1/2/3/4", "2006-12-30T"] {
        assert_eq!(error(Value::varchar(bad), SqlType::DateTime), 241, "{bad}");
    }
}

#[test]
fn offsets_move_between_local_time_and_utc() {
    let value = cast(Value::varchar("2020-01-01 01:00:00 +02:00"), SqlType::DateTimeOffset(0)).unwrap();
    assert_eq!(display(&value), "2020-01-01 01:00:00 +02:00");
    assert_eq!(text_of(value, 127), "2019-12-31T23:00:00Z");
}

#[test]
fn days_and_datetimes_convert_both_ways() {
    assert_eq!(text_of(cast(Value::Int(1), SqlType::DateTime).unwrap(), 121), "1900-01-02 00:00:00.000");
    assert_eq!(cast(datetime("1900-01-02 18:00"), SqlType::Float), Ok(Value::Float(1.75)));
    assert_eq!(cast(datetime("1900-01-02 18:00"), SqlType::Int), Ok(Value::Int(2)));
}

#[test]
fn floats_show_six_digits() {
    let shown = [
        (1.0, "1"),
        (0.5, "0.5"),
        (1_234_567.0, "1.23457e+006"),
        (0.000_001, "1e-006"),
        (-2.5e10, "-2.5e+010"),
    ];
    for (value, expected) in shown {
        assert_eq!(display(&Value::Float(value)), expected);
    }
    assert_eq!(text_of(Value::Money(12_345_678), 1), "1,234.57");
    assert_eq!(text_of(Value::Money(50_000), 0), "5.00");
}

#[test]
fn xml_is_checked_and_loses_its_declaration() {
    let text = |value: &str| cast(Value::nvarchar(value), SqlType::Xml).map(|value| display(&value));
    assert_eq!(text("<?xml version=\"1.0\"?><a>1</a>").unwrap(), "<a>1</a>");
    assert_eq!(text("<a/><b/>text").unwrap(), "<a/><b/>text");
    assert_eq!(text("").unwrap(), "");
    let error = text("<a>\n</b>").unwrap_err();
    assert_eq!(error.number, 9400);
    assert!(error.message.contains("line 2"), "{}", error.message);
}

#[test]
fn xml_bytes_are_utf8_unless_marked_or_declared() {
    let from = |value: &[u8]| cast(bytes(value), SqlType::Xml).map(|value| display(&value));
    assert_eq!(from("<a>é</a>".as_bytes()).unwrap(), "<a>é</a>");
    assert_eq!(from(b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xE9</a>").unwrap(), "<a>é</a>");
    let utf16: Vec<u8> = "\u{FEFF}<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(from(&utf16).unwrap(), "<a/>");
    assert!(from(&utf16[2..]).is_err());
    let stored = cast(Value::Xml(crate::value::Text::unicode("<a/>")), SqlType::VarBinary(Length::Max));
    assert_eq!(stored, Ok(bytes(&utf16)));
}
