//! Where a pooled message goes, and the options of a pool. Values only.

use std::time::Duration;

use super::super::error::{Error, Result};
use super::super::names::{ContractName, MessageTypeName, ServiceName};
use super::super::statements::DialogSpec;
use super::core::{Limits, stable_hash};
use super::rate::Rate;

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

    /// At this broker instance: its identifier, or `CURRENT DATABASE`. Default: any that a route leads to.
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

impl Destination {
    pub(crate) fn order_key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl Route {
    /// A number for the route that is the same in every process.
    pub(super) fn number(&self) -> i64 {
        let contract = self.contract.as_ref().map_or("", |contract| contract.as_str());
        let instance = self.broker_instance.as_deref().unwrap_or("");
        stable_hash([self.from.as_str(), self.to.as_str(), contract, instance]).cast_signed()
    }

    /// Whether a route with this number, that leads where these dialogs go, names no broker instance.
    pub(super) fn names_no_instance(number: i64, spec: &DialogSpec) -> bool {
        let contract = spec.contract.as_ref().map_or("", |contract| contract.as_str());
        let number_under = |contract| stable_hash([spec.from.as_str(), spec.to.as_str(), contract, ""]);
        // A route without a contract has dialogs under the one named DEFAULT.
        [contract, ""].into_iter().any(|contract| number_under(contract).cast_signed() == number)
    }

    pub(super) fn spec(&self, options: &PoolOptions) -> DialogSpec {
        let mut spec = DialogSpec::new(self.from.clone(), self.to.clone());
        spec.contract = self.contract.clone();
        spec.broker_instance = self.broker_instance.clone();
        spec.encryption = options.encryption;
        spec.lifetime_seconds = options.lifetime_seconds;
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
    pub(super) lifetime_seconds: Option<i32>,
    pub(super) overdue_after: Duration,
    pub(super) also_resend: Vec<i32>,
    pub(super) leave_unknown_pending: bool,
    pub(super) require_enabled: bool,
    pub(super) rate: Option<Rate>,
    pub(super) shared: Option<String>,
    pub(super) place_timeout: Duration,
}

/// How long a call waits for its place, if not told otherwise.
pub(crate) const DEFAULT_PLACE_TIMEOUT: Duration = Duration::from_secs(60);

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            width: 4,
            limits: Limits::default(),
            end_of_stream: None,
            encryption: false,
            lifetime_seconds: None,
            overdue_after: Duration::from_secs(300),
            also_resend: Vec::new(),
            leave_unknown_pending: false,
            require_enabled: false,
            rate: None,
            shared: None,
            place_timeout: DEFAULT_PLACE_TIMEOUT,
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

    /// Gives every dialog a lifetime, which bounds what a lost dialog costs. When it runs out the dialog is replaced and what is
    /// pending is sent again. Rounded up to whole seconds, at least one. Default: none.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        let seconds = lifetime.as_secs().saturating_add(u64::from(lifetime.subsec_nanos() > 0)).max(1);
        self.lifetime_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        self
    }

    /// Further codes of Error messages after which pending messages are sent again, as they stand in the message: negative for
    /// the broker's. For example -8470, a target service that was dropped and is made again. Default: none.
    #[must_use]
    pub fn also_resend(mut self, codes: impl IntoIterator<Item = i32>) -> Self {
        self.also_resend = codes.into_iter().collect();
        self
    }

    /// Goes on with a new dialog when the old one is over and this login may not see what is pending on it. The old one is left
    /// open and counts as leaked, so that an administrator can still find its messages in `sys.transmission_queue`; order
    /// between them and later ones is lost. Default: no, and sending fails with
    /// [`ErrorKind::PendingUnknown`](crate::client::ErrorKind::PendingUnknown).
    #[must_use]
    pub fn leave_unknown_pending(mut self, leave: bool) -> Self {
        self.leave_unknown_pending = leave;
        self
    }

    /// Asks, before a dialog is begun, whether the broker of this database is enabled, and fails with
    /// [`ErrorKind::BrokerDisabled`](crate::client::ErrorKind::BrokerDisabled) if not. Otherwise messages wait in
    /// `sys.transmission_queue` without a word. One more round trip for each dialog. Default: no.
    #[must_use]
    pub fn require_enabled(mut self, require: bool) -> Self {
        self.require_enabled = require;
        self
    }

