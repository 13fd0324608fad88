//! Which requests are under way, and what their replies prove. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::cli::digest::Reply;

/// A request that was sent.
#[derive(Debug)]
struct Request<T> {
    name: String,
    sha256: String,
    answered: bool,
    /// Kept as long as the request is under way, and dropped with its reply.
    held: Option<T>,
}

/// What the replies proved so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests the server took.
    pub(super) sent: u64,
    /// Bytes of their files.
    pub(super) bytes: u64,
    /// Replies that arrived, of whatever kind.
    pub(super) replied: u64,
    /// Replies with the right digest.
    pub(super) verified: u64,
    /// The same by the process that answered.
    pub(super) verified_by: BTreeMap<u32, u64>,
    /// Replies with a wrong digest, or from nowhere.
    pub(super) mismatched: u64,
    /// Replies to a request that had one already.
    pub(super) duplicated: u64,
    /// Conversations that failed.
    pub(super) failed: u64,
    /// The first few faults, for people.
    pub(super) faults: Vec<String>,
}

/// The requests and their counts. `T` is kept with each request until its reply.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    requests: HashMap<u64, Request<T>>,
    counts: Counts,
}

const MOST_FAULTS: usize = 10;

impl<T> Ledger<T> {
    pub(super) fn new() -> Self {
        Self { requests: HashMap::new(), counts: Counts::default() }
    }

    /// Enters a request before it is sent, so that its reply cannot come too early.
    pub(super) fn enter(&mut self, id: u64, name: &str, sha256: String, bytes: u64, held: T) {
        let request = Request { name: name.to_owned(), sha256, answered: false, held: Some(held) };
        self.requests.insert(id, request);
        self.counts.sent += 1;
        self.counts.bytes += bytes;
    }

    /// A request that the server refused was not sent after all.
    pub(super) fn refused(&mut self, id: u64, bytes: u64, reason: &str) {
        if let Some(request) = self.requests.remove(&id) {
            self.counts.sent -= 1;
            self.counts.bytes -= bytes;
            self.fault(format!("{} was not sent: {reason}", request.name));
        }
    }

    /// Checks a reply.
    pub(super) fn reply(&mut self, reply: &Reply) {
        self.counts.replied += 1;
        let Some(request) = self.requests.get_mut(&reply.request) else {
            self.counts.mismatched += 1;
            return self.fault(format!("a reply names request {}, which was not sent", reply.request));
        };
        request.held = None;
        let repeated = std::mem::replace(&mut request.answered, true);
        let (name, sha256) = (request.name.clone(), request.sha256.clone());
        if repeated {
            self.counts.duplicated += 1;
            return self.fault(format!("{name} was answered twice"));
        }
        if sha256 != reply.sha256 {
            self.counts.mismatched += 1;
            return self.fault(format!("{name} has digest {sha256}, the reply says {}", reply.sha256));
        }
        self.counts.verified += 1;
        *self.counts.verified_by.entry(reply.pid).or_default() += 1;
    }

    /// A message on the reply queue that is no reply.
    pub(super) fn strange(&mut self, what: String) {
        self.counts.mismatched += 1;
        self.fault(what);
    }

    /// A conversation ended with an error.
    pub(super) fn conversation_failed(&mut self, reason: &str) {
        self.counts.failed += 1;
        self.fault(format!("a conversation failed: {reason}"));
    }

    /// Requests without a reply.
    pub(super) fn open(&self) -> u64 {
        self.requests.values().filter(|request| !request.answered).count() as u64
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    fn fault(&mut self, fault: String) {
        self.counts.fault(fault);
    }
}

impl Counts {
    /// Takes back what was verified of processes that the activator did not launch. To be asked when the activator has told
    /// of all its launches: a handler may answer before its launch is told.
    pub(super) fn only_from(&mut self, launched: &HashSet<u32>) {
        let strangers: Vec<(u32, u64)> = self
            .verified_by
            .iter()
            .filter(|(pid, _)| !launched.contains(pid))
            .map(|(pid, replies)| (*pid, *replies))
            .collect();
        for (pid, replies) in strangers {
            self.verified -= replies;
            self.mismatched += replies;
            self.fault(format!("{replies} replies came from process {pid}, which was not launched"));
        }
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger<()> {
        let mut ledger = Ledger::new();
        ledger.enter(1, "a", "aa".to_owned(), 10, ());
        ledger.enter(2, "b", "bb".to_owned(), 20, ());
        ledger
    }

    fn reply(request: u64, sha256: &str, pid: u32) -> Reply {
        Reply { request, sha256: sha256.to_owned(), pid }
    }

    #[test]
    fn a_right_reply_verifies_once_and_the_second_is_a_duplicate() {
        let mut ledger = ledger();
        ledger.reply(&reply(1, "aa", 42));
        ledger.reply(&reply(1, "aa", 42));
        let mut counts = ledger.counts().clone();
        counts.only_from(&HashSet::from([42]));
        assert_eq!((counts.replied, counts.verified, counts.duplicated, ledger.open()), (2, 1, 1, 1));
    }

    #[test]
    fn a_wrong_digest_an_unknown_process_and_an_unknown_request_do_not_verify() {
        let mut ledger = ledger();
        ledger.reply(&reply(1, "xx", 42));
        ledger.reply(&reply(2, "bb", 43));
        ledger.reply(&reply(3, "cc", 42));
        let mut counts = ledger.counts().clone();
        counts.only_from(&HashSet::from([42]));
        assert_eq!((counts.verified, counts.mismatched, counts.faults.len()), (0, 3, 3));
    }

    #[test]
    fn a_refused_request_does_not_count_as_sent() {
        let mut ledger = ledger();
        ledger.refused(2, 20, "8431");
        let counts = ledger.counts();
        assert_eq!((counts.sent, counts.bytes, ledger.open()), (1, 10, 1));
        assert_eq!(counts.faults, ["b was not sent: 8431"]);
    }
}
