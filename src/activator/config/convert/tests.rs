//! Converted files mean the same as before, and what could not be carried over is told.

use super::super::{Config, LoadError, Reading, Resolver, parse, parse_with};
use super::{Converted, Target, convert};
use std::io;
use std::path::{Path, PathBuf};

struct Secrets;

impl Resolver for Secrets {
    fn environment(&self, name: &str) -> Option<String> {
        Some(format!("value of {name}"))
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        Ok(format!("content of {}", path.display()))
    }
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("activator-config").join(name)
}

fn meaning(name: &str, text: &str) -> Config {
    let parsed = parse(Path::new(name), Path::new("/etc/ea"), text.as_bytes(), &Secrets);
    parsed.unwrap_or_else(|error| panic!("{:?}\n{text}", error.faults())).config
}

fn converted(name: &str, text: &str) -> Result<Converted, LoadError> {
    convert(Path::new(name), text.as_bytes(), Reading::default(), None)
}

fn remarks(converted: &Converted) -> Vec<String> {
    converted.remarks.iter().map(ToString::to_string).collect()
}

#[test]
fn each_reference_becomes_one_that_means_the_same() {
    for (from, to, target) in
        [("EAService.config", "a.toml", Target::Toml), ("activator.toml", "a.config", Target::EaService)]
    {
        let text = std::fs::read_to_string(reference(from)).unwrap();
        let there = converted(from, &text).unwrap();
        assert_eq!(
            (there.target, remarks(&there)),
            (target, vec![format!("{from}:1: comments are left out")])
        );
        assert_eq!(meaning(to, &there.text), meaning(from, &text));
        assert!(there.text.contains("${env:EA_PASSWORD}"), "a secret is not resolved:\n{}", there.text);
        let back = converted(to, &there.text).unwrap();
        assert_eq!(meaning(from, &back.text), meaning(from, &text));
    }
}

#[test]
fn every_key_of_the_native_format_survives_being_written_again() {
    let text = std::fs::read_to_string(reference("activator.toml")).unwrap();
    let every_key: String = text.lines().map(|line| format!("{}\n", unmarked(line))).collect();
    let again =
        convert(Path::new("a.toml"), every_key.as_bytes(), Reading::default(), Some(Target::Toml)).unwrap();
    assert_eq!(meaning("a.toml", &again.text), meaning("a.toml", &every_key));
    assert!(
        ["file_above = \"1MiB\"", "umask = \"027\"", "reenable = { after = \"30s\", at_most = 3 }"]
            .iter()
            .all(|key| again.text.contains(key)),
        "{}",
        again.text
    );
}

/// A line of the reference without the mark of a key that stands there with no default.
fn unmarked(line: &str) -> &str {
    match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => rest,
        _ => line,
    }
}

const HEAD: &str = "[[notification]]\nname = \"n\"\nconnection = \"server=x\"\n";

fn with_app(keys: &str) -> String {
    format!(
        "{HEAD}[[app]]\nname = \"a\"\non = {{ database = \"d\", schema = \"s\", queue = \"q\" }}\ncommand = \"c\"\n{keys}\n"
    )
}

#[test]
fn arguments_and_names_of_any_kind_go_there_and_back() {
    let text = with_app(
        "args = ['', 'a b', 'say \"x\"', 'C:\\dir\\', 'C:\\some dir\\', '100%%', '%queue%', \"two\\nlines\", '<&>']",
    )
    .replace("\"q\"", "\"a <b> & 'c'\"");
    let there = converted("a.toml", &text).unwrap();
    assert_eq!(remarks(&there), [""; 0]);
    assert_eq!(meaning("a.config", &there.text), meaning("a.toml", &text));
    let back = converted("a.config", &there.text).unwrap();
    assert_eq!(meaning("a.toml", &back.text), meaning("a.toml", &text));
}

