//! Which fault strikes at which occasion. Counts; must not know how an occasion comes about or how a fault is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;

use crate::error::SqlError;

/// What happens when a trigger fires. "It" is the statement, request or commit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The connection is cut instead of it; what is open is rolled back.
    CutBefore,
    /// It is done, then the connection is cut without an answer.
    CutAfter,
    /// It is done, and its answer never comes; the connection stays open.
    LoseAnswer,
    /// It is done so much later.
    Delay(Duration),
    /// It is done at once, and what follows (its answer) comes so much later.
    DelayAnswer(Duration),
    /// The session is chosen as a deadlock victim: its transaction is rolled back, error 1205.
    Deadlock,
    /// It fails with this error, without having been done.
    Error(SqlError),
}

impl Fault {
    /// An error of that number, severity 16.
    pub fn error(number: i32) -> Fault {
        Fault::Error(SqlError::new(number, format!("error {number} of the fault plan")))
    }
}

/// What a fault strikes at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// A statement about to run, in a batch, procedure or dynamic text.
    Statement,
    /// A request of a client: a batch, a remote call, a transaction request.
    Request,
    /// The end of an explicit transaction by COMMIT, whoever asks for it.
    Commit,
}

/// Something that a fault may strike at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion<'o> {
    /// What it is.
    pub(crate) point: Point,
    /// Its text.
    pub(crate) text: &'o str,
    /// The session's login.
    pub(crate) login: &'o str,
    /// The session's application.
    pub(crate) application: &'o str,
}

/// Which occasions a fault strikes at: by default the next one, whoever's it is.
#[derive(Debug, Clone)]
#[must_use = "a trigger does nothing before it is planned"]
pub struct Trigger {
    point: Point,
    text: Option<String>,
    login: Option<String>,
    application: Option<String>,
    nth: u64,
    times: u64,
}

impl Trigger {
    /// A commit of an explicit transaction: COMMIT, or a client's transaction request. Its text is `COMMIT`.
    pub fn commit() -> Trigger {
        Trigger::at(Point::Commit)
    }

    /// A request of a client. The text of a remote call is the procedure's name and, for `sp_executesql` and its kin, the
    /// statement; that of a transaction request is `BEGIN`, `COMMIT`, `ROLLBACK` or `SAVE`.
    pub fn request() -> Trigger {
        Trigger::at(Point::Request)
    }

    /// A statement.
    pub fn statement() -> Trigger {
        Trigger::at(Point::Statement)
    }

    /// Only those whose text contains this, compared without ASCII case.
    pub fn containing(mut self, text: impl Into<String>) -> Trigger {
        self.text = Some(text.into().to_ascii_lowercase());
        self
    }

    /// Only those of sessions of this login.
    pub fn of_login(mut self, login: impl Into<String>) -> Trigger {
        self.login = Some(login.into());
        self
    }

    /// Only those of sessions of this application (`Application Name` of the connection string).
    pub fn of_application(mut self, application: impl Into<String>) -> Trigger {
        self.application = Some(application.into());
        self
    }

    /// The `n`-th of them from now on, counted from 1.
    pub fn nth(mut self, n: u64) -> Trigger {
        self.nth = n;
        self
    }

    /// So many in a row.
    pub fn times(mut self, times: u64) -> Trigger {
        self.times = times;
        self
    }

    /// All of them, until [`PlannedFault::end`].
    pub fn always(self) -> Trigger {
        self.times(u64::MAX)
    }

    fn at(point: Point) -> Trigger {
        Trigger { point, text: None, login: None, application: None, nth: 1, times: 1 }
    }

    fn fits(&self, occasion: &Occasion<'_>) -> bool {
        let same = |wanted: &Option<String>, actual: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(actual))
        };
        let contains = |wanted: &String| occasion.text.to_ascii_lowercase().contains(wanted.as_str());
        self.point == occasion.point
            && same(&self.login, occasion.login)
            && same(&self.application, occasion.application)
            && self.text.as_ref().is_none_or(contains)
    }
}

/// A fault that is planned: whether it has struck, and its end.
#[derive(Debug, Clone)]
pub struct PlannedFault {
    struck: Arc<watch::Sender<u64>>,
    ended: Arc<AtomicBool>,
}

impl PlannedFault {
    /// How often it has struck.
    pub fn struck(&self) -> u64 {
        *self.struck.borrow()
    }

