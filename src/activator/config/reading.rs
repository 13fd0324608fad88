//! How strictly a file is read.
//!
//! Plain values; knows no file format.

/// How strictly a file is read. The default is strict: what the format does not know is a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    lenient: bool,
    ancestor: bool,
}

impl Reading {
    /// Whether deviations from the format are warned of and passed over: elements, attributes and keys it does not know,
    /// elements out of order, several enabled notification services in `EAService.config`, and elements left out there
    /// that may be empty. A file can ask for the same by itself: `lenient = true` in `activator.toml`,
    /// `<?ssbroker lenient?>` in `EAService.config`.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Whether the format of the sample program of 2005 is read too; for conversion only, since it lacks what is needed.
    pub(super) fn with_ancestor(mut self) -> Self {
        self.ancestor = true;
        self
    }

    pub(super) fn is_lenient(self) -> bool {
        self.lenient
    }

    pub(super) fn reads_ancestor(self) -> bool {
        self.ancestor
    }
}
