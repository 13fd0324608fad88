//! Runs the scripts of a folder, one broker for each. Must not know the commands.

mod client;
mod commands;
mod labels;
mod render;
mod server;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use commands::Script;

/// Holds T-SQL that scripts load, no scripts.
const FIXTURES: &str = "fixtures";

/// Runs every script of that folder and fails with the names of those whose output differs.
pub(crate) fn run_area(area: &str) {
    let failed: Vec<String> = entries(&root().join(area))
        .into_iter()
        .filter(|script| {
            catch_unwind(|| goldenscript::run(&mut Script::start(), script).expect("the script runs"))
                .is_err()
        })
        .map(|script| name(&script))
        .collect();
    assert!(failed.is_empty(), "scripts of {area} that differ: {}", failed.join(", "));
}

/// Names of the folders that hold scripts, sorted.
pub(crate) fn areas() -> Vec<String> {
    entries(&root()).iter().map(|folder| name(folder)).filter(|folder| folder != FIXTURES).collect()
}

/// The T-SQL of that fixture, batch by batch.
fn fixture(name: &str) -> Vec<String> {
    let path = root().join(FIXTURES).join(name).with_extension("sql");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("fixture {}: {error}", path.display()));
    text.split("\nGO\n").map(str::to_owned).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).expect("the folder exists");
    let mut paths: Vec<PathBuf> =
        listing.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("listed paths have names").to_string_lossy().into_owned()
}
