//! Faults of the native format, each at its line, and what its optional keys mean.

use super::super::{LoadError, Loaded, LogFormat, LogLevel, LogRotation, MacroValues, Resolver, parse};
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
fn keys_that_are_not_acted_on_yet_are_refused_by_name() {
    for key in super::LATER_APP_KEYS {
        assert_eq!(one_fault(&format!("{key} = 1")), format!("'{key}' is not supported yet; remove it"));
    }
    assert_eq!(one_fault("[metrics]"), "'metrics' is not supported yet; remove it");
    for kind in ["feed", "resident"] {
        let expected = format!("kind = \"{kind}\" is not supported yet; only \"launch\" is");
        assert_eq!(one_fault(&format!("kind = \"{kind}\"")), expected);
    }
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
