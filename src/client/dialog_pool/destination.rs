//! Where a pooled message goes, and the options of a pool. Values only.

use std::time::Duration;

use super::super::error::{Error, Result};
use super::super::names::{ContractName, MessageTypeName, ServiceName};
use super::super::statements::DialogSpec;
use super::core::Limits;

/// Where messages go: from which service, to which service, under which contract, and optionally which key.
///
/// Messages with the same key go over the same dialog, in order. Without a key any dialog of the pool carries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub(super) route: Route,
    pub(super) key: Option<String>,
}

/// What dialogs are shared by: everything of a destination but the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    from: ServiceName,
    to: ServiceName,
    contract: Option<ContractName>,
    broker_instance: Option<String>,
}

impl Destination {
    /// From one of our services to another service, under the contract named `DEFAULT`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) for a faulty name.
    pub fn new<F, T>(from: F, to: T) -> Result<Self>
    where
        F: TryInto<ServiceName>,
        T: TryInto<ServiceName>,
        Error: From<F::Error> + From<T::Error>,
    {
        let route =
            Route { from: from.try_into()?, to: to.try_into()?, contract: None, broker_instance: None };
        Ok(Self { route, key: None })
    }

    /// Under this contract.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) for a faulty name.
    pub fn contract<C>(mut self, contract: C) -> Result<Self>
    where
        C: TryInto<ContractName>,
        Error: From<C::Error>,
    {
        self.route.contract = Some(contract.try_into()?);
        Ok(self)
    }

    /// At this broker instance.
    #[must_use]
    pub fn broker_instance(mut self, instance: impl Into<String>) -> Self {
        self.route.broker_instance = Some(instance.into());
        self
    }

    /// With this key: same key, same dialog, hence the order of sending.
    ///
    /// The order holds as long as the dialog lives. After it was retired or replaced, the first messages on the new dialog
    /// may be received before the last ones on the old dialog have been processed.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl Route {
    pub(super) fn spec(&self, options: &PoolOptions) -> DialogSpec {
        let mut spec = DialogSpec::new(self.from.clone(), self.to.clone());
        spec.contract = self.contract.clone();
        spec.broker_instance = self.broker_instance.clone();
        spec.encryption = options.encryption;
        spec
    }
}

/// How a dialog pool behaves.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    pub(super) width: usize,
    pub(super) limits: Limits,
    pub(super) end_of_stream: Option<MessageTypeName>,
    pub(super) encryption: bool,
    pub(super) overdue_after: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            width: 4,
            limits: Limits::default(),
            end_of_stream: None,
            encryption: false,
            overdue_after: Duration::from_secs(300),
        }
    }
}

impl PoolOptions {
    /// How many dialogs stand side by side for each destination without its key, at least 1. Default: 4.
    ///
    /// One dialog carries one transaction at a time, so this is also how many calls proceed at once.
    #[must_use]
    pub fn width(mut self, dialogs: usize) -> Self {
        self.width = dialogs.max(1);
        self
    }

    /// The type of the message that asks the target to end the dialog. It must be in every contract of the pool, and the
    /// target's program must answer it by ending the conversation. Default: none, and then dialogs are never retired.
    #[must_use]
    pub fn end_of_stream(mut self, message_type: MessageTypeName) -> Self {
        self.end_of_stream = Some(message_type);
        self
    }

    /// Retires a dialog after this many messages. Needs [`end_of_stream`](Self::end_of_stream). Default: no limit.
    #[must_use]
    pub fn max_sends(mut self, messages: u64) -> Self {
        self.limits.sends = Some(messages.max(1));
        self
    }

    /// Retires a dialog after this many bytes of bodies. Needs [`end_of_stream`](Self::end_of_stream). Default: no limit.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.bytes = Some(bytes.max(1));
        self
    }

    /// Retires a dialog this long after its begin, at the next send on it. Needs [`end_of_stream`](Self::end_of_stream).
    /// Default: no limit.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.limits.age = Some(age);
        self
    }

    /// Whether dialogs that leave the instance must be encrypted. Default: no.
    #[must_use]
    pub fn encryption(mut self, required: bool) -> Self {
        self.encryption = required;
        self
    }

    /// After how long a retired dialog that the target has not ended counts as leaked. Default: 5 minutes.
    #[must_use]
    pub fn overdue_after(mut self, time: Duration) -> Self {
        self.overdue_after = time;
        self
    }

    /// Limits without a way to ask the target would leave one open dialog behind for each retirement.
    pub(super) fn check(&self) -> Result<()> {
        if self.limits != Limits::default() && self.end_of_stream.is_none() {
            return Err(Error::config(
                "a dialog pool with a limit needs an end-of-stream message type, or each retired dialog stays open for ever",
            ));
        }
        Ok(())
    }
}
