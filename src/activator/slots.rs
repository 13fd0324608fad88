//! How many processes of one application may run, and when another is due.
//!
//! Pure: no clock, no process, no queue. The arithmetic is that of the old product: the first notification while nothing
//! runs starts `min` processes (at least one), each later one starts one more up to `max`, and nothing is kept alive.
//! Unlike its ancestor it does not lose a notification that comes at `max`: that one is remembered and acted on as soon
//! as one slot is free.

/// Permission to start one process; occupies a slot until it is given back to [`Slots::release`].
///
/// It can neither be copied nor made elsewhere, so there are never more processes than permits, nor more permits than
/// `max`.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is dropped occupies its slot for ever; give it back with `Slots::release`"]
pub struct LaunchPermit(());

/// The slots of one application.
#[derive(Debug)]
pub struct Slots {
    min: u32,
    max: u32,
    occupied: u32,
    pending: bool,
}

impl Slots {
    /// Slots of which none is occupied. A `max` of 0 is taken as 1, a `min` above `max` as `max`.
    #[must_use]
    pub fn new(min: u32, max: u32) -> Self {
        let max = max.max(1);
        Self { min: min.min(max), max, occupied: 0, pending: false }
    }

    /// Answers a notification, and with it a pending one, with the permits they give. What finds no free slot is
    /// pending afterwards.
    pub fn notified(&mut self) -> Vec<LaunchPermit> {
        let free = self.max.saturating_sub(self.occupied);
        let for_this = if self.occupied == 0 { self.min.max(1) } else { 1 };
        let wanted = for_this + u32::from(self.pending);
        self.pending = wanted > free;
        (0..wanted.min(free)).map(|_| self.occupy()).collect()
    }

    /// Occupies a slot for a process that runs already, from before a restart. It may exceed `max`, since a process
    /// that runs cannot be wished away; nothing is started then until enough have ended.
    pub fn adopt(&mut self) -> LaunchPermit {
        self.occupy()
    }

    /// Occupies slots until `count` are, for processes that always run.
    pub fn fill(&mut self, count: u32) -> Vec<LaunchPermit> {
        let missing = count.min(self.max).saturating_sub(self.occupied);
        (0..missing).map(|_| self.occupy()).collect()
    }

    /// Takes back the permit of a process that has ended or was never started.
    pub fn release(&mut self, permit: LaunchPermit) {
        let LaunchPermit(()) = permit;
        self.occupied = self.occupied.checked_sub(1).expect("every permit was counted when it was given");
    }

    /// Remembers a notification that could not be acted on.
    pub fn remember(&mut self) {
        self.pending = true;
    }

    /// Forgets it again: there is nothing left to act on.
    pub fn forget(&mut self) {
        self.pending = false;
    }

    /// Changes the limits, as in [`new`](Self::new). Processes above a lower `max` stay; nothing is started until enough
    /// have ended.
    pub fn resize(&mut self, min: u32, max: u32) {
        self.max = max.max(1);
        self.min = min.min(self.max);
    }

    /// Acts on a pending notification if a slot is free.
    pub fn take_pending(&mut self) -> Vec<LaunchPermit> {
        if !self.pending || self.occupied >= self.max {
            return Vec::new();
        }
        self.pending = false;
        self.notified()
    }

    /// Processes running or being started.
    #[must_use]
    pub fn occupied(&self) -> u32 {
        self.occupied
    }

    /// Most processes at one time.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Whether a notification waits to be acted on.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    fn occupy(&mut self) -> LaunchPermit {
        self.occupied += 1;
        LaunchPermit(())
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn the_first_notification_starts_min_and_each_later_one_starts_one_up_to_max() {
        for (min, max, expected) in [
            (0, 1, &[1, 0, 0][..]),
            (1, 4, &[1, 1, 1, 1, 0]),
            (2, 4, &[2, 1, 1, 0]),
            (4, 4, &[4, 0]),
            (9, 3, &[3, 0]),
            (0, 0, &[1, 0]),
        ] {
            let mut slots = Slots::new(min, max);
            let mut held = Vec::new();
            for count in expected {
                let permits = slots.notified();
                assert_eq!(permits.len(), *count, "min {min}, max {max}");
                held.extend(permits);
            }
            assert_eq!(slots.occupied() as usize, held.len());
        }
    }

    #[test]
    fn a_notification_at_max_is_acted_on_once_one_slot_is_free() {
        let mut slots = Slots::new(2, 2);
        let mut held = slots.notified();
        assert!(slots.notified().is_empty() && slots.notified().is_empty());
        assert!(slots.is_pending());
        assert!(slots.take_pending().is_empty(), "no slot is free yet");
        slots.release(held.pop().unwrap());
        held.extend(slots.take_pending());
        assert_eq!(held.len(), 2);
        assert!(!slots.is_pending());
        slots.release(held.pop().unwrap());
        assert!(slots.take_pending().is_empty(), "several notifications at max are one");
    }

    #[test]
    fn a_notification_that_failed_is_acted_on_together_with_the_next() {
        let mut slots = Slots::new(1, 3);
        for permit in slots.notified() {
            slots.release(permit);
        }
        slots.remember();
        assert_eq!(slots.notified().len(), 2);
        assert!(!slots.is_pending());
    }

    #[test]
    fn a_higher_max_gives_room_and_a_lower_one_takes_none_back() {
        let mut slots = Slots::new(2, 2);
        let mut held = slots.notified();
        assert!(slots.notified().is_empty());
        slots.resize(1, 3);
        held.extend(slots.take_pending());
        assert_eq!((held.len(), slots.max()), (3, 3));
        slots.resize(4, 1);
        slots.remember();
        for _ in 0..2 {
            slots.release(held.pop().unwrap());
            assert!(slots.take_pending().is_empty(), "one is running, and one is the limit");
        }
        slots.forget();
        slots.release(held.pop().unwrap());
        assert!(slots.take_pending().is_empty());
    }

    #[test]
    fn nothing_is_kept_alive() {
        let mut slots = Slots::new(1, 4);
        for permit in slots.notified() {
            slots.release(permit);
        }
        assert_eq!(slots.occupied(), 0);
        assert!(slots.take_pending().is_empty());
    }

    #[test]
    fn min_counts_again_when_everything_has_ended() {
        let mut slots = Slots::new(3, 4);
        for permit in slots.notified() {
            slots.release(permit);
        }
        assert_eq!(slots.notified().len(), 3);
    }

    #[test]
    fn what_always_runs_is_filled_up_and_leaves_the_rest_to_notifications() {
        let mut slots = Slots::new(2, 3);
        let mut held = slots.fill(2);
        assert_eq!((held.len(), slots.fill(2).len()), (2, 0));
        held.extend(slots.notified());
        assert_eq!((held.len(), slots.fill(9).len()), (3, 0));
        slots.release(held.pop().unwrap());
        slots.release(held.pop().unwrap());
        assert_eq!(slots.fill(2).len(), 1);
    }

    #[test]
    fn adopted_processes_count_even_above_max() {
        let mut slots = Slots::new(1, 1);
        let (first, second) = (slots.adopt(), slots.adopt());
        assert!(slots.notified().is_empty());
        slots.release(first);
        assert!(slots.take_pending().is_empty());
        slots.release(second);
        assert_eq!(slots.take_pending().len(), 1);
    }
}
