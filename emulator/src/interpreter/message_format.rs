//! Messages with places for arguments, as RAISERROR writes them: `%s %d %i %u %x %X %o %%`, flags, width, precision.
//!
//! Pure. Source: the RAISERROR page of the T-SQL reference. This file must not know where messages go.

use super::errors;
use crate::error::SqlError;
use crate::value::Value;

/// Longest message in characters; a longer one ends with an ellipsis.
const LONGEST: usize = 2047;

/// Most arguments RAISERROR takes.
const MOST_ARGUMENTS: usize = 20;

/// The text with its places filled by `arguments`. Arguments that are NULL or missing print as `(null)`.
///
/// # Errors
/// 2747 for more than 20 arguments, 2748 and 2786 for arguments that do not fit, 2787 for places not understood.
pub(super) fn format_message(text: &str, arguments: &[Value]) -> Result<String, SqlError> {
    if arguments.len() > MOST_ARGUMENTS {
        return Err(errors::too_many_substitutions());
    }
    let mut arguments = Arguments { values: arguments, next: 0 };
    let mut formatted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        formatted.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            formatted.push('%');
            rest = after;
            continue;
        }
        let (place, length) = Place::parse(rest, &mut arguments)?;
        formatted.push_str(&place.fill(&mut arguments)?);
        rest = &rest[length..];
    }
    formatted.push_str(rest);
    Ok(shortened(formatted))
}

/// The arguments and how many of them are used.
struct Arguments<'a> {
    values: &'a [Value],
    next: usize,
}

impl<'a> Arguments<'a> {
    /// The next argument and its 1-based position; NULL when there is none left.
    fn take(&mut self) -> (&'a Value, usize) {
        self.next += 1;
        (self.values.get(self.next - 1).unwrap_or(&Value::Null), self.next)
    }

    /// The next argument as a width or precision.
    fn take_size(&mut self) -> Result<i64, SqlError> {
        let (value, position) = self.take();
        integer(value).ok_or_else(|| errors::substitution_mismatch(position))
    }
}

/// One place of a message.
#[derive(Debug, Default)]
struct Place {
    left: bool,
    sign: Option<char>,
    zeros: bool,
    prefix: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Place {
    /// Reads a place that stands at the beginning of `text`, behind its `%`; also its length in bytes.
    fn parse(text: &str, arguments: &mut Arguments<'_>) -> Result<(Place, usize), SqlError> {
        let mut place = Place::default();
        let mut scanner = Scanner { text, at: 0 };
        while place.flag(scanner.peek()) {
            scanner.at += 1;
        }
        if let Some(width) = scanner.size(arguments)? {
            place.left |= width < 0;
            place.width = usize::try_from(width.unsigned_abs()).unwrap_or(LONGEST).min(LONGEST);
        }
        if scanner.eat(".") {
            let precision = scanner.size(arguments)?.unwrap_or(0);
            place.precision = Some(usize::try_from(precision).unwrap_or(0).min(LONGEST));
        }
        let _ = scanner.eat("I64") || scanner.eat("l") || scanner.eat("h");
        match scanner.peek() {
            Some(kind @ ('d' | 'i' | 'u' | 'o' | 'x' | 'X' | 's')) => place.kind = kind,
            other => {
                let end = scanner.at + other.map_or(0, char::len_utf8);
                return Err(errors::format_specification(&format!("%{}", &text[..end])));
            }
        }
        Ok((place, scanner.at + 1))
    }

    fn flag(&mut self, c: Option<char>) -> bool {
        match c {
            Some('-') => self.left = true,
            Some(sign @ ('+' | ' ')) => self.sign = self.sign.filter(|sign| *sign == '+').or(Some(sign)),
            Some('0') => self.zeros = true,
            Some('#') => self.prefix = true,
            _ => return false,
        }
        true
    }

    fn fill(&self, arguments: &mut Arguments<'_>) -> Result<String, SqlError> {
        let (value, position) = arguments.take();
        if value.is_null() {
            return Ok(self.padded("(null)".to_owned()));
        }
        if self.kind == 's' {
            return Ok(self.padded(self.cut(text(value, position)?)));
        }
        match integer(value) {
            Some(number) => Ok(self.number(number, matches!(value, Value::BigInt(_)))),
            None if text(value, position).is_ok() => Err(errors::substitution_mismatch(position)),
            None => Err(errors::substitution_type(position)),
        }
    }

    fn cut(&self, text: String) -> String {
        match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text,
        }
    }

    fn number(&self, number: i64, wide: bool) -> String {
        let bits = if wide { number as u64 } else { u64::from(number as i32 as u32) };
        let (sign, digits) = match self.kind {
            'd' | 'i' => (self.sign_of(number), number.unsigned_abs().to_string()),
            'u' => (String::new(), bits.to_string()),
            'o' => (self.prefixed("0", bits), format!("{bits:o}")),
            'x' => (self.prefixed("0x", bits), format!("{bits:x}")),
            _ => (self.prefixed("0X", bits), format!("{bits:X}")),
        };
        let least = match self.precision {
            Some(precision) => precision,
            None if self.zeros && !self.left => self.width.saturating_sub(sign.len()),
            None => 0,
        };
        self.padded(format!("{sign}{digits:0>least$}"))
    }

