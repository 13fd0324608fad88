//! Which handler treats a message: one of its service, one of its type, or the worker's main handler.

use std::collections::HashMap;
use std::sync::Arc;

use super::delivery::Delivery;
use super::handler::{Handler, HandlerError, Handling};
use crate::client::dialog_pool::{DialogPool, Repair};
use crate::client::error::ErrorKind;
use crate::client::message::MessageKind;
use crate::client::names::{MessageTypeName, ServiceName};

/// What to do with messages of a type no handler is there for; stands as a worker's main handler.
///
/// ```no_run
/// # use ssbroker::client::{Broker, QueueName, UnknownType, handler_fn};
/// # async fn example(broker: Broker) -> Result<(), Box<dyn std::error::Error>> {
/// let order = handler_fn(|delivery| Box::pin(async move { Ok(delivery.end().await?) }));
/// let worker = broker
///     .worker(QueueName::new("dbo.OrderQueue")?, UnknownType::EndWithError)
///     .on("//shop/new-order", order)?;
/// worker.run_forever().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownType {
    /// The message becomes a dead letter, or its conversation is ended, as the poison policy says, without another try.
    Refuse,
    /// Its conversation is ended with an error that names the type.
    EndWithError,
    /// It is taken off the queue and logged.
    Ignore,
}

/// Why a message about a dialog of the pool has to wait.
const IN_HAND: &str = "a call of the pool has the dialog in hand";
/// The code of the error that a conversation with an unknown message type is ended with.
const UNKNOWN_TYPE_CODE: i32 = 2;

impl Handler for UnknownType {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let text = format!("there is no handler for message type {}", delivery.message().message_type);
        match self {
            Self::Refuse => Err(HandlerError::refuse(text)),
            Self::EndWithError => Ok(delivery.end_with_error(UNKNOWN_TYPE_CODE, text).await?),
            Self::Ignore => {
                tracing::warn!(conversation = %delivery.message().conversation, text, "a message was ignored");
                Ok(())
            }
        }
    }
}

/// A handler whose type is forgotten.
trait AnyHandler: Send + Sync {
    fn handle<'a>(&'a self, delivery: &'a mut Delivery<'_>) -> Handling<'a>;

    /// Has the hook for a message of the broker's own called.
    fn hear<'a>(&'a self, delivery: &'a mut Delivery<'_>) -> Handling<'a>;
}

impl<H: Handler> AnyHandler for H {
    fn handle<'a>(&'a self, delivery: &'a mut Delivery<'_>) -> Handling<'a> {
        Box::pin(Handler::handle(self, delivery))
    }

    fn hear<'a>(&'a self, delivery: &'a mut Delivery<'_>) -> Handling<'a> {
        Box::pin(hear(self, delivery))
    }
}

async fn hear<H: Handler>(handler: &H, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
    match &delivery.message.kind {
        MessageKind::EndDialog => handler.on_end(delivery).await,
        MessageKind::Error(error) => handler.on_error(delivery, error).await,
        MessageKind::DialogTimer => handler.on_timer(delivery).await,
        MessageKind::User => Ok(()),
    }
}

/// The handlers of a worker, and the pool whose dialogs it repairs.
pub(super) struct Routes<H> {
    main: H,
    by_type: HashMap<String, Arc<dyn AnyHandler>>,
    by_service: HashMap<String, Arc<dyn AnyHandler>>,
    pool: Option<DialogPool>,
}

impl<H: Handler> Routes<H> {
    pub(super) fn new(main: H) -> Self {
        Self { main, by_type: HashMap::new(), by_service: HashMap::new(), pool: None }
    }

    pub(super) fn add(&mut self, message_type: &MessageTypeName, handler: impl Handler) {
        self.by_type.insert(message_type.as_str().to_owned(), Arc::new(handler));
    }

    pub(super) fn add_service(&mut self, service: &ServiceName, handler: impl Handler) {
        self.by_service.insert(service.as_str().to_owned(), Arc::new(handler));
    }

    pub(super) fn set_pool(&mut self, pool: DialogPool) {
        self.pool = Some(pool);
    }

    /// Treats a message by its service, kind and type. [`conclude`](Self::conclude) follows for those that end their
    /// conversation.
    pub(super) async fn treat(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let message = delivery.message;
        let at_service = self.by_service.get(&message.service);
        if message.is_user_message() {
            return match at_service.or_else(|| self.by_type.get(&message.message_type)) {
                Some(handler) => handler.handle(delivery).await,
                None => self.main.handle(delivery).await,
            };
        }
        if message.ends_conversation()
            && self.pool.as_ref().is_some_and(|pool| pool.is_in_use(message.conversation))
        {
            return Err(HandlerError::not_now(IN_HAND));
        }
        match at_service {
            Some(handler) => handler.hear(delivery).await,
            None => hear(&self.main, delivery).await,
        }
    }

    /// Lets the pool repair a dialog of its own; ends our side of any other conversation that is over.
    ///
    /// Call it after all handlers of the batch: the place of the dialog is taken from then to the commit, and a handler that
    /// sends may want it.
    pub(super) async fn conclude(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let Some(pool) = &self.pool else { return end_quietly(delivery).await };
        match pool.on_error(delivery.batch, delivery.message).await? {
            Repair::NotOurs => end_quietly(delivery).await,
            Repair::Busy => Err(HandlerError::not_now(IN_HAND)),
            // Ending a dialog that was left open would delete what is pending on it.
            Repair::Done { .. } | Repair::LeftOpen => Ok(()),
        }
    }
}

/// A hook may have ended the conversation itself.
async fn end_quietly(delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
    match delivery.end().await {
        Err(error) if error.kind() != ErrorKind::DialogOver => Err(error.into()),
        _ => Ok(()),
    }
}
