//! Which errors have pending messages sent again and which never (case C040), and what a side hears whose peer was cleaned
//! away (case C050).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::server_codes::{Advice, lookup};
use ssbroker::client::{
    Body, ConversationState, Delivery, ErrorBody, Handler, HandlerError, MessageKind, MessageTypeName,
    OutgoingMessage, PoisonAction, PoisonPolicy, PoolOptions, QueueName, Repair,
};

use super::stage::Stage;
use super::work::drain;

/// The peer or its state is gone; -9720 is -9719 seen from the other side (specification section 2.12).
const GONE: [i32; 5] = [-8489, -8462, -9719, -9720, -28052];
/// The two sides do not agree.
const DISAGREE: [i32; 10] = [-8494, -8490, -8425, -8408, -8428, -8498, -8430, -8457, -8437, -9616];
/// The peer's objects were changed.
const CHANGED: [i32; 3] = [-8470, -8487, -8469];

/// Two messages of different types, one of them without a body, are pending on a dialog that fails with a code. A reader
/// hands the Error message to the pool. Answers the error as it was read, and what the pool did.
async fn fail_with_two_pending(stage: &Stage, code: i32, options: PoolOptions) -> (ErrorBody, Repair) {
    let pool = stage.pool(options.width(1));
    stage.target_takes_messages(false).await;
    let end = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let messages = [stage.objects.message("first"), OutgoingMessage::new(end, Body::empty())];
    let sent = pool.send(&stage.objects.destination(), &messages).await.unwrap();
    assert!(sent.iter().all(|outcome| outcome.is_sent()));
    stage.fail_all(code.unsigned_abs()).await;
    let mut reader = stage.reader().await;
    let mut batch = reader.next().await.unwrap();
    let message = batch.take_messages().remove(0);
    let MessageKind::Error(error) = message.kind.clone() else { panic!("{message:?}") };
    let repair = pool.on_error(&mut batch, &message).await.unwrap();
    batch.commit().await.unwrap();
    stage.target_takes_messages(true).await;
    (error, repair)
}

/// What arrived: sequence number, type and body of each.
async fn arrived(stage: &Stage) -> Vec<(i64, String, Vec<u8>)> {
    let received = stage.objects.take(&stage.objects.target_queue).await;
    received
        .into_iter()
        .map(|message| (message.sequence_number, message.message_type, message.body.into_bytes()))
        .collect()
}

/// One dialog of our side is left, and it is an open one: the failed one was ended.
async fn assert_only_the_successor_is_left(stage: &Stage) {
    let states = "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1";
    assert_eq!((stage.number(states).await, stage.open_dialogs().await.len()), (1, 1));
}

async fn assert_resent(code: i32, options: PoolOptions) {
    let stage = Stage::start().await;
    let (error, repair) = fail_with_two_pending(&stage, code, options).await;
    assert_eq!((error.code, repair), (code, Repair::Done { resent: 2, unsent: 0 }));
    let (request, end) = (stage.objects.request.clone(), stage.objects.end_of_stream.clone());
    assert_eq!(arrived(&stage).await, [(0, request, b"first".to_vec()), (1, end, Vec::new())], "{code}");
    assert_only_the_successor_is_left(&stage).await;
    assert_eq!(stage.unsent().await, []);
}

async fn assert_not_resent(code: i32) {
    let stage = Stage::start().await;
    let (error, repair) = fail_with_two_pending(&stage, code, PoolOptions::default()).await;
    assert_eq!((error.code, repair), (code, Repair::Done { resent: 0, unsent: 2 }));
    assert!(!error.is_resendable() && !error.is_from_peer());
    assert_eq!(stage.number(&format!("SELECT COUNT(*) FROM [{}]", stage.objects.target_queue)).await, 0);
    let unsent = [(Some(code), "first".to_owned()), (Some(code), String::new())];
    assert_eq!(stage.unsent().await, unsent, "kept with the code");
    let left = "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1";
    assert_eq!(stage.number(left).await, 0, "the dialog was ended");
}

