//! CREATE, ALTER and DROP of broker objects: message types, contracts, queues, services, routes, bindings, priorities,
//! event notifications.
//!
//! Turns what was written into the engine's options. This file must not know what the options do.

use crate::engine::errors::not_found_or_denied;
use crate::engine::{
    self, ActivationClause, Criterion, Interrupt, NewNotification, NotifyOn, Op, PriorityOptions, QueueKey,
    RouteOptions, Tx, Validation,
};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::{object_name, spelled};
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::broker::Validation as WrittenValidation;
use crate::tsql::ast::broker::{
    ActivationOptions, AlterQueueAction, AnyOr, BrokerDdl, BrokerObjectKind, ContractChange, ContractMessage,
    NotificationScope, PriorityLevel, QueueOptions, SentBy,
};
use crate::tsql::ast::broker::{PriorityOptions as WrittenPriority, RouteOptions as WrittenRoute};
use crate::tsql::ast::name::Ident;
use crate::tsql::ast::security::ExecuteAs;

/// Runs a definition statement. A notice that the engine answers with goes to the client.
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &BrokerDdl,
) -> Result<Done, Stop> {
    let notice = execution.operate(frame, |tx, _| define(statement, tx)).await?;
    if let Some(notice) = notice {
        execution.inform(frame, notice);
    }
    Ok(Done::PLAIN)
}

fn define(statement: &BrokerDdl, tx: &mut Tx<'_>) -> Op<Option<SqlError>> {
    match statement {
        BrokerDdl::CreateQueue { name, options, filegroup: _ } => {
            return tx.create_queue(&object_name(name)?, &queue_options(options)?);
        }
        BrokerDdl::AlterQueue { name, action: AlterQueueAction::Set(options) } => {
            return tx.alter_queue(&object_name(name)?, &queue_options(options)?);
        }
        BrokerDdl::AlterQueue { name, .. } => tx.maintain_queue(&object_name(name)?)?,
        BrokerDdl::CreateMessageType { name, owner, validation } => {
            let validation = validation.as_ref().map_or(Validation::None, validation_of);
            tx.create_message_type(name.as_str(), text(owner), validation)?;
        }
        BrokerDdl::AlterMessageType { name, validation } => {
            tx.alter_message_type(name.as_str(), validation_of(validation))?;
        }
        BrokerDdl::CreateContract { name, owner, messages } => {
            let messages: Vec<_> = messages.iter().map(contract_message).collect();
            tx.create_contract(name.as_str(), text(owner), &messages)?;
        }
        BrokerDdl::CreateService { .. } | BrokerDdl::AlterService { .. } => define_service(statement, tx)?,
        BrokerDdl::CreateEventNotification { .. } | BrokerDdl::DropEventNotification { .. } => {
            define_notification(statement, tx)?;
        }
        BrokerDdl::CreatePrefixed { kind, name } => {
            return Err(errors::too_many_prefixes(title(*kind), &name.to_string()).into());
        }
        BrokerDdl::Drop { kind, name } => drop_object(*kind, name, tx)?,
        statement => define_routing(statement, tx)?,
    }
    Ok(None)
}

fn define_service(statement: &BrokerDdl, tx: &mut Tx<'_>) -> Op<()> {
    match statement {
        BrokerDdl::CreateService { name, owner, queue, contracts } => {
            let contracts: Vec<&str> = contracts.iter().map(Ident::as_str).collect();
            tx.create_service(name.as_str(), text(owner), &object_name(queue)?, &contracts)
        }
        BrokerDdl::AlterService { name, queue, changes } => {
            let queue = queue.as_ref().map(object_name).transpose()?;
            let changes: Vec<_> = changes.iter().map(contract_change).collect();
            tx.alter_service(name.as_str(), queue.as_ref(), &changes)
        }
        _ => Ok(()),
    }
}

