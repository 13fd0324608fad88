//! The places of a pool: so many per route, each lent to one call at a time. Knows no decisions and sends nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Lease, OwnedMutexGuard};

use super::core::{Slot, place_of_key};
use super::destination::{Destination, Route};

/// A place on loan; it goes back when dropped.
pub(super) type Leased = OwnedMutexGuard<Slot>;

/// All places, by route.
#[derive(Debug)]
pub(super) struct Places {
    width: usize,
    routes: Mutex<HashMap<Route, Arc<RoutePlaces>>>,
}

#[derive(Debug)]
struct RoutePlaces {
    slots: Vec<Arc<Lease<Slot>>>,
    turn: AtomicUsize,
}

impl Places {
    /// No places yet; a route gets `width` of them when it is first used.
    pub(super) fn new(width: usize) -> Self {
        Self { width, routes: Mutex::default() }
    }

    /// Waits for a place of the destination: its key's own, or the first free one.
    pub(super) async fn lease(&self, destination: &Destination) -> Leased {
        let places = self.of_route(&destination.route);
        if let Some(key) = &destination.key {
            return Arc::clone(&places.slots[place_of_key(key, self.width)]).lock_owned().await;
        }
        let turn = places.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..self.width).map(|step| &places.slots[turn.wrapping_add(step) % self.width]);
        let free = in_turn.into_iter().find_map(|slot| Arc::clone(slot).try_lock_owned().ok());
        match free {
            Some(slot) => slot,
            None => Arc::clone(&places.slots[turn % self.width]).lock_owned().await,
        }
    }

    /// Every place of every route, to be leased one after the other.
    pub(super) fn all(&self) -> Vec<Arc<Lease<Slot>>> {
        self.routes().values().flat_map(|places| places.slots.iter().cloned()).collect()
    }

    fn of_route(&self, route: &Route) -> Arc<RoutePlaces> {
        let mut routes = self.routes();
        if let Some(places) = routes.get(route) {
            return Arc::clone(places);
        }
        let slots = (0..self.width).map(|_| Arc::default()).collect();
        let places = Arc::new(RoutePlaces { slots, turn: AtomicUsize::new(0) });
        routes.insert(route.clone(), Arc::clone(&places));
        places
    }

    /// Held for one look-up; a panic elsewhere cannot leave it half-changed.
    fn routes(&self) -> MutexGuard<'_, HashMap<Route, Arc<RoutePlaces>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        assert_eq!(places.all().len(), 2);
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
