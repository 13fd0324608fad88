//! The pure decisions of the dialog pool: which place to use, whether its dialog is used again, retired or replaced, and
//! the books over all dialogs the pool ever began. No IO, no clock: time is passed in.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use super::super::ids::ConversationHandle;
use super::super::telemetry::{self, DialogEvent};

/// When a dialog has done enough; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) sends: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) age: Option<Duration>,
}

/// What to do with a place before sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Begin a dialog.
    Begin,
    /// Send on this dialog.
    Reuse(ConversationHandle),
    /// Ask the server whether this dialog still takes messages: nobody knows what became of the last transaction on it.
    Verify(ConversationHandle),
    /// Send the end-of-stream message on this dialog, then begin another.
    Retire(ConversationHandle),
}

/// One place of the pool: at most one open dialog.
#[derive(Debug, Default)]
pub(super) struct Slot {
    dialog: Option<OpenDialog>,
}

#[derive(Debug)]
struct OpenDialog {
    conversation: ConversationHandle,
    begun_at: Instant,
    used_at: Instant,
    sends: u64,
    bytes: u64,
    doubtful: bool,
}

impl Slot {
    /// A place whose dialog is known from a table.
    pub(super) fn restored(dialog: ConversationHandle, begun_at: Instant, sends: u64, bytes: u64) -> Self {
        let used_at = begun_at;
        Self {
            dialog: Some(OpenDialog {
                conversation: dialog,
                begun_at,
                used_at,
                sends,
                bytes,
                doubtful: false,
            }),
        }
    }

    /// The dialog that lies here, and how much was sent on it: messages, bytes.
    pub(super) fn dialog(&self) -> Option<(ConversationHandle, u64, u64)> {
        self.dialog.as_ref().map(|dialog| (dialog.conversation, dialog.sends, dialog.bytes))
    }

    /// The last transaction on the dialog may or may not have happened.
    pub(super) fn doubt(&mut self) {
        if let Some(dialog) = &mut self.dialog {
            dialog.doubtful = true;
        }
    }

    /// The server says that the dialog takes messages.
    pub(super) fn trust(&mut self) {
        if let Some(dialog) = &mut self.dialog {
            dialog.doubtful = false;
        }
    }

    /// Decides before sending. `is_open` tells whether the books still hold a conversation as open: the peer may have ended
    /// it since.
    pub(super) fn decide(
        &self,
        limits: &Limits,
        now: Instant,
        is_open: impl FnOnce(ConversationHandle) -> bool,
    ) -> Decision {
        match &self.dialog {
            Some(dialog) if !is_open(dialog.conversation) => Decision::Begin,
            Some(dialog) if dialog.doubtful => Decision::Verify(dialog.conversation),
            Some(dialog) if dialog.is_used_up(limits, now) => Decision::Retire(dialog.conversation),
            Some(dialog) => Decision::Reuse(dialog.conversation),
            None => Decision::Begin,
        }
    }

    /// Whether the dialog, or a new one, reaches a limit by sending this much more: then the end-of-stream message goes in
    /// the same request.
    pub(super) fn fills_up(&self, limits: &Limits, sends: u64, bytes: u64) -> bool {
        let (sent, sent_bytes) = self.dialog.as_ref().map_or((0, 0), |dialog| (dialog.sends, dialog.bytes));
        reached(limits.sends, sent + sends) || reached(limits.bytes, sent_bytes + bytes)
    }

    /// A new dialog takes the place.
    pub(super) fn begun(&mut self, conversation: ConversationHandle, now: Instant) {
        self.dialog = Some(OpenDialog {
            conversation,
            begun_at: now,
            used_at: now,
            sends: 0,
            bytes: 0,
            doubtful: false,
        });
    }

    /// Counts what was sent on the dialog.
    pub(super) fn sent(&mut self, sends: u64, bytes: u64, now: Instant) {
        if let Some(dialog) = &mut self.dialog {
            dialog.used_at = now;
            dialog.sends += sends;
            dialog.bytes += bytes;
        }
    }