fn define_notification(statement: &BrokerDdl, tx: &mut Tx<'_>) -> Op<()> {
    match statement {
        BrokerDdl::CreateEventNotification { name, scope, fan_in, events, service, broker_instance } => {
            let new = NewNotification {
                name: spelled(name),
                on: notify_on(scope, tx)?,
                fan_in: *fan_in,
                events: events.iter().map(spelled).collect(),
                service: service.clone(),
                broker_instance: broker_instance.clone(),
            };
            tx.create_event_notification(&new)
        }
        BrokerDdl::DropEventNotification { names, scope } => {
            let on = notify_on(scope, tx)?;
            names.iter().try_for_each(|name| tx.drop_event_notification(name.as_str(), &on))
        }
        _ => Ok(()),
    }
}

/// Routes, remote service bindings and priorities.
fn define_routing(statement: &BrokerDdl, tx: &mut Tx<'_>) -> Op<()> {
    match statement {
        BrokerDdl::CreateRoute { name, owner, options } => {
            tx.create_route(name.as_str(), text(owner), &route_options(options)?)
        }
        BrokerDdl::AlterRoute { name, options } => tx.alter_route(name.as_str(), &route_options(options)?),
        BrokerDdl::CreateRemoteServiceBinding { name, owner, service, options } => {
            let user = text(&options.user).unwrap_or_default();
            let anonymous = options.anonymous.unwrap_or(false);
            tx.create_remote_service_binding(name.as_str(), text(owner), service, user, anonymous)
        }
        BrokerDdl::AlterRemoteServiceBinding { name, options } => {
            tx.alter_remote_service_binding(name.as_str(), text(&options.user), options.anonymous)
        }
        BrokerDdl::CreateBrokerPriority { name, options } => {
            tx.create_broker_priority(name.as_str(), &priority_options(options))
        }
        BrokerDdl::AlterBrokerPriority { name, options } => {
            tx.alter_broker_priority(name.as_str(), &priority_options(options))
        }
        _ => Ok(()),
    }
}

fn drop_object(kind: BrokerObjectKind, name: &ObjectName, tx: &mut Tx<'_>) -> Op<()> {
    let plain = name.name().as_str();
    match kind {
        BrokerObjectKind::MessageType => tx.drop_message_type(plain),
        BrokerObjectKind::Contract => tx.drop_contract(plain),
        BrokerObjectKind::Queue => tx.drop_queue(&object_name(name)?),
        BrokerObjectKind::Service => tx.drop_service(plain),
        BrokerObjectKind::Route => tx.drop_route(plain),
        BrokerObjectKind::RemoteServiceBinding => tx.drop_remote_service_binding(plain),
        BrokerObjectKind::BrokerPriority => tx.drop_broker_priority(plain),
    }
}

/// A kind of object as errors name it.
fn title(kind: BrokerObjectKind) -> &'static str {
    match kind {
        BrokerObjectKind::MessageType => "message type",
        BrokerObjectKind::Contract => "contract",
        BrokerObjectKind::Queue => "queue",
        BrokerObjectKind::Service => "service",
        BrokerObjectKind::Route => "route",
        BrokerObjectKind::RemoteServiceBinding => "remote service binding",
        BrokerObjectKind::BrokerPriority => "broker priority",
    }
}

fn text(name: &Option<Ident>) -> Option<&str> {
    name.as_ref().map(Ident::as_str)
}

fn validation_of(written: &WrittenValidation) -> Validation {
    match written {
        WrittenValidation::None => Validation::None,
        WrittenValidation::Empty => Validation::Empty,
        WrittenValidation::WellFormedXml => Validation::WellFormedXml,
        WrittenValidation::ValidXml(collection) => Validation::ValidXml(collection.to_string().into()),
    }
}

fn contract_message(written: &ContractMessage) -> (&str, engine::SentBy) {
    let sent_by = match written.sent_by {
        SentBy::Initiator => engine::SentBy::Initiator,
        SentBy::Target => engine::SentBy::Target,
        SentBy::Any => engine::SentBy::Any,
    };
    (written.message_type.as_str(), sent_by)
}

