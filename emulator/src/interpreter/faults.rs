//! Faults of the plan as they strike a session: before something is done, and after it.
//!
//! This file must not know how a fault is planned.

use std::time::Duration;

use super::execution::{Execution, Stop};
use crate::faults::{Fault, Occasion, Point};

/// What is left to go wrong after something has been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// The connection is cut.
    Cut,
    /// The answer never comes.
    Silence,
    /// What follows comes so much later.
    Delay(Duration),
}

impl Execution<'_> {
    /// Lets a planned fault strike before something is done. What strikes only afterwards is returned.
    ///
    /// # Errors
    /// The error that takes its place, or the end of the request when the connection is cut.
    pub(super) async fn strike(&mut self, point: Point, text: &str) -> Result<Option<Aftermath>, Stop> {
        let Some(fault) = self.struck_by(point, text) else { return Ok(None) };
        match fault {
            Fault::CutBefore => Err(self.cut()),
            Fault::Error(error) => Err(error.into()),
            Fault::Deadlock => {
                let call = self.state.call();
                Err(self.state.instance.call(|core| core.make_victim(&call)).into())
            }
            Fault::Delay(by) => {
                self.pause(by).await?;
                Ok(None)
            }
            Fault::CutAfter => Ok(Some(Aftermath::Cut)),
            Fault::LoseAnswer => Ok(Some(Aftermath::Silence)),
            Fault::DelayAnswer(by) => Ok(Some(Aftermath::Delay(by))),
        }
    }

    /// Lets what is left of a fault strike after something has been done.
    ///
    /// # Errors
    /// The end of the request.
    pub(super) async fn follow_up(&mut self, aftermath: Option<Aftermath>) -> Result<(), Stop> {
        match aftermath {
            None => Ok(()),
            Some(Aftermath::Cut) => Err(self.cut()),
            Some(Aftermath::Delay(by)) => self.pause(by).await,
            Some(Aftermath::Silence) => {
                self.cancel.cancelled().await;
                Err(Stop::Cancelled)
            }
        }
    }

    fn struck_by(&self, point: Point, text: &str) -> Option<Fault> {
        let (instance, session) = (&self.state.instance, self.state.id);
        if instance.faults().is_empty() {
            return None;
        }
        let (login, application) = instance.call(|core| {
            let info = core.session(session);
            (info.login_name.clone(), info.application.clone())
        });
        instance.faults().strike(&Occasion { point, text, login: &login, application: &application })
    }

    fn cut(&mut self) -> Stop {
        self.sink.cut();
        Stop::Cancelled
    }

    async fn pause(&mut self, by: Duration) -> Result<(), Stop> {
        let until = self.state.instance.clock().now().plus(by);
        self.sleep_until(until).await
    }
}
