//! The daemon's counts in the text form of Prometheus and OpenMetrics.
//!
//! Pure: the board's counts go in, text comes out. What nobody can see has no sample, so that an alert on its absence works.

use crate::activator::status::board::AppCounts;
use crate::activator::status::{ListenerState, Status};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Content type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// The text for these counts: `unmatched` notifications no application was for, `unreadable` ones that were none.
pub(super) fn exposition(status: &Status, apps: &[AppCounts], unmatched: u64, unreadable: u64) -> String {
    let mut families = Families { registry: Registry::with_prefix("ssbroker_activator") };
    families.gauge(
        "build",
        "1, with the version of the program",
        [(vec![("version", status.version.clone())], 1)],
    );
    families.of_handlers(apps);
    families.of_queues(apps);
    families.of_listeners(status);
    families.counter(
        "notifications_unmatched",
        "Notifications for queues that no application is for",
        [(Vec::new(), unmatched)],
    );
    families.counter(
        "notifications_unreadable",
        "Messages that were no event notification",
        [(Vec::new(), unreadable)],
    );
    let mut text = String::new();
    encode(&mut text, &families.registry).expect("writing to a string does not fail");
    text
}

struct Families {
    registry: Registry,
}

impl Families {
    fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Gauge>::default();
        for (labels, value) in samples {
            family.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        self.registry.register(name, help, family);
    }

    fn counter(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in samples {
            family.get_or_create(&labels).inc_by(value);
        }
        self.registry.register(name, help, family);
    }

    fn of_handlers(&mut self, apps: &[AppCounts]) {
        let of = |count: fn(&AppCounts) -> u64| {
            let sample = move |app: &AppCounts| (label(app), count(app));
            apps.iter().map(sample).collect::<Vec<_>>()
        };
        self.gauge(
            "handlers",
            "Processes that run or are being started",
            of(|app| app.status.running.into()),
        );
        self.gauge("handlers_max", "Most processes at one time", of(|app| app.status.max.into()));
        self.gauge(
            "notification_pending",
            "1 if a notification waits to be acted on",
            of(|app| app.status.pending.into()),
        );
        self.gauge("paused", "1 if a person has paused it", of(|app| app.status.paused.into()));
        self.counter("notifications", "Notifications received", of(|app| app.status.notifications));
        self.counter("launches", "Processes launched", of(|app| app.status.launches));
        self.counter("launch_failures", "Launches that failed", of(|app| app.failed_launches));
        self.counter("queue_reenables", "Times its queue was switched on again", of(|app| app.reenabled));
        self.counter("handler_failures", "Processes that did not exit with 0", of(|app| app.failed_exits));
    }

    fn of_queues(&mut self, apps: &[AppCounts]) {
        let depth = apps.iter().filter_map(|app| Some((label(app), app.status.depth?)));
        self.gauge("queue_depth", "Messages in the queue, approximately", depth);
        let oldest = apps.iter().filter_map(|app| Some((label(app), app.status.oldest?)));
        self.gauge("queue_oldest_seconds", "Age of the oldest ready message", oldest);
        let warnings = apps.iter().flat_map(|app| {
            let labels = |id: &str| vec![("app", app.status.name.clone()), ("id", id.to_owned())];
            app.status.warnings.iter().map(move |warning| (labels(&warning.id), 1))
        });
        self.gauge("warning", "1 for each warning of an application that stands", warnings);
    }

    fn of_listeners(&mut self, status: &Status) {
        let labels = |service: &str, server: &str| {
            vec![("service", service.to_owned()), ("server", server.to_owned())]
        };
        let enabled = || status.listeners.iter().filter(|one| one.state != ListenerState::Disabled);
        let up = enabled()
            .map(|one| (labels(&one.service, &one.server), u64::from(one.state == ListenerState::Listening)));
        self.gauge("listener_up", "1 if the notification service is listened on", up);
        let depth = enabled().filter_map(|one| Some((labels(&one.service, &one.server), one.depth?)));
        self.gauge("notification_queue_depth", "Messages in the notification queue, approximately", depth);
        let warnings = enabled().flat_map(|one| {
            let labels = |id: &str| vec![("service", one.service.clone()), ("id", id.to_owned())];
            one.warnings.iter().map(move |warning| (labels(&warning.id), 1))
        });
        self.gauge("listener_warning", "1 for each warning of a notification service that stands", warnings);
    }
}

fn label(app: &AppCounts) -> Labels {
    vec![("app", app.status.name.clone())]
}
