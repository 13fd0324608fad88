//! Which messages of one queue can be received, in the order RECEIVE takes them (spec 2.3.2, 2.3.3).
//!
//! Three sorted levels: groups by priority and age, conversations of a group likewise, messages of a conversation by
//! kind and age. Every change costs O(log n), and taking k messages O(k log n), whatever the backlog. It must not know
//! messages, locks or transactions: a message that is taken is simply no longer in here.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

/// Place of a message within its conversation: first timer messages, then errors, then the rest in order of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// DialogTimer.
    Timer,
    /// Error, of the peer or of the broker.
    Error,
    /// Everything else, EndDialog included.
    Sequenced,
}

/// Where a conversation stands among those of its group, and a group among all: priority first, then age of the oldest
/// message. U-40: equal priorities are served oldest first.
type Place = (Reverse<u8>, i64, Uuid);

/// Before every place.
const FIRST: Place = (Reverse(u8::MAX), i64::MIN, Uuid::nil());
/// After every place.
const LAST: Place = (Reverse(0), i64::MAX, Uuid::max());

#[derive(Debug, Clone, Copy)]
struct Conversation {
    group: Uuid,
    priority: u8,
}

/// The receivable messages of one queue. The sets are shared by all groups and conversations, which makes many small
/// ones cheap.
#[derive(Debug, Default)]
pub(crate) struct ReadyIndex {
    /// Conversations with ready messages.
    conversations: HashMap<Uuid, Conversation>,
    /// Their messages, by conversation.
    messages: BTreeSet<(Uuid, Rank, i64)>,
    /// Their places, by group.
    members: BTreeSet<(Uuid, Place)>,
    /// The groups; the place of a group is that of its first member.
    order: BTreeSet<Place>,
}

impl ReadyIndex {
    /// Whether nothing can be received.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Makes a message receivable. `group` and `priority` are those of its conversation.
    pub(crate) fn insert(&mut self, conversation: Uuid, group: Uuid, priority: u8, rank: Rank, order: i64) {
        let entry = self.detach(conversation).unwrap_or(Conversation { group, priority });
        self.messages.insert((conversation, rank, order));
        self.attach(conversation, entry);
    }

    /// Takes a message out; one that is not in here is ignored.
    pub(crate) fn remove(&mut self, conversation: Uuid, rank: Rank, order: i64) {
        if let Some(entry) = self.detach(conversation) {
            self.messages.remove(&(conversation, rank, order));
            self.attach(conversation, entry);
        }
    }

    /// Follows a conversation into another group.
    pub(crate) fn regroup(&mut self, conversation: Uuid, group: Uuid) {
        if let Some(entry) = self.detach(conversation) {
            self.attach(conversation, Conversation { group, ..entry });
        }
    }

    /// The groups with ready messages, the one to serve first in front.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.order.iter().map(|(_, _, group)| *group)
    }

    /// Queuing orders of a group's ready messages, conversation by conversation.
    pub(crate) fn of_group(&self, group: Uuid) -> impl Iterator<Item = i64> + '_ {
        let members = self.members.range((group, FIRST)..=(group, LAST));
        members.flat_map(|(_, (_, _, conversation))| self.of_conversation(*conversation))
    }

    /// Queuing orders of a conversation's ready messages.
    pub(crate) fn of_conversation(&self, conversation: Uuid) -> impl Iterator<Item = i64> + '_ {
        let all = (conversation, Rank::Timer, i64::MIN)..=(conversation, Rank::Sequenced, i64::MAX);
        self.messages.range(all).map(|(_, _, order)| *order)
    }

    /// Takes a conversation out of the sorted levels so that it can change.
    fn detach(&mut self, conversation: Uuid) -> Option<Conversation> {
        let entry = self.conversations.remove(&conversation)?;
        if let Some(place) = self.place(conversation, entry) {
            self.change_group(entry.group, |members| members.remove(&(entry.group, place)));
        }
        Some(entry)
    }

    /// Puts a conversation back at its place, unless it has no ready message left.
    fn attach(&mut self, conversation: Uuid, entry: Conversation) {
        if let Some(place) = self.place(conversation, entry) {
            self.change_group(entry.group, |members| members.insert((entry.group, place)));
            self.conversations.insert(conversation, entry);
        }
    }

    fn place(&self, conversation: Uuid, entry: Conversation) -> Option<Place> {
        Some((Reverse(entry.priority), self.oldest(conversation)?, conversation))
    }

    /// The smallest queuing order among a conversation's ready messages; each rank is sorted by it, so three look-ups do.
    fn oldest(&self, conversation: Uuid) -> Option<i64> {
        let first = |rank| {
            let of_rank = (conversation, rank, i64::MIN)..=(conversation, rank, i64::MAX);
            self.messages.range(of_rank).next().map(|(_, _, order)| *order)
        };
        [Rank::Timer, Rank::Error, Rank::Sequenced].into_iter().filter_map(first).min()
    }

    /// Changes the members of a group and keeps the group's own place.
    fn change_group(&mut self, group: Uuid, change: impl FnOnce(&mut BTreeSet<(Uuid, Place)>) -> bool) {
        let before = self.place_of_group(group);
        change(&mut self.members);
        let after = self.place_of_group(group);
        if before != after {
            before.map(|place| self.order.remove(&place));
            after.map(|place| self.order.insert(place));
        }
    }

    fn place_of_group(&self, group: Uuid) -> Option<Place> {
        let first = self.members.range((group, FIRST)..=(group, LAST)).next();
        first.map(|(_, (priority, oldest, _))| (*priority, *oldest, group))
    }
}

