//! DONE, DONEPROC and DONEINPROC: a statement or procedure is done (MS-TDS 2.2.7.6 to 2.2.7.8).

use bytes::{BufMut, BytesMut};

use crate::output::Command;

/// Which of the three tokens it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoneKind {
    /// A statement of a batch.
    Statement = 0xFD,
    /// A procedure.
    Procedure = 0xFE,
    /// A statement inside a procedure.
    InProcedure = 0xFF,
}

/// The token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// Which of the three it is.
    pub(crate) kind: DoneKind,
    /// Status bits.
    pub(crate) status: u16,
    /// CurCmd: what kind of statement it was.
    pub(crate) command: u16,
    /// Rows returned or changed; of meaning only with [`Done::COUNT`].
    pub(crate) count: u64,
}

impl Done {
    /// More follows in this message.
    pub(crate) const MORE: u16 = 0x01;
    /// The statement failed.
    pub(crate) const ERROR: u16 = 0x02;
    /// The count is valid.
    pub(crate) const COUNT: u16 = 0x10;
    /// Acknowledges an Attention.
    pub(crate) const ATTENTION: u16 = 0x20;

    /// A token without count or error.
    pub(crate) fn plain(kind: DoneKind) -> Done {
        Done { kind, status: 0, command: 0, count: 0 }
    }

    /// The token of a finished statement.
    pub(crate) fn statement(command: Command, count: Option<u64>, in_procedure: bool, failed: bool) -> Done {
        let kind = if in_procedure { DoneKind::InProcedure } else { DoneKind::Statement };
        let status = if count.is_some() { Done::COUNT } else { 0 };
        Done { kind, status, command: current_command(command), count: count.unwrap_or(0) }.failed_if(failed)
    }

    /// The same token, with the error bit if `failed`.
    pub(crate) fn failed_if(mut self, failed: bool) -> Done {
        if failed {
            self.status |= Done::ERROR;
        }
        self
    }

    /// The same token, followed by more.
    pub(crate) fn followed(mut self) -> Done {
        self.status |= Done::MORE;
        self
    }

    /// Writes the token.
    pub(crate) fn write(&self, target: &mut BytesMut) {
        target.put_u8(self.kind as u8);
        target.put_u16_le(self.status);
        target.put_u16_le(self.command);
        target.put_u64_le(self.count);
    }
}

fn current_command(command: Command) -> u16 {
    match command {
        Command::Select => 0xC1,
        Command::Insert => 0xC3,
        Command::Delete => 0xC4,
        Command::Update => 0xC5,
        Command::Merge => 0x117,
        Command::Other => 0,
    }
}

#[cfg(test)]
impl Done {
    /// Reads what follows the token's first byte.
    pub(super) fn read(
        kind: DoneKind,
        reader: &mut crate::tds::wire::WireReader,
    ) -> Result<Done, crate::tds::error::ProtocolError> {
        let (status, command) = (reader.u16("status")?, reader.u16("command")?);
        Ok(Done { kind, status, command, count: reader.u64("count")? })
    }
}
