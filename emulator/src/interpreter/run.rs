//! The loop that runs a program step by step, and what becomes of errors.
//!
//! This file must not know any particular statement beyond RETURN.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use super::effects::{self, Reach};
use super::execution::{Done, Execution, Raised, Stop};
use super::faults::Aftermath;
use super::frame::Frame;
use super::program::{Action, Step};
use super::{errors, statements};
use crate::error::SqlError;
use crate::faults::Point;
use crate::output::Event;
use crate::relational::condition;
use crate::tsql::ast::{Condition, Expr, StatementKind};

/// Steps a session may run before other tasks get their turn.
const BUDGET: u32 = 256;

/// Number of the error of a deadlock's victim.
const DEADLOCK: i32 = 1205;

/// First number of errors that users raise.
const FIRST_USER_ERROR: i32 = 50_000;

/// Runs a frame from where it stands to its end. `Err(Stop::Error(..))` is an error that a caller's TRY block catches;
/// it comes only when there is one.
pub(super) fn run<'r>(
    execution: &'r mut Execution<'_>,
    frame: &'r mut Frame,
) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + Send + 'r>> {
    Box::pin(run_steps(execution, frame))
}

async fn run_steps(execution: &mut Execution<'_>, frame: &mut Frame) -> Result<(), Stop> {
    let program = Arc::clone(&frame.program);
    while let Some(step) = program.steps.get(frame.at) {
        let depth = frame.caught_before + step.catch_depth;
        execution.state.caught.truncate(depth);
        let outcome = match execution.take_turn().await {
            Ok(()) => perform(execution, frame, step).await,
            Err(stop) => Err(stop),
        };
        frame.at = match outcome {
            Ok(next) => next,
            Err(Stop::Error(raised)) => execution.recover(frame, step, raised)?,
            Err(stop) => return Err(stop),
        };
    }
    execution.state.caught.truncate(frame.caught_before);
    Ok(())
}

/// A step on its way: on the heap, so that programs nested 32 levels deep fit on a worker's stack.
type Performing<'r> = Pin<Box<dyn Future<Output = Result<usize, Stop>> + Send + 'r>>;

/// Runs one step; the step that comes next.
fn perform<'r>(execution: &'r mut Execution<'_>, frame: &'r mut Frame, step: &'r Step) -> Performing<'r> {
    match &step.action {
        Action::Jump(target) => Box::pin(ready(Ok(*target))),
        Action::Branch { condition, otherwise } => Box::pin(branch(execution, frame, condition, *otherwise)),
        Action::Run(StatementKind::Return(value)) => Box::pin(leave(execution, frame, value.as_ref())),
        Action::Run(statement) => Box::pin(run_statement(execution, frame, step, statement)),
    }
}

async fn branch(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    test: &Condition,
    otherwise: usize,
) -> Result<usize, Stop> {
    let holds = execution.operate(frame, |tx, scope| condition(test, scope, tx)).await?;
    execution.state.last_error = 0;
    execution.state.row_count = 0;
    Ok(if holds { frame.at + 1 } else { otherwise })
}

async fn leave(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    value: Option<&Expr>,
) -> Result<usize, Stop> {
    statements::return_status(execution, frame, value).await?;
    Ok(frame.program.steps.len())
}

async fn run_statement(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    step: &Step,
    statement: &StatementKind,
) -> Result<usize, Stop> {
    let guarded = execution.guarded;
    execution.guarded |= step.handler.is_some();
    let done = run_struck(execution, frame, step, statement).await;
    execution.guarded = guarded;
    let (done, aftermath) = done?;
    execution.finish(done).await?;
    execution.follow_up(aftermath).await?;
    Ok(frame.at + 1)
}

/// Runs a statement unless a planned fault strikes first.
async fn run_struck(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    step: &Step,
    statement: &StatementKind,
) -> Result<(Done, Option<Aftermath>), Stop> {
    let program = Arc::clone(&frame.program);
    let text = program.text.get(step.span.start..step.span.end).unwrap_or_default();
    let aftermath = execution.strike(Point::Statement, text).await?;
    Ok((statements::run(execution, frame, statement).await?, aftermath))
}