#[cfg(test)]
mod tests {
    use super::{Rank, ReadyIndex};
    use uuid::Uuid;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn groups_come_by_priority_and_then_by_age() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 5, Rank::Sequenced, 1);
        index.insert(id(2), id(102), 5, Rank::Sequenced, 2);
        index.insert(id(3), id(103), 10, Rank::Sequenced, 3);
        assert_eq!(index.groups().collect::<Vec<_>>(), [id(103), id(101), id(102)]);
        index.remove(id(1), Rank::Sequenced, 1);
        index.insert(id(1), id(101), 5, Rank::Sequenced, 4);
        assert_eq!(index.groups().collect::<Vec<_>>(), [id(103), id(102), id(101)]);
    }

    #[test]
    fn a_group_counts_as_its_most_urgent_conversation_with_messages() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 1, Rank::Sequenced, 1);
        index.insert(id(2), id(101), 9, Rank::Sequenced, 5);
        index.insert(id(3), id(103), 5, Rank::Sequenced, 2);
        assert_eq!(index.groups().next(), Some(id(101)));
        index.remove(id(2), Rank::Sequenced, 5);
        assert_eq!(index.groups().next(), Some(id(103)));
    }

    #[test]
    fn within_a_conversation_timers_and_errors_come_first() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 5, Rank::Sequenced, 1);
        index.insert(id(1), id(101), 5, Rank::Error, 2);
        index.insert(id(1), id(101), 5, Rank::Timer, 3);
        assert_eq!(index.of_conversation(id(1)).collect::<Vec<_>>(), [3, 2, 1]);
    }

    #[test]
    fn conversations_of_a_group_are_not_mixed() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 5, Rank::Sequenced, 1);
        index.insert(id(2), id(101), 5, Rank::Sequenced, 2);
        index.insert(id(1), id(101), 5, Rank::Sequenced, 3);
        assert_eq!(index.of_group(id(101)).collect::<Vec<_>>(), [1, 3, 2]);
    }

    #[test]
    fn a_conversation_moves_with_its_messages() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 5, Rank::Sequenced, 1);
        index.regroup(id(1), id(102));
        assert_eq!(index.groups().collect::<Vec<_>>(), [id(102)]);
        assert_eq!(index.of_group(id(101)).count(), 0);
        assert_eq!(index.of_group(id(102)).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn an_emptied_index_holds_nothing() {
        let mut index = ReadyIndex::default();
        index.insert(id(1), id(101), 5, Rank::Sequenced, 1);
        index.remove(id(1), Rank::Sequenced, 1);
        index.remove(id(1), Rank::Sequenced, 1);
        assert!(index.is_empty() && index.conversations.is_empty() && index.members.is_empty());
    }

    #[test]
    fn one_group_of_many_messages_is_read_from_the_front_only() {
        let mut index = ReadyIndex::default();
        (0..100_000).for_each(|order| index.insert(id(1), id(101), 5, Rank::Sequenced, order));
        for round in 0..100 {
            let taken: Vec<i64> = index.of_group(id(101)).take(10).collect();
            assert_eq!(taken.first(), Some(&(round * 10)));
            taken.iter().for_each(|order| index.remove(id(1), Rank::Sequenced, *order));
        }
    }
}