    /// Sends at most this many messages a second on average, and this many at once. A call waits until its messages fit;
    /// one larger than the burst is sent whole, and later calls wait for it. Default: no limit.
    #[must_use]
    pub fn rate(mut self, messages_per_second: f64, burst: u32) -> Self {
        self.rate = Some(Rate { per_second: messages_per_second, burst: f64::from(burst.max(1)) });
        self
    }

    /// Keeps the dialogs in the table of `sql/06-shared-pool.sql` under this name, so that several processes share them. All
    /// must give the same width: it decides which place a key has, and sending fails with `Config` where the table has more
    /// places. At most 64 characters.
    ///
    /// Each call claims a place for its transaction and costs two more round trips. Claims end with their connection, so a
    /// process that dies leaves nothing behind. Default: not shared.
    #[must_use]
    pub fn shared(mut self, name: impl Into<String>) -> Self {
        self.shared = Some(name.into());
        self
    }

    /// How long a call waits while others use the places it may take; then it fails with
    /// [`ErrorKind::PoolExhausted`](crate::client::ErrorKind::PoolExhausted). A batch that has sent through a place, or had its
    /// dialog repaired, keeps it until it is decided: who waits for that place before deciding the batch waits for nothing.
    /// Default: 60 seconds. In a shared pool the command timeout of the broker's options bounds that.
    #[must_use]
    pub fn place_timeout(mut self, timeout: Duration) -> Self {
        self.place_timeout = timeout;
        self
    }

    /// Limits without a way to ask the target would leave one open dialog behind for each retirement.
    pub(super) fn check(&self) -> Result<()> {
        if self.limits != Limits::default() && self.end_of_stream.is_none() {
            return Err(Error::config(
                "a dialog pool with a limit needs an end-of-stream message type, or each retired dialog stays open for ever",
            ));
        }
        if self.rate.is_some_and(|rate| !(rate.per_second.is_finite() && rate.per_second > 0.0)) {
            return Err(Error::config("a rate must be above 0 messages a second"));
        }
        match &self.shared {
            Some(name) if name.is_empty() || name.encode_utf16().count() > 64 => Err(Error::config(format!(
                "the name of a shared pool has 1 to 64 characters, not {}",
                name.encode_utf16().count()
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_without_an_end_of_stream_message_are_refused() {
        assert!(PoolOptions::default().check().is_ok());
        assert!(PoolOptions::default().max_sends(10).check().is_err());
        let message_type = MessageTypeName::new("//t/end").unwrap();
        assert!(PoolOptions::default().max_sends(10).end_of_stream(message_type).check().is_ok());
    }

    #[test]
    fn a_rate_and_a_shared_name_are_checked() {
        assert!(PoolOptions::default().rate(0.5, 0).check().is_ok());
        assert!(PoolOptions::default().rate(0.0, 1).check().is_err());
        assert!(PoolOptions::default().rate(f64::NAN, 1).check().is_err());
        assert!(PoolOptions::default().shared("").check().is_err());
        assert!(PoolOptions::default().shared("x".repeat(64)).check().is_ok());
    }

    #[test]
    fn the_number_of_a_route_tells_whether_it_names_an_instance() {
        let plain = Destination::new("//t/a", "//t/b").unwrap();
        let named = plain.clone().broker_instance("i").contract("//t/c").unwrap();
        let mut spec = named.route.spec(&PoolOptions::default());
        assert!(!Route::names_no_instance(named.route.number(), &spec));
        let unnamed = plain.clone().contract("//t/c").unwrap();
        assert!(Route::names_no_instance(unnamed.route.number(), &spec));
        spec.contract = Some(ContractName::new("DEFAULT").unwrap());
        assert!(Route::names_no_instance(plain.route.number(), &spec));
    }

    #[test]
    fn a_route_has_the_same_number_whatever_its_key() {
        let plain = Destination::new("//t/a", "//t/b").unwrap();
        let keyed = plain.clone().key("k");
        assert_eq!(plain.route.number(), keyed.route.number());
        assert_ne!(plain.route.number(), Destination::new("//t/a", "//t/c").unwrap().route.number());
    }
}
