//! The warnings of one subject: which are new, which have gone.
//!
//! Pure. Each is told when it comes and when it goes, however often it is found in between.

use super::rfc3339;
use super::view::Warning;
use std::time::SystemTime;

/// Something found wrong now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::activator) struct Found {
    /// As [`Warning::id`].
    pub(in crate::activator) id: &'static str,
    /// As [`Warning::text`].
    pub(in crate::activator) text: String,
    /// As [`Warning::cure`].
    pub(in crate::activator) cure: String,
}

/// The warnings that stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Warnings(Vec<Warning>);

/// What has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) came: Vec<Warning>,
    pub(super) went: Vec<Warning>,
}

impl Warnings {
    /// Replaces all warnings by those found now. One that stood already keeps its time; a new text of it is no news.
    pub(super) fn replace(&mut self, found: Vec<Found>, now: SystemTime) -> Changes {
        let mut changes = Changes::default();
        let mut standing = Vec::new();
        for Found { id, text, cure } in found {
            let earlier = self.0.iter().position(|warning| warning.id == id).map(|at| self.0.remove(at));
            let since = earlier.as_ref().map_or_else(|| rfc3339(now), |earlier| earlier.since.clone());
            let warning = Warning { id: id.to_owned(), since, text, cure };
            if earlier.is_none() {
                changes.came.push(warning.clone());
            }
            standing.push(warning);
        }
        changes.went = std::mem::replace(&mut self.0, standing);
        changes
    }

    pub(super) fn list(&self) -> &[Warning] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Warnings};
    use std::time::{Duration, SystemTime};

    fn found(id: &'static str, text: &str) -> Found {
        Found { id, text: text.to_owned(), cure: String::new() }
    }

    #[test]
    fn a_warning_is_news_when_it_comes_and_when_it_goes_and_keeps_its_time_in_between() {
        let (start, later) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_secs(9));
        let mut warnings = Warnings::default();
        assert_eq!(warnings.replace(vec![found("a", "1")], start).came.len(), 1);
        let changes = warnings.replace(vec![found("a", "2"), found("b", "1")], later);
        assert_eq!((changes.came[0].id.as_str(), changes.came.len(), changes.went.len()), ("b", 1, 0));
        assert_eq!((warnings.list()[0].text.as_str(), &warnings.list()[0].since[..4]), ("2", "1970"));
        let changes = warnings.replace(Vec::new(), later);
        assert_eq!((changes.came.len(), changes.went.len()), (0, 2));
    }
}
