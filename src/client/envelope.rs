//! An optional envelope around a body: message id, content type, trace context, and headers of one's own.
//!
//! The broker carries bodies without headers. Programs that agree on it put this envelope around the body; it says itself
//! what it is, so that bodies without it stay what they are. Layout, numbers in little-endian order:
//!
//! ```text
//! 89 'S' 'S' 'B' 'E' 0D 0A 1A   eight bytes that begin no text in UTF-8 or UTF-16 and no XML
//! u8  version, 1                u8  0                u16 number of headers
//! u32 bytes of all headers      u64 bytes of the body
//! headers: u16 bytes of the name, name in UTF-8, u32 bytes of the value, value
//! body
//! ```
//!
//! Headers keep their order and may repeat. Nothing here sends or receives.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::body::Body;
use super::error::{Error, Result};
use super::message::Message;

const MAGIC: &[u8; 8] = b"\x89SSBE\r\n\x1a";
const VERSION: u8 = 1;
/// Magic, version, reserved byte, number of headers, bytes of the headers, bytes of the body.
const FIXED: usize = 8 + 1 + 1 + 2 + 4 + 8;

const MOST_HEADERS: usize = 1_000;
const LONGEST_NAME: usize = 256;
const LONGEST_VALUE: usize = 64 << 10;

/// A body with headers.
///
/// ```
/// # fn main() -> Result<(), ssbroker::client::Error> {
/// use ssbroker::client::{Body, Envelope};
///
/// let sent = Envelope::new(Body::utf8("{}")).content_type("application/json")?.header("tenant", "7")?;
/// let received = Envelope::read(&Body::from(sent.clone()))?.expect("the body is an envelope");
/// assert_eq!(received, sent);
/// assert_eq!(Envelope::read(&Body::utf8("{}"))?, None);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

impl Envelope {
    /// The header of the message id.
    pub const MESSAGE_ID: &'static str = "message-id";
    /// The header of the id of the message this one answers.
    pub const CORRELATION_ID: &'static str = "correlation-id";
    /// The header of the content type.
    pub const CONTENT_TYPE: &'static str = "content-type";
    /// The header of the W3C trace context.
    pub const TRACEPARENT: &'static str = "traceparent";
    /// The header of the trace context's vendor data.
    pub const TRACESTATE: &'static str = "tracestate";

    /// An envelope around a body, with a message id of its own.
    #[must_use]
    pub fn new(body: impl Into<Body>) -> Self {
        let id = (Self::MESSAGE_ID.to_owned(), Uuid::new_v4().to_string().into_bytes());
        Self { headers: vec![id], body: body.into() }
    }

    /// An envelope around an answer: it names the message it answers and continues its trace.
    #[must_use]
    pub fn answering(received: &Envelope, body: impl Into<Body>) -> Self {
        let mut answer = Self::new(body);
        if let Some(id) = received.get(Self::MESSAGE_ID) {
            answer.headers.push((Self::CORRELATION_ID.to_owned(), id.to_vec()));
        }
        match received.trace_context() {
            Some(trace) => answer.traced(&trace.child()),
            None => answer,
        }
    }

    /// Reads a body; `None` when it is a raw one.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`](super::ErrorKind::BodyUnreadable) when it begins as an envelope and is none: of a
    /// newer version, cut off, or damaged.
    pub fn read(body: &Body) -> Result<Option<Self>> {
        match body.as_bytes().strip_prefix(MAGIC) {
            Some(rest) => {
                let decoded = decode(rest).map_err(|fault| Error::unreadable(format!("envelope: {fault}")));
                decoded.map(|(headers, body)| Some(Self { headers, body: Body::from(body) }))
            }
            None => Ok(None),
        }
    }