    /// Whether a dialog lies here on which nothing was sent for so long.
    pub(super) fn is_idle(&self, span: Duration, now: Instant) -> bool {
        let used_at = self.dialog.as_ref().map(|dialog| dialog.used_at);
        used_at.is_some_and(|used_at| now.saturating_duration_since(used_at) >= span)
    }

    /// Empties the place.
    pub(super) fn clear(&mut self) -> Option<ConversationHandle> {
        self.dialog.take().map(|dialog| dialog.conversation)
    }
}

impl OpenDialog {
    fn is_used_up(&self, limits: &Limits, now: Instant) -> bool {
        reached(limits.sends, self.sends)
            || reached(limits.bytes, self.bytes)
            || limits.age.is_some_and(|limit| now.saturating_duration_since(self.begun_at) >= limit)
    }
}

fn reached(limit: Option<u64>, count: u64) -> bool {
    limit.is_some_and(|limit| count >= limit)
}

/// The place of a key: always the same one, in every process, so that messages of one key stay in order. Different keys
/// may share a place.
pub(super) fn place_of_key(key: &str, width: usize) -> usize {
    (stable_hash([key]) % width.max(1) as u64) as usize
}

/// A number for texts that is the same in every process and version: FNV-1a over each text and a byte that no text has,
/// its bits mixed at the end so that the low ones depend on all.
pub(super) fn stable_hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

/// Counts of a dialog pool since it was made, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Dialogs begun.
    pub begun: u64,
    /// Calls that sent on a dialog begun before.
    pub reused: u64,
    /// Dialogs on which the end-of-stream message was sent, or that were ended when the pool was closed.
    pub retired: u64,
    /// Dialogs found dead while sending and replaced.
    pub replaced: u64,
    /// Pending messages of dead dialogs that were sent again on a new one.
    pub resent: u64,
    /// Pending messages of dead dialogs that went to the table of unsent messages.
    pub unsent: u64,
    /// Transactions repeated because they lost a deadlock.
    pub repeated: u64,
    /// Dialogs in use that the peer ended by itself.
    pub ended_by_peer: u64,
    /// Dialogs open and in use now.
    pub open: u64,
    /// Retired dialogs that wait for the peer's EndDialog now.
    pub retiring: u64,
    /// Dialogs that probably stay behind on the server: retired ones whose EndDialog is overdue, those whose begin was
    /// interrupted before its outcome was known, and dead ones left open because what is pending on them cannot be seen.
    pub leaked: u64,
}

/// How many retired dialogs are waited for at once. The target, or whoever reads our queue, does not say that they ended.
pub(crate) const MOST_RETIRING: usize = 10_000;

/// How many dialogs that other processes have replaced or retired are asked about their pending messages.
const MOST_OTHERS: usize = 1_000;

/// The books over the dialogs of all places.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    open: HashSet<ConversationHandle>,
    retiring: HashMap<ConversationHandle, Instant>,
    /// Dialogs that other processes have replaced or retired, the oldest first: what was sent here may still be pending.
    others: VecDeque<ConversationHandle>,
    lost_begins: u64,
    left_open: u64,
    counts: PoolStats,
}

impl Ledger {
    pub(super) fn is_open(&self, conversation: ConversationHandle) -> bool {
        self.open.contains(&conversation)
    }

    pub(super) fn begun(&mut self, conversation: ConversationHandle) {
        self.open.insert(conversation);
        self.counts.begun += 1;
        telemetry::dialog(DialogEvent::Begun);
    }

    /// A dialog that another process may have begun is used here too.
    pub(super) fn adopt(&mut self, conversation: ConversationHandle) {
        self.open.insert(conversation);
    }

    /// Another process has replaced or retired a dialog that was used here too.
    pub(super) fn left_to_others(&mut self, conversation: ConversationHandle) {
        if !self.open.remove(&conversation) {
            return;
        }
        if self.others.len() == MOST_OTHERS {
            self.others.pop_front();
        }
        self.others.push_back(conversation);
    }

