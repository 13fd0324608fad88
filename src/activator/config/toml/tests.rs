//! Faults of the native format, each at its line, and what its optional keys mean.

use super::super::{
    Account, DeadLetter, FeedSettings, Kind, LoadError, Loaded, LogFormat, LogLevel, LogRotation,
    MacroValues, Resolver, parse,
};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Nothing;

impl Resolver for Nothing {
    fn environment(&self, _name: &str) -> Option<String> {
        None
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

const NOTIFICATION: &str = "[[notification]]\nname = \"n\"\nconnection = \"server=x\"\n";
const APP: &str =
    "[[app]]\nname = \"a\"\non = { database = \"d\", schema = \"s\", queue = \"q\" }\ncommand = \"c\"\n";

fn parsed(text: &str) -> Result<Loaded, LoadError> {
    parse(Path::new("a.toml"), Path::new("/etc/ea"), text.as_bytes(), &Nothing)
}

/// The faults of a file whose application ends with `more`, which begins on line 8.
fn faults(more: &str) -> Vec<(u32, String)> {
    let error = parsed(&format!("{NOTIFICATION}{APP}{more}")).unwrap_err();
    error.faults().iter().map(|fault| (fault.line, fault.message.clone())).collect()
}

fn one_fault(more: &str) -> String {
    match faults(more).as_slice() {
        [(8, message)] => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shortest_file_gets_the_documented_defaults() {
    let config = parsed(&format!("{NOTIFICATION}{APP}")).unwrap().config;
    let app = &config.applications[0];
    assert_eq!((app.min, app.max, app.stop_grace), (1, 1, Duration::from_secs(30)));
    assert!(app.enabled && !app.strict_server && !app.pass_connection && app.work_dir.is_none());
    assert!(config.notifications[0].enabled);
    assert_eq!(config.state.dir, Path::new("/var/lib/ssbroker"));
}

#[test]
fn every_optional_key_is_understood() {
    let head = "[log]\nlevel = \"debug\"\nformat = \"json\"\nfile = \"a.log\"\nrotation = \"never\"\nkeep = 3\n\
                [state]\ndir = \"/s\"\n";
    let more = "args = [\"%queue%\"]\nwork_dir = \"w\"\nmin = 0\nmax = 9\nstop_grace = \"2m\"\nkind = \"launch\"\n\
                strict_server = false\npass_connection = true\nenabled = false\nenv = { A = \"1\" }\n";
    let config = parsed(&format!("{head}{NOTIFICATION}{APP}{more}")).unwrap().config;
    assert_eq!((config.log.level, config.log.format, config.log.keep), (LogLevel::Debug, LogFormat::Json, 3));
    assert_eq!(
        (config.log.rotation, config.log.file),
        (LogRotation::Never, Some(PathBuf::from("/etc/ea/a.log")))
    );
    assert_eq!(config.state.dir, Path::new("/s"));
    let app = &config.applications[0];
    let values = MacroValues { server: "S", database: "d", schema: "s", queue: "q" };
    assert_eq!(app.arguments_for(values), ["q"]);
    assert_eq!(app.work_dir.as_deref(), Some(Path::new("/etc/ea/w")));
    assert_eq!((app.min, app.max, app.stop_grace), (0, 9, Duration::from_secs(120)));
    assert!(app.pass_connection && !app.enabled);
    assert_eq!(app.environment.iter().collect::<Vec<_>>(), [("A", "1")]);
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    assert_eq!(one_fault("workdir = \"x\""), "'workdir' is not a key of [[app]]; did you mean 'work_dir'?");
    assert_eq!(one_fault("zzzzzzzz = 1"), "'zzzzzzzz' is not a key of [[app]]");
    assert_eq!(one_fault("[logs]"), "'logs' is not a key of the file; did you mean 'log'?");
}

#[test]
fn a_table_of_runs_lies_where_a_notification_service_is_listened_on() {
    let with = |service: &str, more: &str| {
        let loaded = parsed(&format!("[history]\ntable = \"{service}\"\n{NOTIFICATION}{more}{APP}"));
        loaded.map(|loaded| loaded.config.history.table).map_err(|error| error.faults()[0].to_string())
    };
    assert_eq!(with("n", ""), Ok(Some("n".to_owned())));
    assert!(with("m", "").unwrap_err().contains("there is no [[notification]] with the name \"m\""));
    assert!(with("n", "enabled = false\n").unwrap_err().contains("\"n\" is not enabled"));
}

#[test]
fn every_key_of_a_process_is_understood() {
    let more = "user = \"orders\"\ngroup = \"12\"\numask = \"027\"\ntimeout = \"15m\"\nrate = \"10/s\"\n\
                backoff = { first = \"2s\", max = \"1m\", reset_after = \"3m\", give_up_after = 20 }\n\
                limits = { memory = \"512MiB\", cpu = \"10m\", files = 1024 }\n";
    let config =
        parsed(&format!("[metrics]\nlisten = \"127.0.0.1:9464\"\n{NOTIFICATION}{APP}{more}")).unwrap().config;
    assert_eq!(config.metrics.listen, Some("127.0.0.1:9464".parse().unwrap()));
    let app = &config.applications[0];
    assert_eq!(app.kind, Kind::Launch);
    assert_eq!((&app.user, &app.group), (&Some(Account::Name("orders".to_owned())), &Some(Account::Id(12))));
    assert_eq!((app.umask, app.timeout), (Some(0o027), Some(Duration::from_secs(900))));
    let rate = app.rate.unwrap();
    assert_eq!((rate.launches, rate.per), (10, Duration::from_secs(1)));
    let backoff = &app.backoff;
    assert_eq!((backoff.first, backoff.max), (Duration::from_secs(2), Duration::from_secs(60)));
    assert_eq!((backoff.reset_after, backoff.give_up_after), (Duration::from_secs(180), Some(20)));
    let limits = &app.limits;
    assert_eq!((limits.memory, limits.cpu), (Some(512 << 20), Some(Duration::from_secs(600))));
    assert_eq!(limits.files, Some(1024));
}

#[test]
fn a_fed_handler_has_settings_and_the_others_have_none() {
    let kind = |more: &str| {
        parsed(&format!("{NOTIFICATION}{APP}{more}")).unwrap().config.applications[0].kind.clone()
    };
    assert_eq!(kind(""), Kind::Launch);
    assert_eq!(kind("kind = \"resident\""), Kind::Resident);
    assert_eq!(kind("kind = \"feed\""), Kind::Feed(FeedSettings::default()));
    let feed = kind(
        "kind = \"feed\"\nfeed = { batch = 7, attempts = 9, retry = \"0s\", dead_letter = \"end\", system = true, \
         file_above = \"64KiB\", idle = \"1m\" }",
    );
    let feed = feed.feed().unwrap();
    assert_eq!((feed.batch, feed.attempts, feed.retry), (7, 9, Duration::ZERO));
    assert_eq!((feed.dead_letter, feed.system), (DeadLetter::EndConversation, true));
    assert_eq!((feed.file_above, feed.idle), (64 << 10, Duration::from_secs(60)));
}

#[test]
fn a_queue_is_switched_on_again_only_where_that_is_asked_for() {
    let reenable = |more: &str| {
        let config = parsed(&format!("{NOTIFICATION}{APP}{more}")).unwrap().config;
        config.applications[0].reenable.map(|it| (it.after.as_millis(), it.at_most))
    };
    assert_eq!(reenable(""), None);
    assert_eq!(reenable("reenable = {}"), Some((30_000, 3)));
    assert_eq!(reenable("reenable = { after = \"2m\", at_most = 1 }"), Some((120_000, 1)));
    assert!(one_fault("reenable = { at_most = 0 }").contains("at_most = 0 must be a whole number from 1"));
    let unknown = one_fault("reenable = { at_mots = 1 }");
    assert!(
        unknown.contains("'at_mots' is not a key of") && unknown.contains("did you mean 'at_most'?"),
        "{unknown}"
    );
}

#[test]
fn a_pause_that_stands_alone_takes_the_other_along() {
    let pauses = |more: &str| {
        let config = parsed(&format!("{NOTIFICATION}{APP}backoff = {{ {more} }}")).unwrap().config;
        let backoff = &config.applications[0].backoff;
        (backoff.first.as_millis(), backoff.max.as_millis())
    };
    assert_eq!(pauses("first = \"10m\""), (600_000, 600_000));
    assert_eq!(pauses("max = \"500ms\""), (500, 500));
    assert_eq!(pauses("give_up_after = 0"), (1000, 300_000));
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (more, message) in [
        ("feed = { batch = 1 }", "'feed' needs kind = \"feed\": other handlers receive by themselves"),
        (
            "kind = \"resident\"\nfeed = {}",
            "'feed' needs kind = \"feed\": other handlers receive by themselves",
        ),
        (
            "kind = \"resident\"\nmin = 0",
            "min = 0 does not go with kind = \"resident\": nothing would be kept alive",
        ),
        (
            "kind = \"resident\"\ntimeout = \"1s\"",
            "'timeout' does not go with kind = \"resident\", which runs for ever",
        ),
        ("timeout = \"0s\"", "timeout = 0 would end every process at once; leave it out for no limit"),
        ("backoff = { first = \"0s\" }", "backoff.first = 0 would launch a failing program without a pause"),
        ("backoff = { first = \"2m\", max = \"90s\" }", "backoff.first = 2m is above backoff.max = 90s"),
        ("limits = { memory = \"4KiB\" }", "limits.memory is below 1MiB, with which no program can start"),
        ("limits = { cpu = \"1500ms\" }", "limits.cpu must be in whole seconds, at least 1s"),
        ("limits = { files = 3 }", "files = 3 must be a whole number from 16 to 2147483647"),
        ("feed = { patch = 1 }\nkind = \"feed\"", "'patch' is not a key of [feed]; did you mean 'batch'?"),
        ("umask = 27", "'umask' must be a string, not a whole number"),
        (
            "rate = \"10\"",
            "rate: '10' is not a rate; write a whole number from 1 and /s, /m or /h, as in 10/s",
        ),
    ] {
        let found = faults(more);
        assert_eq!(found.iter().map(|(_, found)| found.as_str()).collect::<Vec<_>>(), [message], "{more}");
    }
    let text = format!("[metrics]\nlisten = \"localhost:9464\"\n{NOTIFICATION}{APP}");
    assert!(
        parsed(&text)
            .unwrap_err()
            .to_string()
            .starts_with("a.toml:2: listen: 'localhost:9464' is not an address")
    );
}

#[test]
fn wrong_types_and_values_are_told_with_what_is_right() {
    for (more, message) in [
        ("max = \"4\"", "'max' must be a whole number, not a string"),
        ("max = 65536", "max = 65536 must be a whole number from 0 to 65535"),
        ("max = -1", "max = -1 must be a whole number from 0 to 65535"),
        ("max = 0", "max = 0 would never launch anything; to switch it off set enabled to false"),
        ("min = 2", "min = 2 is above max = 1, its default"),
        ("args = \"-x\"", "'args' must be an array of strings, not a string"),
        ("args = [1]", "args must hold strings only, not a whole number"),
        ("enabled = \"true\"", "'enabled' must be true or false, not a string"),
        (
            "stop_grace = \"30\"",
            "stop_grace: '30' is not a duration; write a whole number and ms, s, m, h or d, as in 30s",
        ),
        ("kind = \"lunch\"", "kind = \"lunch\" must be one of \"launch\", \"resident\", \"feed\""),
        ("strict_server = true", "strict_server = true needs a server in 'on' to compare with"),
        (
            "env = { SSBROKER_APP = \"x\" }",
            "'SSBROKER_APP' cannot be set: names that begin with SSBROKER_ are given by the activator",
        ),
        ("env = { \"A=B\" = \"x\" }", "'A=B' cannot be the name of an environment variable"),
        ("args = [\"a\\u0000b\"]", "an argument cannot hold a NUL character"),
    ] {
        assert_eq!(one_fault(more), message, "{more}");
    }
}

#[test]
fn syntax_faults_have_lines_too() {
    let error = parsed("[log]\nlevel = \n[state\n").unwrap_err();
    let lines: Vec<_> = error.faults().iter().map(|fault| fault.line).collect();
    assert!(lines.contains(&2) && lines.contains(&3), "{:?}", error.faults());
    assert!(error.faults().iter().all(|fault| fault.message.starts_with("not valid TOML: ")));
}

#[test]
fn an_empty_file_lacks_both_lists() {
    let error = parsed("").unwrap_err();
    assert_eq!(error.faults().len(), 2);
    assert!(error.to_string().ends_with("(and 1 more)"));
    let error = parsed("[[notification]]\n[[app]]\n").unwrap_err();
    let messages: Vec<_> = error.faults().iter().map(|fault| (fault.line, fault.message.as_str())).collect();
    assert_eq!(
        messages,
        [
            (1, "[[notification]] lacks 'name'"),
            (1, "[[notification]] lacks 'connection'"),
            (2, "[[app]] lacks 'on'"),
            (2, "[[app]] lacks 'name'"),
            (2, "[[app]] lacks 'command'"),
        ]
    );
}

#[test]
fn one_queue_may_have_two_entries_only_where_the_server_decides() {
    let app = |name: &str, server: &str, strict: bool| {
        format!(
            "[[app]]\nname = \"{name}\"\ncommand = \"c\"\nstrict_server = {strict}\n\
             on = {{ server = \"{server}\", database = \"d\", schema = \"s\", queue = \"Q\" }}\n"
        )
    };
    let both = format!("{NOTIFICATION}{}{}", app("a", "X", true), app("b", "Y", true));
    assert!(parsed(&both).is_ok());
    for (left, right) in
        [(("X", true), ("x", true)), (("X", false), ("Y", true)), (("X", false), ("Y", false))]
    {
        let text = format!("{NOTIFICATION}{}{}", app("a", left.0, left.1), app("b", right.0, right.1));
        assert_eq!(
            parsed(&text).unwrap_err().to_string(),
            "a.toml:13: queue 'd.s.Q' is used already on line 8"
        );
    }
}

#[test]
fn the_same_service_name_is_allowed_on_two_servers() {
    let other = NOTIFICATION.replace("server=x", "server=y");
    assert!(parsed(&format!("{NOTIFICATION}{other}{APP}")).is_ok());
    assert!(parsed(&format!("{NOTIFICATION}{NOTIFICATION}{APP}")).is_err());
}

#[test]
fn bracketed_names_are_warned_of() {
    let text = format!("{NOTIFICATION}{}", APP.replace("\"q\"", "\"[q]\""));
    let warnings = parsed(&text).unwrap().warnings;
    assert!(warnings[0].message.contains("compared with its quotes"), "{warnings:?}");
}
