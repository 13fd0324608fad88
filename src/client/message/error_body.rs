//! Reads the body of an Error message (specification section 2.12).
//!
//! Its two elements are looked for by name: the layout is fixed, and a body that does not have it must not be lost, so it
//! is kept as the description.

use std::fmt;

use super::super::body::Body;
use super::super::server_codes::{self, Advice};

/// What an Error message says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorBody {
    /// Above 0: the peer's program ended the conversation with this code. Below 0: the broker's own error, negated.
    /// 0 when the body could not be read.
    pub code: i32,
    /// The text.
    pub description: String,
}

impl ErrorBody {
    /// Reads a body; one that has another layout becomes code 0 with its text as the description.
    #[must_use]
    pub fn read(body: &Body) -> Self {
        let text =
            body.decode_xml().unwrap_or_else(|_| String::from_utf8_lossy(body.as_bytes()).into_owned());
        let code = element(&text, "Code").and_then(|code| code.trim().parse().ok());
        // An old manual page calls the text `Message`; programs that followed it exist.
        match (code, element(&text, "Description").or_else(|| element(&text, "Message"))) {
            (Some(code), description) => {
                Self { code, description: description.map(unescape).unwrap_or_default() }
            }
            (None, _) => Self { code: 0, description: text },
        }
    }

    /// Whether the peer's program ended the conversation, rather than the broker.
    #[must_use]
    pub fn is_from_peer(&self) -> bool {
        self.code > 0
    }

    /// What to do about an error of the broker's; `None` for a code of the peer's program and one outside the catalogue.
    /// [`Advice::ReplaceDialog`] is all that a new dialog can mend; the others need somebody to correct the set-up, a
    /// permission or the message, and would come again.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        let number = if self.code < 0 { self.code.unsigned_abs() } else { return None };
        server_codes::lookup(number).map(|code| code.advice)
    }

    /// Whether what was still unsent may be sent again on a new dialog.
    #[must_use]
    pub fn is_resendable(&self) -> bool {
        server_codes::is_resendable(self.code)
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conversation error {}: {}", self.code, self.description)
    }
}

impl std::error::Error for ErrorBody {}

/// The text between the start and end tag of an element without a prefix.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let length = text[start..].find(&format!("</{name}>"))?;
    Some(&text[start..start + length])
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        let entity = &rest[at..];
        let end = entity.find(';').map_or(1, |semicolon| semicolon + 1);
        match decode_entity(&entity[..end]) {
            Some(character) => plain.push(character),
            None => plain.push_str(&entity[..end]),
        }
        rest = &entity[end..];
    }
    plain.push_str(rest);
    plain
}

fn decode_entity(entity: &str) -> Option<char> {
    match entity {
        "&lt;" => Some('<'),
        "&gt;" => Some('>'),
        "&amp;" => Some('&'),
        "&quot;" => Some('"'),
        "&apos;" => Some('\''),
        _ => {
            let number = entity.strip_prefix("&#")?.strip_suffix(';')?;
            let code = match number.strip_prefix('x') {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<?xml version=\"1.0\"?><Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error\">\
                       <Code>-8490</Code><Description>no &lt;b&gt; &amp; &#39;c&#x27; &bad; here</Description></Error>";

    #[test]
    fn code_and_description_are_read_from_utf_16_with_a_mark_and_from_utf_8() {
        let marked = Body::bytes([b"\xff\xfe", Body::utf16(XML).as_bytes()].concat());
        for body in [marked, Body::utf16(XML), Body::utf8(XML)] {
            let read = ErrorBody::read(&body);
            assert_eq!(read.code, -8490);
            assert_eq!(read.description, "no <b> & 'c' &bad; here");
            assert!(!read.is_from_peer() && !read.is_resendable());
        }
    }

    /// Case C041. The https form of the namespace is not told apart here; as a message type name it is no system message,
    /// since the server compares names byte by byte (specification, trap 1), where the case would have both read.
    #[test]
    fn c041_the_layout_of_the_old_manual_page_is_read_too_and_rubbish_has_no_code() {
        let old = "<Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker\"><Code>-8490</Code>\
                   <Message>no such service</Message></Error>";
        let read = ErrorBody::read(&Body::utf8(old));
        assert_eq!((read.code, read.description.as_str()), (-8490, "no such service"));
        let rubbish = ErrorBody::read(&Body::bytes([0xff, 0x00, 0x12]));
        assert_eq!(rubbish.code, 0);
    }

    #[test]
    fn a_body_of_another_layout_is_kept_as_the_description() {
        let read = ErrorBody::read(&Body::utf8("out of paper & ink"));
        assert_eq!((read.code, read.description.as_str()), (0, "out of paper & ink"));
    }
}