fn contract_change(written: &ContractChange) -> engine::ContractChange {
    match written {
        ContractChange::Add(contract) => engine::ContractChange::Add(spelled(contract)),
        ContractChange::Drop(contract) => engine::ContractChange::Drop(spelled(contract)),
    }
}

fn queue_options(written: &QueueOptions) -> Result<engine::QueueOptions, SqlError> {
    Ok(engine::QueueOptions {
        status: written.status,
        retention: written.retention,
        poison_handling: written.poison_message_handling,
        activation: written.activation.as_ref().map(activation_clause).transpose()?,
    })
}

fn activation_clause(written: &ActivationOptions) -> Result<ActivationClause, SqlError> {
    let set = match written {
        ActivationOptions::Drop => return Ok(ActivationClause::Drop),
        ActivationOptions::Set(set) => set,
    };
    let execute_as = match &set.execute_as {
        None => None,
        Some(ExecuteAs::SelfUser) => Some(engine::ExecuteAs::Caller),
        Some(ExecuteAs::Owner) => Some(engine::ExecuteAs::Owner),
        Some(ExecuteAs::User(user)) => Some(engine::ExecuteAs::User(user.clone())),
        Some(ExecuteAs::Caller) => {
            return Err(errors::clause_type("EXECUTE AS", "SELF, OWNER or a user's name"));
        }
    };
    Ok(ActivationClause::Set {
        status: set.status,
        procedure: set.procedure.as_ref().map(object_name).transpose()?,
        max_readers: set.max_queue_readers.map(i64::from),
        execute_as,
    })
}

fn route_options(written: &WrittenRoute) -> Result<RouteOptions, SqlError> {
    let lifetime = written.lifetime.as_deref().map(|digits| digits.parse::<i64>());
    let lifetime = lifetime.transpose().map_err(|_| errors::clause_type("LIFETIME", "int"))?;
    Ok(RouteOptions {
        service_name: written.service_name.clone(),
        broker_instance: written.broker_instance.clone(),
        lifetime,
        address: written.address.clone(),
        mirror_address: written.mirror_address.clone(),
    })
}

fn priority_options(written: &WrittenPriority) -> PriorityOptions {
    PriorityOptions {
        contract: written.contract.as_ref().map(|it| criterion(it, Ident::as_str)),
        local_service: written.local_service.as_ref().map(|it| criterion(it, Ident::as_str)),
        remote_service: written.remote_service.as_ref().map(|it| criterion(it, String::as_str)),
        level: written.level.map(|level| match level {
            PriorityLevel::Default => None,
            PriorityLevel::Level(level) => Some(i64::from(level)),
        }),
    }
}

fn criterion<T>(written: &AnyOr<T>, text: impl Fn(&T) -> &str) -> Criterion {
    match written {
        AnyOr::Any => Criterion::Any,
        AnyOr::Name(name) => Criterion::Named(text(name).to_owned()),
    }
}

fn notify_on(scope: &NotificationScope, tx: &mut Tx<'_>) -> Op<NotifyOn> {
    Ok(match scope {
        NotificationScope::Server => NotifyOn::Server,
        NotificationScope::Database => NotifyOn::Database,
        NotificationScope::Queue(name) => NotifyOn::Queue(watched_queue(name, tx)?),
    })
}

/// The queue of an event notification; one that is missing is 15151 here, not 208.
fn watched_queue(name: &ObjectName, tx: &mut Tx<'_>) -> Op<QueueKey> {
    let found = tx.resolve_queue(&object_name(name)?);
    found.map_err(|interrupt| match interrupt {
        Interrupt::Error(error) if error.number == 208 => {
            not_found_or_denied("find", "queue", &name.to_string()).into()
        }
        other => other,
    })
}
