//! The lock manager: who holds what, who waits, and whether a wait closes a cycle.
//!
//! Pure bookkeeping: it never waits. A request that cannot be granted keeps its place in the queue; when it is granted
//! later, its owner is reported as woken. Owners are transactions; each waits for at most one lock. Requests are served
//! in order of arrival, only conversions (an owner asking for more than it holds) go first, so nobody starves. This
//! module must not know sessions, rows or conversations beyond their identifiers.

mod cycle;
mod mode;
mod resource;

use std::collections::{HashMap, VecDeque};

pub use mode::LockMode;
pub use resource::Resource;

use super::ids::TxnId;

/// How long a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockDuration {
    /// To the end of the running statement, also when it blocks.
    Statement,
    /// To the end of the transaction; a roll back to a savepoint keeps it.
    Transaction,
}

/// Answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acquired {
    /// The owner holds the lock.
    Granted,
    /// The owner has just joined the queue.
    Queued,
    /// The owner was in the queue for this lock before and still is.
    StillQueued,
}

#[derive(Debug)]
struct Grant {
    owner: TxnId,
    statement: Option<LockMode>,
    transaction: Option<LockMode>,
}

#[derive(Debug)]
struct Request {
    owner: TxnId,
    /// The mode asked for.
    mode: LockMode,
    /// The mode the owner would then hold.
    target: LockMode,
    duration: LockDuration,
    conversion: bool,
}

#[derive(Debug, Default)]
struct Head {
    granted: Vec<Grant>,
    waiting: VecDeque<Request>,
}

#[derive(Debug, Default)]
struct Owner {
    held: Vec<Resource>,
    /// Those of `held` with a part that ends with the statement.
    of_statement: Vec<Resource>,
    waiting: Option<Resource>,
    /// How often each of `held` was asked for, where that is counted.
    counts: HashMap<Resource, usize>,
    /// Granted while it waited; it has not asked for anything since and may have given up.
    unseen: Option<Resource>,
}

/// All locks of the instance.
#[derive(Debug, Default)]
pub(super) struct LockManager {
    heads: HashMap<Resource, Head>,
    owners: HashMap<TxnId, Owner>,
    woken: Vec<TxnId>,
}

impl LockManager {
    /// Asks for a lock. What cannot be granted waits; an earlier wait of the owner for something else is given up.
    pub(super) fn acquire(
        &mut self,
        owner: TxnId,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
    ) -> Acquired {
        if self.try_acquire(owner, resource, mode, duration) {
            return Acquired::Granted;
        }
        let head = self.heads.entry(resource.clone()).or_default();
        let request = head.request(owner, mode, duration);
        if head.waiting.iter().any(|other| other.owner == owner && other.target == request.target) {
            return Acquired::StillQueued;
        }
        self.cancel_wait(owner);
        self.heads.entry(resource.clone()).or_default().enqueue(request);
        self.owners.entry(owner).or_default().waiting = Some(resource.clone());
        Acquired::Queued
    }

    /// Asks for a lock without waiting; `false` if it cannot be granted now.
    pub(super) fn try_acquire(
        &mut self,
        owner: TxnId,
        resource: &Resource,
        mode: LockMode,
        duration: LockDuration,
    ) -> bool {
        let Some(head) = self.heads.get_mut(resource) else {
            let request = Request { owner, mode, target: mode, duration, conversion: false };
            self.heads.entry(resource.clone()).or_default().grant(&request);
            self.note_grant(resource, &request, true);
            return true;
        };
        let request = head.request(owner, mode, duration);
        if !head.can_grant(&request) {
            return false;
        }
        let queued = head.waiting.iter().position(|other| other.owner == owner);
        queued.map(|place| head.waiting.remove(place));
        let new = head.grant(&request);
        self.note_grant(resource, &request, new);
        if queued.is_some() {
            self.owners.entry(owner).or_default().waiting = None;
            self.serve(resource);
        }
        true
    }

    /// Whether another owner holds or waits for the resource.
    pub(super) fn is_contended(&self, owner: TxnId, resource: &Resource) -> bool {
        self.heads.get(resource).is_some_and(|head| {
            head.granted.iter().any(|grant| grant.owner != owner)
                || head.waiting.iter().any(|request| request.owner != owner)
        })
    }

    /// The mode in which an owner holds a resource.
    pub(super) fn held(&self, owner: TxnId, resource: &Resource) -> Option<LockMode> {
        self.heads.get(resource)?.grant_of(owner).map(Grant::mode)
    }

    /// What the owner waits for.
    pub(super) fn waits_for(&self, owner: TxnId) -> Option<&Resource> {
        self.owners.get(&owner)?.waiting.as_ref()
    }

