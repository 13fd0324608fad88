//! The difference between a declaration and a catalog, each with the statement that mends it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::super::names::QueueName;
use super::super::statements::objects;
use super::catalog::{Catalog, QueueFound, ServiceFound};
use super::declaration::{
    QueueSettings, QueueStatus, RouteSettings, SentBy, ServiceDeclaration, Topology, Validation,
};
use super::verification::{Finding, Verification};

/// Compares. The statements of what is missing are in an order in which they can be run.
pub(super) fn compare(topology: &Topology, catalog: &Catalog) -> Verification {
    let mut comparison = Comparison { topology, catalog, verification: Verification::default() };
    comparison.database();
    comparison.message_types();
    comparison.contracts();
    comparison.queues();
    comparison.services();
    comparison.events();
    comparison.routes();
    comparison.verification
}

struct Comparison<'a> {
    topology: &'a Topology,
    catalog: &'a Catalog,
    verification: Verification,
}

impl Comparison<'_> {
    fn database(&mut self) {
        if !self.catalog.is_broker_enabled {
            self.differs(
                "database".to_owned(),
                "its broker is not enabled: messages wait in the transmission queue".to_owned(),
                objects::ENABLE_BROKER.to_owned(),
            );
        }
    }

    fn message_types(&mut self) {
        for (name, validation) in &self.topology.message_types {
            let object = format!("message type {name}");
            match self.catalog.message_types.get(name.as_str()) {
                None => self.lacks(
                    object,
                    differing_case(name.as_str(), self.catalog.message_types.keys()),
                    objects::create_message_type(name, *validation),
                ),
                Some(found) if found != code(*validation) => self.differs(
                    object,
                    format!("its validation is {}, not {}", described(found), described(code(*validation))),
                    objects::alter_message_type(name, *validation),
                ),
                Some(_) => {}
            }
        }
    }

    fn contracts(&mut self) {
        for (name, messages) in &self.topology.contracts {
            let object = format!("contract {name}");
            let declared: BTreeMap<&str, SentBy> =
                messages.iter().map(|(message, by)| (message.as_str(), *by)).collect();
            match self.catalog.contracts.get(name.as_str()) {
                None => self.lacks(
                    object,
                    differing_case(name.as_str(), self.catalog.contracts.keys()),
                    objects::create_contract(name, messages),
                ),
                Some(found) => {
                    let found = found.iter().map(|(message, by)| (message.as_str(), *by)).collect();
                    let problems = usage_problems(&declared, &found);
                    if !problems.is_empty() {
                        self.differs(object, problems.join(", "), objects::replace_contract(name, messages));
                    }
                }
            }
        }
    }

    fn queues(&mut self) {
        for (name, settings) in &self.topology.queues {
            let object = format!("queue {name}");
            match self.find_queue(name) {
                None => self.lacks(object, None, objects::create_queue(name, settings)),
                Some(found) => {
                    let problems = queue_problems(settings, found);
                    if !problems.is_empty() {
                        self.differs(object, problems.join(", "), objects::alter_queue(name, settings));
                    }
                }
            }
        }
    }

    fn services(&mut self) {
        for service in &self.topology.services {
            match self.catalog.services.get(service.name.as_str()) {
                Some(found) => {
                    self.service_queue(service, found);
                    self.service_contracts(service, found);
                }
                None => self.lacks(
                    format!("service {}", service.name),
                    differing_case(service.name.as_str(), self.catalog.services.keys()),
                    objects::create_service(&service.name, &service.queue, &service.contracts),
                ),
            }
        }
    }

    fn service_queue(&mut self, service: &ServiceDeclaration, found: &ServiceFound) {
        if !self.is_queue(&service.queue, &found.queue) {
            let (schema, name) = &found.queue;
            self.differs(
                format!("service {}", service.name),
                format!("its queue is [{schema}].[{name}], not {}", service.queue),
                objects::move_service(&service.name, &service.queue),
            );
        }
    }

    fn service_contracts(&mut self, service: &ServiceDeclaration, found: &ServiceFound) {
        let declared: BTreeSet<&str> = service.contracts.iter().map(|name| name.as_str()).collect();
        let found: BTreeSet<&str> = found.contracts.iter().map(String::as_str).collect();
        let lacking: Vec<&str> = declared.difference(&found).copied().collect();
        let surplus: Vec<&str> = found.difference(&declared).copied().collect();
        if !(surplus.is_empty() && lacking.is_empty()) {
            self.differs(
                format!("service {}", service.name),
                contract_problem(&lacking, &surplus),
                objects::change_contracts(&service.name, &lacking, &surplus),
            );
        }
    }

    fn events(&mut self) {
        for event in &self.topology.events {
            let object = format!("event notification {} on {}", event.name, event.queue);
            let statement = objects::create_event(&event.name, &event.queue, &event.service);
            let catalog = self.catalog;
            let found = catalog
                .events
                .iter()
                .find(|it| catalog.same(&it.name, &event.name) && self.is_queue(&event.queue, &it.queue));
            match found {
                None => self.lacks(object, None, statement),
                Some(found)
                    if found.service == event.service.as_str() && found.event == objects::ACTIVATION => {}
                Some(found) => {
                    let problem = format!("it sends {} to {}", found.event, found.service);
                    let drop = objects::drop_event(&event.name, &event.queue);
                    self.differs(object, problem, format!("{drop} {statement}"));
                }
            }
        }
    }

    fn routes(&mut self) {
        for (name, settings) in &self.topology.routes {
            let object = format!("route {name}");
            let catalog = self.catalog;
            match catalog.routes.iter().find(|it| catalog.same(&it.name, name)) {
                None => self.lacks(object, None, objects::create_route(name, settings)),
                Some(found) => {
                    let found = RouteSettings {
                        address: found.address.clone(),
                        service: found.service.as_ref().and_then(|name| name.parse().ok()),
                        broker_instance: found.broker_instance.as_ref().map(|id| id.to_uppercase()),
                    };
                    if !same_route(settings, &found) {
                        let problem = format!("it is {}", objects::describe_route(&found));
                        self.differs(object, problem, objects::alter_route(name, settings));
                    }
                }
            }
        }
    }

    fn find_queue(&self, name: &QueueName) -> Option<&QueueFound> {
        let key = |queue: &QueueFound| (queue.schema.clone(), queue.name.clone());
        self.catalog.queues.iter().find(|queue| self.is_queue(name, &key(queue)))
    }

    fn is_queue(&self, declared: &QueueName, (schema, name): &(String, String)) -> bool {
        let declared_schema = declared.schema().unwrap_or(&self.catalog.default_schema);
        self.catalog.same(declared_schema, schema) && self.catalog.same(declared.name(), name)
    }

    fn lacks(&mut self, object: String, hint: Option<String>, statement: String) {
        let problem = hint.unwrap_or_else(|| "it does not exist".to_owned());
        self.verification.missing.push(Finding { object, problem, statement });
    }

    fn differs(&mut self, object: String, problem: String, statement: String) {
        self.verification.different.push(Finding { object, problem, statement });
    }
}

