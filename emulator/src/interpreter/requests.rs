//! The requests of a session, run to their end: batches, procedure calls, transaction requests.
//!
//! This file must not know how requests arrive.

use super::execution::{Execution, Raised, Stop};
use super::frame::{Frame, FrameKind};
use super::procedures::{self, Argument, BuiltIn, Returned};
use super::run::run;
use crate::error::SqlError;
use crate::faults::Point;
use crate::output::{Command, Event};
use crate::request::{
    CallParameter, IsolationLevel, NextTransaction, ProcedureCall, ProcedureName, TransactionRequest,
};
use crate::value::Value;

impl Execution<'_> {
    /// Runs a batch. Everything about it, errors included, goes to the sink.
    pub(crate) async fn batch(&mut self, text: &str) {
        let outcome = match self.strike(Point::Request, text).await {
            Ok(aftermath) => {
                let outcome = self.run_batch(text).await;
                self.follow_up(aftermath).await.and(outcome)
            }
            Err(stop) => Err(stop),
        };
        self.end(outcome);
    }

    /// Calls a procedure and reports its return status and OUTPUT parameters.
    pub(crate) async fn call(&mut self, call: ProcedureCall) {
        self.in_procedure = true;
        let outcome = match self.strike(Point::Request, &described(&call)).await {
            Ok(aftermath) => {
                let outcome = self.run_call(&call).await;
                self.follow_up(aftermath).await.and(outcome)
            }
            Err(stop) => Err(stop),
        };
        let failed = outcome.is_err();
        let cancelled = matches!(outcome, Err(Stop::Cancelled));
        self.end(outcome);
        if !cancelled {
            self.emit(Event::ProcedureDone { failed });
        }
    }

    /// Answers a transaction request.
    pub(crate) async fn transaction(&mut self, request: TransactionRequest) {
        let outcome = match self.strike(Point::Request, verb(&request)).await {
            Ok(aftermath) => {
                let outcome = self.run_transaction(request).await;
                self.follow_up(aftermath).await.and(outcome)
            }
            Err(stop) => Err(stop),
        };
        match outcome {
            Ok(()) => self.emit(Event::StatementDone {
                command: Command::Other,
                count: None,
                in_procedure: false,
                failed: false,
            }),
            Err(stop) => self.end(Err(stop)),
        }
    }

    /// Resets the session because the next request asks for it; an error is told before that request runs.
    pub(crate) fn reset_request(&mut self, keep_transaction: bool) {
        let outcome = self.reset(keep_transaction);
        if let Err(stop) = outcome {
            self.end(Err(stop));
        }
    }

    async fn run_batch(&mut self, text: &str) -> Result<(), Stop> {
        let program = self.state.instance.program(text, self.state.options.quoted_identifier);
        let frame = program.and_then(|program| Frame::new(program, FrameKind::Batch, Vec::new(), 0));
        match frame {
            Ok(mut frame) => run(self, &mut frame).await,
            Err(error) => {
                self.refuse(error);
                Err(Stop::Abort)
            }
        }
    }

    async fn run_call(&mut self, call: &ProcedureCall) -> Result<(), Stop> {
        let arguments = call.parameters.iter().map(argument).collect();
        let returned = match &call.procedure {
            ProcedureName::Name(name) => procedures::call_by_name(self, name, arguments).await?,
            ProcedureName::Number(number) => {
                procedures::call(self, BuiltIn::by_number(*number)?, arguments).await?
            }
        };
        let Returned { status, outputs, mismatch } = returned;
        if let Some(mismatch) = mismatch {
            self.emit(Event::Error(mismatch.at_line(1)));
        }
        self.emit(Event::ReturnStatus(status));
        for output in outputs {
            let ordinal = u16::try_from(output.argument).unwrap_or(u16::MAX);
            let name =
                call.parameters.get(output.argument).map_or_else(String::new, |sent| sent.name.clone());
            self.emit(Event::OutputParameter { ordinal, name, ty: output.ty, value: output.value });
        }
        Ok(())
    }

    async fn run_transaction(&mut self, request: TransactionRequest) -> Result<(), Stop> {
        match request {
            TransactionRequest::Begin { isolation, name } => self.begin_at(isolation, name),
            TransactionRequest::Commit { next, .. } => {
                self.commit_transaction().await?;
                self.begin_next(next)
            }
            TransactionRequest::Rollback { name, next } => {
                self.roll_back_transaction(Some(name.as_str()).filter(|name| !name.is_empty()))?;
                self.begin_next(next)
            }
            TransactionRequest::Save { name } => self.save_transaction(&name),
        }
    }

    fn begin_at(&mut self, isolation: Option<IsolationLevel>, name: String) -> Result<(), Stop> {
        if let Some(isolation) = isolation {
            self.state.options.isolation = isolation;
            self.apply_options();
        }
        self.begin_transaction(Some(name).filter(|name| !name.is_empty()))
    }

    fn begin_next(&mut self, next: Option<NextTransaction>) -> Result<(), Stop> {
        match next {
            Some(next) => self.begin_at(next.isolation, next.name),
            None => Ok(()),
        }
    }

    /// Ends a request whichever way it went.
    fn end(&mut self, outcome: Result<(), Stop>) {
        match outcome {
            Ok(()) | Err(Stop::Abort) => self.end_request(),
            Err(Stop::Error(raised)) => {
                self.tell_uncaught(raised);
                self.end_request();
            }
            Err(Stop::Cancelled) => self.end_cancelled(),
        }
    }

    /// Tells what is wrong with a batch as a whole. Nothing of it ran, so no transaction is touched.
    fn refuse(&mut self, error: SqlError) {
        self.state.last_error = error.number;
        self.state.row_count = 0;
        self.tell(error.at_line(1));
    }

    /// Tells an error that no frame has dealt with: one of a call itself.
    fn tell_uncaught(&mut self, raised: Raised) {
        self.notice_lost_transaction();
        let effect = super::effects::of(&raised.error, raised.origin, self.state.options.xact_abort);
        self.refuse(raised.error);
        if effect.ends_transaction {
            self.roll_back_all();
        }
    }
}

/// A remote call as a fault plan sees it: the procedure's name and the texts among its parameters.
fn described(call: &ProcedureCall) -> String {
    let mut text = match &call.procedure {
        ProcedureName::Name(name) => name.clone(),
        ProcedureName::Number(number) => BuiltIn::by_number(*number)
            .map_or_else(|_| number.to_string(), |built_in| built_in.name().to_owned()),
    };
    for parameter in &call.parameters {
        if let Value::Text(value) = &parameter.value {
            text.push(' ');
            text.push_str(&value.to_string());
        }
    }
    text
}

/// A transaction request as a fault plan sees it.
fn verb(request: &TransactionRequest) -> &'static str {
    match request {
        TransactionRequest::Begin { .. } => "BEGIN",
        TransactionRequest::Commit { .. } => "COMMIT",
        TransactionRequest::Rollback { .. } => "ROLLBACK",
        TransactionRequest::Save { .. } => "SAVE",
    }
}

/// A parameter of a remote call as an argument. Its name may come without the `@`.
fn argument(parameter: &CallParameter) -> Argument {
    let name = match parameter.name.as_str() {
        "" => None,
        name if name.starts_with('@') => Some(name.to_owned()),
        name => Some(format!("@{name}")),
    };
    let value = (!parameter.default).then(|| parameter.value.clone());
    Argument { name, value, output: parameter.output }
}
