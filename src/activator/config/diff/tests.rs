//! What is told of a changed configuration, and where its notification services stand.

use super::super::{Config, Resolver, parse};
use super::{Change, plan};
use std::io;
use std::path::Path;

struct Nothing;

impl Resolver for Nothing {
    fn environment(&self, _name: &str) -> Option<String> {
        None
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

fn config(text: &str) -> Config {
    parse(Path::new("a.toml"), Path::new("/"), text.as_bytes(), &Nothing).unwrap().config
}

fn service(name: &str, connection: &str, more: &str) -> String {
    format!("[[notification]]\nname = \"{name}\"\nconnection = \"server={connection}\"\n{more}\n")
}

fn app(name: &str, queue: &str, more: &str) -> String {
    format!(
        "[[app]]\nname = \"{name}\"\ncommand = \"c\"\non = {{ database = \"d\", schema = \"s\", queue = \"{queue}\" }}\n{more}\n"
    )
}

fn told(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The changes of the one application when its last lines become `after`.
fn app_changes(before: &str, after: &str) -> Vec<String> {
    let with = |more: &str| config(&format!("{}{}", service("n", "x", ""), app("a", "q", more)));
    told(&plan(&with(before), with(after)).changes)
}

#[test]
fn the_same_configuration_changes_nothing() {
    let text = format!("{}{}", service("n", "x", ""), app("a", "q", ""));
    let plan = plan(&config(&text), config(&text));
    assert_eq!((plan.changes, plan.config), (vec![], config(&text)));
}

#[test]
fn applications_come_go_and_change() {
    let head = service("n", "x", "");
    let old = config(&format!("{head}{}{}", app("a", "q", ""), app("b", "r", "")));
    let new = config(&format!("{head}{}{}", app("b", "R2", ""), app("c", "t", "")));
    assert_eq!(
        told(&plan(&old, new).changes),
        [
            "application a is removed; what runs of it is asked to end",
            "application b is for d.s.R2 instead of d.s.r",
            "application c is new",
        ]
    );
    assert_eq!(app_changes("", "max = 3"), ["application a has min 1 and max 3 instead of 1 and 1"]);
    assert_eq!(
        app_changes("", "enabled = false"),
        ["application a is not enabled any more; what runs of it goes on"]
    );
    assert_eq!(app_changes("enabled = false", ""), ["application a is enabled"]);
    assert_eq!(
        app_changes("reenable = {}", "reenable = { at_most = 1 }"),
        ["application a has its queue switched on again by other rules (reenable)"]
    );
}

#[test]
fn every_key_of_an_application_is_compared_and_no_value_is_told() {
    for (key, value) in [
        ("args", "[\"s3cret\"]"),
        ("work_dir", "\"/w\""),
        ("kind", "\"feed\""),
        ("user", "\"u\""),
        ("group", "\"g\""),
        ("umask", "\"027\""),
        ("timeout", "\"1s\""),
        ("stop_grace", "\"1s\""),
        ("backoff", "{ first = \"2s\" }"),
        ("rate", "\"1/s\""),
        ("limits", "{ files = 64 }"),
        ("env", "{ A = \"s3cret\" }"),
        ("pass_connection", "true"),
    ] {
        let changes = app_changes("", &format!("{key} = {value}"));
        assert_eq!(changes, [format!("application a is different from its next launch on: {key}")]);
    }
    let feed = app_changes("kind = \"feed\"", "kind = \"feed\"\nfeed = { batch = 1 }");
    assert_eq!(feed, ["application a is different from its next launch on: feed"]);
}

#[test]
fn a_notification_service_keeps_its_place() {
    let apps = app("a", "q", "");
    let old =
        config(&format!("{}{}{}{apps}", service("n", "x", ""), service("n", "y", ""), service("m", "x", "")));
    let new = config(&format!("{}{}{apps}", service("k", "z", ""), service("n", "y", "")));
    let first = plan(&old, new);
    let stopped = |listener, name: &str| Change::ServiceStopped { listener, service: name.to_owned() };
    let started = |listener, name: &str| Change::ServiceStarted { listener, service: name.to_owned() };
    assert_eq!(first.changes, [stopped(0, "n"), stopped(2, "m"), started(3, "k")]);
    let names: Vec<_> =
        first.config.notifications.iter().map(|one| (one.name.as_str(), one.enabled)).collect();
    assert_eq!(names, [("n", false), ("n", true), ("m", false), ("k", true)]);
    // The place of one that was gone is taken again when it comes back.
    let again = plan(&first.config, config(&format!("{}{apps}", service("m", "x", ""))));
    assert_eq!(again.changes, [stopped(1, "n"), started(2, "m"), stopped(3, "k")]);
}

#[test]
fn another_connection_is_a_change_of_the_same_service() {
    let apps = app("a", "q", "");
    let old = config(&format!("{}{apps}", service("n", "x", "")));
    let plan = plan(&old, config(&format!("{}{apps}", service("n", "y", ""))));
    assert_eq!(plan.changes, [Change::ServiceRebound { listener: 0, service: "n".to_owned() }]);
}

#[test]
fn settings_that_need_a_restart_stay_and_are_told() {
    let text = format!("{}{}", service("n", "x", ""), app("a", "q", ""));
    let new = format!(
        "[log]\nlevel = \"debug\"\n[state]\ndir = \"/s\"\n[metrics]\nlisten = \"127.0.0.1:1\"\n[history]\ntable = \"n\"\n{text}"
    );
    let plan = plan(&config(&text), config(&new));
    let keys: Vec<_> =
        ["[log]", "[state]", "[history]", "[metrics]"].map(|key| Change::NeedsRestart { key }).into();
    assert_eq!((plan.changes, plan.config), (keys, config(&text)));
}
