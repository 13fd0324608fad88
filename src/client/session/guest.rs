//! A connection of the caller's, on which we run statements inside the transaction the caller has open.
//!
//! Its settings, its state and its end are the caller's business; nothing here begins, commits or rolls back.

use std::fmt;

use futures_util::{AsyncRead, AsyncWrite};
use tiberius::Client;

use super::{Connection, Response, wire};
use crate::client::error::Result;
use crate::client::statements::Statement;

/// A caller's client, borrowed for one call.
pub(crate) struct Guest<'c, S: AsyncRead + AsyncWrite + Unpin + Send> {
    client: &'c mut Client<S>,
    max_body: Option<usize>,
}

impl<'c, S: AsyncRead + AsyncWrite + Unpin + Send> Guest<'c, S> {
    pub(crate) fn new(client: &'c mut Client<S>, max_body: Option<usize>) -> Self {
        Self { client, max_body }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection for Guest<'_, S> {
    async fn run(&mut self, statement: &Statement<'_>) -> Result<Response> {
        wire::execute(self.client, statement).await
    }

    fn max_body(&self) -> Option<usize> {
        self.max_body
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> fmt::Debug for Guest<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}
