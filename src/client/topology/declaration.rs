//! What a program declares: message types, contracts, queues, services, event notifications, routes. Nothing is sent here.

use std::collections::BTreeSet;
use std::fmt;

use super::super::error::{Error, Result};
use super::super::names::{ContractName, MessageTypeName, QueueName, ServiceName};

/// Names of the server's own objects begin with this.
const SYSTEM_PREFIX: &str = "http://schemas.microsoft.com/";
/// The message type and the contract that every database has.
const DEFAULT_NAME: &str = "DEFAULT";

/// How the target checks bodies of a message type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Validation {
    /// Any bytes.
    #[default]
    None,
    /// No body at all.
    Empty,
    /// Well-formed XML.
    WellFormedXml,
}

/// Which side of a dialog may send a message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SentBy {
    /// The side that begins the dialog.
    Initiator,
    /// The side the dialog is begun with.
    Target,
    /// Both.
    Any,
}

/// Settings of a queue. Internal activation is not declared here and not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct QueueSettings {
    pub(crate) status: QueueStatus,
    pub(crate) retention: bool,
    pub(crate) poison_message_handling: bool,
}

/// Whether a queue takes and gives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QueueStatus {
    On,
    Off,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { status: QueueStatus::On, retention: false, poison_message_handling: true }
    }
}

impl QueueSettings {
    /// A queue that is created switched off; it is on if not set.
    pub fn off(mut self) -> Self {
        self.status = QueueStatus::Off;
        self
    }

    /// Keeps messages until their conversation ends; costly, off if not set.
    pub fn retention(mut self, on: bool) -> Self {
        self.retention = on;
        self
    }

    /// Whether five roll backs in a row switch the queue off; on if not set.
    pub fn poison_message_handling(mut self, on: bool) -> Self {
        self.poison_message_handling = on;
        self
    }
}

/// Where a route leads and which dialogs take it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct RouteSettings {
    pub(crate) address: String,
    pub(crate) service: Option<ServiceName>,
    pub(crate) broker_instance: Option<String>,
}

impl RouteSettings {
    /// A route to this address: `LOCAL`, `TRANSPORT` or `TCP://host:port`.
    pub fn to(address: impl Into<String>) -> Self {
        Self { address: address.into(), service: None, broker_instance: None }
    }

    /// Only for dialogs to this service.
    pub fn service(mut self, service: ServiceName) -> Self {
        self.service = Some(service);
        self
    }

    /// Only for this broker.
    pub fn broker_instance(mut self, id: uuid::Uuid) -> Self {
        self.broker_instance = Some(id.hyphenated().to_string().to_uppercase());
        self
    }
}

/// The objects a program expects in its database.
///
/// Names may be texts or checked names; a faulty one is reported when the declaration is used. Declaring what exists
/// already is harmless. What a contract or a service names has to be declared as well, except the server's own objects.
///
/// ```
/// use ssbroker::client::{QueueSettings, SentBy, Topology, Validation};
///
/// let topology = Topology::new()
///     .message_type("//shop/new-order", Validation::None)
///     .message_type("//shop/confirmed", Validation::None)
///     .contract(
///         "//shop/order",
///         [("//shop/new-order", SentBy::Initiator), ("//shop/confirmed", SentBy::Target)],
///     )
///     .queue("dbo.WebQueue", QueueSettings::default())
///     .queue("dbo.OrderQueue", QueueSettings::default())
///     .service("//shop/web", "dbo.WebQueue", [] as [&str; 0])
///     .service("//shop/orders", "dbo.OrderQueue", ["//shop/order"]);
/// ```
///
/// [`Broker::ensure_objects`](super::super::Broker::ensure_objects) creates what is missing,
/// [`Broker::verify_objects`](super::super::Broker::verify_objects) only looks.
#[derive(Clone, Debug, Default)]
#[must_use = "a declaration does nothing by itself"]
pub struct Topology {
    pub(super) message_types: Vec<(MessageTypeName, Validation)>,
    pub(super) contracts: Vec<(ContractName, Vec<(MessageTypeName, SentBy)>)>,
    pub(super) queues: Vec<(QueueName, QueueSettings)>,
    pub(super) services: Vec<ServiceDeclaration>,
    pub(super) events: Vec<EventDeclaration>,
    pub(super) routes: Vec<(String, RouteSettings)>,
    fault: Option<Error>,
}

#[derive(Clone, Debug)]
pub(super) struct ServiceDeclaration {
    pub(super) name: ServiceName,
    pub(super) queue: QueueName,
    pub(super) contracts: Vec<ContractName>,
}

#[derive(Clone, Debug)]
pub(super) struct EventDeclaration {
    pub(super) name: String,
    pub(super) queue: QueueName,
    pub(super) service: ServiceName,
}

impl Topology {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A message type and how its bodies are checked.
    pub fn message_type<M>(self, name: M, validation: Validation) -> Self
    where
        M: TryInto<MessageTypeName>,
        Error: From<M::Error>,
    {
        self.declare(|topology| {
            topology.message_types.push((name.try_into()?, validation));
            Ok(())
        })
    }