    /// Adds a header; the same name may come again. Names are case-sensitive.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) for an empty name or one above 256 bytes, a value above 64 KiB, or
    /// more than 1,000 headers.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Result<Self> {
        let (name, value) = (name.into(), value.into());
        if !(1..=LONGEST_NAME).contains(&name.len()) || value.len() > LONGEST_VALUE {
            return Err(Error::config(format!(
                "a header has a name of 1 to {LONGEST_NAME} bytes and a value of at most {LONGEST_VALUE}, not {} and {}",
                name.len(),
                value.len()
            )));
        }
        if self.headers.len() == MOST_HEADERS {
            return Err(Error::config(format!("an envelope has at most {MOST_HEADERS} headers")));
        }
        self.headers.push((name, value));
        Ok(self)
    }

    /// Says what the body is, for example `application/json`.
    ///
    /// # Errors
    /// As [`header`](Self::header).
    pub fn content_type(self, content_type: &str) -> Result<Self> {
        self.without(Self::CONTENT_TYPE).header(Self::CONTENT_TYPE, content_type)
    }

    /// Replaces the message id.
    #[must_use]
    pub fn identified(self, id: Uuid) -> Self {
        self.with(Self::MESSAGE_ID, id.to_string())
    }

    /// Puts the trace context of the sending operation on it.
    #[must_use]
    pub fn traced(self, trace: &TraceContext) -> Self {
        let traced = self.without(Self::TRACESTATE).with(Self::TRACEPARENT, trace.traceparent());
        match &trace.state {
            Some(state) => traced.with(Self::TRACESTATE, state.clone()),
            None => traced,
        }
    }

    /// The value of the first header with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The same as text; `None` also when it is not UTF-8.
    #[must_use]
    pub fn get_text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// All headers, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The message id, if there is one and it is a UUID.
    #[must_use]
    pub fn message_id(&self) -> Option<Uuid> {
        message_id(&self.headers)
    }

    /// The id of the message this one answers.
    #[must_use]
    pub fn correlation_id(&self) -> Option<Uuid> {
        self.get_text(Self::CORRELATION_ID).and_then(|text| text.parse().ok())
    }

    /// The trace context. A faulty one counts as none, as the recommendation asks.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        let trace: TraceContext = self.get_text(Self::TRACEPARENT)?.parse().ok()?;
        let state = self.get_text(Self::TRACESTATE).filter(|state| !state.is_empty());
        Some(TraceContext { state: state.map(str::to_owned), ..trace })
    }

    /// The body inside.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The body inside, by value.
    #[must_use]
    pub fn into_body(self) -> Body {
        self.body
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    fn with(self, name: &str, value: String) -> Self {
        let mut replaced = self.without(name);
        replaced.headers.push((name.to_owned(), value.into_bytes()));
        replaced
    }
}

impl Message {
    /// The envelope of the body; `None` when it is a raw body.
    ///
    /// # Errors
    /// As [`Envelope::read`].
    pub fn envelope(&self) -> Result<Option<Envelope>> {
        Envelope::read(&self.body)
    }

    /// The message id of its envelope. It is the same each time the message arrives, also on another conversation. `None`
    /// for a raw body and for one that cannot be read.
    #[must_use]
    pub fn message_id(&self) -> Option<Uuid> {
        let (headers, _) = decode(self.body.as_bytes().strip_prefix(MAGIC)?).ok()?;
        message_id(&headers)
    }
}

/// Lets an envelope stand wherever a body is sent.
impl From<Envelope> for Body {
    fn from(envelope: Envelope) -> Self {
        let head: usize = envelope.headers.iter().map(|(name, value)| 6 + name.len() + value.len()).sum();
        let mut bytes = Vec::with_capacity(FIXED + head + envelope.body.len());
        bytes.extend(MAGIC);
        bytes.extend([VERSION, 0]);
        bytes.extend((envelope.headers.len() as u16).to_le_bytes());
        bytes.extend((head as u32).to_le_bytes());
        bytes.extend((envelope.body.len() as u64).to_le_bytes());
        for (name, value) in &envelope.headers {
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.extend((value.len() as u32).to_le_bytes());
            bytes.extend(value);
        }
        bytes.extend(envelope.body.as_bytes());
        Body::bytes(bytes)
    }
}

/// Where a message stands in a distributed trace: the W3C trace context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    is_sampled: bool,
    state: Option<String>,
}

