//! What happens to a message whose handler fails again and again. Pure: counts come in, a verdict goes out.

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

/// How often a message is tried, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoisonPolicy {
    max_attempts: u32,
    action: PoisonAction,
}

/// More attempts than this could meet the server's own rule, which switches the queue off after five roll backs.
const MOST_ATTEMPTS: u32 = 3;

impl PoisonPolicy {
    /// Tries a message `max_attempts` times, between 1 and 3, before `action`. Other numbers are brought into that range:
    /// where a handler's error dooms the transaction an attempt is a roll back, and the server counts those.
    #[must_use]
    pub fn new(max_attempts: u32, action: PoisonAction) -> Self {
        Self { max_attempts: max_attempts.clamp(1, MOST_ATTEMPTS), action }
    }

    /// How often a message is tried.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// What happens then.
    #[must_use]
    pub fn action(&self) -> PoisonAction {
        self.action
    }

    /// What to do after a failure, if the message had failed `earlier` times before.
    pub(crate) fn judge(&self, earlier: u32) -> Verdict {
        let attempts = earlier.saturating_add(1);
        if attempts < self.max_attempts {
            return Verdict::TryAgain;
        }
        match self.action {
            PoisonAction::Park => Verdict::Park { attempts },
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

/// What becomes of a message after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Back to the queue.
    TryAgain,
    /// To the dead letters, after so many attempts.
    Park { attempts: u32 },
    /// Its conversation ends, after so many attempts.
    EndConversation { attempts: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_attempt_decides_and_later_ones_stay_decided() {
        let policy = PoisonPolicy::default();
        let verdicts: Vec<Verdict> = (0..4).map(|earlier| policy.judge(earlier)).collect();
        let park = |attempts| Verdict::Park { attempts };
        assert_eq!(verdicts, [Verdict::TryAgain, Verdict::TryAgain, park(3), park(4)]);
    }

    #[test]
    fn the_number_of_attempts_stays_below_the_servers_own_limit() {
        assert_eq!(PoisonPolicy::new(0, PoisonAction::Park).max_attempts(), 1);
        assert_eq!(PoisonPolicy::new(9, PoisonAction::Park).max_attempts(), 3);
        let once = PoisonPolicy::new(1, PoisonAction::EndConversation);
        assert_eq!(once.judge(0), Verdict::EndConversation { attempts: 1 });
    }
}
