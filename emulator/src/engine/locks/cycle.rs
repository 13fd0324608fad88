//! Cycles in the wait-for graph.

use std::collections::HashSet;

use crate::engine::ids::TxnId;

/// A cycle through `start`, in order; empty if there is none. `blockers` gives whom an owner waits for.
pub(super) fn find(start: TxnId, blockers: impl Fn(TxnId) -> Vec<TxnId>) -> Vec<TxnId> {
    let mut visited = HashSet::from([start]);
    // The path from `start`, each with those of its blockers not looked at yet.
    let mut path = vec![(start, blockers(start))];
    while let Some((_, open)) = path.last_mut() {
        match open.pop() {
            None => drop(path.pop()),
            Some(next) if next == start => return path.into_iter().map(|(owner, _)| owner).collect(),
            Some(next) if visited.insert(next) => path.push((next, blockers(next))),
            Some(_) => {}
        }
    }
    Vec::new()
}