    /// Waits until it has struck at least once.
    pub async fn strike(&self) {
        let mut struck = self.struck.subscribe();
        struck.wait_for(|count| *count > 0).await.expect("the sender lives as long as this handle");
    }

    /// Ends it: it does not strike any more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

/// The faults planned for one instance.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    planned: Mutex<Vec<Planned>>,
    any: AtomicBool,
}

#[derive(Debug)]
struct Planned {
    trigger: Trigger,
    fault: Fault,
    seen: u64,
    handle: PlannedFault,
}

impl FaultPlan {
    /// Whether anything is planned, so that occasions are worth describing.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Plans a fault.
    pub(crate) fn add(&self, trigger: Trigger, fault: Fault) -> PlannedFault {
        let handle = PlannedFault { struck: Arc::new(watch::Sender::new(0)), ended: Arc::default() };
        let planned = Planned { trigger, fault, seen: 0, handle: handle.clone() };
        self.planned().push(planned);
        self.any.store(true, Ordering::Release);
        handle
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.planned().clear();
        self.any.store(false, Ordering::Release);
    }

    /// The fault that strikes at this occasion.
    pub(crate) fn strike(&self, occasion: &Occasion<'_>) -> Option<Fault> {
        let mut planned = self.planned();
        planned.retain(|it| !it.handle.ended.load(Ordering::Acquire) && !it.is_spent());
        self.any.store(!planned.is_empty(), Ordering::Release);
        let mut striking = None;
        for it in planned.iter_mut().filter(|it| it.trigger.fits(occasion)) {
            it.seen += 1;
            if it.seen >= it.trigger.nth && striking.is_none() {
                it.handle.struck.send_modify(|count| *count += 1);
                striking = Some(it.fault.clone());
            }
        }
        striking
    }

    fn planned(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.planned.lock().expect("no code panics while it holds the plan")
    }
}

impl Planned {
    fn is_spent(&self) -> bool {
        self.seen >= self.trigger.nth.saturating_add(self.trigger.times).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &'static str) -> Occasion<'static> {
        Occasion { point: Point::Statement, text, login: "sa", application: "worker" }
    }

    fn strikes(plan: &FaultPlan, occasions: usize) -> Vec<bool> {
        (0..occasions).map(|_| plan.strike(&statement("SEND ON CONVERSATION @h")).is_some()).collect()
    }

    #[test]
    fn the_nth_occasion_is_struck_and_no_other() {
        let plan = FaultPlan::default();
        let planned = plan.add(Trigger::statement().containing("send on").nth(3), Fault::Deadlock);
        assert_eq!(strikes(&plan, 5), [false, false, true, false, false]);
        assert_eq!(planned.struck(), 1);
        assert!(plan.is_empty());
    }

    #[test]
    fn a_fault_strikes_several_times_in_a_row_or_until_it_is_ended() {
        let plan = FaultPlan::default();
        plan.add(Trigger::statement().nth(2).times(2), Fault::CutBefore);
        assert_eq!(strikes(&plan, 4), [false, true, true, false]);
        let planned = plan.add(Trigger::statement().always(), Fault::CutAfter);
        assert_eq!(strikes(&plan, 2), [true, true]);
        planned.end();
        assert_eq!(strikes(&plan, 1), [false]);
    }

    #[test]
    fn what_does_not_fit_is_not_counted() {
        let plan = FaultPlan::default();
        plan.add(Trigger::statement().of_application("other"), Fault::Deadlock);
        plan.add(Trigger::statement().of_login("nobody"), Fault::Deadlock);
        plan.add(Trigger::statement().containing("RECEIVE"), Fault::Deadlock);
        plan.add(Trigger::commit(), Fault::Deadlock);
        plan.add(Trigger::statement().of_login("SA").of_application("Worker"), Fault::error(9002));
        let struck = plan.strike(&statement("SELECT 1"));
        assert!(matches!(struck, Some(Fault::Error(error)) if error.number == 9002));
    }

    #[test]
    fn of_two_faults_for_one_occasion_the_first_strikes_and_both_count() {
        let plan = FaultPlan::default();
        plan.add(Trigger::statement(), Fault::CutBefore);
        plan.add(Trigger::statement().nth(2), Fault::CutAfter);
        assert_eq!(plan.strike(&statement("a")), Some(Fault::CutBefore));
        assert_eq!(plan.strike(&statement("a")), Some(Fault::CutAfter));
    }
}