impl Execution<'_> {
    /// Looks for a cancellation, and lets other tasks run from time to time.
    async fn take_turn(&mut self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        self.steps += 1;
        if self.steps >= BUDGET {
            self.steps = 0;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// What becomes of an error: caught here, by a caller, or told. The step that comes next.
    fn recover(&mut self, frame: &Frame, step: &Step, raised: Raised) -> Result<usize, Stop> {
        let raised = Raised { error: located(raised.error, frame, step.line), ..raised };
        self.state.last_error = raised.error.number;
        self.state.row_count = 0;
        if !self.survives_deadlock(&raised.error, step) {
            self.notice_lost_transaction();
        }
        let effect = effects::of(&raised.error, raised.origin, self.state.options.xact_abort);
        let caught_here = step.handler.filter(|_| effect.caught_in_scope || raised.from_callee);
        if effect.reach == Reach::Connection {
            return Err(self.close_connection(raised.error));
        }
        if let Some(handler) = caught_here {
            self.doom_if(effect.ends_transaction);
            self.state.caught.truncate(frame.caught_before + step.handler_depth);
            self.state.caught.push(raised.error);
            return Ok(handler);
        }
        if self.guarded {
            self.doom_if(effect.ends_transaction);
            return Err(Stop::Error(Raised { from_callee: true, ..raised }));
        }
        let from_callee = raised.from_callee;
        self.tell(raised.error);
        if effect.ends_transaction {
            self.roll_back_all();
        }
        match effect.reach {
            Reach::Statement => Ok(frame.at + 1),
            // The scope that ended was the callee's.
            Reach::Scope if from_callee => Ok(frame.at + 1),
            Reach::Scope => Ok(frame.program.steps.len()),
            Reach::Batch | Reach::Connection => Err(Stop::Abort),
        }
    }

    /// Keeps the transaction of a deadlock victim open, doomed, when a TRY block catches the error: whether it did.
    fn survives_deadlock(&mut self, error: &SqlError, step: &Step) -> bool {
        let caught = step.handler.is_some() || self.guarded;
        let Some(descriptor) = self.state.transaction.filter(|_| caught && error.number == DEADLOCK) else {
            return false;
        };
        if self.trancount() == 0 {
            let call = self.state.call();
            self.state.instance.call(|core| core.reopen_doomed(&call, descriptor));
        }
        true
    }

    fn doom_if(&mut self, ends_transaction: bool) {
        let session = self.state.id;
        if ends_transaction && self.trancount() > 0 {
            self.state.instance.call(|core| core.doom(session));
        }
    }

    /// Tells a fatal error; the server closes the connection when it sees the severity. One that the user raised is
    /// followed by 2745.
    fn close_connection(&mut self, error: SqlError) -> Stop {
        self.roll_back_all();
        if error.number < FIRST_USER_ERROR {
            self.tell(error);
            return Stop::Abort;
        }
        self.emit(Event::Error(error));
        let spid = self.spid();
        self.tell(errors::session_terminated(spid));
        Stop::Abort
    }

    /// Tells a notice of the statement that `frame` stands at.
    pub(super) fn inform(&mut self, frame: &Frame, notice: SqlError) {
        let line = frame.program.steps.get(frame.at).map_or(1, |step| step.line);
        self.emit(Event::Info(located(notice, frame, line)));
    }

    fn spid(&self) -> i64 {
        let session = self.state.id;
        self.state.instance.call(|core| i64::from(core.session(session).spid))
    }
}

fn located(error: SqlError, frame: &Frame, line: u32) -> SqlError {
    let unplaced = error.line == 0;
    let mut error = error.at_line(line);
    if unplaced && error.procedure.is_empty() {
        error.procedure.clone_from(&frame.procedure);
    }
    error
}
