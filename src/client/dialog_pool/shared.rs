//! A pool whose dialogs lie in a table, so that several processes use them (`sql/06-shared-pool.sql`).
//!
//! One call is one transaction: it claims a place by an update lock, sends on the place's dialog, and writes the place
//! back. A claim is a lock, so it ends with its transaction, and with its connection when the process dies; a dialog that
//! was begun exists only if its place knows it.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use super::super::error::{Error, ErrorKind, Result};
use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::outcome::SendOutcome;
use super::super::rows::Row;
use super::super::session::Session;
use super::super::statements::{self, DialogSpec, PlaceKey, Scope};
use super::core::{Slot, place_of_key};
use super::destination::{Destination, Route};
use super::send::{MOST_ATTEMPTS, Sent, pause};
use super::{Shared, held};

/// A place claimed by the open transaction.
pub(super) struct ClaimedPlace {
    key: PlaceKey,
    place: i32,
}

/// The place is claimed by somebody else.
pub(super) struct HeldByAnother;

impl Shared {
    /// Sends messages on a dialog of the table.
    pub(super) async fn send_shared(
        &self,
        pool: &str,
        destination: &Destination,
        messages: &[OutgoingMessage],
    ) -> Result<Vec<SendOutcome>> {
        let key = PlaceKey { pool: pool.to_owned(), route: destination.route.number() };
        let spec = destination.route.spec(&self.options);
        let mut session = self.broker.session().await?;
        self.make_places(&mut session, &key, &spec).await?;
        let mut attempt = 0;
        loop {
            session.begin().await?;
            let sent = self.send_claimed(&mut session, &key, destination, &spec, messages).await;
            let lost = match &sent {
                Ok(sent) => sent.lost,
                Err(error) => error.kind() == ErrorKind::Transient,
            };
            match &sent {
                Ok(Sent { rolled_back: false, .. }) => session.commit().await?,
                _ if session.is_clean() => session.rollback_if_open().await?,
                _ => {}
            }
            attempt += 1;
            if !lost || attempt == MOST_ATTEMPTS {
                return Ok(sent?.outcomes);
            }
            self.ledger().repeated();
            pause(attempt).await;
        }
    }

    /// Claims the place of a dialog without waiting, for one who holds the lock of its group.
    pub(super) async fn claim_place_of(
        &self,
        session: &mut Session,
        pool: &str,
        dialog: ConversationHandle,
    ) -> Result<std::result::Result<Option<ClaimedPlace>, HeldByAnother>> {
        let results = session.execute(&statements::claim_place_of(pool, dialog)).await?;
        let mut sets = results.into_sets().into_iter();
        let claimed = sets.next().and_then(|set| set.into_rows().into_iter().next());
        if let Some(row) = claimed {
            let key = PlaceKey { pool: pool.to_owned(), route: row.get("route")? };
            return Ok(Ok(Some(ClaimedPlace { key, place: row.get("place")? })));
        }
        let held = sets.next().and_then(|set| set.into_rows().into_iter().next());
        let held = held.map_or(Ok(0), |row| row.get::<i32>("held"))?;
        Ok(if held > 0 { Err(HeldByAnother) } else { Ok(None) })
    }

    async fn send_claimed(
        &self,
        session: &mut Session,
        key: &PlaceKey,
        destination: &Destination,
        spec: &DialogSpec,
        messages: &[OutgoingMessage],
    ) -> Result<Sent> {
        let (place, mut slot) = self.claim(session, key, destination).await?;
        let before = slot.dialog().map(|(dialog, ..)| dialog);
        self.note_claimed((key.route, place), before);
        let sent = self.send_all(session, Scope::Joined, &mut slot, spec, messages).await?;
        if !sent.rolled_back {
            let (dialog, sends, bytes) = match slot.dialog() {
                Some((dialog, sends, bytes)) => (Some(dialog), sends, bytes),
                None => (None, 0, 0),
            };
            self.note_claimed((key.route, place), dialog);
            let fresh = dialog != before;
            let filled = statements::fill_place(key, place, dialog, fresh, sends, bytes);
            session.execute(&filled).await?;
        }
        Ok(sent)
    }

