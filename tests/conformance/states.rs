//! Which statement is legal in which state of a conversation endpoint: the table of spec 3.3, a test for each row.

use uuid::Uuid;

use super::fixture::Fixture;
use super::sql::Sql;
use super::vector::{Origin, Outcome};

/// The states of the table's columns, in its order. `Unknown` is a handle that never was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    StartedOutbound,
    Conversing,
    DisconnectedInbound,
    Failed,
    DisconnectedOutbound,
    Closed,
    Unknown,
}

/// What a statement does in one state: succeed, or fail with that number; and who says so.
type Cell = (State, Option<u32>, Origin);

const PAGE: Origin = Origin::Documented("sys-conversation-endpoints-transact-sql");
const ERRORS: Origin = Origin::Documented("database-engine-events-and-errors-8000-8999");
const ENDED: Origin = Origin::Assumed("U-25");
/// Spec 3.3 marks the cell with R: nobody says it.
const SILENT: Origin = Origin::Assumed("spec 3.3");

const SEND: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, Some(8429), ERRORS),
    (State::Failed, Some(8429), ERRORS),
    (State::DisconnectedOutbound, Some(8429), ENDED),
    (State::Closed, Some(8429), ENDED),
    (State::Unknown, Some(8426), ERRORS),
];

const RECEIVE: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, PAGE),
    (State::Failed, None, PAGE),
    (State::DisconnectedOutbound, Some(8426), SILENT),
    (State::Closed, Some(8426), SILENT),
    (State::Unknown, Some(8426), ERRORS),
];

const END: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, PAGE),
    (State::Failed, None, PAGE),
    (State::DisconnectedOutbound, Some(8427), ENDED),
    (State::Closed, Some(8427), ENDED),
    (State::Unknown, Some(8426), ERRORS),
];

const CLEANUP: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, PAGE),
    (State::Failed, None, PAGE),
    (State::DisconnectedOutbound, None, PAGE),
    (State::Closed, None, PAGE),
    (State::Unknown, Some(8426), ERRORS),
];

const TIMER: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, SILENT),
    (State::Failed, Some(8458), SILENT),
    (State::DisconnectedOutbound, Some(8458), ENDED),
    (State::Closed, Some(8458), ENDED),
    (State::Unknown, Some(8426), ERRORS),
];

const MOVE: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, SILENT),
    (State::Failed, None, SILENT),
    (State::DisconnectedOutbound, Some(8438), ENDED),
    (State::Closed, Some(8438), ENDED),
    (State::Unknown, Some(8426), ERRORS),
];

const RELATE: &[Cell] = &[
    (State::StartedOutbound, None, PAGE),
    (State::Conversing, None, PAGE),
    (State::DisconnectedInbound, None, PAGE),
    (State::Failed, None, PAGE),
    (State::DisconnectedOutbound, Some(9601), SILENT),
    (State::Closed, Some(9601), SILENT),
    (State::Unknown, Some(8426), ERRORS),
];

impl Fixture {
    /// Makes an endpoint in that state; all but a closed one are initiators.
    async fn endpoint_in(&self, state: State) -> Uuid {
        let handle = self.begin().await;
        if matches!(state, State::StartedOutbound | State::Unknown) {
            return if state == State::Unknown { Uuid::new_v4() } else { handle };
        }
        self.send(handle, "m").await;
        let target = self.wait("qb_#").await[0].handle;
        match state {
            State::DisconnectedInbound => self.end(target).await,
            State::Failed => self.end_with_error(target).await,
            State::DisconnectedOutbound => {
                // The end of the conversation cannot be delivered, hence not acknowledged.
                self.switch("qb_#", "OFF").await;
                self.end(handle).await;
            }
            State::Closed => self.end(target).await,
            State::Conversing | State::StartedOutbound | State::Unknown => {}
        }
        if state == State::Closed { target } else { handle }
    }

    /// Leaves nothing of one state for the next.
    async fn clear(&self) {
        self.switch("qb_#", "ON").await;
        for endpoint in self.endpoints().await {
            // One of them may just have gone by itself.
            let _ = self.attempt("END CONVERSATION @P1 WITH CLEANUP", &[endpoint.handle]).await;
        }
        for queue in ["qa_#", "qb_#"] {
            while !self.receive(queue).await.is_empty() {}
        }
    }

    /// Runs a statement in every state, and tells all cells that differ.
    async fn check(&self, cells: &[Cell], sql_in: impl Fn(State) -> String) -> Outcome {
        let mut wrong = Vec::new();
        for (state, expected, origin) in cells {
            let handle = self.endpoint_in(*state).await;
            let number = self.attempt(&sql_in(*state), &[handle]).await.err().map(|error| error.number);
            if number != *expected {
                wrong.push(format!("{state:?}: {number:?} instead of {expected:?} ({origin})"));
            }
            self.clear().await;
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Outcome::Passed
    }
}

/// The side of the handle that [`Fixture::endpoint_in`] makes: its letter and the other one's.
fn sides(state: State) -> (&'static str, &'static str) {
    if state == State::Closed { ("b", "a") } else { ("a", "b") }
}

pub(super) async fn send(fixture: &Fixture) -> Outcome {
    fixture.check(SEND, |_| "SEND ON CONVERSATION @P1 MESSAGE TYPE [DEFAULT] ('m')".to_owned()).await
}

pub(super) async fn receive(fixture: &Fixture) -> Outcome {
    let sql = |state| format!("RECEIVE * FROM [q{}_#] WHERE conversation_handle = @P1", sides(state).0);
    fixture.check(RECEIVE, sql).await
}

pub(super) async fn end(fixture: &Fixture) -> Outcome {
    fixture.check(END, |_| "END CONVERSATION @P1".to_owned()).await
}

pub(super) async fn cleanup(fixture: &Fixture) -> Outcome {
    fixture.check(CLEANUP, |_| "END CONVERSATION @P1 WITH CLEANUP".to_owned()).await
}

pub(super) async fn timer(fixture: &Fixture) -> Outcome {
    fixture.check(TIMER, |_| "BEGIN CONVERSATION TIMER (@P1) TIMEOUT = 60".to_owned()).await
}

/// The group moved to is that of a new dialog of the same side.
pub(super) async fn moving(fixture: &Fixture) -> Outcome {
    let sql = |state| {
        let (own, other) = sides(state);
        format!(
            "DECLARE @h uniqueidentifier, @g uniqueidentifier;
             BEGIN DIALOG @h FROM SERVICE [{own}_#] TO SERVICE N'{other}_#' WITH ENCRYPTION = OFF;
             SELECT @g = conversation_group_id FROM sys.conversation_endpoints WHERE conversation_handle = @h;
             MOVE CONVERSATION @P1 TO @g"
        )
    };
    fixture.check(MOVE, sql).await
}

pub(super) async fn relate(fixture: &Fixture) -> Outcome {
    let sql = |state| {
        let (own, other) = sides(state);
        format!(
            "DECLARE @h uniqueidentifier;
             BEGIN DIALOG @h FROM SERVICE [{own}_#] TO SERVICE N'{other}_#'
                 WITH RELATED_CONVERSATION = @P1, ENCRYPTION = OFF"
        )
    };
    fixture.check(RELATE, sql).await
}