    /// Takes the owner's request out of the queue it stands in, or gives back what it was granted while it waited and
    /// has not used.
    pub(super) fn cancel_wait(&mut self, owner: TxnId) {
        let Some(entry) = self.owners.get_mut(&owner) else { return };
        let unseen = entry.unseen.take();
        if let Some(resource) = &unseen {
            forget(&mut entry.held, resource);
            forget(&mut entry.of_statement, resource);
        }
        for resource in [entry.waiting.take(), unseen.clone()].into_iter().flatten() {
            let Some(head) = self.heads.get_mut(&resource) else { continue };
            head.waiting.retain(|request| request.owner != owner);
            head.granted.retain(|grant| grant.owner != owner || unseen.as_ref() != Some(&resource));
            self.serve(&resource);
        }
    }

    /// Ends what the owner holds for the running statement only.
    pub(super) fn release_statement(&mut self, owner: TxnId) {
        let Some(entry) = self.owners.get_mut(&owner) else { return };
        for resource in std::mem::take(&mut entry.of_statement) {
            let Some(head) = self.heads.get_mut(&resource) else { continue };
            if head.end_statement_part(owner) {
                let entry = self.owners.entry(owner).or_default();
                forget(&mut entry.held, &resource);
            }
            self.serve(&resource);
        }
    }

    /// Ends everything the owner holds or waits for.
    pub(super) fn release_all(&mut self, owner: TxnId) {
        self.cancel_wait(owner);
        let Some(entry) = self.owners.remove(&owner) else { return };
        for resource in entry.held {
            if let Some(head) = self.heads.get_mut(&resource) {
                head.granted.retain(|grant| grant.owner != owner);
            }
            self.serve(&resource);
        }
    }

    /// Counts one more request for a lock that the owner holds.
    pub(super) fn count(&mut self, owner: TxnId, resource: &Resource) {
        let entry = self.owners.entry(owner).or_default();
        *entry.counts.entry(resource.clone()).or_default() += 1;
    }

    /// Takes back one counted request; the last one ends the lock. `false` if none was counted.
    pub(super) fn give_up(&mut self, owner: TxnId, resource: &Resource) -> bool {
        let Some(entry) = self.owners.get_mut(&owner) else { return false };
        let Some(count) = entry.counts.get_mut(resource) else { return false };
        *count -= 1;
        if *count > 0 {
            return true;
        }
        entry.counts.remove(resource);
        forget(&mut entry.held, resource);
        if let Some(head) = self.heads.get_mut(resource) {
            head.granted.retain(|grant| grant.owner != owner);
        }
        self.serve(resource);
        true
    }

    /// Lets another owner, which holds nothing here, have what the first one holds.
    pub(super) fn hand_over(&mut self, from: TxnId, to: TxnId, resource: &Resource) {
        let grant = self.heads.get_mut(resource).into_iter().flat_map(|head| head.granted.iter_mut());
        grant.into_iter().filter(|grant| grant.owner == from).for_each(|grant| grant.owner = to);
        if let Some(entry) = self.owners.get_mut(&from) {
            forget(&mut entry.held, resource);
        }
        self.owners.entry(to).or_default().held.push(resource.clone());
    }

    /// Whether a lock could be had now.
    pub(super) fn could_acquire(&self, owner: TxnId, resource: &Resource, mode: LockMode) -> bool {
        self.heads
            .get(resource)
            .is_none_or(|head| head.can_grant(&head.request(owner, mode, LockDuration::Transaction)))
    }

    /// Owners whose wait has ended by a grant since the last call, in order.
    pub(super) fn take_woken(&mut self) -> Vec<TxnId> {
        std::mem::take(&mut self.woken)
    }

    /// Owners that wait for each other, the given one among them; empty if its wait closes no cycle.
    pub(super) fn cycle_of(&self, owner: TxnId) -> Vec<TxnId> {
        cycle::find(owner, |waiting| self.blockers(waiting))
    }

    /// Every lock held or waited for: owner, resource, mode, whether it is held. In order of owner and resource.
    pub(super) fn list(&self) -> Vec<(TxnId, Resource, LockMode, bool)> {
        let mut list = Vec::new();
        for (resource, head) in &self.heads {
            list.extend(head.granted.iter().map(|it| (it.owner, resource.clone(), it.mode(), true)));
            list.extend(head.waiting.iter().map(|it| (it.owner, resource.clone(), it.target, false)));
        }
        list.sort();
        list
    }

    /// Whom a waiting owner waits for: holders in its way, and everybody before it in the queue.
    fn blockers(&self, owner: TxnId) -> Vec<TxnId> {
        let head = self.waits_for(owner).and_then(|resource| self.heads.get(resource));
        head.map_or_else(Vec::new, |head| head.blockers(owner))
    }

