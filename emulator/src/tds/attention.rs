//! Attention: how a cancelled request ends, and how the Attention itself is acknowledged (MS-TDS 2.2.1.7, 2.2.7.6).
//!
//! The answer takes two messages: the first ends the interrupted reply without an ERROR token, the second is the
//! acknowledgement alone. Real servers answer so; one message alone leaves tedious waiting, and an empty first message
//! breaks SqlClient.

use super::token::{Done, DoneKind};

/// Ends the reply of a request that was interrupted.
pub(crate) fn interrupted() -> Done {
    Done { status: Done::ERROR, ..Done::plain(DoneKind::Statement) }
}

/// Acknowledges the Attention, in a message of its own.
pub(crate) fn acknowledgement() -> Done {
    Done { status: Done::ATTENTION, ..Done::plain(DoneKind::Statement) }
}
