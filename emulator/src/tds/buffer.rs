//! Bytes on their way out, without packet headers: small fields are gathered, large bodies kept by reference.
//!
//! A body of 20 MB that a row carries is put here as a reference to the engine's own bytes. This file must not know
//! tokens or packets.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Byte strings shorter than this are copied, which is cheaper than keeping a reference.
const SHARE_FROM: usize = 4096;

/// A queue of bytes with a writable end.
#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    settled: VecDeque<Bytes>,
    settled_len: usize,
    tail: BytesMut,
}

impl OutputBuffer {
    /// Bytes kept.
    pub(crate) fn len(&self) -> usize {
        self.settled_len + self.tail.len()
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The writable end, for small fields.
    pub(crate) fn tail(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    /// Appends bytes, by reference if they are many.
    pub(crate) fn put_shared(&mut self, bytes: Bytes) {
        if bytes.len() < SHARE_FROM {
            self.tail.put_slice(&bytes);
            return;
        }
        self.settle_tail();
        self.settled_len += bytes.len();
        self.settled.push_back(bytes);
    }

    /// Forgets everything beyond the first `len` bytes, as when the value last begun cannot be written.
    pub(crate) fn truncate(&mut self, len: usize) {
        let mut excess = self.len().saturating_sub(len);
        let from_tail = excess.min(self.tail.len());
        self.tail.truncate(self.tail.len() - from_tail);
        excess -= from_tail;
        while excess > 0
            && let Some(mut last) = self.settled.pop_back()
        {
            let cut = excess.min(last.len());
            last.truncate(last.len() - cut);
            self.settled_len -= cut;
            excess -= cut;
            if !last.is_empty() {
                self.settled.push_back(last);
            }
        }
    }

    /// Moves the first `count` bytes, or all if there are fewer, to `target`.
    pub(crate) fn move_to(&mut self, mut count: usize, target: &mut BytesMut) {
        count = count.min(self.len());
        while count > 0
            && let Some(first) = self.settled.front_mut()
        {
            let part = count.min(first.len());
            target.put_slice(&first[..part]);
            first.advance(part);
            self.settled_len -= part;
            count -= part;
            if first.is_empty() {
                self.settled.pop_front();
            }
        }
        target.put_slice(&self.tail[..count]);
        self.tail.advance(count);
    }

    fn settle_tail(&mut self) {
        if !self.tail.is_empty() {
            self.settled_len += self.tail.len();
            self.settled.push_back(self.tail.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(buffer: &mut OutputBuffer) -> Vec<u8> {
        let mut target = BytesMut::new();
        buffer.move_to(usize::MAX, &mut target);
        target.to_vec()
    }

    #[test]
    fn order_is_kept_across_small_and_shared_bytes() {
        let large = Bytes::from(vec![7; SHARE_FROM]);
        let mut buffer = OutputBuffer::default();
        buffer.tail().put_u8(1);
        buffer.put_shared(large.clone());
        buffer.put_shared(Bytes::from_static(b"ab"));
        assert_eq!(buffer.len(), SHARE_FROM + 3);
        let mut expected = vec![1];
        expected.extend_from_slice(&large);
        expected.extend_from_slice(b"ab");
        assert_eq!(all(&mut buffer), expected);
        assert!(buffer.is_empty());
    }

    #[test]
    fn truncation_reaches_back_over_shared_bytes() {
        let mut buffer = OutputBuffer::default();
        buffer.tail().put_slice(b"keep");
        let mark = buffer.len();
        buffer.tail().put_slice(b"x");
        buffer.put_shared(Bytes::from(vec![0; SHARE_FROM]));
        buffer.tail().put_slice(b"y");
        buffer.truncate(mark);
        assert_eq!(all(&mut buffer), b"keep");
    }

    #[test]
    fn bytes_leave_in_portions() {
        let mut buffer = OutputBuffer::default();
        buffer.put_shared(Bytes::from(vec![1; SHARE_FROM]));
        buffer.tail().put_u8(2);
        let mut target = BytesMut::new();
        buffer.move_to(SHARE_FROM - 1, &mut target);
        assert_eq!(buffer.len(), 2);
        assert_eq!(all(&mut buffer), [1, 2]);
    }
}
