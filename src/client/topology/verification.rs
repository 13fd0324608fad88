//! The outcome of a verification, for programs and for people.

use std::fmt;

use super::super::error::{Error, ErrorKind, Result};

/// One object that is not as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about: `service //shop/orders`.
    pub object: String,
    /// What is wrong with it: `its queue is [dbo].[a], not [dbo].[b]`.
    pub problem: String,
    /// The T-SQL that mends it. Think before running one that replaces an object: open conversations may use it.
    pub statement: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.problem)
    }
}

/// What a verification found, and what [`ensure_objects`](super::super::Broker::ensure_objects) or
/// [`ensure_tables`](super::super::Broker::ensure_tables) created.
///
/// `Display` is for people: a summary, then each finding with its statement on lines of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "differences are only reported here; `into_result` makes an error of them"]
pub struct Verification {
    pub(super) created: Vec<String>,
    pub(super) missing: Vec<Finding>,
    pub(super) different: Vec<Finding>,
}

impl Verification {
    /// The objects that were created now.
    #[must_use]
    pub fn created(&self) -> &[String] {
        &self.created
    }

    /// The objects that do not exist, or that the login may not see: the server does not tell the two apart.
    #[must_use]
    pub fn missing(&self) -> &[Finding] {
        &self.missing
    }

    /// The objects that exist in another shape. They are never altered.
    #[must_use]
    pub fn different(&self) -> &[Finding] {
        &self.different
    }

    /// Whether everything is as declared.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty()
    }

    /// Success if everything is as declared.
    ///
    /// # Errors
    /// [`ErrorKind::ObjectMissing`] or [`ErrorKind::ObjectDiffers`]; the text names every finding with its statement.
    pub fn into_result(self) -> Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        let kind = if self.missing.is_empty() { ErrorKind::ObjectDiffers } else { ErrorKind::ObjectMissing };
        let each = self.missing.iter().chain(&self.different);
        let text: Vec<String> =
            each.map(|finding| format!("{finding}; to mend it: {}", finding.statement)).collect();
        Err(Error::new(kind, text.join(" | ")))
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.created.len(), "created"),
            (self.missing.len(), "missing"),
            (self.different.len(), "different"),
        ];
        let told: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match told.is_empty() {
            true => f.write_str("everything is as declared")?,
            false => f.write_str(&told.join(", "))?,
        }
        for created in &self.created {
            write!(f, "\ncreated    {created}")?;
        }
        for (word, findings) in [("missing   ", &self.missing), ("different ", &self.different)] {
            for finding in findings {
                write!(f, "\n{word} {finding}\n           {}", finding.statement)?;
            }
        }
        Ok(())
    }
}
