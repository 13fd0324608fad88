//! T-SQL scripts as tools write them: batches separated by lines that hold only `GO`.

use crate::client::{Broker, Error};

/// One batch of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch<'a> {
    /// Line of the script on which it begins, from 1.
    pub(super) line: usize,
    /// Its text.
    pub(super) text: &'a str,
}

/// Runs a script batch by batch; stops at the first that fails.
pub(super) async fn run(broker: &Broker, name: &str, script: &str) -> Result<(), Error> {
    for batch in batches(script) {
        let outcome = broker.batch(batch.text).await;
        outcome
            .map_err(|error| error.during(format_args!("running {name}, batch of line {}", batch.line)))?;
    }
    Ok(())
}

/// The batches of a script, blank ones left out. `GO` inside a multi-line comment or text is not told apart: the project's
/// own scripts have none.
pub(super) fn batches(script: &str) -> impl Iterator<Item = Batch<'_>> {
    let mut batches = Vec::new();
    let (mut start, mut first_line) = (0, 1);
    let mut offset = 0;
    for (index, line) in script.split_inclusive('\n').enumerate() {
        offset += line.len();
        if line.trim().eq_ignore_ascii_case("go") {
            batches.push(Batch { line: first_line, text: &script[start..offset - line.len()] });
            (start, first_line) = (offset, index + 2);
        }
    }
    batches.push(Batch { line: first_line, text: &script[start..] });
    batches.into_iter().filter(|batch| !batch.text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cut_at_lines_that_hold_only_go() {
        let script = "-- GO on\nSELECT 1;\nGO\n\ngo  \r\nSELECT 'GO'\n";
        let found: Vec<_> = batches(script).map(|batch| (batch.line, batch.text)).collect();
        assert_eq!(found, [(1, "-- GO on\nSELECT 1;\n"), (6, "SELECT 'GO'\n")]);
        assert_eq!(batches(" \nGO\n").count(), 0);
    }
}
