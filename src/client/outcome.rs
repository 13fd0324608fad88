//! What became of each message of a request that sent several.
//!
//! Decodes the answer of `statements::send_batch`; knows no connection.

use super::error::{Error, ErrorKind, Result, ServerError};
use super::ids::ConversationHandle;
use super::rows::{Results, Row};
use super::session::Response;
use super::statements;

/// What became of one message of several.
#[derive(Clone, Debug)]
pub struct SendOutcome {
    index: usize,
    error: Option<Error>,
}

impl SendOutcome {
    pub(crate) fn sent(index: usize) -> Self {
        Self { index, error: None }
    }

    pub(crate) fn failed(index: usize, error: Error) -> Self {
        Self { index, error: Some(error) }
    }

    /// The position of the message in the call, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether the message was sent. Inside a transaction of the caller it leaves when that commits.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.error.is_none()
    }

    /// Why it was not sent.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Why it was not sent, as a result.
    ///
    /// # Errors
    /// The reason.
    pub fn into_result(self) -> Result<()> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The same outcome for the message at another position.
    pub(crate) fn at(self, index: usize) -> Self {
        Self { index, ..self }
    }
}

/// The answer of one request.
#[derive(Debug)]
pub(crate) struct SendAnswer {
    /// One for each message, in order.
    pub(crate) outcomes: Vec<SendOutcome>,
    /// The conversation they were sent on; `None` when it was to be begun and the transaction was rolled back.
    pub(crate) conversation: Option<ConversationHandle>,
    /// Whether the transaction can only be rolled back, or was.
    pub(crate) rolled_back: bool,
}

/// Reads the answer of a request that sent `count` messages.
///
/// # Errors
/// The server's error when the request failed as a whole, before or after the messages.
pub(crate) fn decode(count: usize, response: Response) -> Result<SendAnswer> {
    let mut answer = SendAnswer {
        outcomes: (0..count).map(SendOutcome::sent).collect(),
        conversation: None,
        rolled_back: false,
    };
    let concluded = read_rows(&mut answer, response.results)?;
    match response.error {
        // The server rolled the doomed transaction back at the end of the request; the messages are accounted for.
        Some(error) if error.kind() == ErrorKind::TransactionDoomed && concluded => answer.rolled_back = true,
        Some(error) => return Err(error),
        None if !concluded => {
            return Err(Error::new(
                ErrorKind::Protocol,
                "the server's answer to a batch of sends has no end",
            ));
        }
        None => {}
    }
    if answer.rolled_back {
        mark_rolled_back(&mut answer.outcomes);
    }
    Ok(answer)
}

/// Returns whether the last row was seen.
fn read_rows(answer: &mut SendAnswer, results: Results) -> Result<bool> {
    let mut concluded = false;
    for row in results.into_rows() {
        if let Ok(refused) = row.get::<i32>("refused") {
            return Err(refusal(refused));
        }
        if row.value("position").is_ok() {
            read_failure(answer, &row)?;
        } else {
            answer.rolled_back = row.get::<i32>("rolled_back")? != 0;
            answer.conversation = row.get("conversation_handle")?;
            concluded = true;
        }
    }
    Ok(concluded)
}

/// Why nothing was sent on a connection that is not ours.
fn refusal(reason: i32) -> Error {
    match reason {
        statements::DIALOG_OVER => {
            Error::new(ErrorKind::DialogOver, "nothing was sent: the dialog has ended or failed")
        }
        _ => Error::new(
            ErrorKind::Statement,
            "nothing was sent: the connection has no transaction open, so begin one first",
        ),
    }
}

fn read_failure(answer: &mut SendAnswer, row: &Row) -> Result<()> {
    let position: i32 = row.get("position")?;
    let number: i32 = row.get("error_number")?;
    let message: Option<String> = row.get("error_message")?;
    let error = Error::from_server(ServerError::new(number.unsigned_abs(), message.unwrap_or_default()));
    let index = usize::try_from(position).ok().filter(|index| *index < answer.outcomes.len());
    let index = index.ok_or_else(|| {
        Error::new(
            ErrorKind::Protocol,
            format!("the server reports a failure of message {position}, which was not sent"),
        )
    })?;
    answer.outcomes[index] = SendOutcome::failed(index, error);
    Ok(())
}