#[test]
fn what_the_old_format_cannot_say_is_told_at_its_line() {
    let head = "[log]\nformat = \"json\"\n[state]\ndir = \"/s\"\n[metrics]\nlisten = \"127.0.0.1:1\"\n[history]\ntable = \"n\"\n";
    let keys = "min = 20\nmax = 20\nstrict_server = false\npass_connection = true\nenv = { A = \"1\" }\nkind = \"feed\"\n\
                user = \"u\"\ngroup = \"g\"\numask = \"0\"\ntimeout = \"1s\"\nstop_grace = \"1s\"\n\
                backoff = { first = \"2s\" }\nrate = \"1/s\"\nlimits = { memory = \"1GiB\" }\nreenable = {}\n";
    let converted = converted("a.toml", &format!("{head}{}", with_app(keys))).unwrap();
    let lost =
        |line: u32, what: &str| format!("a.toml:{line}: {what} is left out: EAService.config cannot say it");
    let mut expected = vec![
        lost(1, "everything in [log] but the level"),
        lost(4, "[state]"),
        lost(6, "[metrics]"),
        lost(8, "[history]"),
        "a.toml:16: min = 20 becomes 16, the most that EAService.config can say".to_owned(),
    ];
    let keys = [
        "pass_connection",
        "env",
        "kind",
        "user",
        "group",
        "umask",
        "timeout",
        "stop_grace",
        "backoff",
        "rate",
        "limits",
        "reenable",
    ];
    expected.extend(keys.iter().zip(19..).map(|(key, line)| lost(line, &format!("{key} of application a"))));
    assert_eq!(remarks(&converted), expected);
    assert_eq!(meaning("a.config", &converted.text).applications[0].min, 16);
}

#[test]
fn what_cannot_be_written_at_all_is_a_fault() {
    let faults = |keys: &str| converted("a.toml", &with_app(keys)).unwrap_err().to_string();
    assert_eq!(faults("args = [\"a\\u0001b\"]"), "a.toml:8: character U+0001 cannot be written in XML");
    assert!(faults("work_dir = \"/x \"").contains("'/x ' begins or ends with white space"));
    assert!(faults("min = 9").contains("min = 9 is above max = 1"), "a wrong file is not converted");
}

#[test]
fn several_services_are_written_with_a_request_for_a_lenient_reading() {
    let text = format!("{HEAD}{}{}", HEAD.replace("\"n\"", "\"m\""), with_app("").replace(HEAD, ""));
    let there = converted("a.toml", &text).unwrap();
    assert!(remarks(&there)[0].contains("the old product would take one only"));
    assert_eq!(meaning("a.config", &there.text).notifications.len(), 2);
}

#[test]
fn a_lenient_reading_is_converted_to_a_strict_file() {
    let text = std::fs::read_to_string(reference("invalid/unknown-element.config")).unwrap();
    assert!(converted("f.config", &text).is_err());
    let lenient = Reading::default().lenient(true);
    let clean = convert(Path::new("f.config"), text.as_bytes(), lenient, Some(Target::EaService)).unwrap();
    assert!(remarks(&clean).iter().any(|remark| remark.contains("<StoredProcedure> is not allowed")));
    let before = parse_with(Path::new("f.config"), Path::new("/etc/ea"), text.as_bytes(), lenient, &Secrets);
    assert_eq!(meaning("f.config", &clean.text), before.unwrap().config);
}

const ANCESTOR: &str = r#"<?xml version="1.0"?>
<Activator>
  <Setup>
    <NotificationSQLServer>DB1\S</NotificationSQLServer>
    <NotificationDatabase>Sales</NotificationDatabase>
    <NotificationService>//corp/notify</NotificationService>
    <EnableDebugTrace>true</EnableDebugTrace>
  </Setup>
  <ConfigurationRecord Enabled="true">
    <ApplicationName>C:\bin\handler.exe</ApplicationName>
    <SQLServer>DB1\S</SQLServer><Database>Sales</Database><Schema>dbo</Schema><Queue>Orders</Queue>
    <CommandLineArgs>-q %queue%</CommandLineArgs>
    <Min>2</Min><Max>5</Max><HasConsole>true</HasConsole>
    <StandardOut>C:\out.txt</StandardOut>
  </ConfigurationRecord>
  <ConfigurationRecord>
    <ApplicationName>C:\other\Handler.exe</ApplicationName>
    <Database>Sales</Database><Schema>dbo</Schema><Queue>Mails</Queue>
  </ConfigurationRecord>
