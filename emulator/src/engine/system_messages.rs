//! Names, bodies and validation of messages: system message types, the Error body, event bodies, well-formedness.
//!
//! Pure functions over texts and bytes. It must not know queues, conversations or the state of the engine.

use bytes::Bytes;

use super::definitions::Validation;
use crate::value::Timestamp;

/// Message type and contract names the broker itself uses. `http`, never `https` (spec 0.1).
pub(crate) mod names {
    /// Arrives when a conversation failed; the body has code and description.
    pub(crate) const ERROR: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/Error";
    /// Arrives when the peer ended the conversation.
    pub(crate) const END_DIALOG: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog";
    /// Arrives when the endpoint's own timer is due.
    pub(crate) const DIALOG_TIMER: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer";
    /// Carries the body of an event notification.
    pub(crate) const EVENT_NOTIFICATION: &str =
        "http://schemas.microsoft.com/SQL/Notifications/EventNotification";
    /// Contract of the dialogs that carry event notifications.
    pub(crate) const POST_EVENT_NOTIFICATION: &str =
        "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";
    /// Service from which event notifications are sent.
    pub(crate) const EVENT_NOTIFICATION_SERVICE: &str =
        "http://schemas.microsoft.com/SQL/Notifications/EventNotificationService";
    /// Default message type and default contract.
    pub(crate) const DEFAULT: &str = "DEFAULT";
}

/// Body of an Error message (spec 2.12). U-21: UTF-16LE with a byte order mark.
pub(crate) fn error_body(code: i32, description: &str) -> Bytes {
    utf16_with_mark(&format!(
        "<?xml version=\"1.0\"?><Error xmlns=\"{}\"><Code>{code}</Code><Description>{}</Description></Error>",
        names::ERROR,
        escaped(description)
    ))
}

/// An event about a queue.
#[derive(Debug)]
pub(crate) struct QueueEvent<'a> {
    /// `QUEUE_ACTIVATION` or `BROKER_QUEUE_DISABLED`.
    pub(crate) event: &'a str,
    /// When it happened.
    pub(crate) post_time: Timestamp,
    /// Name of the server.
    pub(crate) server: &'a str,
    /// Database of the queue.
    pub(crate) database: &'a str,
    /// Schema of the queue.
    pub(crate) schema: &'a str,
    /// The queue.
    pub(crate) queue: &'a str,
}

/// 100 ns units in a millisecond.
const TICKS_PER_MILLISECOND: i64 = 10_000;
/// Milliseconds in a day.
const MILLISECONDS_PER_DAY: i64 = 86_400_000;
/// Number of the background session that events name.
const EVENT_SPID: u16 = 30;

/// Body of an event notification about a queue (spec 5.5): one line. U-33: both events have this layout. The local time
/// of the emulator's server is UTC.
pub(crate) fn queue_event_body(event: &QueueEvent<'_>) -> Bytes {
    utf16_with_mark(&format!(
        "<EVENT_INSTANCE><EventType>{}</EventType><PostTime>{}</PostTime><SPID>{EVENT_SPID}</SPID>\
         <ServerName>{}</ServerName><LoginName>sa</LoginName><UserName>dbo</UserName>\
         <DatabaseName>{}</DatabaseName><SchemaName>{}</SchemaName><ObjectName>{}</ObjectName>\
         <ObjectType>QUEUE</ObjectType></EVENT_INSTANCE>",
        event.event,
        post_time(event.post_time),
        escaped(event.server),
        escaped(event.database),
        escaped(event.schema),
        escaped(event.queue)
    ))
}

/// How a body fails the validation of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyProblem {
    /// A body where none may be.
    NotEmpty,
    /// Not well-formed XML, with the parser's words.
    Xml(String),
}

/// Checks a body against its type's validation (spec 1.2). A missing body passes every validation.
pub(crate) fn validate(validation: &Validation, body: Option<&[u8]>) -> Result<(), BodyProblem> {
    match (validation, body) {
        (_, None) | (Validation::None, Some(_)) => Ok(()),
        (Validation::Empty, Some(_)) => Err(BodyProblem::NotEmpty),
        (Validation::WellFormedXml | Validation::ValidXml(_), Some(body)) => {
            well_formed(body).map_err(BodyProblem::Xml)
        }
    }
}

fn well_formed(body: &[u8]) -> Result<(), String> {
    let text = xml_text(body)?;
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(&text, options).map(|_| ()).map_err(|e| e.to_string())
}

/// The characters of an XML body: by byte order mark, else UTF-16LE when it looks so, else the declared encoding, else
/// UTF-8.
fn xml_text(body: &[u8]) -> Result<String, String> {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(body) {
        return decoded(encoding, &body[mark..]);
    }
    if body.starts_with(b"<\0") {
        return decoded(encoding_rs::UTF_16LE, body);
    }
    let label = declared_encoding(body).unwrap_or(b"utf-8");
    match encoding_rs::Encoding::for_label(label) {
        // A declaration readable as single bytes cannot be true when it claims UTF-16.
        Some(encoding) if !is_utf16(encoding) => decoded(encoding, body),
        _ => Err(format!("encoding '{}' does not fit the bytes", String::from_utf8_lossy(label))),
    }
}

