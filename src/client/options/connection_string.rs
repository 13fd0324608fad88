//! Splits an ADO.NET connection string into keywords and values. Knows the quoting rules and no keyword.

use std::fmt;

use super::super::error::{Error, Result};

/// One keyword with its value, both as meant: quotes removed, doubled characters single.
#[derive(PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) keyword: String,
    pub(super) value: String,
}

/// Without the value: it may be a password.
impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("keyword", &self.keyword).finish_non_exhaustive()
    }
}

/// Splits the text at semicolons outside quotes.
///
/// A value may be in single or double quotes, where the same quote doubled stands for one; `==` in a keyword stands for an
/// equals sign; blanks around keyword and value do not count. Errors name the keyword, never a value; nor what may be the
/// rest of a value, because it held a semicolon and was not quoted.
pub(super) fn split(text: &str) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start_matches(is_filler);
    while !rest.is_empty() {
        let before = pairs.last().map(|pair: &Pair| pair.keyword.as_str());
        let (keyword, after) = take_keyword(rest, before)?;
        let (value, after) = take_value(&keyword, after)?;
        pairs.push(Pair { keyword, value });
        rest = after.trim_start_matches(is_filler);
    }
    Ok(pairs)
}

fn is_filler(character: char) -> bool {
    character == ';' || character.is_whitespace()
}

fn take_keyword<'a>(text: &'a str, before: Option<&str>) -> Result<(String, &'a str)> {
    let mut keyword = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '=' if characters.next_if(|(_, next)| *next == '=').is_some() => keyword.push('='),
            '=' => return Ok((keyword.trim_end().to_owned(), &text[at + 1..])),
            ';' => break,
            other => keyword.push(other),
        }
    }
    let place = match (before, keyword.trim_end()) {
        (Some(before), _) => format!("in what follows the value of '{before}'"),
        (None, long) if long.chars().count() > 30 => "after a keyword".to_owned(),
        (None, first) => format!("after '{first}'"),
    };
    Err(Error::config(format!(
        "connection string: '=' is missing {place} (a value that holds ';' must be quoted)"
    )))
}

fn take_value<'a>(keyword: &str, text: &'a str) -> Result<(String, &'a str)> {
    let text = text.trim_start();
    match text.chars().next() {
        Some(quote @ ('\'' | '"')) => take_quoted(keyword, quote, &text[1..]),
        _ => {
            let end = text.find(';').unwrap_or(text.len());
            Ok((text[..end].trim_end().to_owned(), &text[end..]))
        }
    }
}

fn take_quoted<'a>(keyword: &str, quote: char, text: &'a str) -> Result<(String, &'a str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            value.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            value.push(quote);
        } else {
            let after = text[at + 1..].trim_start();
            if after.is_empty() || after.starts_with(';') {
                return Ok((value, after));
            }
            return Err(Error::config(format!(
                "connection string: the value of '{keyword}' goes on after its closing quote"
            )));
        }
    }
    Err(Error::config(format!("connection string: the closing quote of '{keyword}' is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        split(text).unwrap().into_iter().map(|pair| (pair.keyword, pair.value)).collect()
    }

    #[test]
    fn values_are_read_by_the_ado_net_rules() {
        let table = [
            ("a=1", vec![("a", "1")]),
            (" a b = 1 ; ;; c=2;", vec![("a b", "1"), ("c", "2")]),
            ("a='x;y';b=2", vec![("a", "x;y"), ("b", "2")]),
            ("a=\"x'y\"", vec![("a", "x'y")]),
            ("a='it''s'", vec![("a", "it's")]),
            ("a=\"say \"\"so\"\"\" ; b=", vec![("a", "say \"so\""), ("b", "")]),
            ("a=x=y", vec![("a", "x=y")]),
            ("a==b=1", vec![("a=b", "1")]),
            ("a=x'y\"z", vec![("a", "x'y\"z")]),
            ("a={x}", vec![("a", "{x}")]),
            ("a=' x '", vec![("a", " x ")]),
        ];
        for (text, expected) in table {
            let expected: Vec<_> = expected.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            assert_eq!(pairs(text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_not_printed_for_debugging() {
        let printed = format!("{:?}", split("password=abc").unwrap());
        assert!(printed.contains("password") && !printed.contains("abc"), "{printed}");
    }

    #[test]
    fn errors_name_the_keyword_and_not_the_value() {
        for (text, reason) in [
            ("server", "'=' is missing after 'server'"),
            ("password='abc", "the closing quote of 'password' is missing"),
            ("password='abc'def", "the value of 'password' goes on"),
            ("server=x;password=ab;abc123", "'=' is missing in what follows the value of 'password'"),
        ] {
            let error = split(text).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("abc"), "{error}");
        }
    }
}
