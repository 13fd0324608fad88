//! `ssbroker activator check`: 0 valid, 1 with every fault, 2 unreadable.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn check(file: &Path) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_ssbroker"))
        .current_dir(root)
        .args(["activator", "check"])
        .arg(file)
        .output()
        .unwrap()
}

#[test]
fn the_reference_files_are_valid() {
    for file in ["activator-config/EAService.config", "activator-config/activator.toml"] {
        let output = Command::new(env!("CARGO_BIN_EXE_ssbroker"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["activator", "check", file])
            .env("EA_PASSWORD", "secret")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_real_file_beside_the_project_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/ea-configs");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is not there", folder.display());
        return;
    };
    for file in entries
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "config"))
    {
        let output = check(&file);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn each_broken_variant_is_refused_with_every_fault_in_its_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("activator-config/invalid");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|e| e == "config")).collect();
    files.sort();
    assert!(files.len() >= 15, "only {} broken variants", files.len());
    for file in files {
        let name = format!("activator-config/invalid/{}", file.file_name().unwrap().to_str().unwrap());
        let output = check(Path::new(&name));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        let expected = std::fs::read_to_string(file.with_extension("expected")).unwrap();
        let reasons: Vec<&str> = expected.lines().filter(|line| !line.is_empty()).collect();
        for reason in &reasons {
            assert!(said.contains(reason), "{name} does not say {reason:?}:\n{said}");
        }
        assert!(
            said.lines().filter(|line| !line.starts_with("warning")).all(|line| line.contains(".config:")),
            "{said}"
        );
    }
}

/// Pains 3 and 20: what an old file asks for by itself.
#[cfg(not(feature = "kerberos"))]
#[test]
fn a_login_of_windows_is_a_doubt_with_a_way_out_where_it_is_not_built_in() {
    let output = check(Path::new("samples/activated/EAService.config"));
    let said = String::from_utf8_lossy(&output.stderr);
    let doubt = "samples/activated/EAService.config:9: connection string: 'Integrated Security' needs the cargo feature \
                 'kerberos', which is not built in: use 'User ID' and 'Password' of a SQL login";
    assert!(output.status.code() == Some(0) && said.contains(doubt), "{said}");
}

#[test]
fn a_missing_file_is_unreadable() {
    let output = check(Path::new("no/such/file.config"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot read no/such/file.config"), "{said}");
}
