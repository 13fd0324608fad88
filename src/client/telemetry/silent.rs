//! The functions of a build without the facade: they do nothing.

use std::time::Duration;

use super::{BatchOutcome, DialogEvent, PutAside};
use crate::client::error::ErrorKind;

pub(crate) fn sent(_messages: usize, _bytes: usize) {}
pub(crate) fn received(_queue: &str, _messages: usize) {}
pub(crate) fn batch_decided(_queue: &str, _outcome: BatchOutcome) {}
pub(crate) fn handled(_queue: &str, _took: Duration, _succeeded: bool) {}
pub(crate) fn handling(_queue: &str, _age: Duration) -> impl Drop + Send + use<> {
    Nothing
}
pub(crate) fn repeated(_queue: &str) {}
pub(crate) fn lease_lost(_queue: &str) {}
pub(crate) fn breaker_opened(_queue: &str) {}
pub(crate) fn put_aside(_queue: &str, _action: PutAside) {}
pub(crate) fn retried(_queue: &str) {}
pub(crate) fn connected() {}
pub(crate) fn connect_failed(_kind: ErrorKind) {}
pub(crate) fn connection_lost(_queue: &str) {}
pub(crate) fn reconnected(_queue: &str) {}
pub(crate) fn pool(_idle: u32, _all: u32) {}
pub(crate) fn dialog(_event: DialogEvent) {}

struct Nothing;

impl Drop for Nothing {
    fn drop(&mut self) {}
}