    /// Enters the dialog of a claimed place; the one it had before was replaced or retired by another process.
    pub(super) fn note_claimed(&self, place: (i64, i32), dialog: Option<ConversationHandle>) {
        let mut claimed = held(&self.claimed);
        let earlier = match dialog {
            Some(dialog) => claimed.insert(place, dialog),
            None => claimed.remove(&place),
        };
        let mut ledger = self.ledger();
        if let Some(gone) = earlier.filter(|earlier| Some(*earlier) != dialog) {
            ledger.left_to_others(gone);
        }
        if let Some(dialog) = dialog {
            ledger.adopt(dialog);
        }
    }

    /// Claims the place of the destination's key, or any; waits only when all are claimed.
    async fn claim(
        &self,
        session: &mut Session,
        key: &PlaceKey,
        destination: &Destination,
    ) -> Result<(i32, Slot)> {
        let width = self.options.width;
        let wanted = match &destination.key {
            Some(order_key) => place_of_key(order_key, width),
            None => {
                let free = session.execute(&statements::claim_free_place(key, width)).await?;
                if let Some(row) = free.first_row() {
                    return read_place(row);
                }
                (super::super::pool::random_fraction() * width as f64) as usize % width
            }
        };
        let place = i32::try_from(wanted).unwrap_or(i32::MAX);
        let claimed = session.execute(&statements::claim_place(key, place)).await?;
        claimed.first_row().ok_or_else(|| missing_places(key)).and_then(read_place)
    }

    async fn make_places(&self, session: &mut Session, key: &PlaceKey, spec: &DialogSpec) -> Result<()> {
        if held(&self.tabled).contains(&key.route) {
            return Ok(());
        }
        let made = session.execute(&statements::make_places(key, spec, self.options.width)).await;
        let made = made.map_err(|error| {
            error.during("preparing the table ssbroker.pool_dialogs of sql/06-shared-pool.sql")
        })?;
        let places: i32 = made.first_row().map_or(Ok(0), |row| row.get("places"))?;
        match usize::try_from(places).unwrap_or(0).cmp(&self.options.width) {
            Ordering::Less => return Err(missing_places(key)),
            Ordering::Greater => return Err(too_narrow(key, places, self.options.width)),
            Ordering::Equal => {}
        }
        held(&self.tabled).insert(key.route);
        Ok(())
    }
}

impl ClaimedPlace {
    /// Its route and place.
    pub(super) fn number(&self) -> (i64, i32) {
        (self.key.route, self.place)
    }

    /// Whether dialogs of this place go to any broker instance that a route leads to. The endpoint alone does not say: it
    /// also shows an instance that was never named, once that has acknowledged a message.
    pub(super) fn takes_any_instance(&self, spec: &DialogSpec) -> bool {
        Route::names_no_instance(self.key.route, spec)
    }

    /// Writes down which dialog lies in the place from now on.
    pub(super) async fn fill(
        &self,
        session: &mut Session,
        dialog: Option<ConversationHandle>,
        sends: u64,
    ) -> Result<()> {
        let filled = statements::fill_place(&self.key, self.place, dialog, true, sends, 0);
        session.execute(&filled).await.map(drop)
    }
}

fn read_place(row: &Row) -> Result<(i32, Slot)> {
    let place = row.get("place")?;
    let Some(dialog) = row.get::<Option<ConversationHandle>>("conversation_handle")? else {
        return Ok((place, Slot::default()));
    };
    let count = |column: &str| row.get::<i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
    let age = Duration::from_millis(count("age")?);
    let now = Instant::now();
    let begun_at = now.checked_sub(age).unwrap_or(now);
    Ok((place, Slot::restored(dialog, begun_at, count("sends")?, count("bytes")?)))
}

/// Another width would look for the messages of a key elsewhere, and their order would be lost.
fn too_narrow(key: &PlaceKey, places: i32, width: usize) -> Error {
    let pool = &key.pool;
    Error::config(format!(
        "pool {pool} was made with a width of {places}, not {width}: give all its processes the same, or another name"
    ))
}

fn missing_places(key: &PlaceKey) -> Error {
    Error::new(
        ErrorKind::ObjectMissing,
        format!(
            "pool {} has fewer places in ssbroker.pool_dialogs than its width for route {}, or they belong to another route",
            key.pool, key.route
        ),
    )
}
