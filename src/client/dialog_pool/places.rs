//! The places of a pool: so many per route, each lent to one call at a time. Knows no decisions and sends nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Mutex as Lease, OwnedMutexGuard};

use super::super::ids::ConversationHandle;
use super::super::statements::DialogSpec;
use super::core::{Slot, place_of_key};
use super::destination::{Destination, Route};
use super::held;

/// A place on loan; it goes back when dropped.
#[derive(Debug)]
pub(super) struct Leased {
    slot: OwnedMutexGuard<Slot>,
    home: Place,
}

type Place = Arc<Lease<Slot>>;

/// Where a dialog is used, as seen by one who must not wait.
#[derive(Debug)]
pub(super) enum Home {
    /// In no place: it was retired, or is not the pool's.
    None,
    /// In a place that is on loan.
    Busy,
    /// In this place, begun as described.
    Leased(Leased, DialogSpec),
}

/// All places, by route.
#[derive(Debug)]
pub(super) struct Places {
    width: usize,
    routes: Mutex<HashMap<Route, Arc<RoutePlaces>>>,
    homes: Mutex<HashMap<ConversationHandle, (Place, DialogSpec)>>,
    /// Dialogs for whose places a reader stands in line, or has them kept.
    reserved: Mutex<HashMap<ConversationHandle, Option<Leased>>>,
}

#[derive(Debug)]
struct RoutePlaces {
    slots: Vec<Place>,
    turn: AtomicUsize,
}

impl Places {
    /// No places yet; a route gets `width` of them when it is first used.
    pub(super) fn new(width: usize) -> Self {
        Self { width, routes: Mutex::default(), homes: Mutex::default(), reserved: Mutex::default() }
    }

    /// Waits for a place of the destination: its key's own, or the first free one.
    pub(super) async fn lease(&self, destination: &Destination) -> Leased {
        let places = self.of_route(&destination.route);
        if let Some(key) = &destination.key {
            return lease(&places.slots[place_of_key(key, self.width)]).await;
        }
        let turn = places.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..self.width).map(|step| &places.slots[turn.wrapping_add(step) % self.width]);
        match in_turn.into_iter().find_map(try_lease) {
            Some(leased) => leased,
            None => lease(&places.slots[turn % self.width]).await,
        }
    }

    /// Every place of every route, to be leased one after the other.
    pub(super) async fn each<E>(&self, mut visit: impl AsyncFnMut(Leased) -> Result<(), E>) -> Result<(), E> {
        let all: Vec<Place> =
            held(&self.routes).values().flat_map(|places| places.slots.iter().cloned()).collect();
        for place in &all {
            visit(lease(place).await).await?;
        }
        Ok(())
    }

    /// Every place that nobody has on loan at this moment.
    pub(super) fn free(&self) -> Vec<Leased> {
        held(&self.routes).values().flat_map(|places| &places.slots).filter_map(try_lease).collect()
    }

    /// Remembers where a dialog is used.
    pub(super) fn settle_in(&self, dialog: ConversationHandle, leased: &Leased, spec: &DialogSpec) {
        held(&self.homes).insert(dialog, (Arc::clone(&leased.home), spec.clone()));
    }

    /// How a dialog was begun, if it is used in a place.
    pub(super) fn spec_of(&self, dialog: ConversationHandle) -> Option<DialogSpec> {
        held(&self.homes).get(&dialog).map(|(_, spec)| spec.clone())
    }

    /// Forgets where a dialog was used.
    pub(super) fn forget(&self, dialog: ConversationHandle) {
        held(&self.homes).remove(&dialog);
    }

    /// The place of a dialog, if it is free at this moment or kept for who asks this.
    pub(super) fn home_of(&self, dialog: ConversationHandle) -> Home {
        let Some((place, spec)) = held(&self.homes).get(&dialog).cloned() else { return Home::None };
        let kept = held(&self.reserved).get_mut(&dialog).and_then(Option::take);
        kept.or_else(|| try_lease(&place)).map_or(Home::Busy, |leased| Home::Leased(leased, spec))
    }

    /// Whether somebody uses the place of a dialog at this moment.
    pub(super) fn is_lent(&self, dialog: ConversationHandle) -> bool {
        let place = held(&self.homes).get(&dialog).map(|(place, _)| Arc::clone(place));
        place.is_some_and(|place| place.try_lock().is_err())
            && held(&self.reserved).get(&dialog).is_none_or(Option::is_none)
    }

    /// Stands in line for the place of a dialog on behalf of a reader, who must not wait itself, and keeps it for `span`
    /// from then on. Answers at once when that is being done already.
    pub(super) async fn reserve(&self, dialog: ConversationHandle, span: Duration) {
        let Some((place, _)) = held(&self.homes).get(&dialog).cloned() else { return };
        let Some(_entry) = Reservation::enter(self, dialog) else { return };
        let leased = lease(&place).await;
        // Whoever had it before may have repaired the dialog.
        if leased.dialog().is_some_and(|(lying, ..)| lying == dialog) {
            held(&self.reserved).insert(dialog, Some(leased));
            tokio::time::sleep(span).await;
        }
    }

    fn of_route(&self, route: &Route) -> Arc<RoutePlaces> {
        let mut routes = held(&self.routes);
        if let Some(places) = routes.get(route) {
            return Arc::clone(places);
        }
        let slots = (0..self.width).map(|_| Arc::default()).collect();
        let places = Arc::new(RoutePlaces { slots, turn: AtomicUsize::new(0) });
        routes.insert(route.clone(), Arc::clone(&places));
        places
    }
}

/// An entry among the reserved places, removed when dropped.
struct Reservation<'a> {
    places: &'a Places,
    dialog: ConversationHandle,
}

impl<'a> Reservation<'a> {
    fn enter(places: &'a Places, dialog: ConversationHandle) -> Option<Self> {
        match held(&places.reserved).entry(dialog) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                free.insert(None);
                Some(Self { places, dialog })
            }
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        held(&self.places.reserved).remove(&self.dialog);
    }
}

impl Deref for Leased {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.slot
    }
}

impl DerefMut for Leased {
    fn deref_mut(&mut self) -> &mut Slot {
        &mut self.slot
    }
}

async fn lease(place: &Place) -> Leased {
    Leased { slot: Arc::clone(place).lock_owned().await, home: Arc::clone(place) }
}

fn try_lease(place: &Place) -> Option<Leased> {
    let slot = Arc::clone(place).try_lock_owned().ok()?;
    Some(Leased { slot, home: Arc::clone(place) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_without_a_key_get_different_places_and_calls_with_a_key_wait_for_theirs() {
        let places = Places::new(2);
        let destination = Destination::new("//t/from", "//t/to").unwrap();
        let keyed = destination.clone().key("k");
        let (first, second) = (places.lease(&destination).await, places.lease(&destination).await);
        let mut counted = 0;
        drop((first, second));
        places
            .each(async |_| {
                counted += 1;
                Ok::<(), ()>(())
            })
            .await
            .unwrap();
        assert_eq!(counted, 2);
        let (first, second) = (places.lease(&destination).await, places.lease(&destination).await);
        let third = places.lease(&keyed);
        tokio::pin!(third);
        assert!(futures_util::poll!(third.as_mut()).is_pending(), "both places are lent");
        drop((first, second));
        let third = third.await;
        let fourth = places.lease(&keyed);
        tokio::pin!(fourth);
        assert!(futures_util::poll!(fourth.as_mut()).is_pending(), "the key has one place only");
        drop(third);
        fourth.await;
    }
}