    /// A contract: the message types it carries and who sends them, at least one by the initiator.
    pub fn contract<C, M>(self, name: C, messages: impl IntoIterator<Item = (M, SentBy)>) -> Self
    where
        C: TryInto<ContractName>,
        M: TryInto<MessageTypeName>,
        Error: From<C::Error> + From<M::Error>,
    {
        self.declare(|topology| {
            let read = |(name, by): (M, SentBy)| Ok((name.try_into()?, by));
            let messages = messages.into_iter().map(read).collect::<Result<Vec<_>>>()?;
            topology.contracts.push((name.try_into()?, messages));
            Ok(())
        })
    }

    /// A queue. Without a schema the login's default schema is meant.
    pub fn queue<Q>(self, name: Q, settings: QueueSettings) -> Self
    where
        Q: TryInto<QueueName>,
        Error: From<Q::Error>,
    {
        self.declare(|topology| {
            topology.queues.push((name.try_into()?, settings));
            Ok(())
        })
    }

    /// A service on a queue. A target lists the contracts it accepts; a service that only begins dialogs needs none.
    pub fn service<S, Q, C>(self, name: S, queue: Q, contracts: impl IntoIterator<Item = C>) -> Self
    where
        S: TryInto<ServiceName>,
        Q: TryInto<QueueName>,
        C: TryInto<ContractName>,
        Error: From<S::Error> + From<Q::Error> + From<C::Error>,
    {
        self.declare(|topology| {
            let contracts =
                contracts.into_iter().map(|name| Ok(name.try_into()?)).collect::<Result<Vec<_>>>()?;
            let service = ServiceDeclaration { name: name.try_into()?, queue: queue.try_into()?, contracts };
            topology.services.push(service);
            Ok(())
        })
    }

    /// An event notification that tells an external activator of messages in a queue: QUEUE_ACTIVATION, sent to a service
    /// of this database.
    pub fn activation_event<Q, S>(self, name: &str, queue: Q, service: S) -> Self
    where
        Q: TryInto<QueueName>,
        S: TryInto<ServiceName>,
        Error: From<Q::Error> + From<S::Error>,
    {
        self.declare(|topology| {
            // Checked by the rules of a queue's own name, which are those of every identifier.
            let name = QueueName::in_schema("dbo", name)?.name().to_owned();
            topology.events.push(EventDeclaration {
                name,
                queue: queue.try_into()?,
                service: service.try_into()?,
            });
            Ok(())
        })
    }

    /// A route.
    pub fn route(self, name: &str, settings: RouteSettings) -> Self {
        self.declare(|topology| {
            let name = QueueName::in_schema("dbo", name)?.name().to_owned();
            topology.routes.push((name, settings));
            Ok(())
        })
    }

    /// Reports the first faulty name, what is declared twice, and what is used without being declared.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let types = unique("message type", self.message_types.iter().map(|(name, _)| name))?;
        let contracts = unique("contract", self.contracts.iter().map(|(name, _)| name))?;
        unique("queue", self.queues.iter().map(|(name, _)| name))?;
        unique("service", self.services.iter().map(|service| &service.name))?;
        for (contract, messages) in &self.contracts {
            let by = format!("contract {contract}");
            unique("message type", messages.iter().map(|(name, _)| name))
                .map_err(|error| error.during(&by))?;
            if messages.iter().all(|(_, by)| *by == SentBy::Target) {
                return Err(Error::config(format!("{by} has no message type that the initiator may send")));
            }
            require(&by, "message type", &types, messages.iter().map(|(name, _)| name))?;
        }
        for service in &self.services {
            let by = format!("service {}", service.name);
            require(&by, "contract", &contracts, &service.contracts)?;
            self.require_queue(&by, &service.queue)?;
        }
        for event in &self.events {
            self.require_queue(&format!("event notification {}", event.name), &event.queue)?;
        }
        Ok(())
    }

    /// A queue may be declared with its schema and used without, or the other way round; which one is meant then is for
    /// the server to say.
    fn require_queue(&self, by: &str, queue: &QueueName) -> Result<()> {
        let fits = |declared: &QueueName| {
            declared.name() == queue.name()
                && (declared.schema() == queue.schema()
                    || declared.schema().is_none()
                    || queue.schema().is_none())
        };
        if self.queues.iter().any(|(declared, _)| fits(declared)) {
            return Ok(());
        }
        Err(undeclared(by, "queue", queue))
    }

    /// Keeps the first fault.
    fn declare(mut self, add: impl FnOnce(&mut Self) -> Result<()>) -> Self {
        if let Err(error) = add(&mut self) {
            self.fault.get_or_insert(error);
        }
        self
    }
}

fn unique<'a, N>(what: &str, names: impl Iterator<Item = &'a N>) -> Result<BTreeSet<String>>
where
    N: fmt::Display + 'a,
{
    let mut known = BTreeSet::new();
    for name in names {
        if !known.insert(name.to_string()) {
            return Err(Error::config(format!("the {what} {name} is declared twice")));
        }
    }
    Ok(known)
}

fn require<'a, N>(
    by: &str,
    what: &str,
    declared: &BTreeSet<String>,
    names: impl IntoIterator<Item = &'a N>,
) -> Result<()>
where
    N: fmt::Display + 'a,
{
    let is_known =
        |name: &str| declared.contains(name) || name == DEFAULT_NAME || name.starts_with(SYSTEM_PREFIX);
    match names.into_iter().map(ToString::to_string).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(undeclared(by, what, name)),
    }
}

fn undeclared(by: &str, what: &str, name: impl fmt::Display) -> Error {
    Error::config(format!("{by} uses the {what} {name}, which is not declared: declare it too"))
}
