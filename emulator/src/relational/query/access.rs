//! What a condition says about equality: unique keys to read by, and pairs to join by.
//!
//! Both only narrow down which rows are looked at; the whole condition is still checked for each of them.

use crate::engine::{KeyDef, TableDef};
use crate::relational::expression::{Bound, Node, Predicate, looks_only_at};
use crate::relational::types::is_unicode;
use crate::tsql::ast::expr::CompareOp;
use crate::value::{Collation, SqlType};

/// A unique key and the expressions its columns must equal, none of which looks at the row.
#[derive(Debug)]
pub(crate) struct KeyAccess {
    /// The key's name.
    pub(crate) key: String,
    /// For each key column a position among the condition's equalities, and the column's collation.
    pub(crate) places: Vec<(usize, Collation)>,
}

/// The unique key of a table, read alone, that the condition fixes.
pub(crate) fn key_access(filter: &Predicate, table: &TableDef) -> Option<KeyAccess> {
    let equalities = equalities(filter);
    let place = |column: usize| {
        let ty = table.columns[column].column.ty;
        equalities
            .iter()
            .position(|(left, right, _)| fixes(left, right, column, ty) || fixes(right, left, column, ty))
    };
    let usable = |key: &&KeyDef| key.unique && key.columns.iter().all(|column| place(*column).is_some());
    let key = table.keys.iter().find(usable)?;
    let collation = |column: usize| table.columns[column].column.collation;
    let places =
        key.columns.iter().filter_map(|column| Some((place(*column)?, collation(*column)))).collect();
    Some(KeyAccess { key: key.name.to_string(), places })
}

/// The side of an equality that does not look at the row.
pub(crate) fn fixed_side(filter: &Predicate, place: usize) -> Option<&Bound> {
    let (left, right, _) = equalities(filter).into_iter().nth(place)?;
    Some(if looks_only_at(left, &|_| false) { left } else { right })
}

/// Pairs of a left and a right expression that a join's condition wants equal.
pub(crate) fn equi_pairs(on: &Predicate, left_width: usize) -> Vec<(Bound, Bound, Collation)> {
    let in_left = |index: usize| index < left_width;
    let in_right = |index: usize| index >= left_width;
    let plain = |bound: &Bound| match &bound.node {
        Node::Column { level: 0, index } => Some(Bound {
            node: Node::Column { level: 0, index: *index },
            ty: bound.ty,
            collating: bound.collating,
            nullable: bound.nullable,
        }),
        _ => None,
    };
    let mut pairs = Vec::new();
    for (first, second, collation) in equalities(on) {
        let (left, right) = match (looks_only_at(first, &in_left), looks_only_at(second, &in_right)) {
            (true, true) => (first, second),
            _ if looks_only_at(first, &in_right) && looks_only_at(second, &in_left) => (second, first),
            _ => continue,
        };
        pairs.extend(plain(left).zip(plain(right)).map(|(left, right)| (left, right, collation)));
    }
    pairs
}

/// The equalities that must all hold for the condition to hold.
fn equalities(predicate: &Predicate) -> Vec<(&Bound, &Bound, Collation)> {
    match predicate {
        Predicate::And(list) => list.iter().flat_map(equalities).collect(),
        Predicate::Compare { op: CompareOp::Equal, left, right, collation } => {
            vec![(left, right, *collation)]
        }
        _ => Vec::new(),
    }
}

/// Whether `left = right` fixes a column of that type, both sides being values of one type.
fn fixes(left: &Bound, right: &Bound, column: usize, ty: SqlType) -> bool {
    let is_column = left.node == Node::Column { level: 0, index: column };
    let same_type = match (ty, right.ty) {
        (ty, other) if ty.is_text() => other.is_text() && is_unicode(ty) == is_unicode(other),
        // Bytes are equal in spite of trailing zeros, keys are not.
        (ty, _) if ty.is_binary() => false,
        (ty, other) => ty == other,
    };
    is_column && same_type && looks_only_at(right, &|_| false)
}