    /// A begin was interrupted: a dialog may exist that nobody knows.
    pub(super) fn begin_lost(&mut self) {
        self.lost_begins += 1;
    }

    /// A dead dialog was not ended: its pending messages stay for somebody who may see them.
    pub(super) fn left_open(&mut self, conversation: ConversationHandle) {
        self.died(conversation);
        self.left_open += 1;
    }

    /// A transaction lost a deadlock and is done again.
    pub(super) fn repeated(&mut self) {
        self.counts.repeated += 1;
    }

    /// What became of the pending messages of a dead dialog.
    pub(super) fn settled(&mut self, resent: u64, unsent: u64) {
        self.counts.resent += resent;
        self.counts.unsent += unsent;
    }

    pub(super) fn reused(&mut self) {
        self.counts.reused += 1;
        telemetry::dialog(DialogEvent::Reused);
    }

    /// The end-of-stream message was sent: the peer is to end first.
    pub(super) fn retired(&mut self, conversation: ConversationHandle, now: Instant) {
        if self.open.remove(&conversation) {
            self.make_room();
            self.retiring.insert(conversation, now);
            self.counts.retired += 1;
            telemetry::dialog(DialogEvent::Retired);
        }
    }

    /// Gives up the retired dialog that waits longest, if there are too many.
    fn make_room(&mut self) {
        if self.retiring.len() < MOST_RETIRING {
            return;
        }
        let oldest = self.retiring.iter().min_by_key(|(_, since)| **since).map(|(dialog, _)| *dialog);
        if let Some(oldest) = oldest {
            self.retiring.remove(&oldest);
            self.left_open += 1;
        }
    }

    /// Our side was ended: nothing is waited for.
    pub(super) fn ended(&mut self, conversation: ConversationHandle) {
        if self.open.remove(&conversation) {
            self.counts.retired += 1;
            telemetry::dialog(DialogEvent::Retired);
        }
    }

    /// The dialog was found dead. Its EndDialog or Error message, if any, is the receiver's business.
    pub(super) fn died(&mut self, conversation: ConversationHandle) {
        if self.open.remove(&conversation) || self.retiring.remove(&conversation).is_some() {
            self.counts.replaced += 1;
            telemetry::dialog(DialogEvent::Replaced);
        }
    }

    /// An EndDialog or Error message came in on this conversation. Returns whether it was one of the pool's.
    pub(super) fn peer_ended(&mut self, conversation: ConversationHandle) -> bool {
        if self.retiring.remove(&conversation).is_some() {
            return true;
        }
        let was_open = self.open.remove(&conversation);
        if was_open {
            self.counts.ended_by_peer += 1;
            telemetry::dialog(DialogEvent::EndedByPeer);
        }
        was_open
    }

    /// Whether the end-of-stream message was sent on this dialog, so that the peer's end says that it has everything.
    pub(super) fn is_retiring(&self, conversation: ConversationHandle) -> bool {
        self.retiring.contains_key(&conversation)
    }

    /// All dialogs on which something may still be on its way: open and retired ones, and those others have in hand, in no
    /// order.
    pub(super) fn alive(&self) -> Vec<ConversationHandle> {
        self.open.iter().chain(self.retiring.keys()).chain(&self.others).copied().collect()
    }

    /// The retired dialogs that wait for their EndDialog, in no order.
    pub(super) fn retiring(&self) -> Vec<ConversationHandle> {
        self.retiring.keys().copied().collect()
    }

    pub(super) fn stats(&self, overdue_after: Duration, now: Instant) -> PoolStats {
        let overdue =
            self.retiring.values().filter(|since| now.saturating_duration_since(**since) >= overdue_after);
        PoolStats {
            open: self.open.len() as u64,
            retiring: self.retiring.len() as u64,
            leaked: self.lost_begins + self.left_open + overdue.count() as u64,
            ..self.counts
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
