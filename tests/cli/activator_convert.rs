//! `ssbroker activator convert` and `check --lenient` as a user runs them, and the schema of the old format.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("activator-config")
}

fn activator(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.current_dir(folder()).arg("activator").args(arguments).env("EA_PASSWORD", "secret");
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_converted_file_is_valid_and_converts_back() {
    let scratch = tempfile::tempdir().unwrap();
    for (from, there, back) in [("EAService.config", "a.toml", "xml"), ("activator.toml", "a.config", "toml")]
    {
        let converted = activator(&["convert", from]);
        assert_eq!(converted.status.code(), Some(0), "{}", said(&converted));
        assert!(said(&converted).contains("comments are left out"));
        let file = scratch.path().join(there);
        std::fs::write(&file, &converted.stdout).unwrap();
        let file = file.to_str().unwrap();
        let checked = activator(&["check", file]);
        assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
        let again = activator(&["convert", file, "--to", back]);
        // The description of a service is a comment there.
        let remarks = said(&again).lines().filter(|line| !line.ends_with("comments are left out")).count();
        assert_eq!((again.status.code(), remarks), (Some(0), 0), "{}", said(&again));
    }
}

#[test]
fn a_file_of_the_ancestor_is_recognised_by_check_and_read_by_convert() {
    let refused = activator(&["check", "invalid/ancestor-format.config"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("`ssbroker activator convert FILE`"), "{}", said(&refused));
    let converted = activator(&["convert", "invalid/ancestor-format.config"]);
    assert_eq!(converted.status.code(), Some(1), "this one has wildcards");
    assert!(said(&converted).contains("<Schema> is blank, which meant any"), "{}", said(&converted));
}

#[test]
fn a_lenient_check_warns_of_what_a_strict_one_refuses() {
    let file = "invalid/unknown-element.config";
    assert_eq!(activator(&["check", file]).status.code(), Some(1));
    let lenient = activator(&["check", "--lenient", file]);
    assert_eq!(lenient.status.code(), Some(0), "{}", said(&lenient));
    assert!(
        said(&lenient)
            .contains("warning: invalid/unknown-element.config:18: <StoredProcedure> is not allowed")
    );
    assert_eq!(activator(&["check", "--lenient", "invalid/empty-values.config"]).status.code(), Some(1));
}

#[test]
fn a_file_that_is_missing_or_wrong_is_not_converted() {
    assert_eq!(activator(&["convert", "none.config"]).status.code(), Some(2));
    let wrong = activator(&["convert", "invalid/min-above-max.config"]);
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(1), 0));
    assert!(said(&wrong).contains("min = 5 is above max = 4"));
}

#[test]
fn the_schema_accepts_the_reference_and_refuses_what_a_schema_can_see() {
    if Command::new("xmllint").arg("--version").output().is_err() {
        println!("skipped: xmllint is not installed");
        return;
    }
    let is_valid = |file: &Path| {
        let mut command = Command::new("xmllint");
        command
            .args(["--nonet", "--noout", "--schema", "EAServiceConfig.xsd"])
            .arg(file)
            .current_dir(folder());
        let output = command.output().unwrap();
        // 5 is the code for a schema that is itself wrong.
        assert_ne!(output.status.code(), Some(5), "{}", said(&output));
        output.status.success()
    };
    assert!(is_valid(Path::new("EAService.config")));
    let scratch = tempfile::tempdir().unwrap();
    let converted = scratch.path().join("converted.config");
    std::fs::write(&converted, activator(&["convert", "activator.toml"]).stdout).unwrap();
    assert!(is_valid(&converted));
    let entries = std::fs::read_dir(folder().join("invalid")).unwrap().map(|entry| entry.unwrap().path());
    let variants = entries.filter(|path| path.extension().is_some_and(|extension| extension == "config"));
    let (valid, invalid): (Vec<PathBuf>, Vec<PathBuf>) = variants.partition(|file| is_valid(file));
    let mut unseen: Vec<_> = valid.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    unseen.sort_unstable();
    assert_eq!(unseen, ["bad-launch-info", "two-notification-services"]);
    assert_eq!(invalid.len(), 13);
}
