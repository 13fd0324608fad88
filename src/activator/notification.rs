//! The body of an event notification, read into a typed notice.
//!
//! Pure: bytes in, notice out. Tolerant of what a later server may add, since a notice that is refused is a launch
//! that does not happen. Knows no queue, no configuration and no connection.
//!
//! The shape of the body (root `EVENT_INSTANCE`, no namespace, one element for each fact) is that of a captured
//! QUEUE_ACTIVATION; BROKER_QUEUE_DISABLED is assumed to have the same.

use crate::activator::text::{NotText, decode};
use crate::activator::xml_tree;
use std::error::Error;
use std::fmt;

/// What the server tells about a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What happened.
    pub event: QueueEvent,
    /// The server's own name, whatever name anybody connected by.
    pub server: String,
    /// Database of the queue.
    pub database: String,
    /// Schema of the queue.
    pub schema: String,
    /// Name of the queue.
    pub queue: String,
    /// When the server posted it, in its local time and without a zone, as written; `None` if it does not say.
    pub post_time: Option<String>,
}

/// What happened to a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueEvent {
    /// `QUEUE_ACTIVATION`: messages wait and nobody reads.
    QueueActivation,
    /// `BROKER_QUEUE_DISABLED`: five roll backs in a row have switched the queue off.
    QueueDisabled,
    /// Any other event, by the server's name for it.
    Other(String),
}

/// Why a body is no notice. None of these is a reason to leave the message on the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeError {
    /// The body is NULL or has no bytes.
    Empty,
    /// The body is no text.
    NotText(NotText),
    /// The body is text, but no XML; the reason.
    NotXml(String),
    /// The body is XML with another root element; its name.
    NotAnEvent(String),
    /// These elements are absent or empty.
    Missing(Vec<&'static str>),
}

impl fmt::Display for NoticeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the body is empty"),
            Self::NotText(_) => f.write_str("the body is not text"),
            Self::NotXml(reason) => write!(f, "the body is not XML: {reason}"),
            Self::NotAnEvent(root) => write!(f, "the body is a <{root}>, not an <EVENT_INSTANCE>"),
            Self::Missing(names) => write!(f, "the body lacks {}", names.join(", ")),
        }
    }
}

impl Error for NoticeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotText(source) => Some(source),
            _ => None,
        }
    }
}

impl Notice {
    /// Reads a message body: UTF-16 with or without a byte-order mark, or UTF-8. `None` is a NULL body.
    ///
    /// Elements may come in any order, and unknown ones are passed over; of a repeated one the first counts.
    ///
    /// # Errors
    /// [`NoticeError`] says what is wrong with the body.
    pub fn parse(body: Option<&[u8]>) -> Result<Self, NoticeError> {
        let body = body.filter(|body| !body.is_empty()).ok_or(NoticeError::Empty)?;
        let text = decode(body).map_err(NoticeError::NotText)?.text;
        let document = xml_tree::parse(&text).map_err(|error| NoticeError::NotXml(error.message))?;
        if document.root.name != "EVENT_INSTANCE" {
            return Err(NoticeError::NotAnEvent(document.root.name));
        }
        Self::from_event(&document.root)
    }

    fn from_event(root: &xml_tree::Element) -> Result<Self, NoticeError> {
        let mut missing = Vec::new();
        let mut required = |name| {
            let found = text_of(root, name);
            if found.is_none() {
                missing.push(name);
            }
            found.unwrap_or_default()
        };
        let notice = Self {
            event: QueueEvent::named(required("EventType")),
            server: required("ServerName"),
            database: required("DatabaseName"),
            schema: required("SchemaName"),
            queue: required("ObjectName"),
            post_time: text_of(root, "PostTime"),
        };
        if missing.is_empty() { Ok(notice) } else { Err(NoticeError::Missing(missing)) }
    }
}

impl QueueEvent {
    fn named(name: String) -> Self {
        match name.as_str() {
            "QUEUE_ACTIVATION" => Self::QueueActivation,
            "BROKER_QUEUE_DISABLED" => Self::QueueDisabled,
            _ => Self::Other(name),
        }
    }
}

