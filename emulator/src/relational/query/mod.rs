//! Queries: binding of SELECT into plans, and plans run over rows.
//!
//! | module | holds |
//! |---|---|
//! | `common_tables` | the common table expressions in sight |
//! | `from`, `hints`, `target` | binding of FROM |
//! | `select` | binding of one SELECT |
//! | `order` | binding of ORDER BY |
//! | `plan` | binding of query expressions, and the shape of plans |
//! | `access` | reading by a unique key instead of all rows |
//! | `source` | rows of FROM, joins |
//! | `group` | grouping |
//! | `run` | running plans |
//! | `subquery` | queries inside expressions |
//! | `statement` | SELECT as a statement |
//! | `projection` | a select list over rows found elsewhere: RECEIVE, OUTPUT |
//! | `queue` | queues as tables |

mod access;
mod common_tables;
mod from;
mod group;
mod hints;
mod order;
mod plan;
mod projection;
mod queue;
mod run;
mod select;
mod source;
mod statement;
mod subquery;
mod target;

pub(crate) use common_tables::CommonTables;
pub(crate) use from::{BoundSource, FromBinder, Source};
pub(crate) use order::{SortKey, bind_sort_keys, order_of};
pub(crate) use plan::bind_query;
pub(crate) use projection::Projection;
pub(crate) use queue::{queue_columns, queue_row};
pub(crate) use select::narrow;
pub(crate) use source::{rows_of, scan};
pub(crate) use statement::{QueryOutcome, query};
pub(crate) use subquery::{Subquery, bind_exists, bind_scalar_subquery, bind_subquery};
pub(crate) use target::{Target, TargetMatch, TargetRows};
