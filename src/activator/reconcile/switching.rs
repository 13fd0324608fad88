//! Switching a queue on again that the server has switched off, where its application asks for it (pain 27).
//!
//! The one thing that reconcile changes on a server. Whether it may is decided by [`Reenabling`]; here it is done and told.
//!
//! [`Reenabling`]: crate::activator::reenabling::Reenabling

use super::Parts;
use super::findings::bracketed;
use super::rights;
use super::watched::Watched;
use crate::activator::config::Reenable;
use crate::activator::launch::Target;
use crate::activator::log_lines;
use crate::activator::reenabling::Decision;
use crate::activator::status::rfc3339;
use crate::activator::status::warnings::Found;
use crate::client::{Broker, Error, QueueState, Visible};
use std::time::{Duration, Instant, SystemTime};

/// How long the server's word may take that it has switched a queue off; an off queue without it is a person's doing.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Attended {
    pub(super) found: Vec<Found>,
    /// When to look again at the latest.
    pub(super) look_at: Option<Instant>,
}

impl Attended {
    fn told(found: Found) -> Self {
        Self { found: vec![found], look_at: None }
    }

    fn at(look_at: Instant) -> Self {
        Self { found: Vec::new(), look_at: Some(look_at) }
    }
}

impl Watched {
    /// Acts on whether the queue is on, which was seen by a look that began at `looked_at`.
    pub(super) async fn attend(
        &mut self,
        broker: &Broker,
        parts: &Parts,
        state: &QueueState,
        looked_at: Instant,
    ) -> Attended {
        let (Some(target), Visible::Known(Some(details))) = (self.target.clone(), &state.details) else {
            return Attended::default();
        };
        if details.is_receive_enabled {
            self.off_since = None;
            parts.reenabling.seen_on(&parts.link.address(), &target, looked_at);
        }
        let Some(settings) = self.app.reenable else { return Attended::default() };
        let mut attended = match details.is_receive_enabled {
            true => Attended::default(),
            false if !state.can_alter => Attended::told(rights::no_alter(&self.app.on, state)),
            false => self.attend_to_one_that_is_off(broker, parts, &target, settings).await,
        };
        attended.found.extend(recently(parts, &target, settings));
        attended
    }

    async fn attend_to_one_that_is_off(
        &mut self,
        broker: &Broker,
        parts: &Parts,
        target: &Target,
        settings: Reenable,
    ) -> Attended {
        let now = Instant::now();
        let off_since = *self.off_since.get_or_insert(now);
        match parts.reenabling.decide(&parts.link.address(), target, settings, now) {
            Decision::Wait(due) => Attended::at(parts.reenabling.time_of(due)),
            Decision::SwitchOn(count) => self.switch_on(broker, parts, target, (count, settings), now).await,
            Decision::GaveUp { is_news } => {
                let found = gave_up(target, settings);
                if is_news {
                    tracing::error!(target: "activator", app = self.app.name, "{}; {}", found.text, found.cure);
                }
                Attended::told(found)
            }
            Decision::Untold | Decision::InHand if off_since.elapsed() < TOLD_WITHIN => {
                Attended::at(off_since + TOLD_WITHIN)
            }
            Decision::Untold | Decision::InHand => Attended::told(untold(target)),
        }
    }

    async fn switch_on(
        &self,
        broker: &Broker,
        parts: &Parts,
        target: &Target,
        (count, settings): (usize, Reenable),
        decided_at: Instant,
    ) -> Attended {
        let app = &self.app.name;
        tracing::warn!(
            target: "activator", app,
            "switching queue {target} on again, which the server had switched off after five roll backs: {count} of at most \
             {} times within an hour",
            settings.at_most
        );
        match broker.enable_queue(&self.location).await {
            Ok(()) => {
                parts.board.reenabled(app);
                // What waits in it is to be found, and its warnings are to go.
                Attended::at(Instant::now())
            }
            Err(error) => {
                if error.server_number().is_some() {
                    parts.reenabling.refused(&parts.link.address(), target, decided_at);
                }
                Attended::told(failed(target, &error))
            }
        }
    }
}

/// For an hour after it was switched on.
fn recently(parts: &Parts, target: &Target, settings: Reenable) -> Option<Found> {
    let times = parts.reenabling.recent(&parts.link.address(), target, Instant::now());
    let last = SystemTime::UNIX_EPOCH + Duration::from_millis(*times.last()?);
    Some(Found {
        id: "queue-reenabled",
        text: format!(
            "queue {target} was switched on again {} of at most {} times within an hour, last at {}: a message in it is rolled \
             back again and again",
            times.len(),
            settings.at_most,
            rfc3339(last)
        ),
        cure: "find the poison message and end its conversation, or let the handler be fed (`kind = \"feed\"`), which puts such \
               messages aside"
            .to_owned(),
    })
}

fn gave_up(target: &Target, settings: Reenable) -> Found {
    Found {
        id: "reenable-given-up",
        text: format!(
            "queue {target} was switched on again {} times within an hour and is off once more: it stays off",
            settings.at_most
        ),
        cure: "find the poison message and end its conversation, then switch the queue on yourself"
            .to_owned(),
    }
}

fn untold(target: &Target) -> Found {
    Found {
        id: "reenable-untold",
        text: format!(
            "queue {target} is off and no event BROKER_QUEUE_DISABLED came for it, so a person may have switched it off: it \
             is not switched on again"
        ),
        cure: "switch it on yourself, or see whether its event notification for BROKER_QUEUE_DISABLED works"
            .to_owned(),
    }
}

fn failed(target: &Target, error: &Error) -> Found {
    Found {
        id: "reenable-failed",
        text: format!("queue {target} cannot be switched on again: {}", log_lines::chain(error)),
        cure: format!(
            "it is tried again within a minute; or: USE {}; ALTER QUEUE {}.{} WITH STATUS = ON;",
            bracketed(&target.database),
            bracketed(&target.schema),
            bracketed(&target.queue)
        ),
    }
}
