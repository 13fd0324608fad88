//! What it means for a message, and for its handler, that feeding it did not go well.
//!
//! Pure. A decision stands once it is said: whatever goes wrong afterwards is the handler's trouble and not the message's.

use super::decisions::Failure;
use super::session::Step;
use std::time::Duration;

/// Why no further message of a batch is fed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// What became of the message that was out, if it failed. Without it no message is to blame.
    pub(super) failure: Option<Failure>,
    /// Why the handler can be fed no more, if it cannot.
    pub(super) broken: Option<String>,
}

impl Trouble {
    /// The handler is of no use any more, and no message is to blame.
    pub(super) fn broken(reason: String) -> Self {
        Self { failure: None, broken: Some(reason) }
    }
}

/// What follows from a talk about one message: the decision, if there was one, and how the talk ended. A message without a
/// decision is to come again after `retry`.
pub(super) fn judge(decided: Option<Step>, said: Result<(), String>, retry: Duration) -> Result<(), Trouble> {
    match (decided, said) {
        (Some(Step::Retry(delay)), said) => {
            let reason = "the handler asked for it to come again later".to_owned();
            Err(Trouble { failure: Some(Failure { reason, delay }), broken: said.err() })
        }
        (Some(_handled), Ok(())) => Ok(()),
        (Some(_handled), Err(reason)) => Err(Trouble::broken(reason)),
        (None, said) => {
            let reason = said.err().unwrap_or_else(|| "it has not decided".to_owned());
            let failure = Failure { reason: reason.clone(), delay: retry };
            Err(Trouble { failure: Some(failure), broken: Some(reason) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::Step;
    use super::{Failure, Trouble, judge};
    use std::time::Duration;

    const RETRY: Duration = Duration::from_secs(5);

    #[test]
    fn a_decision_stands_whatever_happens_to_the_handler_afterwards() {
        assert_eq!(judge(Some(Step::Handled), Ok(()), RETRY), Ok(()));
        let broken = Err("it does not read its standard input".to_owned());
        let trouble = judge(Some(Step::Handled), broken.clone(), RETRY).unwrap_err();
        assert_eq!(trouble, Trouble { failure: None, broken: broken.clone().err() });
        let later = Duration::from_secs(30);
        let trouble = judge(Some(Step::Retry(later)), broken.clone(), RETRY).unwrap_err();
        assert_eq!((trouble.failure.unwrap().delay, trouble.broken), (later, broken.err()));
        assert_eq!(judge(Some(Step::Retry(later)), Ok(()), RETRY).unwrap_err().broken, None);
    }

    #[test]
    fn without_a_decision_the_message_fails_with_its_handler() {
        let reason = "it closed its standard output".to_owned();
        let failure = Failure { reason: reason.clone(), delay: RETRY };
        let trouble = judge(None, Err(reason.clone()), RETRY).unwrap_err();
        assert_eq!(trouble, Trouble { failure: Some(failure), broken: Some(reason) });
    }
}