/// The classic mistake: these names compare byte by byte (case C003).
fn differing_case<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    let folded = name.to_lowercase();
    let other = known.into_iter().find(|known| known.to_lowercase() == folded)?;
    Some(format!("it does not exist; {other} does, but differs in case"))
}

fn code(validation: Validation) -> &'static str {
    match validation {
        Validation::None => "N",
        Validation::Empty => "E",
        Validation::WellFormedXml => "X",
    }
}

fn described(code: &str) -> &str {
    match code {
        "N" => "NONE",
        "E" => "EMPTY",
        "X" => "WELL_FORMED_XML",
        "XS" => "VALID_XML WITH SCHEMA COLLECTION",
        other => other,
    }
}

fn usage_problems(declared: &BTreeMap<&str, SentBy>, found: &BTreeMap<&str, SentBy>) -> Vec<String> {
    let mut problems = Vec::new();
    for (message, by) in declared {
        match found.get(message) {
            None => problems.push(format!("it lacks {message}")),
            Some(other) if other != by => {
                problems.push(format!(
                    "{message} is sent by {}, not {}",
                    objects::sender(*other),
                    objects::sender(*by)
                ));
            }
            Some(_) => {}
        }
    }
    let surplus = found.keys().filter(|message| !declared.contains_key(*message));
    problems.extend(surplus.map(|message| format!("it also has {message}")));
    problems
}

fn queue_problems(settings: &QueueSettings, found: &QueueFound) -> Vec<&'static str> {
    let mut problems = Vec::new();
    match (settings.status, found.is_receive_enabled) {
        (QueueStatus::On, false) => problems.push("it is switched off"),
        (QueueStatus::Off, true) => problems.push("it is switched on"),
        _ => {}
    }
    match (settings.retention, found.is_retention_enabled) {
        (true, false) => problems.push("retention is off"),
        (false, true) => problems.push("retention is on"),
        _ => {}
    }
    match (settings.poison_message_handling, found.is_poison_message_handling_enabled) {
        (true, false) => problems.push("poison message handling is off"),
        (false, true) => problems.push("poison message handling is on"),
        _ => {}
    }
    problems
}

fn contract_problem(lacking: &[&str], surplus: &[&str]) -> String {
    let lacks = lacking.iter().map(|name| format!("it does not accept {name}"));
    let also = surplus.iter().map(|name| format!("it also accepts {name}"));
    lacks.chain(also).collect::<Vec<_>>().join(", ")
}

/// Addresses are host names and keywords, which do not depend on case.
fn same_route(declared: &RouteSettings, found: &RouteSettings) -> bool {
    declared.address.eq_ignore_ascii_case(&found.address)
        && declared.service == found.service
        && declared.broker_instance == found.broker_instance
}