fn is_utf16(encoding: &'static encoding_rs::Encoding) -> bool {
    encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE
}

fn decoded(encoding: &'static encoding_rs::Encoding, bytes: &[u8]) -> Result<String, String> {
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .map(String::from)
        .ok_or_else(|| format!("the bytes are not valid {}", encoding.name()))
}

/// The value of `encoding` in an XML declaration.
fn declared_encoding(body: &[u8]) -> Option<&[u8]> {
    let end = body.windows(2).take(256).position(|pair| pair == b"?>")?;
    let declaration = body.starts_with(b"<?xml").then_some(&body[..end])?;
    let at = declaration.windows(8).position(|word| word == b"encoding")? + 8;
    let mut quoted = declaration[at..].split(|byte| matches!(byte, b'"' | b'\''));
    quoted.nth(1)
}

fn utf16_with_mark(text: &str) -> Bytes {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// `yyyy-mm-ddThh:mm:ss.fff`
fn post_time(at: Timestamp) -> String {
    let total = at.0.div_euclid(TICKS_PER_MILLISECOND);
    let millis = total.rem_euclid(MILLISECONDS_PER_DAY);
    let (year, month, day) = civil_date(total.div_euclid(MILLISECONDS_PER_DAY));
    let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}", millis % 1000)
}

/// Year, month and day of a day counted from 0001-01-01. Years are counted from March, so that leap days come last.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 306;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#xD;"),
            // XML 1.0 cannot hold them in any form (spec 5.5: what cannot be represented becomes `?`).
            '\0'..='\x08' | '\x0B' | '\x0C' | '\x0E'..='\x1F' | '\u{FFFE}' | '\u{FFFF}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{
        BodyProblem, QueueEvent, Timestamp, Validation, error_body, queue_event_body, utf16_with_mark,
        validate,
    };

    fn text(body: &[u8]) -> String {
        let units: Vec<u16> = body.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).unwrap()
    }

    fn is_xml(body: &[u8]) -> bool {
        validate(&Validation::WellFormedXml, Some(body)).is_ok()
    }

    #[test]
    fn the_error_body_has_the_layout_of_real_traces() {
        assert_eq!(
            text(&error_body(5, "x<y")),
            "\u{FEFF}<?xml version=\"1.0\"?><Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error\">\
             <Code>5</Code><Description>x&lt;y</Description></Error>"
        );
    }

    #[test]
    fn bodies_the_broker_makes_are_well_formed() {
        assert!(is_xml(&error_body(-8490, "a & b \0 \u{1} > c")));
        let event = QueueEvent {
            event: "QUEUE_ACTIVATION",
            post_time: Timestamp::from_unix_ticks(1_473_328_866_363 * 10_000),
            server: "HOST\\INSTANCE",
            database: "a<b",
            schema: "dbo",
            queue: "q&a",
        };
        let body = queue_event_body(&event);
        assert!(is_xml(&body));
        assert!(text(&body).contains("<PostTime>2016-09-08T10:01:06.363</PostTime>"));
        assert!(text(&body).contains("<ObjectName>q&amp;a</ObjectName><ObjectType>QUEUE</ObjectType>"));
        assert!(!text(&body).contains('\n'));
    }

    #[test]
    fn xml_is_accepted_in_any_encoding() {
        assert!(is_xml("<a>ä</a>".as_bytes()));
        assert!(is_xml(b"\xEF\xBB\xBF<a/>"));
        assert!(is_xml(&utf16_with_mark("<a>ä</a>")));
        assert!(is_xml(&utf16_with_mark("<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>")));
        assert!(is_xml(&utf16_with_mark("<a/>")[2..]));
        assert!(is_xml(b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xE4</a>"));
    }

    #[test]
    fn what_is_no_xml_is_refused() {
        for body in
            [&b"<a>"[..], b"plain", b"<a>\xE4</a>", b"<?xml version=\"1.0\" encoding=\"nosuch\"?><a/>"]
        {
            assert!(matches!(validate(&Validation::WellFormedXml, Some(body)), Err(BodyProblem::Xml(_))));
        }
    }

    #[test]
    fn a_missing_body_passes_and_an_empty_type_takes_nothing_else() {
        for validation in [Validation::None, Validation::Empty, Validation::WellFormedXml] {
            assert_eq!(validate(&validation, None), Ok(()));
        }
        assert_eq!(validate(&Validation::Empty, Some(b"x")), Err(BodyProblem::NotEmpty));
        assert_eq!(validate(&Validation::None, Some(b"\0\xFF")), Ok(()));
    }
}
