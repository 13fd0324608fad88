//! The files in `activator-config/`: the references are accepted and mean the same, each broken file gets its report.

use super::{
    Application, BackoffSettings, Config, Fault, FeedSettings, HistorySettings, Kind, Limits, LoadError,
    Loaded, LogLevel, LogSettings, MetricsSettings, Reading, Reenable, Resolver, load, parse, parse_with,
};
use std::io;
use std::path::{Path, PathBuf};

/// Holds the one secret the reference files refer to.
struct TestResolver;

impl Resolver for TestResolver {
    fn environment(&self, name: &str) -> Option<String> {
        (name == "EA_PASSWORD").then(|| "hunter2;".to_owned())
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("activator-config")
}

fn parse_named(name: &str, bytes: &[u8]) -> Result<Loaded, LoadError> {
    parse(Path::new(name), Path::new("/etc/ea"), bytes, &TestResolver)
}

fn report(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

#[test]
fn both_reference_files_mean_the_same() {
    let old = load(&folder().join("EAService.config"), &TestResolver).unwrap();
    let new = load(&folder().join("activator.toml"), &TestResolver).unwrap();
    assert_eq!(old, new);
    assert_eq!(report(&old.warnings), "");
    let orders = &old.config.applications[0];
    assert_eq!((orders.min, orders.max, orders.on.server.as_deref()), (1, 4, Some("DB1")));
    assert_eq!(orders.command, Path::new("/opt/orders/handler"));
    let invoices = &old.config.applications[1];
    assert_eq!((invoices.enabled, &invoices.on.server, &invoices.work_dir), (false, &None, &None));
    assert_eq!(old.config.log.level, LogLevel::Info);
    let connection = old.config.notifications[0].connection.expose();
    assert!(connection.contains("password=\"hunter2;\";encrypt"));
}

/// The native reference with every key: without the marks of those that stand there with no default.
fn every_key() -> String {
    let text = std::fs::read_to_string(folder().join("activator.toml")).unwrap();
    let unmarked = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(unmarked).collect()
}

#[test]
fn the_native_reference_shows_every_key() {
    let config = parse_named("a.toml", every_key().as_bytes()).unwrap().config;
    // Named one by one, so that a new field cannot be forgotten in the reference.
    let Config { notifications, applications, log, state: _, history, metrics, secret_variables } = config;
    assert!(secret_variables.contains("EA_PASSWORD"));
    let LogSettings { level: _, format: _, file, rotation: _, keep: _ } = log;
    let (HistorySettings { table }, MetricsSettings { listen }) = (history, metrics);
    assert!(file.is_some() && listen.is_some() && table.is_some() && notifications.len() == 1);
    let [orders, _, mails] = &applications[..] else { panic!("three applications") };
    let Application { on, work_dir, user, group, umask, timeout, rate, limits, reenable, .. } = &**orders;
    let all_there =
        on.server.is_some() && work_dir.is_some() && user.is_some() && group.is_some() && umask.is_some();
    assert!(all_there && timeout.is_some() && rate.is_some());
    let Limits { memory, cpu, files } = limits;
    assert!(memory.is_some() && cpu.is_some() && files.is_some());
    // These are stated with their defaults.
    assert_eq!(orders.backoff, BackoffSettings::default());
    assert_eq!(*reenable, Some(Reenable::default()));
    assert_eq!(mails.kind, Kind::Feed(FeedSettings::default()));
    for key in every_key_known_to_the_reader() {
        let is_shown = every_key()
            .lines()
            .any(|line| line.contains(&format!("{key} = ")) || line.contains(&format!(".{key}]")));
        assert!(is_shown, "the reference lacks {key}");
    }
}

/// What the reader answers for a misspelt key is a key, so its own list is read out of the source of the reader.
fn every_key_known_to_the_reader() -> Vec<String> {
    let sources = [include_str!("toml/mod.rs"), include_str!("toml/process.rs")];
    let keys = sources.iter().flat_map(|source| source.split("report, \"").skip(1));
    let keys: Vec<String> =
        keys.filter_map(|rest| rest.split_once('"')).map(|(key, _)| key.to_owned()).collect();
    let tables = ["log", "state", "history", "metrics", "notification", "app"];
    keys.into_iter().filter(|key| !tables.contains(&key.as_str())).collect()
}

#[test]
fn c065_a_password_may_come_from_anywhere_and_hold_any_character() {
    struct Odd;
    impl Resolver for Odd {
        fn environment(&self, _name: &str) -> Option<String> {
            Some("a;b'c{d}=\"e".to_owned())
        }
        fn file(&self, _path: &Path) -> io::Result<String> {
            Ok("a;b'c{d}=\"e\n".to_owned())
        }
        fn check_connection(&self, connection: &str) -> Result<Option<String>, String> {
            let options = crate::client::BrokerOptions::from_connection_string(connection);
            options.map(|_| None).map_err(|error| error.to_string())
        }
    }
    let old = std::fs::read_to_string(folder().join("EAService.config")).unwrap();
    let written = ["${env:PW}", "${file:/run/secrets/pw}", "&quot;a;b'c{d}=&quot;&quot;e&quot;"];
    let connections = written.map(|password| {
        let text = old.replace("${env:EA_PASSWORD}", password);
        let loaded =
            parse_with(Path::new("f.config"), Path::new("/"), text.as_bytes(), Reading::default(), &Odd);
        loaded.unwrap_or_else(|error| panic!("{:?}", error.faults())).config.notifications[0]
            .connection
            .clone()
    });
    assert!(connections.iter().all(|connection| *connection == connections[0]));
    assert!(connections[0].expose().contains("password=\"a;b'c{d}=\"\"e\";encrypt=true"));
}

#[test]
fn c067_names_are_compared_without_case_and_two_entries_for_one_queue_are_refused() {
    let app = |name: &str, schema: &str, queue: &str| {
        format!(
            "[[app]]\nname = \"{name}\"\ncommand = \"c\"\n\
             on = {{ database = \"ssb1\", schema = \"{schema}\", queue = \"{queue}\" }}\n"
        )
    };
    let head = "[[notification]]\nname = \"//t/N\"\nconnection = \"server=x\"\n";
    let parsed = |apps: &str| parse_named("a.toml", format!("{head}{apps}").as_bytes());
    let twice = parsed(&format!("{}{}", app("a", "dbo", "qt"), app("b", "DBO", "QT"))).unwrap_err();
    assert_eq!(twice.to_string(), "a.toml:11: queue 'ssb1.DBO.QT' is used already on line 7");
    assert!(parsed(&format!("{}{}", app("a", "dbo", "qt"), app("b", "sales", "qt"))).is_ok());
    let quoted = parsed(&app("a", "[dbo]", "[qt]")).unwrap().warnings;
    assert_eq!(quoted.len(), 2, "{quoted:?}");
    let blank = parsed(&app("a", "", "qt")).unwrap_err().to_string();
    assert!(blank.contains("the schema name is empty"), "{blank}");
}

#[test]
fn every_broken_file_gets_its_whole_report() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder().join("invalid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "config") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let expected = std::fs::read_to_string(path.with_extension("expected")).unwrap();
            let error = parse_named(name, &std::fs::read(&path).unwrap()).unwrap_err();
            assert_eq!(report(error.faults()), expected, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 15);
}

#[test]
fn a_lenient_reading_passes_over_what_the_format_does_not_know() {
    let lenient = Reading::default().lenient(true);
    let mut passed = Vec::new();
    for entry in std::fs::read_dir(folder().join("invalid")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        if name.ends_with(".config")
            && let Ok(loaded) =
                parse_with(Path::new(name), Path::new("/etc/ea"), &bytes, lenient, &TestResolver)
        {
            let strict = std::fs::read_to_string(path.with_extension("expected")).unwrap();
            assert_eq!(report(&loaded.warnings), strict.replace('\n', "; passed over\n"), "{name}");
            passed.push(name.to_owned());
        }
    }
    passed.sort_unstable();
    let expected = [
        "bad-log-filter",
        "elements-out-of-order",
        "missing-elements",
        "two-notification-services",
        "unknown-element",
    ];
    assert_eq!(passed, expected.map(|name| format!("{name}.config")));
}

#[test]
fn a_file_can_ask_for_a_lenient_reading() {
    let old = std::fs::read_to_string(folder().join("invalid/unknown-element.config")).unwrap();
    assert!(parse_named("f.config", old.as_bytes()).is_err());
    let asking = old.replacen("<Activator", "<?ssbroker lenient?>\n<Activator", 1);
    assert_eq!(parse_named("f.config", asking.as_bytes()).unwrap().warnings.len(), 1);
    let new = std::fs::read_to_string(folder().join("activator.toml")).unwrap();
    let strange = format!("{new}\nfuture_key = 1\n");
    assert!(parse_named("f.toml", strange.as_bytes()).is_err());
    let warnings = parse_named("f.toml", format!("lenient = true\n{strange}").as_bytes()).unwrap().warnings;
    assert!(report(&warnings).contains("'future_key' is not a key of [[app]]; passed over"));
}

#[test]
fn utf_16_and_marks_are_accepted() {
    let text = std::fs::read_to_string(folder().join("EAService.config")).unwrap();
    let plain = parse_named("f.config", text.as_bytes()).unwrap();
    let marked = format!("\u{feff}{text}");
    let wide = |bytes: fn(u16) -> [u8; 2]| marked.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    for bytes in [marked.clone().into_bytes(), wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        assert_eq!(parse_named("f.config", &bytes).unwrap(), plain);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_from_one_that_is_wrong() {
    let missing = load(&folder().join("no such file"), &TestResolver).unwrap_err();
    assert!(missing.is_unreadable());
    assert!(load(&folder(), &TestResolver).unwrap_err().is_unreadable());
    let binary = parse_named("f.config", b"\x7fELF\x02\x01\0\0").unwrap_err();
    assert!(binary.is_unreadable());
    assert_eq!(binary.to_string(), "f.config is not a text file");
    let empty = parse_named("f.config", b"").unwrap_err();
    assert!(!empty.is_unreadable());
    assert_eq!(empty.to_string(), "f.config:1: not well-formed XML: the document has no root element");
}

#[test]
fn the_name_or_else_the_first_character_tells_the_format() {
    assert!(parse_named("f.toml", b"<x/>").unwrap_err().to_string().contains("not valid TOML"));
    assert!(parse_named("f.xml", b"a = 1").unwrap_err().to_string().contains("not well-formed XML"));
    assert!(parse_named("f", b" <x/>").unwrap_err().to_string().contains("root element"));
    assert!(parse_named("f", b"x = 1").unwrap_err().to_string().contains("'x' is not a key"));
}

#[test]
fn no_type_of_a_configuration_prints_a_secret() {
    let text = r#"
        [[notification]]
        name = "n"
        connection = "server=x;password=${env:EA_PASSWORD}"
        [[app]]
        name = "a"
        on = { database = "d", schema = "s", queue = "q" }
        command = "c"
        env = { TOKEN = "hunter2;" }
    "#;
    let loaded = parse_named("f.toml", text.as_bytes()).unwrap();
    let printed = format!("{loaded:?} {loaded:#?} {}", loaded.config.notifications[0].connection);
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(printed.contains("TOKEN"));
}

#[test]
fn the_resolver_judges_connection_strings_at_their_line() {
    struct Strict;
    impl Resolver for Strict {
        fn environment(&self, _name: &str) -> Option<String> {
            Some("x".to_owned())
        }
        fn file(&self, _path: &Path) -> io::Result<String> {
            Ok(String::new())
        }
        fn check_connection(&self, _connection: &str) -> Result<Option<String>, String> {
            Err("no server is named".to_owned())
        }
    }
    let bytes = std::fs::read(folder().join("activator.toml")).unwrap();
    let error = parse(Path::new("a.toml"), Path::new("/"), &bytes, &Strict).unwrap_err();
    assert_eq!(error.to_string(), "a.toml:29: no server is named");
}