impl fmt::Display for QueueEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueueActivation => "QUEUE_ACTIVATION",
            Self::QueueDisabled => "BROKER_QUEUE_DISABLED",
            Self::Other(name) => name,
        })
    }
}

/// The text of the first child called `name`, exactly as sent: white space can be part of a queue's name.
fn text_of(root: &xml_tree::Element, name: &str) -> Option<String> {
    let child = root.children.iter().find(|child| child.name == name)?;
    (!child.text.is_empty()).then(|| child.text.clone())
}

#[cfg(test)]
mod tests {
    use super::{Notice, NoticeError, QueueEvent};

    const BODY: &str = "<EVENT_INSTANCE><EventType>QUEUE_ACTIVATION</EventType><PostTime>2016-09-08T10:01:06.363</PostTime>\
        <SPID>30</SPID><ServerName>HOST\\PROD</ServerName><LoginName>sa</LoginName><UserName>dbo</UserName>\
        <DatabaseName>Sales</DatabaseName><SchemaName>dbo</SchemaName><ObjectName>Order &amp; Return Queue</ObjectName>\
        <ObjectType>QUEUE</ObjectType></EVENT_INSTANCE>";

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn error(body: &str) -> NoticeError {
        Notice::parse(Some(body.as_bytes())).unwrap_err()
    }

    #[test]
    fn a_real_body_is_read_in_every_encoding() {
        let expected = Notice {
            event: QueueEvent::QueueActivation,
            server: "HOST\\PROD".to_owned(),
            database: "Sales".to_owned(),
            schema: "dbo".to_owned(),
            queue: "Order & Return Queue".to_owned(),
            post_time: Some("2016-09-08T10:01:06.363".to_owned()),
        };
        let marked = format!("\u{feff}{BODY}");
        for body in [utf16(BODY), utf16(&marked), BODY.as_bytes().to_vec(), marked.into_bytes()] {
            assert_eq!(Notice::parse(Some(&body)).unwrap(), expected);
        }
    }

    #[test]
    fn other_events_keep_their_name() {
        let disabled = BODY.replace("QUEUE_ACTIVATION", "BROKER_QUEUE_DISABLED");
        assert_eq!(Notice::parse(Some(disabled.as_bytes())).unwrap().event, QueueEvent::QueueDisabled);
        let other = BODY.replace("QUEUE_ACTIVATION", "CREATE_TABLE");
        let event = Notice::parse(Some(other.as_bytes())).unwrap().event;
        assert_eq!(event, QueueEvent::Other("CREATE_TABLE".to_owned()));
        assert_eq!(event.to_string(), "CREATE_TABLE");
    }

    #[test]
    fn order_and_unknown_elements_do_not_matter() {
        let body = "<EVENT_INSTANCE xmlns=\"urn:later\"><New><ObjectName>inner</ObjectName></New><ObjectName> q </ObjectName>\
            <SchemaName>s</SchemaName>\n<DatabaseName>d</DatabaseName><ServerName>x</ServerName>\
            <EventType>QUEUE_ACTIVATION</EventType></EVENT_INSTANCE>";
        let notice = Notice::parse(Some(body.as_bytes())).unwrap();
        assert_eq!((notice.queue.as_str(), notice.post_time), (" q ", None));
    }

    #[test]
    fn a_body_that_is_no_notice_is_refused_with_its_reason() {
        assert_eq!(Notice::parse(None), Err(NoticeError::Empty));
        assert_eq!(Notice::parse(Some(b"")), Err(NoticeError::Empty));
        assert!(matches!(Notice::parse(Some(b"\xff\xfe<")), Err(NoticeError::NotText(_))));
        assert!(matches!(error("hello"), NoticeError::NotXml(_)));
        assert!(matches!(error("<EVENT_INSTANCE><EventType>"), NoticeError::NotXml(_)));
        assert_eq!(error("<Error/>"), NoticeError::NotAnEvent("Error".to_owned()));
        let body = BODY.replace("<SchemaName>dbo</SchemaName>", "").replace("Sales", "");
        assert_eq!(error(&body), NoticeError::Missing(vec!["DatabaseName", "SchemaName"]));
        assert_eq!(error(&body).to_string(), "the body lacks DatabaseName, SchemaName");
    }
}
