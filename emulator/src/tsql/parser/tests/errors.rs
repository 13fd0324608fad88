//! Numbers, lines and texts of errors.

use crate::tsql::parser::{ParseOptions, parse_batch};

#[test]
fn errors_carry_the_servers_number_line_and_text() {
    let cases = [
        ("SELECT 1\nSELECT a b c", 102, 2, "Incorrect syntax near 'c'."),
        ("SELECT\nFROM t", 156, 2, "Incorrect syntax near the keyword 'FROM'."),
        ("SELECT 1 +\n", 102, 1, "Incorrect syntax near '+'."),
        ("SELECT [a b] 'c' N'd'", 102, 1, "Incorrect syntax near 'd'."),
        ("SELECT 'a\nb", 105, 1, "Unclosed quotation mark after the character string 'a\nb'."),
        ("SELECT 1\n/* x", 113, 2, "Missing end comment mark '*/'."),
        (
            "SELECT a.b.c.d.e",
            117,
            1,
            "The object name 'a.b.c.d.e' contains more than the maximum number of prefixes. The maximum is 3.",
        ),
        ("SET FOO ON", 195, 1, "'FOO' is not a recognized SET option."),
        (
            "SELECT 1; CREATE SCHEMA s",
            111,
            1,
            "'CREATE SCHEMA' must be the first statement in a query batch.",
        ),
        (
            "MERGE t USING s ON 1 = 1 WHEN MATCHED THEN DELETE",
            10713,
            1,
            "A MERGE statement must be terminated by a semi-colon (;).",
        ),
    ];
    for (text, number, line, message) in cases {
        let error = parse_batch(text, ParseOptions::default()).expect_err(text);
        assert_eq!((error.number, error.line, error.message.as_str()), (number, line, message), "{text}");
    }
}

#[test]
fn an_earlier_mistake_is_reported_before_a_string_without_end() {
    let error = parse_batch("SELECT FROM t WHERE a = 'x", ParseOptions::default()).unwrap_err();
    assert_eq!(error.number, 156);
}

#[test]
fn names_are_limited_to_128_characters() {
    let name = "ä".repeat(128);
    assert!(parse_batch(&format!("SELECT [{name}]"), ParseOptions::default()).is_ok());
    let error = parse_batch(&format!("SELECT [{name}x]"), ParseOptions::default()).unwrap_err();
    assert_eq!(error.number, 103);
}
