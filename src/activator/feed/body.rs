//! Bodies of messages as the feed protocol writes them: text where they are text, base64 where they are not.
//!
//! Pure. A message says nothing about the encoding of its body, so the bytes decide: a byte-order mark first; then UTF-8,
//! if it has no zero bytes; then UTF-16LE, which is what T-SQL sends, if it has an even length and no control characters.
//! Without a mark that is a guess. It can mistake UTF-16 for UTF-8 only where both bytes of every character are ASCII
//! letters or signs; a handler that must be sure encodes its texts in UTF-8 or reads the bytes again from the text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARK: &[u8] = b"\xff\xfe";

/// How a text is turned into bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Encoding {
    /// UTF-8, without a mark.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-16LE, without a mark: what `CAST(message_body AS nvarchar(max))` reads.
    #[serde(rename = "utf-16")]
    Utf16,
}

/// A body on its way to the handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum FedBody {
    /// Well-formed text.
    Text {
        /// The text, without a byte-order mark.
        text: String,
        /// What it was.
        encoding: Encoding,
    },
    /// Anything else.
    Base64 {
        /// The bytes.
        base64: String,
    },
    /// In a file that is the handler's until it has answered.
    File {
        /// The absolute path.
        file: String,
    },
}

impl FedBody {
    /// The body for these bytes; `None` when there are none.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        Some(match read_text(bytes) {
            Some((text, encoding)) => Self::Text { text, encoding },
            None => Self::Base64 { base64: STANDARD.encode(bytes) },
        })
    }

    /// The encoding an answer has unless it says otherwise: that of the message, and UTF-16 if that was no text.
    pub(super) fn encoding_of_answers(bytes: &[u8]) -> Encoding {
        read_text(bytes).map_or(Encoding::Utf16, |(_, encoding)| encoding)
    }
}

/// A body on its way from the handler.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum AnsweredBody {
    /// `{"text":"..","encoding":"utf-8"}`; the encoding may be left out.
    Text(TextBody),
    /// `{"base64":".."}`.
    Base64(Base64Body),
}

/// Text in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextBody {
    text: String,
    encoding: Option<Encoding>,
}

/// Bytes in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base64Body {
    base64: String,
}

impl AnsweredBody {
    /// The bytes to send.
    pub(super) fn into_bytes(self, default: Encoding) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(TextBody { text, encoding }) => Ok(match encoding.unwrap_or(default) {
                Encoding::Utf8 => text.into_bytes(),
                Encoding::Utf16 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            }),
            Self::Base64(Base64Body { base64 }) => {
                STANDARD.decode(base64).map_err(|error| format!("the base64 of a body is not valid: {error}"))
            }
        }
    }
}

fn read_text(bytes: &[u8]) -> Option<(String, Encoding)> {
    if let Some(marked) = bytes.strip_prefix(UTF16_MARK) {
        return utf16(marked).map(|text| (text, Encoding::Utf16));
    }
    let unmarked = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    if !unmarked.contains(&0)
        && let Ok(text) = std::str::from_utf8(unmarked)
    {
        return Some((text.to_owned(), Encoding::Utf8));
    }
    let text = utf16(bytes).filter(|text| !text.contains(is_odd))?;
    Some((text, Encoding::Utf16))
}

fn utf16(bytes: &[u8]) -> Option<String> {
    let units = bytes.chunks_exact(2);
    if !units.remainder().is_empty() {
        return None;
    }
    let units: Vec<u16> = units.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// Characters that texts do not hold: their presence means that the bytes are something else.
fn is_odd(character: char) -> bool {
    let is_non_character = (u32::from(character) & 0xfffe) == 0xfffe;
    is_non_character || (character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::{AnsweredBody, Encoding, FedBody};

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn fed(bytes: &[u8]) -> String {
        serde_json::to_string(&FedBody::of(bytes)).unwrap()
    }

    #[test]
    fn text_is_text_and_says_what_it_was() {
        let marked = [&b"\xff\xfe"[..], &utf16("ä")].concat();
        for (bytes, expected) in [
            (&b"{\"a\":1}"[..], r#"{"text":"{\"a\":1}","encoding":"utf-8"}"#),
            (b"\xef\xbb\xbf<a/>", r#"{"text":"<a/>","encoding":"utf-8"}"#),
            (&utf16("<a/>"), r#"{"text":"<a/>","encoding":"utf-16"}"#),
            (&utf16("Grüße\n😀"), r#"{"text":"Grüße\n😀","encoding":"utf-16"}"#),
            (&marked, r#"{"text":"ä","encoding":"utf-16"}"#),
            (b"", "null"),
        ] {
            assert_eq!(fed(bytes), expected);
        }
    }

    #[test]
    fn anything_else_is_base64() {
        for (bytes, expected) in [
            (&b"\x00"[..], "AA=="),
            (b"\x01\x00", "AQA="),
            (b"\xff\xfe\x00\xd8", "//4A2A=="),
            (b"\xff\xfea", "//5h"),
            (b"abc\xff\x00", "YWJj/wA="),
        ] {
            assert_eq!(fed(bytes), format!(r#"{{"base64":"{expected}"}}"#), "{bytes:?}");
        }
    }

    #[test]
    fn answers_become_the_bytes_they_mean() {
        let bytes =
            |json: &str, default| serde_json::from_str::<AnsweredBody>(json).unwrap().into_bytes(default);
        assert_eq!(bytes(r#"{"text":"ä"}"#, Encoding::Utf16), Ok(vec![0xe4, 0]));
        assert_eq!(bytes(r#"{"text":"ä"}"#, Encoding::Utf8), Ok(vec![0xc3, 0xa4]));
        assert_eq!(bytes(r#"{"text":"a","encoding":"utf-8"}"#, Encoding::Utf16), Ok(vec![b'a']));
        assert_eq!(bytes(r#"{"base64":"AQI="}"#, Encoding::Utf8), Ok(vec![1, 2]));
        assert!(bytes(r#"{"base64":"?"}"#, Encoding::Utf8).unwrap_err().contains("base64"));
    }

    #[test]
    fn an_answer_with_anything_else_in_it_is_refused() {
        for json in [
            r#"{"text":"a","base64":"AA=="}"#,
            r#"{"file":"/x"}"#,
            r#"{"text":"a","encoding":"latin1"}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<AnsweredBody>(json).is_err(), "{json}");
        }
    }
}
