//! What happens to a message whose handler fails. Pure: counts come in, a verdict goes out.

use std::time::Duration;

use super::retry::Backoff;

/// What to do with a message that has failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoisonAction {
    /// Move it to the table `ssbroker.dead_letters` (script `sql/05-dead-letters.sql`) and go on with the rest; attempts
    /// are counted in `ssbroker.attempts`, so they survive a restart.
    Park,
    /// End its conversation with an error that names the failure. Needs no table; attempts are counted in this process
    /// only.
    EndConversation,
}

/// Later attempts: a message that has failed for now leaves its queue and comes back after growing pauses.
///
/// It waits in the table `ssbroker.retries` (script `sql/10-retries.sql`), where it is put in the transaction that takes it
/// from the queue. Its place in the order of its conversation is given up: later messages may be handled before it, and
/// its conversation group is not locked when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    pauses: Backoff,
    most: u32,
    max_age: Option<Duration>,
}

impl RetrySchedule {
    /// At most `most` later attempts, at least 1, with these pauses before them.
    #[must_use]
    pub fn new(pauses: Backoff, most: u32) -> Self {
        Self { pauses, most: most.max(1), max_age: None }
    }

    /// Gives a message up that would be older than this at its next attempt, counted from when it came into the queue: it is
    /// a dead letter with the cause [`Expired`](DeadLetterCause::Expired). The queue's time is the server's and compared with
    /// the clock of this machine. No limit if not set.
    #[must_use]
    pub fn with_max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// How many later attempts there are.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.most
    }
}

impl RetrySchedule {
    /// Whether a message of this age would be too old after the delay.
    fn is_over(&self, age: Duration, delay: Duration) -> bool {
        self.max_age.is_some_and(|most| age.saturating_add(delay) > most)
    }
}

impl Default for RetrySchedule {
    /// Ten attempts, after 3 s, 6 s, 12 s and so on up to an hour.
    fn default() -> Self {
        Self::new(Backoff::new(Duration::from_secs(3), Duration::from_secs(3600)), 10)
    }
}

/// How often a message is tried, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoisonPolicy {
    max_attempts: u32,
    action: PoisonAction,
    ledger: bool,
    retries: Option<RetrySchedule>,
}

/// More attempts than this could meet the server's own rule, which switches the queue off after five roll backs.
const MOST_ATTEMPTS: u32 = 3;

impl PoisonPolicy {
    /// Tries a message `max_attempts` times, between 1 and 3, before `action`. Other numbers are brought into that range:
    /// where a handler's error dooms the transaction an attempt is a roll back, and the server counts those.
    #[must_use]
    pub fn new(max_attempts: u32, action: PoisonAction) -> Self {
        Self { max_attempts: max_attempts.clamp(1, MOST_ATTEMPTS), action, ledger: false, retries: None }
    }

    /// Counts an attempt before the handler runs, on a second connection, so that the death of the whole process counts
    /// too. Costs one request more for each batch. Without it a message that kills its process is tried for ever, until
    /// the server's own rule of five roll backs switches the queue off.
    #[must_use]
    pub fn with_ledger(mut self) -> Self {
        self.ledger = true;
        self
    }

    /// After the attempts at once, and when a handler asks for it, tries again later before `action`.
    #[must_use]
    pub fn with_retries(mut self, schedule: RetrySchedule) -> Self {
        self.retries = Some(schedule);
        self
    }

    /// How often a message is tried at once.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// What happens then.
    #[must_use]
    pub fn action(&self) -> PoisonAction {
        self.action
    }

    /// Whether attempts are counted before they are made.
    #[must_use]
    pub fn has_ledger(&self) -> bool {
        self.ledger
    }

    /// The later attempts, if there are any.
    #[must_use]
    pub fn retries(&self) -> Option<RetrySchedule> {
        self.retries
    }

    /// Whether attempts are kept in the table `ssbroker.attempts`.
    pub(crate) fn counts_in_table(&self) -> bool {
        self.action == PoisonAction::Park || self.ledger
    }