impl TraceContext {
    /// The beginning of a new trace.
    #[must_use]
    pub fn begin(is_sampled: bool) -> Self {
        Self { trace_id: Uuid::new_v4().as_u128(), span_id: random_span(), is_sampled, state: None }
    }

    /// A context as it came from elsewhere, with its vendor data.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) when `traceparent` does not have the form of the recommendation.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Result<Self> {
        let trace: Self = traceparent.parse()?;
        Ok(Self { state: tracestate.map(str::to_owned), ..trace })
    }

    /// The same trace in a new span below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: random_span(), ..self.clone() }
    }

    /// The trace, the same for all its spans.
    #[must_use]
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The span.
    #[must_use]
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// Whether the sender records the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    /// Vendor data, the value of `tracestate`.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The value of `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

impl FromStr for TraceContext {
    type Err = Error;

    /// Reads `traceparent`; of a version above 00 what is known of 00, as the recommendation asks.
    fn from_str(text: &str) -> Result<Self> {
        let faulty = || Error::config(format!("'{text}' is not a traceparent"));
        let mut parts = text.split('-');
        let mut number = |digits| lower_hex(parts.next()?, digits);
        let numbers = (|| Some((number(2)?, number(32)?, number(16)?, number(2)?)))();
        let (version, trace_id, span_id, flags) = numbers.ok_or_else(faulty)?;
        let is_longer = parts.next().is_some();
        if version == 0xff || (version == 0 && is_longer) || trace_id == 0 || span_id == 0 {
            return Err(faulty());
        }
        Ok(Self { trace_id, span_id: span_id as u64, is_sampled: flags & 1 == 1, state: None })
    }
}

fn lower_hex(text: &str, digits: usize) -> Option<u128> {
    let is_lower_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (text.len() == digits && is_lower_hex).then(|| u128::from_str_radix(text, 16).ok())?
}

/// A span id may not be zero.
fn random_span() -> u64 {
    Uuid::new_v4().as_u64_pair().0.max(1)
}

/// Header names with their values, in order.
type Headers = Vec<(String, Vec<u8>)>;

fn message_id(headers: &[(String, Vec<u8>)]) -> Option<Uuid> {
    let (_, value) = headers.iter().find(|(name, _)| name == Envelope::MESSAGE_ID)?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Reads what stands behind the magic bytes: the headers, and the body where it lies.
fn decode(rest: &[u8]) -> Result<(Headers, &[u8]), &'static str> {
    let mut cursor = Cursor(rest);
    match cursor.number::<1>()? {
        version if version == u64::from(VERSION) => {}
        0 => return Err("version 0 does not exist"),
        _ => return Err("it has a version newer than 1"),
    }
    if cursor.number::<1>()? != 0 {
        return Err("its reserved byte is not 0");
    }
    let (count, head, length) = (cursor.number::<2>()?, cursor.number::<4>()?, cursor.number::<8>()?);
    let mut head = Cursor(cursor.take(head)?);
    let body = cursor.take(length)?;
    if !cursor.0.is_empty() {
        return Err("bytes follow its body");
    }
    let headers = (0..count).map(|_| head.header()).collect::<Result<_, _>>()?;
    if !head.0.is_empty() {
        return Err("its headers are shorter than it says");
    }
    Ok((headers, body))
}

