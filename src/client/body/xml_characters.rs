//! Which characters an XML 1.0 document may hold (production 2 of the recommendation), as they are and as references.
//!
//! Nothing here parses a document: it only steps over the places where a reference is plain text.

use std::fmt;

/// A character that XML 1.0 has no place for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Forbidden {
    code: u32,
    /// Whether it is written as a reference.
    is_reference: bool,
    /// Where it stands, in characters from 0.
    at: usize,
}

/// Places where a reference is plain text: how each begins and ends.
const PLAIN: [(&str, &str); 3] = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>")];

/// The first character of a document that XML 1.0 forbids.
pub(super) fn first_forbidden(document: &str) -> Option<Forbidden> {
    let raw = document.char_indices().find(|(_, character)| !is_allowed(u32::from(*character)));
    let raw = raw.map(|(at, character)| (at, u32::from(character), false));
    let referred = first_reference(document).map(|(at, code)| (at, code, true));
    let (at, code, is_reference) = [raw, referred].into_iter().flatten().min()?;
    Some(Forbidden { code, is_reference, at: document[..at].chars().count() })
}

/// The first reference to a forbidden character: its byte position and the character's code.
fn first_reference(document: &str) -> Option<(usize, u32)> {
    let mut at = 0;
    loop {
        at += document[at..].find(['&', '<'])?;
        let rest = &document[at..];
        if let Some((start, end)) = PLAIN.iter().find(|(start, _)| rest.starts_with(start)) {
            at += start.len() + rest[start.len()..].find(end)?;
            continue;
        }
        if let Some(code) = referred(rest).filter(|code| !is_allowed(*code)) {
            return Some((at, code));
        }
        at += 1;
    }
}

/// The code of a character reference at the beginning of this text. One that is too large for a number is none of Unicode.
fn referred(text: &str) -> Option<u32> {
    let (number, _) = text.strip_prefix("&#")?.split_once(';')?;
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    is_number.then(|| u32::from_str_radix(digits, radix).unwrap_or(u32::MAX))
}

fn is_allowed(code: u32) -> bool {
    matches!(code, 0x9 | 0xa | 0xd | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..=0x10_ffff)
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_reference { "a reference to it stands" } else { "it stands" };
        write!(f, "it cannot hold the character U+{:04X}, but {how} at {}", self.code, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::body::{Body, TextEncoding};
    use crate::client::error::ErrorKind;

    fn found(document: &str) -> Option<(u32, usize)> {
        first_forbidden(document).map(|forbidden| (forbidden.code, forbidden.at))
    }

    /// Case C013 without a server.
    #[test]
    fn c013_characters_that_xml_cannot_hold_are_named_and_the_bytes_stay() {
        assert_eq!(found("<r a=\"ö&#x4;\"/>"), Some((4, 7)));
        assert_eq!(found("<r>ö\0</r>"), Some((0, 4)));
        assert_eq!(found("<r>&#0;\u{1}</r>"), Some((0, 3)));
        assert_eq!(found("<r>&#xFFFF;</r>"), Some((0xffff, 3)));
        assert_eq!(found("<r>&#99999999999999999999;</r>"), Some((u32::MAX, 3)));
        let body = Body::utf8("<r a=\"x&#x4;\"/>");
        let error = body.to_xml_text().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BodyUnreadable);
        assert!(error.to_string().contains("U+0004"), "{error}");
        assert_eq!(body.as_bytes(), b"<r a=\"x&#x4;\"/>");
        let wide = Body::text("<r>\u{8}</r>", TextEncoding::MarkedUtf16);
        assert!(wide.to_xml_text().unwrap_err().to_string().contains("U+0008"));
    }

    #[test]
    fn what_xml_allows_is_left_alone() {
        for document in [
            "<r>\t\r\n&#9;&#x10FFFF;\u{10000}&amp;&lt;</r>",
            "<r><![CDATA[&#x4;]]><!-- &#x4; --><?p &#x4;?></r>",
            "<r>&# &#; &#x; &#xg; &#-4; & </r>",
            "<![CDATA[ &#x4;",
            "",
        ] {
            assert_eq!(found(document), None, "{document}");
        }
        assert_eq!(found("<r><![CDATA[&#x4;]]>&#x4;</r>"), Some((4, 20)));
    }
}