    /// What to do after a failure. `jitter` is a random number from 0 to 1.
    pub(crate) fn judge(&self, failure: Failure, jitter: f64) -> Verdict {
        let attempts = failure.earlier.saturating_add(1);
        match (failure.wish, self.retries) {
            (Wish::Refuse, _) => self.last(attempts, DeadLetterCause::Refused),
            (Wish::Interrupted, _) => self.last(failure.earlier, DeadLetterCause::Interrupted),
            (Wish::Blocked(delay), Some(schedule)) if !schedule.is_over(failure.age, delay) => {
                Verdict::RetryLater { attempts: failure.earlier, retries: failure.retries, delay }
            }
            (Wish::Blocked(_), _) => self.last(failure.earlier, DeadLetterCause::Expired),
            (Wish::Later(delay), Some(schedule)) => self.later(attempts, failure, schedule, delay),
            (_, schedule) => match schedule {
                _ if !failure.is_retry && attempts < self.max_attempts => Verdict::TryAgain,
                Some(schedule) => {
                    self.later(attempts, failure, schedule, schedule.pauses.delay(failure.retries, jitter))
                }
                None if failure.wish == Wish::TimedOut => self.last(attempts, DeadLetterCause::TimedOut),
                None => self.last(attempts, DeadLetterCause::Attempts),
            },
        }
    }

    fn later(&self, attempts: u32, failure: Failure, schedule: RetrySchedule, delay: Duration) -> Verdict {
        if failure.retries >= schedule.most {
            return self.last(attempts, DeadLetterCause::Retries);
        }
        if schedule.is_over(failure.age, delay) {
            return self.last(attempts, DeadLetterCause::Expired);
        }
        Verdict::RetryLater { attempts, retries: failure.retries + 1, delay }
    }

    fn last(&self, attempts: u32, cause: DeadLetterCause) -> Verdict {
        match self.action {
            PoisonAction::Park => Verdict::Park { attempts, cause },
            PoisonAction::EndConversation => Verdict::EndConversation { attempts },
        }
    }
}

impl Default for PoisonPolicy {
    /// Three attempts, then the dead letters.
    fn default() -> Self {
        Self::new(MOST_ATTEMPTS, PoisonAction::Park)
    }
}

/// Why a message became a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterCause {
    /// All attempts failed.
    Attempts,
    /// The handler said that trying again is of no use.
    Refused,
    /// All later attempts failed.
    Retries,
    /// All attempts failed, and the last one took longer than
    /// [`Worker::handler_timeout`](super::Worker::handler_timeout) allows.
    TimedOut,
    /// Its next attempt would have come later than [`RetrySchedule::with_max_age`] allows.
    Expired,
    /// The handler never came to an end: its process died, its lease ran out or its transaction was doomed each time.
    Interrupted,
    /// A text of the table that this version does not know.
    Other,
}

impl DeadLetterCause {
    /// As it stands in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Refused => "refused",
            Self::Retries => "retries",
            Self::TimedOut => "timed_out",
            Self::Expired => "expired",
            Self::Interrupted => "interrupted",
            Self::Other => "other",
        }
    }

    /// From the table.
    pub(crate) fn read(text: &str) -> Self {
        let known =
            [Self::Attempts, Self::Refused, Self::Retries, Self::TimedOut, Self::Expired, Self::Interrupted];
        known.into_iter().find(|cause| cause.as_str() == text).unwrap_or(Self::Other)
    }
}

/// What a failed handler wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing particular.
    None,
    /// Another attempt after this time.
    Later(Duration),
    /// No other attempt.
    Refuse,
    /// It was cancelled because it took too long.
    TimedOut,
    /// It was not asked: a breaker has it wait so long.
    Blocked(Duration),
    /// It was not asked: it has had all its attempts and ended none.
    Interrupted,
    /// The message cannot be treated this very moment; it is no attempt.
    NotNow,
}

/// What is known of a message whose handler failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// How often it had failed before.
    pub(crate) earlier: u32,
    /// How often it has been put off before.
    pub(crate) retries: u32,
    /// Whether it comes from the retries, not from its queue.
    pub(crate) is_retry: bool,
    /// How long ago the message came into its queue.
    pub(crate) age: Duration,
    pub(crate) wish: Wish,
}

