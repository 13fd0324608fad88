//! Statements about one conversation: END CONVERSATION, MOVE CONVERSATION, BEGIN CONVERSATION TIMER and
//! GET_TRANSMISSION_STATUS (spec 2.6 to 2.9).
//!
//! They change the endpoint's own side under the lock of its group; what the peer, the queue and the clock see of it is
//! left to the commit. It must not know delivery.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::broker_errors;
use super::core::Op;
use super::definitions::{
    Effect, Endpoint, EndpointState, Group, MessageKind, OwnSide, PendingSend, Permission, Securable, User,
};
use super::locks::{LockDuration, LockMode, Resource};
use super::system_messages::{error_body, names};
use super::tx::Tx;
use crate::error::SqlError;

/// The forms of END CONVERSATION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Plain: the peer gets an EndDialog message.
    Plain,
    /// WITH ERROR: the peer gets an Error message.
    Error {
        /// Code, above 0.
        code: i32,
        /// DESCRIPTION
        text: String,
    },
    /// WITH CLEANUP: everything of this side goes, the peer is told nothing.
    Cleanup,
}

impl Tx<'_> {
    /// Ends this side of a conversation. Errors: 8426, 8427, 8402 for a code that is not positive (U-38), 28006, 229.
    /// Waits for the lock of the group.
    pub fn end_conversation(&mut self, handle: Uuid, end: &End) -> Op<()> {
        self.require_writable()?;
        if let End::Error { code, .. } = end
            && *code <= 0
        {
            return Err(broker_errors::clause_value("ERROR", "the code must be greater than zero").into());
        }
        let endpoint = self.locked_endpoint(handle)?;
        self.require_owner(&endpoint, "END CONVERSATION")?;
        match end {
            End::Cleanup => self.clean_up(&endpoint)?,
            _ => self.end_properly(&endpoint, end)?,
        }
        self.core.broker.counters.conversations_ended += 1;
        Ok(())
    }

    /// Moves a conversation into another group of the same queue. Errors: 8426, 8436, 8438, 8439, 229. Waits for the
    /// locks of both groups.
    pub fn move_conversation(&mut self, handle: Uuid, group: Uuid) -> Op<()> {
        self.require_writable()?;
        let endpoint = self.locked_endpoint(handle)?;
        let known = self.state().groups.get(&group).cloned();
        let known = known.ok_or_else(|| broker_errors::group_not_found(group))?;
        self.lock_group(group)?;
        self.require_owner(&endpoint, "MOVE CONVERSATION")?;
        // U-25: a finished endpoint whose row still exists answers by its state.
        if is_finished(endpoint.state()) {
            return Err(broker_errors::state_forbids_move(endpoint.state().description()).into());
        }
        if !self.share_a_queue(&endpoint, &known) {
            return Err(broker_errors::destination_group_invalid(group).into());
        }
        self.put_endpoint(handle, Some(Arc::new(Endpoint { group, ..Endpoint::clone(&endpoint) })));
        self.drop_empty_group(endpoint.group);
        Ok(())
    }

    /// Sets or replaces the endpoint's timer, in seconds from now. Errors: 8426, 8410, 8458, 8402, 229. Waits for the lock
    /// of the group. The timer runs once the transaction commits.
    pub fn begin_timer(&mut self, handle: Uuid, seconds: i64) -> Op<()> {
        self.require_writable()?;
        let endpoint = self.locked_endpoint(handle)?;
        self.require(Permission::Send, Securable::Service(endpoint.database, endpoint.service))?;
        let state = endpoint.state();
        if is_finished(state) || state == EndpointState::Error {
            return Err(broker_errors::state_forbids_timer(state.description()).into());
        }
        let seconds = u64::try_from(seconds).map_err(|_| {
            broker_errors::clause_value("TIMEOUT", "the number of seconds must not be negative")
        })?;
        let due = self.now().plus(Duration::from_secs(seconds));
        if due > endpoint.expires {
            return Err(broker_errors::timer_beyond_lifetime().into());
        }
        self.push_effect(Effect::SetTimer(handle, due));
        Ok(())
    }

    /// Why the oldest waiting message of a conversation waits; empty when none does or the handle is unknown.
    pub fn transmission_status(&self, handle: Uuid) -> String {
        let mut pending = self.state().transmission.of_handle(handle);
        pending.find(|row| !row.arrived).map_or_else(String::new, |row| row.status.to_string())
    }

    /// The endpoint of a handle with the lock of its group, read again once the lock is held.
    pub(super) fn locked_endpoint(&mut self, handle: Uuid) -> Op<Arc<Endpoint>> {
        let group = self.endpoint(handle)?.group;
        self.lock_group(group)?;
        Ok(self.endpoint(handle)?)
    }

    /// Removes a group that has lost its last member.
    pub(super) fn drop_empty_group(&mut self, group: Uuid) {
        if self.state().endpoints.of_group(group).next().is_none() {
            self.put_group(group, None);
        }
    }

    /// Locks a conversation group to the end of the transaction, or waits for it (spec 2.10).
    pub(super) fn lock_group(&mut self, group: Uuid) -> Op<()> {
        self.lock(Resource::Group(group), LockMode::X, LockDuration::Transaction)
    }

    /// Changes what the endpoint's own application has done.
    pub(super) fn put_own_side(&mut self, endpoint: &Endpoint, own: OwnSide) {
        self.put_endpoint(endpoint.handle, Some(Arc::new(Endpoint { own, ..endpoint.clone() })));
    }

    fn clean_up(&mut self, endpoint: &Endpoint) -> Result<(), SqlError> {
        if endpoint.state() == EndpointState::Closed && !self.is_member(User::DB_OWNER) {
            return Err(broker_errors::only_owner_may_clean_up());
        }
        self.put_own_side(endpoint, OwnSide { ended: true, removed: true, ..endpoint.own.clone() });
        self.push_effect(Effect::DropPending(endpoint.handle));
        self.push_effect(Effect::Settle(endpoint.handle));
        Ok(())
    }

    fn end_properly(&mut self, endpoint: &Endpoint, end: &End) -> Result<(), SqlError> {
        let state = endpoint.state();
        if is_finished(state) {
            return Err(broker_errors::state_forbids_end(state.description()));
        }
        self.finish_side(endpoint, end);
        Ok(())
    }

    /// Ends the broker's own side of one of its dialogs, whatever has become of it.
    pub(super) fn end_quietly(&mut self, endpoint: &Endpoint) {
        if !is_finished(endpoint.state()) {
            self.finish_side(endpoint, &End::Plain);
        }
    }

    fn finish_side(&mut self, endpoint: &Endpoint, end: &End) {
        let own = OwnSide { ended: true, ..endpoint.own.clone() };
        match endpoint.state() {
            // U-22: nothing was ever sent, so nobody has to be told.
            EndpointState::StartedOutbound => self.put_own_side(endpoint, OwnSide { removed: true, ..own }),
            EndpointState::Conversing => self.announce_end(endpoint, own, end),
            // The peer knows already; what is still pending for it is dropped (spec 4.2).
            _ => {
                self.put_own_side(endpoint, own);
                self.push_effect(Effect::DropPending(endpoint.handle));
            }
        }
        self.push_effect(Effect::Settle(endpoint.handle));
    }

    /// Sends EndDialog after what was sent before, or Error instead of what still waits.
    fn announce_end(&mut self, endpoint: &Endpoint, own: OwnSide, end: &End) {
        let sequence = own.send_sequence;
        let (kind, message_type, body) = match end {
            End::Error { code, text } => (MessageKind::Error, names::ERROR, Some(error_body(*code, text))),
            _ => (MessageKind::EndDialog, names::END_DIALOG, None),
        };
        if kind == MessageKind::Error {
            self.push_effect(Effect::DropPending(endpoint.handle));
        }
        let end_dialog_sequence = Some(sequence);
        self.put_own_side(endpoint, OwnSide { send_sequence: sequence + 1, end_dialog_sequence, ..own });
        let send = PendingSend {
            handle: endpoint.handle,
            sequence,
            kind,
            message_type: message_type.into(),
            body,
            message_id: self.new_uuid(),
            sent: self.now(),
        };
        self.push_effect(Effect::Send(send));
    }

    /// The owner of the conversation, db_owner and sysadmin may end and move it (spec 1.11).
    fn require_owner(&self, endpoint: &Endpoint, action: &str) -> Result<(), SqlError> {
        if self.is_member(endpoint.owner) || self.is_member(User::DB_OWNER) {
            return Ok(());
        }
        Err(broker_errors::not_the_owner(action, endpoint.handle))
    }

    fn share_a_queue(&self, endpoint: &Endpoint, group: &Group) -> bool {
        let service = self.state().entry::<super::definitions::Service>(group.database, group.service);
        let queue = self.state().queue_of(endpoint);
        group.database == endpoint.database
            && queue.map(|it| it.object) == service.map(|service| service.queue)
    }
}

/// Whether this side is through with the conversation, though its row may still exist.
pub(super) fn is_finished(state: EndpointState) -> bool {
    matches!(state, EndpointState::DisconnectedOutbound | EndpointState::Closed)
}
