//! Goal L8: every error number of the embedded broker has a kind and an advice in the client.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ssbroker::client::server_codes;

/// Notices and what only the embedded broker's own checks use.
const NOT_ERRORS: &[u32] = &[5701, 5703];

#[test]
fn l8_every_error_number_of_the_embedded_broker_is_in_the_catalogue() {
    let mut numbers = BTreeSet::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("emulator/src"), &mut numbers);
    assert!(numbers.len() > 200, "only {} numbers were found", numbers.len());
    let unknown: Vec<&u32> =
        numbers.iter().filter(|number| server_codes::lookup(**number).is_none()).collect();
    println!(
        "L8: {} error numbers of the embedded broker, {} without kind and advice",
        numbers.len(),
        unknown.len()
    );
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The first arguments of `SqlError::new` and `SqlError::with_severity`, in files that are not tests.
fn collect(place: &Path, numbers: &mut BTreeSet<u32>) {
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, numbers);
        } else if name.ends_with(".rs") && !name.contains("test") && !name.contains("conformance") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for call in ["SqlError::new(", "SqlError::with_severity("] {
                numbers.extend(code.split(call).skip(1).filter_map(leading_number));
            }
        }
    }
    numbers.retain(|number| !NOT_ERRORS.contains(number));
}

fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || *c == '_').filter(|c| *c != '_').collect();
    digits.parse().ok()
}
