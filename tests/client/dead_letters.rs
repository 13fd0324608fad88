//! Dead letters: what a look at them shows, and the ways back.

use std::time::Duration;

use ssbroker::client::{DeadLetter, DeadLetterCause, PoisonAction, PoisonPolicy, RetrySchedule, handler_fn};

use super::objects::Objects;
use super::work::{drain, objects};

impl Objects {
    /// Parks these messages, each on a dialog of its own.
    async fn park(&self, texts: &[&str]) -> Vec<DeadLetter> {
        for text in texts {
            let _dialog = self.begin_with(&[text]).await;
        }
        let handler = handler_fn(|_delivery| Box::pin(async { Err("no use for it".into()) }));
        let policy = PoisonPolicy::new(1, PoisonAction::Park);
        drain(self.broker.worker(self.queue(), handler).poison(policy)).await;
        self.broker.dead_letters().list(Some(&self.queue()), 0, 100).await.unwrap()
    }
}

#[tokio::test]
async fn a_dead_letter_says_where_it_came_from_why_and_what_it_holds() {
    let objects = objects().await;
    let letters = objects.park(&["one", "two!"]).await;
    assert_eq!(letters.len(), 2);
    let letter = letters.iter().find(|letter| letter.body_length == 4).unwrap();
    assert_eq!((letter.cause, letter.attempts), (DeadLetterCause::Attempts, 1));
    assert_eq!((letter.reason.as_str(), letter.sequence_number), ("no use for it", 0));
    assert_eq!((&letter.service, &letter.contract), (&objects.target, &objects.contract));
    assert_eq!((&letter.message_type, letter.queue.as_str()), (&objects.request, &*objects.queue().quoted()));
    assert!(letter.body.is_none());
    let whole = objects.broker.dead_letters().get(letter.id).await.unwrap().unwrap();
    assert_eq!(whole.body.unwrap().as_bytes(), b"two!");
    let next = objects.broker.dead_letters().list(None, letters[0].id, 1).await.unwrap();
    assert_eq!(next[0].id, letters[1].id);
    assert!(objects.broker.dead_letters().get(letters[1].id + 1).await.unwrap().is_none());
}

#[tokio::test]
async fn a_letter_that_is_handed_back_goes_through_the_handler_on_its_old_conversation() {
    let objects = objects().await;
    let letters = objects.park(&["again"]).await;
    assert!(objects.broker.dead_letters().hand_back(letters[0].id).await.unwrap());
    assert!(!objects.broker.dead_letters().hand_back(letters[0].id).await.unwrap());
    let (echo, _) = objects.echo();
    let policy = PoisonPolicy::default().with_retries(RetrySchedule::default());
    drain(objects.broker.worker(objects.queue(), echo).poison(policy)).await;
    assert_eq!(objects.replies(1).await, ["again"]);
    assert_eq!((objects.rows("dead_letters").await, objects.rows("retries").await), (0, 0));
}

#[tokio::test]
async fn a_resurrected_letter_is_sent_on_a_new_dialog_and_removed_both_or_neither() {
    let objects = objects().await;
    let letters = objects.park(&["again"]).await;
    let (id, dead_letters) = (letters[0].id, objects.broker.dead_letters());
    let error = dead_letters.resurrect(id, "//no/such/service").await.unwrap_err();
    assert!(error.to_string().contains(&format!("dead letter {id}")), "{error}");
    assert_eq!(objects.rows("dead_letters").await, 1);
    let conversation = dead_letters.resurrect(id, &*objects.initiator).await.unwrap();
    assert_eq!((objects.rows("dead_letters").await, objects.waiting().await), (0, vec!["again".to_owned()]));
    objects.broker.attach(conversation).end().await.unwrap();
}

#[tokio::test]
async fn a_purge_removes_what_is_old_enough_and_nothing_else() {
    let objects = objects().await;
    let letters = objects.park(&["one", "two", "three"]).await;
    let dead_letters = objects.broker.dead_letters();
    assert_eq!(dead_letters.purge(None, Duration::from_secs(3600)).await.unwrap(), 0);
    assert!(dead_letters.remove(letters[0].id).await.unwrap());
    assert!(!dead_letters.remove(letters[0].id).await.unwrap());
    let other = ssbroker::client::QueueName::new("dbo.other").unwrap();
    assert_eq!(dead_letters.purge(Some(&other), Duration::ZERO).await.unwrap(), 0);
    assert_eq!(dead_letters.purge(Some(&objects.queue()), Duration::ZERO).await.unwrap(), 2);
}