/// What is still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], &'static str> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len());
        let (taken, rest) = self.0.split_at(count.ok_or("it is cut off")?);
        self.0 = rest;
        Ok(taken)
    }

    fn number<const BYTES: usize>(&mut self) -> Result<u64, &'static str> {
        let mut wide = [0; 8];
        wide[..BYTES].copy_from_slice(self.take(BYTES as u64)?);
        Ok(u64::from_le_bytes(wide))
    }

    fn header(&mut self) -> Result<(String, Vec<u8>), &'static str> {
        let length = self.number::<2>()?;
        let name =
            std::str::from_utf8(self.take(length)?).map_err(|_| "the name of a header is not utf-8")?;
        let length = self.number::<4>()?;
        Ok((name.to_owned(), self.take(length)?.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn envelope() -> Envelope {
        let envelope = Envelope::new(Body::utf8("body")).content_type("text/plain").unwrap();
        envelope.header("tag", "a").unwrap().header("tag", vec![0, 255]).unwrap()
    }

    #[test]
    fn headers_keep_order_duplicates_and_raw_values() {
        let sent = envelope();
        let read = Envelope::read(&sent.clone().into()).unwrap().unwrap();
        assert_eq!(read, sent);
        let tags: Vec<&[u8]> =
            read.headers().filter(|(name, _)| *name == "tag").map(|(_, value)| value).collect();
        assert_eq!(tags, [b"a".as_slice(), &[0, 255]]);
        assert_eq!(read.get_text(Envelope::CONTENT_TYPE), Some("text/plain"));
        assert!(read.message_id().is_some() && read.body().to_utf8().unwrap() == "body");
    }

    #[test]
    fn raw_bodies_are_never_taken_for_envelopes() {
        let mut cut = Body::from(envelope()).into_bytes();
        cut.truncate(7);
        for raw in [Vec::new(), b"<a/>".to_vec(), b"SSBE".to_vec(), vec![0x89], cut] {
            assert_eq!(Envelope::read(&Body::bytes(raw)).unwrap(), None);
        }
    }

    #[test]
    fn every_cut_and_every_extension_is_found() {
        let whole = Body::from(envelope()).into_bytes();
        for length in MAGIC.len()..whole.len() {
            assert!(Envelope::read(&Body::bytes(&whole[..length])).is_err(), "{length}");
        }
        let longer = [whole.as_slice(), b"x"].concat();
        assert!(Envelope::read(&Body::bytes(longer)).unwrap_err().to_string().contains("follow"));
    }

    #[test]
    fn any_byte_of_the_frame_may_be_damaged_without_a_panic() {
        let whole = Body::from(envelope()).into_bytes();
        for at in 0..FIXED + 20 {
            for value in [0, 1, 127, 255] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = Envelope::read(&Body::bytes(damaged));
            }
        }
        let mut newer = whole;
        newer[8] = 2;
        assert!(Envelope::read(&Body::bytes(newer)).unwrap_err().to_string().contains("newer"));
    }

    #[test]
    fn an_envelope_in_an_envelope_stays_whole() {
        let inner = Body::from(envelope());
        let outer = Envelope::read(&Envelope::new(inner.clone()).into()).unwrap().unwrap();
        assert_eq!(outer.body(), &inner);
    }

    #[test]
    fn an_answer_names_its_question_and_continues_its_trace() {
        let trace = TraceContext::parse(PARENT, Some("vendor=1")).unwrap();
        let question = Envelope::new(Body::empty()).traced(&trace);
        let answer = Envelope::answering(&question, Body::empty());
        assert_eq!(answer.correlation_id(), question.message_id());
        let continued = answer.trace_context().unwrap();
        assert_eq!((continued.trace_id(), continued.state()), (trace.trace_id(), Some("vendor=1")));
        assert_ne!(continued.span_id(), trace.span_id());
    }

    #[test]
    fn a_traceparent_is_read_as_the_recommendation_says() {
        let trace: TraceContext = PARENT.parse().unwrap();
        assert_eq!(trace.traceparent(), PARENT);
        assert!(trace.is_sampled());
        assert!(PARENT.replacen("00", "cc", 1).parse::<TraceContext>().is_ok());
        assert!((PARENT.replacen("00", "cc", 1) + "-more").parse::<TraceContext>().is_ok());
        for faulty in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert!(faulty.parse::<TraceContext>().is_err(), "{faulty}");
        }
    }

    #[test]
    fn headers_have_limits() {
        let empty = || Envelope::new(Body::empty());
        assert!(empty().header("", "x").is_err());
        assert!(empty().header("n".repeat(257), "x").is_err());
        assert!(empty().header("n", vec![0; LONGEST_VALUE + 1]).is_err());
        let full = (1..MOST_HEADERS).try_fold(empty(), |envelope, _| envelope.header("n", "x")).unwrap();
        assert!(full.header("n", "x").is_err());
    }
}