    fn sign_of(&self, number: i64) -> String {
        match self.sign {
            _ if number < 0 => "-".to_owned(),
            Some(sign) => sign.to_string(),
            None => String::new(),
        }
    }

    fn prefixed(&self, prefix: &str, bits: u64) -> String {
        if self.prefix && bits != 0 { prefix.to_owned() } else { String::new() }
    }

    fn padded(&self, text: String) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

/// A cursor over the text of a place.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, expected: &str) -> bool {
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// A number, or `*` for one taken from the arguments; `None` when neither stands here.
    fn size(&mut self, arguments: &mut Arguments<'_>) -> Result<Option<i64>, SqlError> {
        if self.eat("*") {
            return arguments.take_size().map(Some);
        }
        let digits = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        let number = &self.text[self.at..self.at + digits];
        self.at += digits;
        Ok((digits > 0).then(|| number.parse().unwrap_or(LONGEST as i64)))
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Bit(bit) => Some(i64::from(*bit)),
        Value::TinyInt(number) => Some(i64::from(*number)),
        Value::SmallInt(number) => Some(i64::from(*number)),
        Value::Int(number) => Some(i64::from(*number)),
        Value::BigInt(number) => Some(*number),
        _ => None,
    }
}

fn text(value: &Value, position: usize) -> Result<String, SqlError> {
    match value {
        Value::Text(text) => Ok(text.to_string()),
        Value::Binary(bytes) => {
            Ok(encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned())
        }
        value if integer(value).is_some() => Err(errors::substitution_mismatch(position)),
        _ => Err(errors::substitution_type(position)),
    }
}

fn shortened(text: String) -> String {
    if text.chars().count() <= LONGEST {
        return text;
    }
    let mut kept: String = text.chars().take(LONGEST - 3).collect();
    kept.push_str("...");
    kept
}

#[cfg(test)]
mod tests {
    use super::format_message;
    use crate::value::Value;

    fn formatted(text: &str, arguments: &[Value]) -> String {
        format_message(text, arguments).unwrap()
    }

    fn number_of(text: &str, arguments: &[Value]) -> i32 {
        format_message(text, arguments).unwrap_err().number
    }

    #[test]
    fn strings_and_numbers_fill_their_places() {
        let arguments = [Value::nvarchar("a"), Value::Int(-5), Value::TinyInt(7)];
        assert_eq!(formatted("x %s %d %i.", &arguments), "x a -5 7.");
        assert_eq!(formatted("100%% of %d", &[Value::Int(3)]), "100% of 3");
    }

    #[test]
    fn unsigned_forms_show_the_bits_of_an_int() {
        let minus_one = [Value::Int(-1), Value::Int(-1), Value::Int(8), Value::Int(255)];
        assert_eq!(formatted("%u %x %o %#X", &minus_one), "4294967295 ffffffff 10 0XFF");
    }

    #[test]
    fn width_precision_and_flags_count() {
        let a = [Value::nvarchar("abc")];
        assert_eq!(formatted("[%5s][", &a), "[  abc][");
        assert_eq!(formatted("[%-5s][", &a), "[abc  ][");
        assert_eq!(formatted("%.2s", &a), "ab");
        assert_eq!(
            formatted("%*.*s|", &[Value::Int(7), Value::Int(3), Value::nvarchar("abcdef")]),
            "    abc|"
        );
        assert_eq!(formatted("%05d %+d", &[Value::Int(-42), Value::Int(7)]), "-0042 +7");
        assert_eq!(formatted("%I64d", &[Value::BigInt(5_000_000_000)]), "5000000000");
    }

    #[test]
    fn null_and_missing_arguments_print_as_null() {
        assert_eq!(formatted("%s %d", &[Value::Null]), "(null) (null)");
    }

    #[test]
    fn misfits_have_numbers_of_their_own() {
        assert_eq!(number_of("%d", &[Value::nvarchar("a")]), 2786);
        assert_eq!(number_of("%s", &[Value::Int(1)]), 2786);
        assert_eq!(number_of("%s", &[Value::Float(1.0)]), 2748);
        assert_eq!(number_of("%q", &[Value::Int(1)]), 2787);
        assert_eq!(number_of("x", &vec![Value::Int(1); 21]), 2747);
    }

    #[test]
    fn a_message_has_at_most_2047_characters() {
        let long = formatted("%s", &[Value::nvarchar(&"x".repeat(3000))]);
        assert_eq!(long.chars().count(), 2047);
        assert!(long.ends_with("xx..."));
    }
}
