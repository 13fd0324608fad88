//! What a conformance vector is: a name, where its expectation comes from, and a function that plays it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::fixture::Fixture;

/// Vectors that a real server has confirmed; see the header of the module for how a line gets there.
const VERIFIED: &str = include_str!("verified.tsv");

/// Where an expectation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A published page says so: Microsoft's documentation (the page's name), or somebody with access to a server.
    Documented(&'static str),
    /// The documents are silent; our choice, by its number in the specification.
    Assumed(&'static str),
    /// It was seen on that server.
    Verified {
        /// Its version.
        server: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Documented(page) => write!(f, "documented: {page}"),
            Self::Assumed(choice) => write!(f, "assumed: {choice}"),
            Self::Verified { server } => write!(f, "verified on {server}"),
        }
    }
}

/// How a vector ended, if its expectations held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// It could not be played, and why.
    Skipped(&'static str),
}

/// A vector being played.
pub(crate) type Play<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// The place a vector is played in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The database of the connection string, beside other vectors.
    Shared,
    /// A database made for this vector.
    OwnDatabase,
}

/// One conformance vector.
pub(crate) struct Vector {
    /// `V-01` and so on for those of the specification.
    pub(crate) id: &'static str,
    pub(crate) place: Place,
    /// The origin as written down with the vector.
    pub(crate) source: Origin,
    pub(crate) play: for<'a> fn(&'a Fixture) -> Play<'a>,
}

impl Vector {
    /// Where the expectation comes from: a server's confirmation wins over what was written down.
    pub(crate) fn origin(&self) -> Origin {
        let confirmed = verified().find(|(id, _)| *id == self.id);
        confirmed.map_or(self.source, |(_, server)| Origin::Verified { server })
    }
}

/// The confirmed vectors, each with its server.
pub(crate) fn verified() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = VERIFIED.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        line.split_once('\t').unwrap_or_else(|| panic!("no tab in the line `{line}` of verified.tsv"))
    })
}
