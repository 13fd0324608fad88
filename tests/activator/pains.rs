//! The table of complaints in `activator-config/README.md`: every number has a row, and every test named there exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How many complaints there are.
const COUNT: usize = 38;

#[test]
fn every_complaint_has_a_row_and_every_test_named_in_it_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("activator-config/README.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().filter_map(row).collect();
    let numbers: Vec<usize> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=COUNT).collect::<Vec<_>>());
    let known =
        tests_below(&root.join("src")).chain(tests_below(&root.join("tests"))).collect::<BTreeSet<_>>();
    for row in &rows {
        let (number, shown_by) = (row[0], row[3]);
        let named: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{number} names no test");
        for test in named {
            assert!(known.contains(test), "{number} names {test}, which does not exist");
        }
    }
    for test in page.split('`').skip(1).step_by(2).filter_map(test_name) {
        assert!(known.contains(test), "the page names {test}, which does not exist");
    }
}

/// The name of a test, if it is one: nothing else in the page has so many words joined.
fn test_name(code: &str) -> Option<&str> {
    let name = code.rsplit("::").next()?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    (is_name && name.matches('_').count() >= 4).then_some(name)
}

/// The cells of a row that begins with a number.
fn row(line: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    cells[0].parse::<usize>().ok()?;
    assert_eq!(cells.len(), 4, "{line}");
    Some(cells)
}

fn tests_below(folder: &Path) -> impl Iterator<Item = String> {
    let text = files(folder).into_iter().map(|file| fs::read_to_string(file).unwrap());
    text.flat_map(|text| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_test = |pair: &&[&str]| pair[0].starts_with("#[test]") || pair[0].starts_with("#[tokio::test");
        let name = |line: &str| line.split_once("fn ")?.1.split_once('(').map(|(name, _)| name.to_owned());
        lines.windows(2).filter(is_test).filter_map(|pair| name(pair[1])).collect::<Vec<_>>()
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
