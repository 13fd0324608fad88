//! Why a dialog can no longer be sent on, and what that means for the messages still pending on it. Pure.
//!
//! Of the broker's errors only those are resendable that say nothing about the message or the agreement: the lifetime ran
//! out, the peer's endpoint or its database's conversations are gone, the session key is lost (specification section 2.12).
//! Everything else would fail again on the next dialog.

use super::super::message::{ErrorBody, MessageKind};
use super::super::server_codes;

/// What was found about a dialog that refused a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It can be sent on after all.
    Alive,
    /// Messages of the application lie unread on it. Ending our side now would throw them away.
    Unread,
    /// It is over.
    Over(Cause),
}

/// Why a dialog is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// The code of the Error message, negative when the broker made it; `None` without one.
    pub(super) code: Option<i32>,
    /// In words, for the table of unsent messages.
    pub(super) reason: String,
    /// Whether what is pending is sent again on a new dialog.
    pub(super) resend: bool,
}

impl Cause {
    /// An Error message. `also` are codes the caller wants resent although nothing says that this helps.
    pub(super) fn error(error: &ErrorBody, also: &[i32]) -> Self {
        let resend = server_codes::is_resendable(error.code) || also.contains(&error.code);
        Self { code: Some(error.code), reason: error.to_string(), resend }
    }

    /// The peer ended the conversation: it does not want more.
    pub(super) fn ended_by_peer() -> Self {
        Self { code: None, reason: "the peer ended the conversation".to_owned(), resend: false }
    }

    /// Somebody took the Error or EndDialog message without ending our side.
    fn unknown(state: &str) -> Self {
        let reason = format!("the conversation was over (state {}) for an unknown reason", state.trim());
        Self { code: None, reason, resend: false }
    }
}

/// Judges by what lies in our queue for the dialog and by the state of our endpoint.
///
/// `looked_at_all`: whether the messages are all there are.
pub(super) fn judge(
    messages: &[MessageKind],
    looked_at_all: bool,
    state: Option<&str>,
    also: &[i32],
) -> Finding {
    if matches!(state.map(str::trim), Some("SO" | "CO")) {
        return Finding::Alive;
    }
    if !looked_at_all || messages.contains(&MessageKind::User) {
        return Finding::Unread;
    }
    let error = messages.iter().find_map(|kind| match kind {
        MessageKind::Error(error) => Some(error),
        _ => None,
    });
    Finding::Over(match error {
        Some(error) => Cause::error(error, also),
        None if messages.contains(&MessageKind::EndDialog) => Cause::ended_by_peer(),
        None => Cause::unknown(state.unwrap_or("none")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: i32) -> MessageKind {
        MessageKind::Error(ErrorBody { code, description: "words".to_owned() })
    }

    fn resends(code: i32, also: &[i32]) -> bool {
        match judge(&[error(code)], true, Some("ER"), also) {
            Finding::Over(cause) => cause.resend && cause.code == Some(code),
            other => panic!("{other:?}"),
        }
    }

    /// Case C040. -9720 is the same restore seen from the other side (specification section 2.12).
    #[test]
    fn c040_only_errors_that_say_nothing_about_the_message_are_resent() {
        let gone = [-8489, -8462, -9719, -9720, -28052];
        let agreement = [-8494, -8490, -8425, -8408, -8428, -8498, -8430, -8457, -8437, -9615, -9616, -8495];
        let altered = [-8470, -8487, -8469];
        assert!(gone.iter().all(|code| resends(*code, &[])));
        assert!(!agreement.iter().any(|code| resends(*code, &[])));
        assert!(!altered.iter().any(|code| resends(*code, &[])));
        assert!(altered.iter().all(|code| resends(*code, &altered)), "the caller may want these");
        assert!(!resends(8489, &[]) && !resends(1, &[]), "positive codes are the peer's own");
    }

    #[test]
    fn unread_replies_forbid_ending_our_side_and_a_live_endpoint_forbids_replacing_it() {
        assert_eq!(judge(&[error(-8489), MessageKind::User], true, Some("ER"), &[]), Finding::Unread);
        assert_eq!(judge(&[error(-8489)], false, Some("ER"), &[]), Finding::Unread);
        assert_eq!(judge(&[], true, Some("CO"), &[]), Finding::Alive);
    }

    #[test]
    fn an_end_without_an_error_is_named_and_never_resent() {
        let Finding::Over(ended) = judge(&[MessageKind::EndDialog], true, Some("DI"), &[]) else { panic!() };
        assert!(!ended.resend && ended.code.is_none() && ended.reason.contains("peer ended"));
        let Finding::Over(unknown) = judge(&[], true, Some("ER"), &[]) else { panic!() };
        assert!(!unknown.resend && unknown.reason.contains("state ER"));
    }
}