#[tokio::test]
async fn c040_what_was_pending_when_the_peer_was_gone_is_sent_again_as_it_was_and_in_order() {
    for code in GONE {
        assert_resent(code, PoolOptions::default()).await;
    }
}

/// The permanent error is the Error message as the reader has it: it names who has to correct what.
#[tokio::test]
async fn c040_after_a_disagreement_nothing_is_sent_again_and_the_error_says_what_to_correct() {
    for code in DISAGREE {
        assert_not_resent(code).await;
        let error = ErrorBody::read(&Body::utf8(format!("<Error><Code>{code}</Code></Error>")));
        let advice = error.advice().unwrap();
        assert!(
            matches!(advice, Advice::FixSetup | Advice::FixCall | Advice::FixGrant),
            "{code}: {advice:?}"
        );
        assert!(lookup(code.unsigned_abs()).is_some_and(|row| row.advice == advice));
    }
}

#[tokio::test]
async fn c040_after_changed_objects_the_caller_decides_and_otherwise_nothing_is_sent_again() {
    for code in CHANGED {
        assert_not_resent(code).await;
        assert_resent(code, PoolOptions::default().also_resend([code])).await;
    }
}

/// Hears errors.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<ErrorBody>>>);

impl Handler for Listener {
    async fn handle(&self, _delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(())
    }

    async fn on_error(&self, _delivery: &mut Delivery<'_>, error: &ErrorBody) -> Result<(), HandlerError> {
        self.0.lock().unwrap().push(error.clone());
        Ok(())
    }
}

#[tokio::test]
async fn c040_a_code_of_the_peers_program_is_handed_to_the_user() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    let taken = stage.objects.take(&stage.objects.target_queue).await;
    stage.objects.broker.attach(taken[0].conversation).end_with_error(8489, "not again").await.unwrap();
    let queue = QueueName::in_schema("dbo", &*stage.objects.initiator_queue).unwrap();
    let listener = Listener::default();
    let worker = stage.objects.broker.worker(queue, listener.clone());
    drain(worker.poison(PoisonPolicy::new(1, PoisonAction::EndConversation))).await;
    let heard = listener.0.lock().unwrap().clone();
    assert_eq!((heard[0].code, heard[0].description.as_str()), (8489, "not again"));
    assert!(heard[0].is_from_peer() && !heard[0].is_resendable() && heard[0].advice().is_none());
}

/// FIX-2: two databases. That nothing in the library can clean away is checked by `tests/architecture`.
#[tokio::test]
async fn c050_a_side_whose_peer_was_cleaned_away_notices_with_its_next_message_only() {
    let stage = Stage::start().await;
    let far = stage.far_database().await;
    let objects = &stage.objects;
    let builder = objects.broker.dialog(&*objects.initiator, "//far").contract(&*objects.contract);
    let (dialog, _) = builder.begin_with(&[objects.message("1")]).await.unwrap();
    let rows = far.batch("SELECT conversation_handle FROM sys.conversation_endpoints").await.unwrap();
    let target: ssbroker::client::ConversationHandle = rows.first_row().unwrap().get(0).unwrap();
    far.batch(&format!("END CONVERSATION '{target}' WITH CLEANUP")).await.unwrap();
    let heard = format!("SELECT COUNT(*) FROM [{}]", objects.initiator_queue);
    let status = objects.broker.delivery_status(dialog.handle()).await.unwrap();
    assert_eq!((status.state, status.pending), (Some(ConversationState::Conversing), Some(0)));
    assert_eq!(stage.number(&heard).await, 0, "nobody was told");
    dialog.send(&*objects.request, Body::utf8("2")).await.unwrap();
    let mut reader = stage.reader().await;
    let batch = reader.next_within(Duration::from_secs(60)).await.unwrap().unwrap();
    let MessageKind::Error(error) = &batch.messages()[0].kind else { panic!("{batch:?}") };
    assert_eq!((error.code, error.is_resendable()), (-8462, true));
    batch.commit().await.unwrap();
    dialog.end().await.unwrap();
    let left = "SELECT COUNT(*) FROM sys.conversation_endpoints";
    assert_eq!(stage.number(left).await, 0);
}