</Activator>
"#;

#[test]
fn a_file_of_the_ancestor_becomes_a_native_one() {
    let native = converted("old.config", ANCESTOR).unwrap();
    assert!(
        remarks(&native).iter().any(|remark| remark.contains("old.config:14: <StandardOut> is left out"))
    );
    let config = meaning("a.toml", &native.text);
    let service = &config.notifications[0];
    assert_eq!((service.name.as_str(), service.enabled), ("//corp/notify", true));
    assert_eq!(service.connection.expose(), "server=DB1\\S;database=Sales;integrated security=true");
    let [first, second] = &config.applications[..] else { panic!("two records") };
    assert_eq!((first.name.as_str(), first.enabled, first.min, first.max), ("handler", true, 2, 5));
    assert_eq!((second.name.as_str(), second.enabled, second.min, second.max), ("Handler-2", false, 0, 1));
    assert_eq!(first.on.to_string(), "Sales.dbo.Orders");
    assert_eq!(config.log.level, super::super::LogLevel::Debug);
}

#[test]
fn a_wildcard_of_the_ancestor_is_refused_by_its_element() {
    let text = ANCESTOR.replace("<Schema>dbo</Schema><Queue>Mails</Queue>", "<Schema></Schema>");
    let error = converted("old.config", &text).unwrap_err();
    let faults: Vec<_> = error.faults().iter().map(|fault| (fault.line, fault.message.as_str())).collect();
    let blank =
        |what: &str| format!("<{what}> is blank, which meant any; each queue needs its own entry here");
    assert_eq!(faults, [(16, blank("Queue").as_str()), (18, blank("Schema").as_str())]);
}

/// The file with each of its lines left out, and with each pair of neighbours exchanged.
fn mutants(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    let without = {
        let lines = lines.clone();
        move |index: usize| [&lines[..index], &lines[index + 1..]].concat().join("\n")
    };
    let exchanged = move |index: usize| {
        let mut lines = lines.clone();
        lines.swap(index, index + 1);
        lines.join("\n")
    };
    let mutants: Vec<String> = (0..count).map(without).chain((0..count - 1).map(exchanged)).collect();
    mutants.into_iter()
}

#[test]
fn whatever_is_valid_means_the_same_when_it_is_converted() {
    let native = std::fs::read_to_string(reference("activator.toml")).unwrap();
    let every_key: String = native.lines().map(|line| format!("{}\n", unmarked(line))).collect();
    let old = std::fs::read_to_string(reference("EAService.config")).unwrap();
    let mut valid = 0;
    for (name, text) in [("f.toml", &native), ("f.toml", &every_key), ("f.config", &old)] {
        for (target, other) in [(Target::Toml, "o.toml"), (Target::EaService, "o.config")] {
            for mutant in mutants(text) {
                let Ok(there) = convert(Path::new(name), mutant.as_bytes(), Reading::default(), Some(target))
                else {
                    continue;
                };
                valid += 1;
                let told = remarks(&there);
                if told.iter().all(|remark| remark.ends_with("comments are left out")) {
                    assert_eq!(meaning(other, &there.text), meaning(name, &mutant), "{mutant}");
                } else {
                    assert!(
                        target == Target::EaService,
                        "nothing is lost on the way to the native format: {told:?}"
                    );
                    meaning(other, &there.text);
                }
            }
        }
    }
    assert!(valid > 400, "only {valid} mutants were valid");
}
