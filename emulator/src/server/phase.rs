//! The phases of a connection: which messages each takes, and how long they may be.

use crate::tds::error::ProtocolError;
use crate::tds::packet::PacketType;

/// Longest PRELOGIN: one packet of the default size, without its header.
const MAX_PRELOGIN: usize = 4088;
/// Longest LOGIN7 (MS-TDS 2.2.6.4: 128 KiB less one byte).
const MAX_LOGIN: usize = 128 * 1024 - 1;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was settled yet.
    PreLogin,
    /// PRELOGIN was answered, and TLS established where it was agreed.
    Login,
    /// Logged in; requests may be as long as this.
    Requests {
        /// Longest request in bytes.
        max_message: usize,
    },
}

impl Phase {
    /// Longest message taken, in bytes.
    pub(super) fn max_message(self) -> usize {
        match self {
            Phase::PreLogin => MAX_PRELOGIN,
            Phase::Login => MAX_LOGIN,
            Phase::Requests { max_message } => max_message,
        }
    }

    /// Refuses message types that do not belong here.
    pub(super) fn check(self, kind: PacketType) -> Result<(), ProtocolError> {
        let belongs = match self {
            Phase::PreLogin => kind == PacketType::PreLogin,
            Phase::Login => kind == PacketType::Login7,
            Phase::Requests { .. } => matches!(
                kind,
                PacketType::SqlBatch
                    | PacketType::Rpc
                    | PacketType::TransactionManager
                    | PacketType::BulkLoad
                    | PacketType::Attention
            ),
        };
        if belongs {
            return Ok(());
        }
        Err(ProtocolError::malformed(format!("a {kind:?} message in the phase {self:?}"), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_takes_only_its_own_messages() {
        let requests = Phase::Requests { max_message: 10 };
        assert!(Phase::PreLogin.check(PacketType::PreLogin).is_ok());
        assert!(Phase::PreLogin.check(PacketType::Login7).is_err());
        assert!(Phase::Login.check(PacketType::Login7).is_ok());
        assert!(Phase::Login.check(PacketType::SqlBatch).is_err());
        assert!(requests.check(PacketType::Attention).is_ok());
        assert!(requests.check(PacketType::Login7).is_err());
    }
}