/// What becomes of a message after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Back to where it came from.
    TryAgain,
    /// To the retries.
    RetryLater { attempts: u32, retries: u32, delay: Duration },
    /// To the dead letters, after so many attempts.
    Park { attempts: u32, cause: DeadLetterCause },
    /// Its conversation ends, after so many attempts.
    EndConversation { attempts: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(earlier: u32) -> Failure {
        Failure { earlier, retries: 0, is_retry: false, age: Duration::ZERO, wish: Wish::None }
    }

    fn parked(attempts: u32, cause: DeadLetterCause) -> Verdict {
        Verdict::Park { attempts, cause }
    }

    #[test]
    fn the_last_attempt_decides_and_later_ones_stay_decided() {
        let policy = PoisonPolicy::default();
        let verdicts: Vec<Verdict> = (0..4).map(|earlier| policy.judge(failed(earlier), 1.0)).collect();
        let park = |attempts| parked(attempts, DeadLetterCause::Attempts);
        assert_eq!(verdicts, [Verdict::TryAgain, Verdict::TryAgain, park(3), park(4)]);
    }

    #[test]
    fn the_number_of_attempts_stays_below_the_servers_own_limit() {
        assert_eq!(PoisonPolicy::new(0, PoisonAction::Park).max_attempts(), 1);
        assert_eq!(PoisonPolicy::new(9, PoisonAction::Park).max_attempts(), 3);
        let once = PoisonPolicy::new(1, PoisonAction::EndConversation);
        assert_eq!(once.judge(failed(0), 1.0), Verdict::EndConversation { attempts: 1 });
    }

    #[test]
    fn with_a_schedule_the_attempts_at_once_come_first_then_growing_pauses_then_the_dead_letters() {
        let schedule = RetrySchedule::new(Backoff::new(Duration::from_secs(3), Duration::from_secs(60)), 2);
        let policy = PoisonPolicy::new(2, PoisonAction::Park).with_retries(schedule);
        assert_eq!(policy.judge(failed(0), 1.0), Verdict::TryAgain);
        let later = |attempts, retries, seconds| Verdict::RetryLater {
            attempts,
            retries,
            delay: Duration::from_secs(seconds),
        };
        assert_eq!(policy.judge(failed(1), 1.0), later(2, 1, 3));
        let retried = |earlier, retries| Failure { retries, is_retry: true, ..failed(earlier) };
        assert_eq!(policy.judge(retried(2, 1), 1.0), later(3, 2, 6));
        assert_eq!(policy.judge(retried(3, 2), 1.0), parked(4, DeadLetterCause::Retries));
    }

    #[test]
    fn a_handler_may_ask_for_a_later_attempt_or_for_none() {
        let wish = |wish| Failure { wish, ..failed(0) };
        let minute = Duration::from_secs(60);
        let policy = PoisonPolicy::default().with_retries(RetrySchedule::default());
        let later = Verdict::RetryLater { attempts: 1, retries: 1, delay: minute };
        assert_eq!(policy.judge(wish(Wish::Later(minute)), 1.0), later);
        assert_eq!(policy.judge(wish(Wish::Refuse), 1.0), parked(1, DeadLetterCause::Refused));
        let without = PoisonPolicy::default();
        assert_eq!(without.judge(wish(Wish::Later(minute)), 1.0), Verdict::TryAgain);
    }

    #[test]
    fn a_message_that_would_be_too_old_at_its_next_attempt_is_given_up() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let schedule = RetrySchedule::new(Backoff::new(second, second), 10).with_max_age(minute);
        let policy = PoisonPolicy::new(1, PoisonAction::Park).with_retries(schedule);
        let aged = |age, wish| Failure { age, wish, ..failed(0) };
        let later = |attempts, retries, delay| Verdict::RetryLater { attempts, retries, delay };
        assert_eq!(policy.judge(aged(minute - second, Wish::None), 1.0), later(1, 1, second));
        assert_eq!(policy.judge(aged(minute, Wish::None), 1.0), parked(1, DeadLetterCause::Expired));
        let wait = Wish::Blocked(second);
        assert_eq!(policy.judge(aged(second, wait), 1.0), later(0, 0, second), "waiting is no attempt");
        assert_eq!(policy.judge(aged(minute, wait), 1.0), parked(0, DeadLetterCause::Expired));
    }

    #[test]
    fn an_attempt_that_takes_too_long_is_a_failed_one_and_names_itself_in_the_end() {
        let timed_out = |earlier| Failure { wish: Wish::TimedOut, ..failed(earlier) };
        let policy = PoisonPolicy::new(2, PoisonAction::Park);
        assert_eq!(policy.judge(timed_out(0), 1.0), Verdict::TryAgain);
        assert_eq!(policy.judge(timed_out(1), 1.0), parked(2, DeadLetterCause::TimedOut));
    }

    #[test]
    fn a_cause_is_read_as_it_was_written() {
        for cause in [
            DeadLetterCause::Attempts,
            DeadLetterCause::Refused,
            DeadLetterCause::TimedOut,
            DeadLetterCause::Expired,
            DeadLetterCause::Interrupted,
        ] {
            assert_eq!(DeadLetterCause::read(cause.as_str()), cause);
        }
        assert_eq!(DeadLetterCause::read("boredom"), DeadLetterCause::Other);
    }
}
