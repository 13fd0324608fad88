//! The keys of `[[app]]` that say how its processes are kept.

use super::super::fault::Report;
use super::super::model::DeadLetter;
use super::super::quantity::{parse_account, parse_duration, parse_rate, parse_size, parse_umask};
use super::super::raw::{Located, RawBackoff, RawFeed, RawKind, RawLimits, RawProcess};
use super::table::Table;

/// Takes the keys out of `app`.
pub(super) fn read(app: &mut Table<'_>, report: &mut Report) -> RawProcess {
    let kinds = [("launch", RawKind::Launch), ("resident", RawKind::Resident), ("feed", RawKind::Feed)];
    RawProcess {
        kind: app.choice(report, "kind", &kinds),
        user: app.parsed(report, "user", parse_account),
        group: app.parsed(report, "group", parse_account),
        umask: app.parsed(report, "umask", parse_umask),
        timeout: app.parsed(report, "timeout", parse_duration),
        stop_grace: app.parsed(report, "stop_grace", parse_duration),
        backoff: app.table(report, "backoff").map(|table| backoff(table, report)).unwrap_or_default(),
        rate: app.parsed(report, "rate", parse_rate),
        limits: app.table(report, "limits").map(|table| limits(table, report)).unwrap_or_default(),
        feed: app.table(report, "feed").map(|table| feed(table, report)),
    }
}

fn backoff(mut table: Table<'_>, report: &mut Report) -> RawBackoff {
    let backoff = RawBackoff {
        first: table.parsed(report, "first", parse_duration),
        max: table.parsed(report, "max", parse_duration),
        reset_after: table.parsed(report, "reset_after", parse_duration),
        give_up_after: table.number(report, "give_up_after", 0, 1_000_000),
    };
    table.finish(report);
    backoff
}

fn limits(mut table: Table<'_>, report: &mut Report) -> RawLimits {
    let limits = RawLimits {
        memory: table.parsed(report, "memory", parse_size),
        cpu: table.parsed(report, "cpu", parse_duration),
        files: table.number(report, "files", 16, i32::MAX.unsigned_abs()),
    };
    table.finish(report);
    limits
}

fn feed(mut table: Table<'_>, report: &mut Report) -> Located<RawFeed> {
    let dead_letters = [("table", DeadLetter::Table), ("end", DeadLetter::EndConversation)];
    let feed = RawFeed {
        batch: table.number(report, "batch", 1, 1000),
        attempts: table.number(report, "attempts", 1, 1000),
        retry: table.parsed(report, "retry", parse_duration),
        dead_letter: table.choice(report, "dead_letter", &dead_letters),
        system: table.boolean(report, "system"),
        file_above: table.parsed(report, "file_above", parse_size),
        idle: table.parsed(report, "idle", parse_duration),
    };
    table.finish(report);
    Located { value: feed, line: table.line() }
}
