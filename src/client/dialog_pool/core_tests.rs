//! Tables for the single decisions, and a random schedule over all of them.

use super::*;

fn handle(number: u128) -> ConversationHandle {
    ConversationHandle::from_uuid(uuid::Uuid::from_u128(number))
}

fn limits(sends: u64, bytes: u64, seconds: u64) -> Limits {
    Limits { sends: Some(sends), bytes: Some(bytes), age: Some(Duration::from_secs(seconds)) }
}

#[test]
fn a_place_is_reused_until_one_limit_is_reached() {
    let start = Instant::now();
    let limits = limits(10, 1_000, 60);
    let table = [
        (0, 0, 0, Decision::Reuse(handle(1))),
        (9, 999, 59, Decision::Reuse(handle(1))),
        (10, 0, 0, Decision::Retire(handle(1))),
        (1, 1_000, 0, Decision::Retire(handle(1))),
        (1, 1, 60, Decision::Retire(handle(1))),
    ];
    for (sends, bytes, seconds, expected) in table {
        let mut slot = Slot::default();
        assert_eq!(slot.decide(&limits, start, |_| true), Decision::Begin);
        slot.begun(handle(1), start);
        slot.sent(sends, bytes, start);
        let now = start + Duration::from_secs(seconds);
        assert_eq!(slot.decide(&limits, now, |_| true), expected, "{sends} {bytes} {seconds}");
        assert_eq!(slot.decide(&limits, now, |_| false), Decision::Begin, "the peer ended it");
        assert_eq!(
            slot.decide(&Limits::default(), now, |_| true),
            Decision::Reuse(handle(1)),
            "without limits"
        );
    }
}

#[test]
fn the_call_that_reaches_a_limit_is_known_beforehand() {
    let mut slot = Slot::default();
    assert!(slot.fills_up(&limits(5, 100, 1), 5, 0), "a new dialog counts from 0");
    slot.begun(handle(1), Instant::now());
    slot.sent(3, 50, Instant::now());
    assert!(!slot.fills_up(&limits(5, 100, 1), 1, 49));
    assert!(slot.fills_up(&limits(5, 100, 1), 2, 0));
    assert!(slot.fills_up(&limits(5, 100, 1), 1, 50));
    assert!(!slot.fills_up(&Limits::default(), 1_000_000, 1 << 40));
}

#[test]
fn a_dialog_is_idle_by_the_time_of_its_last_send_and_an_empty_place_never() {
    let (start, minute) = (Instant::now(), Duration::from_secs(60));
    let mut slot = Slot::default();
    assert!(!slot.is_idle(Duration::ZERO, start));
    slot.begun(handle(1), start);
    assert!(slot.is_idle(minute, start + minute) && !slot.is_idle(minute, start + minute / 2));
    slot.sent(1, 1, start + minute);
    assert!(!slot.is_idle(minute, start + minute) && slot.is_idle(minute, start + minute * 2));
}

#[test]
fn a_key_always_has_the_same_place_and_keys_spread_over_all() {
    let places: HashSet<usize> = (0..100).map(|key| place_of_key(&key.to_string(), 4)).collect();
    assert_eq!(places.len(), 4);
    assert_eq!(place_of_key("customer-7", 4), place_of_key("customer-7", 4));
    assert_eq!(place_of_key("any", 1), 0);
}

#[test]
fn the_place_of_a_key_is_the_same_in_every_version_since_processes_must_agree() {
    let places: Vec<usize> = ["a", "b", "customer-7", "größe"].map(|key| place_of_key(key, 16)).to_vec();
    assert_eq!(places, [6, 13, 7, 14]);
}

#[test]
fn a_doubtful_dialog_is_verified_before_its_next_use_but_not_once_it_is_known_to_be_over() {
    let mut slot = Slot::default();
    let now = Instant::now();
    slot.begun(handle(1), now);
    slot.doubt();
    assert_eq!(slot.decide(&Limits::default(), now, |_| true), Decision::Verify(handle(1)));
    assert_eq!(slot.decide(&Limits::default(), now, |_| false), Decision::Begin);
    slot.trust();
    assert_eq!(slot.decide(&Limits::default(), now, |_| true), Decision::Reuse(handle(1)));
}

#[test]
fn a_dead_dialog_left_open_counts_as_leaked_and_what_became_of_its_messages_is_counted() {
    let mut ledger = Ledger::default();
    ledger.begun(handle(1));
    ledger.left_open(handle(1));
    ledger.settled(3, 2);
    let stats = ledger.stats(Duration::from_secs(60), Instant::now());
    assert_eq!((stats.leaked, stats.replaced, stats.resent, stats.unsent, stats.open), (1, 1, 3, 2, 0));
}

