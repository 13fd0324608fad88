//! The rules for the processes of one application: what fits which kind, and pauses and limits that can work.

use super::super::model::{Account, BackoffSettings, DEFAULT_STOP_GRACE, FeedSettings, Kind, Limits, Rate};
use super::super::quantity::write_duration;
use super::super::raw::{Located, RawBackoff, RawFeed, RawKind, RawLimits, RawProcess};
use super::Judge;
use std::time::Duration;

/// A process with less address space cannot even load its libraries.
const LEAST_MEMORY: u64 = 1 << 20;

/// How the processes of an application are kept: a part of [`Application`](super::super::model::Application).
pub(super) struct ProcessSettings {
    pub(super) kind: Kind,
    pub(super) user: Option<Account>,
    pub(super) group: Option<Account>,
    pub(super) umask: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) stop_grace: Duration,
    pub(super) backoff: BackoffSettings,
    pub(super) rate: Option<Rate>,
    pub(super) limits: Limits,
}

impl Judge<'_> {
    /// Judges `raw`, whose kind also has a say in `min`.
    pub(super) fn process(&mut self, raw: RawProcess, min: Option<&Located<u32>>) -> ProcessSettings {
        let kind = raw.kind.map_or(RawKind::Launch, |kind| kind.value);
        self.fits_resident(kind, raw.timeout.as_ref(), min);
        self.not_zero(
            "timeout",
            raw.timeout.as_ref(),
            "would end every process at once; leave it out for no limit",
        );
        ProcessSettings {
            kind: self.kind(kind, raw.feed),
            user: raw.user.map(|user| user.value),
            group: raw.group.map(|group| group.value),
            umask: raw.umask.map(|umask| umask.value),
            timeout: raw.timeout.map(|timeout| timeout.value),
            stop_grace: raw.stop_grace.map_or(DEFAULT_STOP_GRACE, |grace| grace.value),
            backoff: self.backoff(raw.backoff),
            rate: raw.rate.map(|rate| rate.value),
            limits: self.limits(raw.limits),
        }
    }

    fn kind(&mut self, kind: RawKind, feed: Option<Located<RawFeed>>) -> Kind {
        match (kind, feed) {
            (RawKind::Feed, feed) => {
                Kind::Feed(feed.map(|feed| feed_settings(feed.value)).unwrap_or_default())
            }
            (RawKind::Launch | RawKind::Resident, Some(feed)) => {
                self.report
                    .fault(feed.line, "'feed' needs kind = \"feed\": other handlers receive by themselves");
                Kind::Launch
            }
            (RawKind::Launch, None) => Kind::Launch,
            (RawKind::Resident, None) => Kind::Resident,
        }
    }

    fn fits_resident(
        &mut self,
        kind: RawKind,
        timeout: Option<&Located<Duration>>,
        min: Option<&Located<u32>>,
    ) {
        if kind != RawKind::Resident {
            return;
        }
        if let Some(timeout) = timeout {
            self.report
                .fault(timeout.line, "'timeout' does not go with kind = \"resident\", which runs for ever");
        }
        if let Some(Located { value: 0, line }) = min {
            self.report
                .fault(*line, "min = 0 does not go with kind = \"resident\": nothing would be kept alive");
        }
    }

    fn backoff(&mut self, raw: RawBackoff) -> BackoffSettings {
        let default = BackoffSettings::default();
        self.not_zero("backoff.first", raw.first.as_ref(), "would launch a failing program without a pause");
        let line = raw.first.as_ref().or(raw.max.as_ref()).map_or(1, |pause| pause.line);
        let first = raw.first.map(|first| first.value);
        let max = raw.max.map(|max| max.value);
        // Whoever gives one of them only means the other to go along.
        let (first, max) = match (first, max) {
            (Some(first), None) => (first, default.max.max(first)),
            (None, Some(max)) => (default.first.min(max), max),
            (first, max) => (first.unwrap_or(default.first), max.unwrap_or(default.max)),
        };
        if first > max {
            let (first, max) = (write_duration(first), write_duration(max));
            self.report.fault(line, format!("backoff.first = {first} is above backoff.max = {max}"));
        }
        BackoffSettings {
            first,
            max,
            reset_after: raw.reset_after.map_or(default.reset_after, |reset_after| reset_after.value),
            give_up_after: raw.give_up_after.map(|failures| failures.value).filter(|failures| *failures > 0),
        }
    }

    fn limits(&mut self, raw: RawLimits) -> Limits {
        if let Some(memory) = raw.memory.as_ref().filter(|memory| memory.value < LEAST_MEMORY) {
            self.report.fault(memory.line, "limits.memory is below 1MiB, with which no program can start");
        }
        if let Some(cpu) =
            raw.cpu.as_ref().filter(|cpu| cpu.value.is_zero() || cpu.value.subsec_millis() != 0)
        {
            self.report.fault(cpu.line, "limits.cpu must be in whole seconds, at least 1s");
        }
        Limits {
            memory: raw.memory.map(|memory| memory.value),
            cpu: raw.cpu.map(|cpu| cpu.value),
            files: raw.files.map(|files| files.value),
        }
    }

    fn not_zero(&mut self, key: &str, duration: Option<&Located<Duration>>, why: &str) {
        if let Some(zero) = duration.filter(|duration| duration.value.is_zero()) {
            self.report.fault(zero.line, format!("{key} = 0 {why}"));
        }
    }
}

fn feed_settings(raw: RawFeed) -> FeedSettings {
    let default = FeedSettings::default();
    FeedSettings {
        batch: raw.batch.map_or(default.batch, |batch| batch.value),
        attempts: raw.attempts.map_or(default.attempts, |attempts| attempts.value),
        retry: raw.retry.map_or(default.retry, |retry| retry.value),
        dead_letter: raw.dead_letter.map_or(default.dead_letter, |dead_letter| dead_letter.value),
        system: raw.system.map_or(default.system, |system| system.value),
        file_above: raw.file_above.map_or(default.file_above, |size| size.value),
        idle: raw.idle.map_or(default.idle, |idle| idle.value),
    }
}
