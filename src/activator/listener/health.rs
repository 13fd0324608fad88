//! Whether a listener works, and whether that is news.
//!
//! Pure. One log line for each change, not one for each attempt: a server that is away over night must not fill a disk.

use crate::client::{Error, ErrorKind};

/// What was last said about a listener.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::activator) struct Health {
    last: Option<State>,
    failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Working,
    /// Two failures of the same kind, and of the same number if it is the server's, are the same news.
    Failing(ErrorKind, Option<u32>),
}

impl Health {
    /// It works: the answer says whether that is news.
    pub(in crate::activator) fn works(&mut self) -> bool {
        self.failures = 0;
        self.last.replace(State::Working) != Some(State::Working)
    }

    /// It failed: the answer says whether that is news.
    pub(in crate::activator) fn fails(&mut self, error: &Error) -> bool {
        self.failures = self.failures.saturating_add(1);
        let state = State::Failing(error.kind(), error.server_number());
        self.last.replace(state) != Some(state)
    }

    /// Failures since it worked last.
    pub(in crate::activator) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::Health;
    use crate::client::{Error, ErrorKind, ServerError};

    #[test]
    fn only_changes_are_news() {
        let away = Error::new(ErrorKind::Connect, "no connection");
        let refused = |number| Error::from_server(ServerError::new(number, "no"));
        let mut health = Health::default();
        assert!(health.works() && !health.works());
        assert!(health.fails(&away) && !health.fails(&away));
        assert!(health.fails(&refused(229)) && !health.fails(&refused(229)) && health.fails(&refused(208)));
        assert_eq!(health.failures(), 5);
        assert!(health.works());
        assert_eq!(health.failures(), 0);
    }
}
