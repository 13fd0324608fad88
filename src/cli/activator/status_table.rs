//! The status and the history of a daemon as text for people. Pure.

use crate::activator::Run;
use crate::activator::launch::Outcome;
use crate::activator::status::{AppStatus, ListenerStatus, Status, Warning};
use std::fmt::Write;

/// The status: a table of applications, one of notification services, and every warning with its cure.
pub(super) fn status(status: &Status) -> String {
    let mut text = format!("activator {}, started {}\n\n", status.version, status.started);
    let mut apps = vec![
        ["application", "running", "queue", "waiting", "oldest", "monitor", "notification", "last exit"]
            .map(str::to_owned),
    ];
    apps.extend(status.apps.iter().map(app_row));
    text.push_str(&table(&apps));
    let mut listeners =
        vec![["notification service", "server", "state", "since", "last event"].map(str::to_owned)];
    listeners.extend(status.listeners.iter().map(listener_row));
    write!(text, "\n{}", table(&listeners)).expect("writing to a string does not fail");
    for app in &status.apps {
        warnings(&mut text, &app.name, &app.warnings);
    }
    for listener in &status.listeners {
        warnings(&mut text, &listener.service, &listener.warnings);
        if let Some(error) = &listener.error {
            write!(text, "\n{}: {error}", listener.service).expect("writing to a string does not fail");
        }
    }
    text.trim_end().to_owned()
}

/// The runs, newest first.
pub(super) fn history(runs: &[Run]) -> String {
    if runs.is_empty() {
        return "no run is known".to_owned();
    }
    let mut rows =
        vec![["ended", "process", "took", "outcome", "last line on standard error"].map(str::to_owned)];
    rows.extend(runs.iter().map(|run| {
        [
            run.ended.clone(),
            run.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            run.seconds.map_or_else(|| "unknown".to_owned(), |seconds| format!("{seconds:.3} s")),
            outcome(run.outcome),
            run.stderr_tail.lines().last().unwrap_or_default().to_owned(),
        ]
    }));
    table(&rows).trim_end().to_owned()
}

fn app_row(app: &AppStatus) -> [String; 8] {
    let unknown = || "?".to_owned();
    let state = match (app.paused, app.pending) {
        (true, _) => " paused",
        (false, true) => " pending",
        (false, false) => "",
    };
    [
        app.name.clone(),
        format!("{} of {}{state}", app.running, app.max),
        app.queue.clone(),
        app.depth.map_or_else(unknown, |depth| depth.to_string()),
        app.oldest.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s")),
        app.monitor_state.clone().unwrap_or_else(unknown),
        app.notification.clone().unwrap_or_else(unknown),
        app.last_exit
            .as_ref()
            .map_or_else(|| "-".to_owned(), |exit| format!("{} at {}", outcome(exit.outcome), exit.at)),
    ]
}

fn listener_row(listener: &ListenerStatus) -> [String; 5] {
    [
        listener.service.clone(),
        listener.server.clone(),
        format!("{:?}", listener.state).to_lowercase(),
        listener.since.clone(),
        listener.last_event.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}

fn warnings(text: &mut String, of: &str, warnings: &[Warning]) {
    for Warning { id, since, text: what, cure } in warnings {
        write!(text, "\n{of}: {what} [{id}, since {since}]\n    {cure}\n")
            .expect("writing to a string does not fail");
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Code(code) => format!("exit {code}"),
        Outcome::Signal(signal) => format!("signal {signal}"),
        Outcome::Unknown => "unknown".to_owned(),
    }
}

/// Columns as wide as their widest cell; the last one is not filled up.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(text, "{}", cells.join("  ").trim_end()).expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::status;
    use crate::activator::status::Status;

    #[test]
    fn the_status_shows_what_is_known_and_every_warning_with_its_cure() {
        let status_json = r#"{"version":"1","started":"2026-01-01T00:00:00.000Z","apps":[{"name":"orders","kind":"launch",
            "queue":"Sales.dbo.Orders","depth":7,"oldest":null,"monitor_state":"NOTIFIED","notification":"dead","running":1,
            "min":1,"max":4,"pending":false,"paused":true,"children":[],"last_exit":{"signal":9,"at":"noon","stderr_tail":""},
            "warnings":[{"id":"notification-dead","since":"noon","text":"it is dead","cure":"CREATE it"}],"notifications":1,
            "launches":1}],"listeners":[{"service":"//n","server":"db,1433","state":"failing","since":"noon",
            "last_event":null,"error":"refused","depth":null,"warnings":[]}]}"#;
        let text = status(&serde_json::from_str::<Status>(status_json).unwrap());
        for part in
            ["orders", "1 of 4 paused", "7", "NOTIFIED", "dead", "signal 9 at noon", "failing", "refused"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.contains("orders: it is dead [notification-dead, since noon]\n    CREATE it"), "{text}");
    }
}
