//! The demo's messages: a request is an identifier and bytes, a reply names the identifier, the digest and who made it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Type of a request, from initiator to target.
pub(super) const REQUEST: &str = "//ssbroker/digest/Request";
/// Type of a reply, from target to initiator.
pub(super) const REPLY: &str = "//ssbroker/digest/Reply";
/// Type of the message that asks the target to end the dialog.
pub(super) const END_OF_STREAM: &str = "//ssbroker/EndOfStream";

const ID_BYTES: usize = 8;

/// A reply, sent as JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// Which request it answers.
    pub(super) request: u64,
    /// SHA-256 of the request's bytes, in hexadecimal.
    pub(super) sha256: String,
    /// The process that computed it.
    pub(super) pid: u32,
}

/// A request's body: eight bytes of identifier, big-endian, then the bytes themselves.
pub(super) fn request_body(id: u64, bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(ID_BYTES + bytes.len());
    body.extend_from_slice(&id.to_be_bytes());
    body.extend_from_slice(bytes);
    body
}

/// Takes a request's body apart; `None` when it is too short to be one.
pub(super) fn read_request(body: &[u8]) -> Option<(u64, &[u8])> {
    let (id, bytes) = body.split_first_chunk::<ID_BYTES>()?;
    Some((u64::from_be_bytes(*id), bytes))
}

/// SHA-256 in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_way_and_a_short_body_is_none() {
        let body = request_body(7, b"abc");
        assert_eq!(read_request(&body), Some((7, b"abc".as_slice())));
        assert_eq!(read_request(&body[..7]), None);
    }

    #[test]
    fn the_digest_is_that_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
    }
}
