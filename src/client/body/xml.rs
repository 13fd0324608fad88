//! XML bodies: the encoding of a document, by its byte order mark, its first bytes and its declaration.
//!
//! The rules are those of appendix F of the XML recommendation. Whether the document is well-formed is not checked here,
//! but for the characters it holds (`xml_characters.rs`).

use super::Body;
use super::text::{TextEncoding, decode_utf16};
use super::xml_characters;
use crate::client::error::{Error, Result};

impl Body {
    /// An XML document in the encoding its declaration names, so that the server's `CAST(message_body AS xml)` reads it:
    /// UTF-8 when it names none, UTF-16 behind a byte order mark for `utf-16`.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](crate::client::ErrorKind::Value) when it declares an encoding other than UTF-8, UTF-16,
    /// US-ASCII, ISO-8859-1 and Windows-1252, or has a character the declared one lacks.
    pub fn xml(document: &str) -> Result<Self> {
        let declared = declared_encoding(document);
        match Declared::named(declared.unwrap_or("utf-8")).map_err(Error::value)? {
            Declared::Utf8 => Ok(Self::text(document, TextEncoding::Utf8)),
            Declared::Utf16 => Ok(Self::text(document, TextEncoding::MarkedUtf16)),
            Declared::Bytes(page) => page.encode(document).map(Self),
        }
    }

    /// Reads the body as an XML document. A byte order mark or the first two bytes show UTF-16; otherwise the declared
    /// encoding counts, UTF-8 if none is declared.
    ///
    /// A document in UTF-16 may declare anything: T-SQL makes such documents of `nvarchar` text. The declaration stays in
    /// the text.
    ///
    /// Characters that XML 1.0 cannot hold, as they are or as references such as `&#x4;`, are refused: the server makes such
    /// documents of control characters in its data, and a parser would fail on them later.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`](crate::client::ErrorKind::BodyUnreadable) when the bytes are not in the encoding they
    /// are declared or seem to be in, for an encoding other than those of [`xml`](Self::xml), and for such a character; the
    /// text names what is wrong and where.
    pub fn to_xml_text(&self) -> Result<String> {
        let text = self.decode_xml()?;
        match xml_characters::first_forbidden(&text) {
            Some(forbidden) => Err(Error::unreadable(format!("the body is not xml: {forbidden}"))),
            None => Ok(text),
        }
    }

    /// The same without a look at the characters.
    pub(crate) fn decode_xml(&self) -> Result<String> {
        match self.0.as_slice() {
            [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
            [0xef, 0xbb, 0xbf, ..] => self.to_utf8().map(str::to_owned),
            // A document begins with an ASCII character, which has a zero beside it in UTF-16.
            [_, 0, ..] => decode_utf16(&self.0, u16::from_le_bytes),
            [0, _, ..] => decode_utf16(&self.0, u16::from_be_bytes),
            bytes => self.decode_declared(bytes),
        }
    }

    fn decode_declared(&self, bytes: &[u8]) -> Result<String> {
        // The declaration is ASCII in every encoding that may come here.
        let head: String = bytes.iter().take(256).map(|byte| char::from(*byte)).collect();
        match Declared::named(declared_encoding(&head).unwrap_or("utf-8")).map_err(Error::unreadable)? {
            Declared::Utf8 => self.to_utf8().map(str::to_owned),
            Declared::Utf16 => {
                Err(Error::unreadable("the document declares utf-16 but is written in single bytes"))
            }
            Declared::Bytes(page) => page.decode(bytes),
        }
    }
}

/// An encoding a document may declare.
enum Declared {
    Utf8,
    Utf16,
    Bytes(Page),
}

/// An encoding of one byte for each character.
#[derive(Clone, Copy)]
enum Page {
    Ascii,
    Latin1,
    Windows1252,
}

/// What Windows-1252 has at 0x80 to 0x9F; five places are empty.
const WINDOWS_1252: [Option<char>; 32] = {
    let mut page = [None; 32];
    let text = "€\u{0}‚ƒ„…†‡ˆ‰Š‹Œ\u{0}Ž\u{0}\u{0}‘’“”•–—˜™š›œ\u{0}žŸ";
    let (bytes, mut at, mut place) = (text.as_bytes(), 0, 0);
    while place < 32 {
        let (code, length) = match bytes[at] {
            first @ 0..0x80 => (first as u32, 1),
            first @ 0x80..0xe0 => ((first as u32 & 0x1f) << 6 | (bytes[at + 1] as u32 & 0x3f), 2),
            first => {
                let middle = (bytes[at + 1] as u32 & 0x3f) << 6;
                ((first as u32 & 0x0f) << 12 | middle | (bytes[at + 2] as u32 & 0x3f), 3)
            }
        };
        page[place] = if code == 0 { None } else { char::from_u32(code) };
        at += length;
        place += 1;
    }
    page
};

impl Declared {
    fn named(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Ok(Self::Utf8),
            "utf-16" | "utf-16le" | "utf-16be" | "ucs-2" | "iso-10646-ucs-2" => Ok(Self::Utf16),
            "us-ascii" | "ascii" => Ok(Self::Bytes(Page::Ascii)),
            "iso-8859-1" | "latin1" => Ok(Self::Bytes(Page::Latin1)),
            "windows-1252" | "cp1252" => Ok(Self::Bytes(Page::Windows1252)),
            _ => Err(format!(
                "the document declares the encoding '{name}'; known are utf-8, utf-16, us-ascii, iso-8859-1 and \
                 windows-1252"
            )),
        }
    }
}