    fn note_grant(&mut self, resource: &Resource, request: &Request, new: bool) {
        let entry = self.owners.entry(request.owner).or_default();
        entry.unseen = None;
        if new {
            entry.held.push(resource.clone());
        }
        if request.duration == LockDuration::Statement && !entry.of_statement.contains(resource) {
            entry.of_statement.push(resource.clone());
        }
    }

    /// Grants waiting requests from the front as far as possible; forgets a resource nobody cares for.
    fn serve(&mut self, resource: &Resource) {
        while let Some(request) = self.heads.get_mut(resource).and_then(Head::pop_grantable) {
            let new = self.heads.entry(resource.clone()).or_default().grant(&request);
            self.note_grant(resource, &request, new);
            let entry = self.owners.entry(request.owner).or_default();
            entry.waiting = None;
            entry.unseen = new.then(|| resource.clone());
            self.woken.push(request.owner);
        }
        if self.heads.get(resource).is_some_and(|head| head.granted.is_empty() && head.waiting.is_empty()) {
            self.heads.remove(resource);
        }
    }
}

/// Takes a resource out of a list; what ends early was mostly added late.
fn forget(list: &mut Vec<Resource>, resource: &Resource) {
    if let Some(place) = list.iter().rposition(|held| held == resource) {
        list.swap_remove(place);
    }
}

impl Grant {
    fn mode(&self) -> LockMode {
        match (self.statement, self.transaction) {
            (Some(one), Some(other)) => one.join(other),
            (one, other) => one.or(other).expect("a grant without any part is removed"),
        }
    }

    fn part(&mut self, duration: LockDuration) -> &mut Option<LockMode> {
        match duration {
            LockDuration::Statement => &mut self.statement,
            LockDuration::Transaction => &mut self.transaction,
        }
    }
}

impl Head {
    fn grant_of(&self, owner: TxnId) -> Option<&Grant> {
        self.granted.iter().find(|grant| grant.owner == owner)
    }

    fn request(&self, owner: TxnId, mode: LockMode, duration: LockDuration) -> Request {
        let held = self.grant_of(owner).map(Grant::mode);
        let target = held.map_or(mode, |held| held.join(mode));
        Request { owner, mode, target, duration, conversion: held.is_some() }
    }

    fn can_grant(&self, request: &Request) -> bool {
        if self.grant_of(request.owner).is_some_and(|grant| grant.mode() == request.target) {
            return true;
        }
        let before = self.waiting.iter().take_while(|other| other.owner != request.owner);
        let overtakes = before.into_iter().any(|other| !request.conversion || other.conversion);
        !overtakes && self.is_compatible(request)
    }

    fn is_compatible(&self, request: &Request) -> bool {
        let mut others = self.granted.iter().filter(|grant| grant.owner != request.owner);
        others.all(|grant| grant.mode().is_compatible(request.target))
    }

    /// Adds the request to what its owner holds; `true` if it held nothing here before.
    fn grant(&mut self, request: &Request) -> bool {
        let place = self.granted.iter().position(|grant| grant.owner == request.owner);
        let index = place.unwrap_or_else(|| {
            self.granted.push(Grant { owner: request.owner, statement: None, transaction: None });
            self.granted.len() - 1
        });
        let part = self.granted[index].part(request.duration);
        *part = Some(part.map_or(request.mode, |held| held.join(request.mode)));
        place.is_none()
    }

    /// Conversions stand before all others, each kind in order of arrival.
    fn enqueue(&mut self, request: Request) {
        let conversions = self.waiting.iter().take_while(|other| other.conversion).count();
        let place = if request.conversion { conversions } else { self.waiting.len() };
        self.waiting.insert(place, request);
    }

    fn pop_grantable(&mut self) -> Option<Request> {
        let front = self.waiting.front()?;
        // What the owner holds may have shrunk since it asked, so the target is worked out again.
        let request = self.request(front.owner, front.mode, front.duration);
        if !self.is_compatible(&request) {
            return None;
        }
        self.waiting.pop_front();
        Some(request)
    }

    /// `true` if the owner holds nothing here any more.
    fn end_statement_part(&mut self, owner: TxnId) -> bool {
        let Some(place) = self.granted.iter().position(|grant| grant.owner == owner) else { return false };
        self.granted[place].statement = None;
        let ended = self.granted[place].transaction.is_none();
        if ended {
            self.granted.remove(place);
        }
        ended
    }

    fn blockers(&self, owner: TxnId) -> Vec<TxnId> {
        let Some(place) = self.waiting.iter().position(|request| request.owner == owner) else {
            return Vec::new();
        };
        let target = self.waiting[place].target;
        let holders = self.granted.iter().filter(|it| it.owner != owner && !it.mode().is_compatible(target));
        let before = self.waiting.iter().take(place).map(|request| request.owner);
        holders.map(|grant| grant.owner).chain(before).collect()
    }
}

#[cfg(test)]
mod tests;
