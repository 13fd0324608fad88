//! What is to be done once the transaction of a batch is known to be committed.
//!
//! It follows the savepoints: what is undone in the database is dropped here, what is kept there is kept here. Nothing here
//! knows what it runs.

use std::fmt;

/// Work in the order in which it was given; dropped undone unless [`run`](Afterwards::run).
#[derive(Default)]
pub(super) struct Afterwards {
    work: Vec<Box<dyn FnOnce() + Send>>,
    /// So much of it belongs to what a roll back to the savepoint keeps.
    kept: usize,
}

impl Afterwards {
    pub(super) fn push(&mut self, work: impl FnOnce() + Send + 'static) {
        self.work.push(Box::new(work));
    }

    /// The savepoint moved here.
    pub(super) fn keep(&mut self) {
        self.kept = self.work.len();
    }

    /// The transaction was rolled back to the savepoint.
    pub(super) fn undo(&mut self) {
        self.work.truncate(self.kept);
    }

    /// Everything was undone.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The transaction was committed.
    pub(super) fn run(self) {
        self.work.into_iter().for_each(|work| work());
    }
}

impl fmt::Debug for Afterwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to do, {} of them kept", self.work.len(), self.kept)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn note(sender: &Sender<u32>, number: u32) -> impl FnOnce() + Send + 'static {
        let sender = sender.clone();
        move || sender.send(number).unwrap()
    }

    #[test]
    fn what_was_kept_survives_an_undo_and_runs_in_order() {
        let (sender, done) = channel();
        let mut afterwards = Afterwards::default();
        afterwards.push(note(&sender, 1));
        afterwards.keep();
        afterwards.push(note(&sender, 2));
        afterwards.undo();
        afterwards.push(note(&sender, 3));
        afterwards.run();
        assert_eq!(done.try_iter().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn after_a_clear_nothing_is_left_to_keep() {
        let (sender, done) = channel();
        let mut afterwards = Afterwards::default();
        afterwards.push(note(&sender, 1));
        afterwards.keep();
        afterwards.clear();
        afterwards.push(note(&sender, 2));
        afterwards.undo();
        afterwards.run();
        assert_eq!(done.try_iter().count(), 0);
    }
}
