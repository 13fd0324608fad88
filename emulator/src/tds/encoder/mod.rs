//! Turns the events of a request into the tokens of its reply.
//!
//! A DONE is held back until it is known whether anything follows, so that its MORE bit is right. This file must not
//! know packets or sockets; [`super::reply`] sends what is gathered here.

use std::sync::Arc;

use super::attention;
use super::buffer::OutputBuffer;
use super::error::ProtocolError;
use super::token::{
    Done, DoneKind, EnvChange, ReturnValue, write_col_metadata, write_message, write_return_status, write_row,
};
use crate::error::SqlError;
use crate::output::Event;
use crate::value::{Column, Value};

/// Bytes kept from which on a flush should come first.
const FULL: usize = 32 * 1024;
/// Number of the error for a row that is not of its columns' types.
const INTERNAL_ERROR: i32 = 8624;

/// Gathers the tokens of one reply after the other.
#[derive(Debug)]
pub(crate) struct TokenEncoder {
    server: Arc<str>,
    buffer: OutputBuffer,
    columns: Option<Arc<[Column]>>,
    pending: Option<Done>,
    /// An ERROR went out that no DONE has followed yet.
    error_open: bool,
    /// A value could not be sent; rows are withheld up to the next DONE, which says "failed".
    broken: bool,
    /// An error that ends the connection went out.
    fatal: bool,
}

/// Severity from which on an error ends the connection.
const FATAL: u8 = 20;

impl TokenEncoder {
    /// An encoder that names the server so in its messages.
    pub(crate) fn new(server: Arc<str>) -> TokenEncoder {
        TokenEncoder {
            server,
            buffer: OutputBuffer::default(),
            columns: None,
            pending: None,
            error_open: false,
            broken: false,
            fatal: false,
        }
    }

    /// Takes one event. A value that is not of its declared type becomes an ERROR token (8624): it is the emulator's
    /// own mistake, and must neither pass silently nor garble the reply.
    pub(crate) fn emit(&mut self, event: Event) {
        self.write_pending();
        match event {
            Event::Columns(columns) => self.begin_result(columns),
            Event::Row(values) => self.row(&values),
            Event::StatementDone { command, count, in_procedure, failed } => {
                self.hold(Done::statement(command, count, in_procedure, failed));
            }
            Event::OutputParameter { ordinal, name, ty, value } => {
                let written = ReturnValue { ordinal, name: &name, ty, value: &value }.write(&mut self.buffer);
                if let Err(misfit) = written {
                    self.internal_error(&format!("OUTPUT parameter '{name}': {misfit}"));
                }
            }
            Event::ReturnStatus(status) => write_return_status(self.buffer.tail(), status),
            Event::ProcedureDone { failed } => self.hold(Done::plain(DoneKind::Procedure).failed_if(failed)),
            Event::Info(message) => self.message(&message),
            Event::Error(message) => {
                self.error_open = true;
                self.fatal |= message.severity >= FATAL;
                self.message(&message);
            }
            Event::Change(change) => EnvChange::Session(change).write(self.buffer.tail()),
        }
    }

    /// Answers a request that was not understood.
    pub(crate) fn refuse(&mut self, error: &ProtocolError) {
        self.emit(Event::Error(error.to_sql_error()));
    }

    /// Whether a flush should come before the next event.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= FULL
    }

    /// Whether an error went out that ends the connection.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal
    }

    /// Gives up waiting whether anything follows the DONE held back: something will, as the reply goes on.
    pub(crate) fn release(&mut self) {
        self.write_pending();
    }

    /// The tokens gathered, without the DONE held back.
    pub(crate) fn buffer(&mut self) -> &mut OutputBuffer {
        &mut self.buffer
    }

    /// Sees to it that a DONE of a statement ends what was emitted so far.
    pub(crate) fn end_statements(&mut self) {
        if self.pending.is_none() {
            self.hold(Done::plain(DoneKind::Statement).failed_if(self.error_open));
        }
    }

    /// Another procedure call begins: what was held back does not end it.
    pub(crate) fn begin_procedure(&mut self) {
        self.write_pending();
    }

    /// Sees to it that a DONEPROC ends what was emitted so far.
    pub(crate) fn end_procedure(&mut self) {
        if self.pending.is_none_or(|done| done.kind != DoneKind::Procedure) {
            self.write_pending();
            self.hold(Done::plain(DoneKind::Procedure).failed_if(self.error_open));
        }
    }

    /// Ends the reply: its last DONE loses the MORE bit.
    pub(crate) fn finish(&mut self) {
        self.end_statements();
        if let Some(done) = self.pending.take() {
            done.write(self.buffer.tail());
        }
        self.forget_reply();
    }

    /// Ends the reply of an interrupted request.
    pub(crate) fn finish_interrupted(&mut self) {
        self.finish_with(attention::interrupted());
    }

    /// Ends the reply with this DONE.
    pub(crate) fn finish_with(&mut self, done: Done) {
        self.write_pending();
        done.write(self.buffer.tail());
        self.forget_reply();
    }

    fn forget_reply(&mut self) {
        self.columns = None;
        self.error_open = false;
        self.broken = false;
    }

    fn hold(&mut self, done: Done) {
        self.pending = Some(done.failed_if(self.broken));
        self.error_open = false;
        self.broken = false;
    }

    fn write_pending(&mut self) {
        if let Some(done) = self.pending.take() {
            done.followed().write(self.buffer.tail());
        }
    }

    fn begin_result(&mut self, columns: Arc<[Column]>) {
        write_col_metadata(self.buffer.tail(), &columns);
        self.columns = Some(columns);
    }

    fn row(&mut self, values: &[Value]) {
        if self.broken {
            return;
        }
        let columns = self.columns.clone().unwrap_or_default();
        if let Err(why) = write_row(&mut self.buffer, &columns, values) {
            self.internal_error(&why);
        }
    }

    fn internal_error(&mut self, why: &str) {
        self.broken = true;
        tracing::error!(why, "a value does not have its declared type");
        self.emit(Event::Error(SqlError::new(
            INTERNAL_ERROR,
            format!("Internal error of the emulator: {why}."),
        )));
    }

    fn message(&mut self, message: &SqlError) {
        write_message(self.buffer.tail(), message, &self.server);
    }
}

#[cfg(test)]
mod tests;
