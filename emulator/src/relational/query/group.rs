//! Grouping: rows with equal keys become one row of keys and aggregates.

use std::collections::HashMap;

use crate::engine::Op;
use crate::relational::aggregate::Running;
use crate::relational::compare::write_key;
use crate::relational::environment::Context;
use crate::relational::expression::{holds, value};
use crate::relational::query::plan::GroupPlan;
use crate::relational::scope::Frame;
use crate::value::Value;

/// One row per group, in the order in which the groups first occur: the keys, then the aggregates. Without keys all rows
/// are one group, even when there are none.
pub(super) fn grouped(
    plan: &GroupPlan,
    rows: &[Vec<Value>],
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    if plan.keys.is_empty() {
        groups.push(Group::new(Vec::new(), plan));
        places.insert(Vec::new(), 0);
    }
    for row in rows {
        let frame = Frame::new(row, outer);
        let (key, values) = key_of(plan, &frame, ctx)?;
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Group::new(values, plan));
            groups.len() - 1
        });
        for running in &mut groups[place].running {
            running.add(&frame, ctx)?;
        }
    }
    let mut result = Vec::with_capacity(groups.len());
    for group in groups {
        let row = group.finish()?;
        let kept = match &plan.having {
            None => true,
            Some(having) => holds(having, &Frame::new(&row, outer), ctx)? == Some(true),
        };
        if kept {
            result.push(row);
        }
    }
    Ok(result)
}

/// One group while its rows are read.
struct Group<'p> {
    keys: Vec<Value>,
    running: Vec<Running<'p>>,
}

impl<'p> Group<'p> {
    fn new(keys: Vec<Value>, plan: &'p GroupPlan) -> Group<'p> {
        Group { keys, running: plan.aggregates.iter().map(Running::new).collect() }
    }

    fn finish(self) -> Op<Vec<Value>> {
        let mut row = self.keys;
        for running in self.running {
            row.push(running.finish()?);
        }
        Ok(row)
    }
}

fn key_of(plan: &GroupPlan, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<(Vec<u8>, Vec<Value>)> {
    let (mut key, mut values) = (Vec::new(), Vec::with_capacity(plan.keys.len()));
    for bound in &plan.keys {
        let value = value(bound, frame, ctx)?;
        write_key(&value, bound.collating.collation, &mut key);
        values.push(value);
    }
    Ok((key, values))
}
