//! Internal activation: runs the procedures that queues call for, each in a session of its own (spec 5.4).
//!
//! What a procedure prints or fails with goes to the log; its result sets go nowhere. This file must not know when a
//! procedure is called for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::engine::{ActivationRequest, LoginId, QueueKey, TaskEnd};
use crate::error::SqlError;
use crate::instance::Instance;
use crate::output::{Event, ResultSink};
use crate::request::{ProcedureCall, ProcedureName, RequestHandler};
use crate::session::Session;

/// The login whose session a procedure runs in; it acts as the queue's user there.
const SA: LoginId = LoginId(1);

/// Runs one procedure to its end and reports that. `stop` cancels it.
pub(crate) async fn run(instance: Arc<Instance>, request: ActivationRequest, stop: CancellationToken) {
    let opened = Session::internal(&instance, SA, Some(&request.database), "internal activation");
    let end = match opened {
        Ok(session) => run_in(&instance, session, &request, &stop).await,
        Err(error) => {
            warn!(queue = ?request.queue, %error, "an activated procedure got no session");
            TaskEnd::NotStarted
        }
    };
    let now = instance.clock().now();
    instance.call(|core| core.task_ended(request.task, end, now));
}

async fn run_in(
    instance: &Arc<Instance>,
    mut session: Session,
    request: &ActivationRequest,
    stop: &CancellationToken,
) -> TaskEnd {
    let id = session.id();
    instance.call(|core| {
        core.push_context(id, request.principal);
        core.task_started(request.task, id);
    });
    let mut log = Log { procedure: request.procedure.clone(), last_error: None };
    let procedure = ProcedureName::Name(request.procedure.clone());
    session.call(ProcedureCall { procedure, parameters: Vec::new() }, &mut log, stop).await;
    let open = instance.call(|core| core.trancount(id)) > 0;
    drop(session);
    tell_end(instance, request, open, log.last_error.as_ref());
    match log.last_error {
        Some(error) if error.number == 2812 => TaskEnd::NotStarted,
        _ => TaskEnd::Ran,
    }
}

/// Says in the log why a procedure ended, when it did not just return.
fn tell_end(instance: &Instance, request: &ActivationRequest, left_open: bool, error: Option<&SqlError>) {
    let procedure = &request.procedure;
    if left_open {
        warn!(number = 8415, %procedure, "an activated procedure ended with its own transaction open; it is rolled back");
    }
    let number = match (queue_state(instance, request.queue), error) {
        (None, _) => 28085,
        (Some(false), _) => 28086,
        (Some(true), Some(_)) => 28088,
        (Some(true), None) => return,
    };
    let why = error.map_or_else(String::new, SqlError::to_string);
    info!(number, %procedure, %why, "an activated procedure was ended");
}

/// Whether the queue still activates; `None` when it is gone.
fn queue_state(instance: &Instance, queue: QueueKey) -> Option<bool> {
    instance.call(|core| {
        let def = core.state().queue_options(queue)?;
        let activates = def.activation.as_ref().is_some_and(|activation| activation.enabled);
        Some(activates && def.receive_enabled)
    })
}

/// Takes what an activated procedure says.
struct Log {
    procedure: String,
    last_error: Option<SqlError>,
}

impl ResultSink for Log {
    fn emit(&mut self, event: Event) {
        match event {
            Event::Info(notice) => {
                info!(number = 9724, procedure = %self.procedure, "activated procedure says: {}", notice.message);
            }
            Event::Error(error) => {
                warn!(number = 9724, procedure = %self.procedure, %error, "activated procedure reports an error");
                self.last_error = Some(error);
            }
            _ => {}
        }
    }

    fn is_full(&self) -> bool {
        false
    }

    fn flush(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(async { Ok(()) })
    }
}
