//! A small generator, so that a failure can be repeated.

/// Xorshift with 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed but 0.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
