//! What an error does beyond being told: ends the statement, the scope, the batch, the transaction or the connection.
//!
//! Pure; one table. Sources: `spec/tsql-coverage.md` 6.5, `SET XACT_ABORT` and `TRY...CATCH` in the T-SQL reference.
//! This file must not know sessions, frames or sinks.

use crate::error::SqlError;

/// Where an error came from, since RAISERROR and THROW have rules of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A statement that failed.
    Statement,
    /// RAISERROR, which XACT_ABORT does not concern.
    Raiserror,
    /// THROW, which ends the batch.
    Throw,
}

/// How far an uncaught error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// The next statement runs.
    Statement,
    /// The batch, procedure or dynamic batch ends; its caller goes on.
    Scope,
    /// Everything up to the client's request ends.
    Batch,
    /// The connection is closed.
    Connection,
}

/// The effect of one error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effect {
    /// How far it reaches when nothing catches it.
    pub(super) reach: Reach,
    /// Whether the transaction cannot survive: rolled back when uncaught, doomed when caught.
    pub(super) ends_transaction: bool,
    /// Whether a TRY block of the same scope catches it; callers' TRY blocks catch all but fatal errors.
    pub(super) caught_in_scope: bool,
}

/// The effect of `error` under the session's XACT_ABORT.
pub(super) fn of(error: &SqlError, origin: Origin, xact_abort: bool) -> Effect {
    if error.severity >= 20 {
        return Effect { reach: Reach::Connection, ends_transaction: true, caught_in_scope: false };
    }
    let reach = match origin {
        Origin::Raiserror => return plain(Reach::Statement),
        Origin::Throw => Reach::Batch,
        Origin::Statement => reach_of(error.number),
    };
    let aborts = origin == Origin::Statement && reach == Reach::Batch;
    let keeps = survives_xact_abort(error.number);
    Effect {
        reach: if xact_abort && !keeps { reach.max(Reach::Batch) } else { reach },
        ends_transaction: aborts || (xact_abort && !keeps),
        caught_in_scope: reach != Reach::Scope,
    }
}

fn plain(reach: Reach) -> Effect {
    Effect { reach, ends_transaction: false, caught_in_scope: true }
}

fn reach_of(number: i32) -> Reach {
    match number {
        // Errors of compiling one statement when it first runs: missing objects and columns, bad types, unknown variables.
        137 | 206 | 207 | 208 | 209 | 243 | 257 | 1087 | 2715 | 4104 => Reach::Scope,
        // Conversions of values.
        241 | 242 | 244 | 245 | 248 | 295 | 8114 | 8169 => Reach::Batch,
        // XML that does not parse.
        9400..=9499 => Reach::Batch,
        // Deadlock, nesting, and writing in a doomed transaction.
        217 | 596 | 1205 | 3930 => Reach::Batch,
        _ => Reach::Statement,
    }
}

/// Errors that only report: the statement they follow has taken effect already.
fn survives_xact_abort(number: i32) -> bool {
    matches!(number, 266 | 3902 | 3903)
}

#[cfg(test)]
mod tests {
    use super::{Effect, Origin, Reach, of};
    use crate::error::SqlError;

    fn effect(number: i32, origin: Origin, xact_abort: bool) -> Effect {
        of(&SqlError::new(number, "text"), origin, xact_abort)
    }

    #[test]
    fn a_duplicate_key_ends_its_statement_only() {
        let effect = effect(2627, Origin::Statement, false);
        assert_eq!((effect.reach, effect.ends_transaction), (Reach::Statement, false));
    }

    #[test]
    fn xact_abort_makes_every_statement_error_end_batch_and_transaction() {
        for number in [2627, 8426, 8429, 9617, 208] {
            let effect = effect(number, Origin::Statement, true);
            assert_eq!((effect.reach, effect.ends_transaction), (Reach::Batch, true), "{number}");
        }
    }

    #[test]
    fn conversions_and_bad_xml_end_the_batch_and_the_transaction() {
        for number in [241, 245, 8114, 8169, 9420, 1205] {
            let effect = effect(number, Origin::Statement, false);
            assert_eq!((effect.reach, effect.ends_transaction), (Reach::Batch, true), "{number}");
        }
    }

    #[test]
    fn a_missing_object_ends_its_scope_and_is_not_caught_there() {
        let effect = effect(208, Origin::Statement, false);
        assert_eq!((effect.reach, effect.caught_in_scope), (Reach::Scope, false));
    }

    #[test]
    fn raiserror_ignores_xact_abort_and_throw_does_not() {
        assert_eq!(effect(50000, Origin::Raiserror, true).reach, Reach::Statement);
        assert!(!effect(50000, Origin::Raiserror, true).ends_transaction);
        assert_eq!(effect(50001, Origin::Throw, false).reach, Reach::Batch);
        assert!(!effect(50001, Origin::Throw, false).ends_transaction);
        assert!(effect(50001, Origin::Throw, true).ends_transaction);
    }

    #[test]
    fn severity_20_closes_the_connection_whatever_raised_it() {
        let fatal = SqlError::with_severity(50000, 20, "text");
        assert_eq!(of(&fatal, Origin::Raiserror, false).reach, Reach::Connection);
    }
}
