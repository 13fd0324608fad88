//! The files in `activator-config/`: the references are accepted and mean the same, each broken file gets its report.

use super::{Fault, LoadError, Loaded, LogLevel, Reading, Resolver, load, parse, parse_with};
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
    assert_eq!(error.to_string(), "a.toml:25: no server is named");
}
