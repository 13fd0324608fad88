//! Which level a new conversation endpoint gets (spec 1.8): the best matching broker priority.
//!
//! Pure: it is given the priorities of a database. It must not know endpoints, queues or DDL.

use super::definitions::BrokerPriority;
use super::ids::{ContractId, ServiceId};

/// Level of an endpoint that no broker priority matches, and of a priority that names none.
pub(crate) const DEFAULT_LEVEL: u8 = 5;

/// What of an endpoint decides its level. Local and remote are seen from the endpoint itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rated<'a> {
    /// Contract of the conversation.
    pub(crate) contract: ContractId,
    /// Service of the endpoint.
    pub(crate) local_service: ServiceId,
    /// Service of the peer, compared ordinally.
    pub(crate) remote_service: &'a str,
}

/// The level of the best match: contract counts more than local service, that more than remote service.
pub(crate) fn level<'a>(priorities: impl Iterator<Item = &'a BrokerPriority>, endpoint: Rated<'_>) -> u8 {
    priorities
        .filter(|priority| matches(priority, endpoint))
        .max_by_key(|priority| {
            (priority.contract.is_some(), priority.local_service.is_some(), priority.remote_service.is_some())
        })
        .map_or(DEFAULT_LEVEL, |priority| priority.level)
}

fn matches(priority: &BrokerPriority, endpoint: Rated<'_>) -> bool {
    priority.contract.is_none_or(|contract| contract == endpoint.contract)
        && priority.local_service.is_none_or(|service| service == endpoint.local_service)
        && priority.remote_service.as_deref().is_none_or(|service| service == endpoint.remote_service)
}

#[cfg(test)]
mod tests {
    use super::{BrokerPriority, ContractId, Rated, ServiceId, level};
    use crate::engine::ids::PriorityId;

    fn priority(contract: bool, local: bool, remote: bool, level: u8) -> BrokerPriority {
        BrokerPriority {
            id: PriorityId(65536),
            name: "p".into(),
            contract: contract.then_some(ContractId(7)),
            local_service: local.then_some(ServiceId(8)),
            remote_service: remote.then(|| "far".into()),
            level,
        }
    }

    fn rated(priorities: &[BrokerPriority]) -> u8 {
        let endpoint = Rated { contract: ContractId(7), local_service: ServiceId(8), remote_service: "far" };
        level(priorities.iter(), endpoint)
    }

    #[test]
    fn the_best_match_wins_in_the_documented_order() {
        let from_worst_to_best = [
            (false, false, false),
            (false, false, true),
            (false, true, false),
            (false, true, true),
            (true, false, false),
            (true, false, true),
            (true, true, false),
            (true, true, true),
        ];
        let mut priorities = Vec::new();
        for (at, (contract, local, remote)) in from_worst_to_best.into_iter().enumerate() {
            priorities.push(priority(contract, local, remote, at as u8 + 1));
            assert_eq!(rated(&priorities), at as u8 + 1);
            priorities.rotate_right(1);
        }
    }

    #[test]
    fn without_a_match_the_level_is_five() {
        let mut other = priority(true, true, true, 9);
        other.remote_service = Some("FAR".into());
        assert_eq!(rated(&[other]), 5);
        assert_eq!(rated(&[]), 5);
    }
}