#[test]
fn an_overdue_end_of_a_retired_dialog_and_a_lost_begin_count_as_leaked() {
    let start = Instant::now();
    let mut ledger = Ledger::default();
    ledger.begun(handle(1));
    ledger.begun(handle(2));
    ledger.retired(handle(1), start);
    ledger.begin_lost();
    let minute = Duration::from_secs(60);
    assert_eq!(ledger.stats(minute, start).leaked, 1);
    let later = ledger.stats(minute, start + minute);
    assert_eq!((later.leaked, later.retiring, later.open), (2, 1, 1));
    assert!(ledger.peer_ended(handle(1)) && !ledger.peer_ended(handle(1)));
    assert_eq!(ledger.stats(minute, start + minute).leaked, 1);
    assert!(!ledger.peer_ended(handle(99)), "a stranger's conversation");
}

/// A small generator of repeatable numbers; the constants are Knuth's.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What the random schedule drives: some places, one ledger, and a count of what it did by itself.
struct Model {
    slots: Vec<Slot>,
    ledger: Ledger,
    now: Instant,
    next: u128,
    sent_on: HashMap<ConversationHandle, u64>,
}

impl Model {
    fn send(&mut self, place: usize, limits: &Limits, sends: u64) {
        let decision =
            self.slots[place].decide(limits, self.now, |conversation| self.ledger.is_open(conversation));
        let conversation = match decision {
            Decision::Reuse(conversation) | Decision::Verify(conversation) => {
                self.ledger.reused();
                conversation
            }
            Decision::Retire(old) => {
                self.slots[place].clear();
                self.ledger.retired(old, self.now);
                self.begin(place)
            }
            Decision::Begin => self.begin(place),
        };
        let fills_up = self.slots[place].fills_up(limits, sends, 0);
        self.slots[place].sent(sends, 0, Instant::now());
        *self.sent_on.entry(conversation).or_default() += sends;
        if fills_up {
            self.slots[place].clear();
            self.ledger.retired(conversation, self.now);
        }
    }

    fn begin(&mut self, place: usize) -> ConversationHandle {
        self.next += 1;
        let conversation = handle(self.next);
        self.slots[place].begun(conversation, self.now);
        self.ledger.begun(conversation);
        conversation
    }
}

#[test]
fn a_random_schedule_never_loses_a_dialog_from_the_books_nor_overfills_one() {
    let limits = limits(20, u64::MAX, 30);
    let mut model = Model {
        slots: (0..4).map(|_| Slot::default()).collect(),
        ledger: Ledger::default(),
        now: Instant::now(),
        next: 0,
        sent_on: HashMap::new(),
    };
    let mut numbers = Numbers(42);
    for _ in 0..20_000 {
        model.now += Duration::from_millis(numbers.below(500));
        let place = numbers.below(4) as usize;
        match numbers.below(20) {
            0 => drop(model.ledger.peer_ended(handle(u128::from(numbers.below(model.next as u64 + 1))))),
            1 => {
                if let Some(conversation) = model.slots[place].clear() {
                    model.ledger.died(conversation);
                }
            }
            _ => model.send(place, &limits, 1 + numbers.below(5)),
        }
        let stats = model.ledger.stats(Duration::MAX, model.now);
        assert_eq!(u128::from(stats.begun), model.next);
        assert!(stats.open <= 4, "{stats:?}");
        assert!(stats.retiring <= stats.retired, "{stats:?}");
        assert!(
            stats.open + stats.retired + stats.replaced + stats.ended_by_peer >= stats.begun,
            "{stats:?}"
        );
    }
    let fullest = model.sent_on.values().max().copied().unwrap();
    assert!((20..25).contains(&fullest), "{fullest}");
}

#[test]
fn the_books_do_not_grow_with_dialogs_that_others_end() {
    let (mut ledger, now) = (Ledger::default(), Instant::now());
    for number in 0..20_000 {
        ledger.adopt(handle(number));
        ledger.left_to_others(handle(number));
    }
    assert_eq!((ledger.stats(Duration::MAX, now).open, ledger.alive().len()), (0, MOST_OTHERS));
    for number in 0..MOST_RETIRING as u128 + 2 {
        ledger.begun(handle(number));
        ledger.retired(handle(number), now + Duration::from_nanos(number as u64));
    }
    let stats = ledger.stats(Duration::MAX, now);
    assert_eq!((stats.retiring, stats.leaked), (MOST_RETIRING as u64, 2));
    assert!(!ledger.is_retiring(handle(0)) && ledger.is_retiring(handle(2)));
}
