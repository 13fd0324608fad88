//! Lexical forms of XML Schema values: booleans and unsigned numbers.
//!
//! Knows nothing of the elements that carry them.

use super::super::fault::Report;
use super::super::raw::Located;

/// `xs:boolean`: `true`, `false`, `1` or `0`, in lower case only; white space around it does not count.
pub(super) fn boolean(report: &mut Report, what: &str, text: &Located<String>) -> Option<Located<bool>> {
    let value = match text.value.trim_ascii() {
        "true" | "1" => true,
        "false" | "0" => false,
        other => {
            report.fault(text.line, format!("{what}=\"{other}\" must be true, false, 1 or 0, in lower case"));
            return None;
        }
    };
    Some(Located { value, line: text.line })
}

/// An unsigned schema number within `low..=high`; leading zeros and a plus sign are allowed, as in XML Schema.
pub(super) fn unsigned(
    report: &mut Report,
    what: &str,
    text: &Located<String>,
    low: u32,
    high: u32,
) -> Option<Located<u32>> {
    let written = text.value.trim_ascii();
    match written.parse::<u32>() {
        Ok(value) if (low..=high).contains(&value) => Some(Located { value, line: text.line }),
        _ => {
            report.fault(
                text.line,
                format!("{what}=\"{written}\" must be a whole number from {low} to {high}"),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Located, Report, boolean, unsigned};
    use std::path::Path;

    fn at_line_3(text: &str) -> Located<String> {
        Located { value: text.to_owned(), line: 3 }
    }

    #[test]
    fn booleans_have_four_forms() {
        let mut report = Report::new(Path::new("f"));
        for (text, value) in [("true", true), (" 1 ", true), ("false", false), ("0", false)] {
            assert_eq!(boolean(&mut report, "enabled", &at_line_3(text)).unwrap().value, value);
        }
        for text in ["TRUE", "True", "yes", ""] {
            assert!(boolean(&mut report, "enabled", &at_line_3(text)).is_none());
        }
        assert_eq!(report.finish().unwrap_err().faults().len(), 4);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut report = Report::new(Path::new("f"));
        for (text, value) in [("0", 0), ("016", 16), (" +7\n", 7)] {
            assert_eq!(unsigned(&mut report, "min", &at_line_3(text), 0, 16).unwrap().value, value);
        }
        for text in ["17", "-1", "1.0", "", "0x1", "4294967296"] {
            assert!(unsigned(&mut report, "min", &at_line_3(text), 0, 16).is_none());
        }
        let error = report.finish().unwrap_err();
        assert_eq!(error.faults()[0].to_string(), "f:3: min=\"17\" must be a whole number from 0 to 16");
        assert_eq!(error.faults().len(), 6);
    }
}