/// What was sent before the transaction was lost has not been sent.
pub(crate) fn mark_rolled_back(outcomes: &mut [SendOutcome]) {
    for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_sent()) {
        let error = Error::new(ErrorKind::TransactionDoomed, "not sent: the transaction was rolled back");
        *outcome = SendOutcome::failed(outcome.index, error);
    }
}

/// Which of the failures had the transaction rolled back; those behind it only say that it was doomed. `None` without a
/// failure.
pub(crate) fn cause_of_roll_back(outcomes: Vec<SendOutcome>) -> Option<Error> {
    let failures = outcomes.into_iter().filter_map(|outcome| outcome.into_result().err());
    failures.min_by_key(|error| (error.server().is_none(), error.kind() == ErrorKind::TransactionDoomed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::rows::ResultSet;
    use crate::client::values::SqlValue;

    fn failure(position: i32, number: i32) -> ResultSet {
        let columns = ["position", "error_number", "error_message", "transaction_state"].map(str::to_owned);
        let mut set = ResultSet::new(columns.to_vec());
        set.push(vec![position.into(), number.into(), "why".into(), 1.into()]);
        set
    }

    fn conclusion(rolled_back: i32) -> ResultSet {
        let mut set = ResultSet::new(vec!["rolled_back".into(), "conversation_handle".into()]);
        set.push(vec![rolled_back.into(), SqlValue::Uuid(uuid::Uuid::from_u128(9))]);
        set
    }

    fn response(sets: Vec<ResultSet>, error: Option<Error>) -> Response {
        Response { results: Results::new(sets, Vec::new()), error }
    }

    fn numbers(answer: &SendAnswer) -> Vec<Option<u32>> {
        answer.outcomes.iter().map(|outcome| outcome.error().and_then(Error::server_number)).collect()
    }

    #[test]
    fn each_message_gets_its_own_outcome() {
        let answer = decode(3, response(vec![failure(1, 8431), conclusion(0)], None)).unwrap();
        assert_eq!(numbers(&answer), [None, Some(8431), None]);
        assert_eq!(answer.outcomes.iter().filter(|outcome| outcome.is_sent()).count(), 2);
        assert_eq!(answer.conversation.unwrap().as_uuid().as_u128(), 9);
    }

    #[test]
    fn after_a_roll_back_no_message_counts_as_sent() {
        let sets = vec![failure(1, 1205), failure(2, 3930), conclusion(1)];
        let answer = decode(3, response(sets, None)).unwrap();
        assert!(answer.rolled_back && answer.outcomes.iter().all(|outcome| !outcome.is_sent()));
        assert_eq!(numbers(&answer), [None, Some(1205), Some(3930)]);
        assert_eq!(answer.outcomes[0].error().unwrap().kind(), ErrorKind::TransactionDoomed);
    }

    #[test]
    fn a_roll_back_by_the_server_at_the_end_of_the_request_is_a_roll_back() {
        let doomed = Error::from_server(ServerError::new(3998, "doomed"));
        let answer = decode(1, response(vec![failure(0, 9615), conclusion(1)], Some(doomed))).unwrap();
        assert!(answer.rolled_back);
    }

    #[test]
    fn a_request_that_failed_as_a_whole_is_an_error() {
        let refused = || Error::from_server(ServerError::new(8423, "no service"));
        assert_eq!(decode(2, response(vec![], Some(refused()))).unwrap_err().server_number(), Some(8423));
        assert_eq!(decode(2, response(vec![], None)).unwrap_err().kind(), ErrorKind::Protocol);
        assert!(decode(1, response(vec![failure(5, 8431), conclusion(0)], None)).is_err());
    }

    #[test]
    fn the_cause_of_a_roll_back_is_the_first_failure_that_says_more_than_doomed() {
        let failed = |(index, number): (usize, &u32)| {
            SendOutcome::failed(index, Error::from_server(ServerError::new(*number, "")))
        };
        let cause = |numbers: &[u32]| {
            let cause = cause_of_roll_back(numbers.iter().enumerate().map(failed).collect());
            cause.and_then(|error| error.server_number())
        };
        assert_eq!(cause(&[3930, 1205, 3930]), Some(1205));
        assert_eq!(cause(&[9615, 8432]), Some(9615));
        assert_eq!(cause(&[3930]), Some(3930));
        assert_eq!(cause(&[]), None);
    }
}
