//! Which columns of the row in hand an expression looks at.

use crate::relational::expression::{Bound, Node, Predicate};

/// Whether the expression looks only at columns of the row in hand for which `allowed` holds. An expression with a
/// subquery, which may look anywhere, does not.
pub(crate) fn looks_only_at(bound: &Bound, allowed: &dyn Fn(usize) -> bool) -> bool {
    let within = |bound: &Bound| looks_only_at(bound, allowed);
    match &bound.node {
        Node::Constant(_) | Node::Variable(_) | Node::Global(_) => true,
        Node::Column { level, index } => *level > 0 || allowed(*index),
        Node::Convert(conversion) => {
            within(&conversion.operand) && conversion.style.as_ref().is_none_or(within)
        }
        Node::Binary { left, right, .. } => within(left) && within(right),
        Node::Negate(operand) | Node::Complement(operand) => within(operand),
        Node::Case { branches, otherwise } => {
            let branch = |(condition, result): &(Predicate, Bound)| {
                condition_within(condition, allowed) && within(result)
            };
            branches.iter().all(branch) && otherwise.as_deref().is_none_or(within)
        }
        Node::Coalesce(list) => list.iter().all(within),
        Node::Call { arguments, .. } => arguments.iter().all(within),
        Node::Xml { target, .. } => within(target),
        Node::Subquery(_) => false,
    }
}

fn condition_within(predicate: &Predicate, allowed: &dyn Fn(usize) -> bool) -> bool {
    let within = |bound: &Bound| looks_only_at(bound, allowed);
    match predicate {
        Predicate::And(list) | Predicate::Or(list) => {
            list.iter().all(|inner| condition_within(inner, allowed))
        }
        Predicate::Not(inner) => condition_within(inner, allowed),
        Predicate::Compare { left, right, .. } => within(left) && within(right),
        Predicate::IsNull(operand) => within(operand),
        Predicate::Like { operand, pattern, escape, .. } => {
            within(operand) && within(pattern) && escape.as_ref().is_none_or(within)
        }
        Predicate::InList { operand, list, .. } => within(operand) && list.iter().all(within),
        Predicate::Quantified { .. } | Predicate::Exists(_) => false,
    }
}