impl Page {
    fn name(self) -> &'static str {
        match self {
            Self::Ascii => "us-ascii",
            Self::Latin1 => "iso-8859-1",
            Self::Windows1252 => "windows-1252",
        }
    }

    fn decode(self, bytes: &[u8]) -> Result<String> {
        let character = |(at, byte): (usize, &u8)| {
            self.character(*byte).ok_or_else(|| {
                Error::unreadable(format!("the body is not {}: byte {at} is {byte:#04x}", self.name()))
            })
        };
        bytes.iter().enumerate().map(character).collect()
    }

    fn encode(self, text: &str) -> Result<Vec<u8>> {
        let byte = |character: char| {
            let found = (0..=255).find(|byte| self.character(*byte) == Some(character));
            found.ok_or_else(|| {
                Error::value(format!(
                    "the document declares {}, which has no character '{character}'",
                    self.name()
                ))
            })
        };
        text.chars().map(byte).collect()
    }

    fn character(self, byte: u8) -> Option<char> {
        match (self, byte) {
            (_, 0..0x80) | (Self::Latin1, _) | (Self::Windows1252, 0xa0..) => Some(char::from(byte)),
            (Self::Windows1252, _) => WINDOWS_1252[usize::from(byte - 0x80)],
            (Self::Ascii, _) => None,
        }
    }
}

/// The encoding in the XML declaration, if there is one.
fn declared_encoding(document: &str) -> Option<&str> {
    let declaration = document.strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let behind = declaration[declaration.find("encoding")? + "encoding".len()..].trim_start();
    let value = behind.strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(encoding: &str, text: &str) -> String {
        format!("<?xml version=\"1.0\" encoding='{encoding}'?><a>{text}</a>")
    }

    #[test]
    fn xml_is_recognised_with_and_without_a_byte_order_mark() {
        let xml = "<a>ö</a>";
        let big_endian: Vec<u8> = xml.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for body in [
            Body::utf8(xml),
            Body::utf16(xml),
            Body::text(xml, TextEncoding::MarkedUtf16),
            Body::text(xml, TextEncoding::MarkedUtf8),
            Body::bytes(big_endian.clone()),
            Body::bytes([b"\xfe\xff", big_endian.as_slice()].concat()),
        ] {
            assert_eq!(body.to_xml_text().unwrap(), xml, "{:?}", body.as_bytes());
        }
    }

    #[test]
    fn a_document_is_written_in_the_encoding_it_declares_and_read_back() {
        for (encoding, text, bytes) in [
            ("UTF-8", "ö", "ö".as_bytes()),
            ("iso-8859-1", "ö\u{80}", b"\xf6\x80"),
            ("windows-1252", "ö€Ÿ", b"\xf6\x80\x9f"),
            ("us-ascii", "o", b"o"),
        ] {
            let document = declared(encoding, text);
            let body = Body::xml(&document).unwrap();
            let at = document.find("<a>").unwrap() + 3;
            assert_eq!(&body.as_bytes()[at..at + bytes.len()], bytes, "{encoding}");
            assert_eq!(body.to_xml_text().unwrap(), document);
        }
        let wide = declared("utf-16", "ö");
        assert!(Body::xml(&wide).unwrap().as_bytes().starts_with(b"\xff\xfe<\0"));
        assert_eq!(Body::xml(&wide).unwrap().to_xml_text().unwrap(), wide);
        assert_eq!(Body::xml("<a/>").unwrap(), Body::utf8("<a/>"));
    }

    #[test]
    fn text_of_an_nvarchar_may_declare_anything() {
        let document = declared("utf-8", "ö");
        assert_eq!(Body::utf16(&document).to_xml_text().unwrap(), document);
    }

    #[test]
    fn what_cannot_be_written_or_read_is_named() {
        let text = |result: Result<String>| result.unwrap_err().to_string();
        let written = |document: &str| text(Body::xml(document).and_then(|body| body.to_xml_text()));
        assert!(written(&declared("us-ascii", "ö")).contains("us-ascii, which has no character 'ö'"));
        assert!(written(&declared("koi8-r", "a")).contains("'koi8-r'"));
        let read = |body: Body| text(body.to_xml_text());
        assert!(read(Body::utf8(declared("utf-16", "a"))).contains("single bytes"));
        assert!(read(Body::utf8(declared("ascii", "ö"))).contains("is 0xc3"));
        let hole = [declared("windows-1252", "").as_bytes(), b"\x81"].concat();
        assert!(read(Body::bytes(hole)).contains("not windows-1252"));
    }
}
