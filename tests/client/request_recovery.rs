//! Recovery handlers of requesters whose failures end the receiving transaction at the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ssbroker::client::{Delivery, Handler, HandlerError, PoisonAction, PoisonPolicy};

use super::requests::{objects, text};

/// A handler whose error ends the transaction at the server. The server switches a queue off after five roll backs.
#[derive(Clone)]
struct Dooming(Arc<AtomicUsize>);

impl Handler for Dooming {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        delivery.execute("SELECT CONVERT(int, N'x')", &[]).await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_recovery_handler_that_dooms_its_transaction_is_tried_as_often_as_allowed_and_not_until_the_queue_is_off()
 {
    let objects = objects().await;
    crate::support::run_script(&objects.broker, include_str!("../../sql/05-dead-letters.sql")).await;
    let _service = objects.serve().await;
    for (action, parked) in [(PoisonAction::EndConversation, 0), (PoisonAction::Park, 1)] {
        let tries = Dooming(Arc::default());
        let builder = objects.broker.requester(&*objects.initiator, tries.clone());
        let requester = builder.poison(PoisonPolicy::new(3, action)).open().await.unwrap();
        drop(objects.ask(&requester, "a").post().await.unwrap());
        let sql = format!("SELECT COUNT(*) AS n FROM [{}]", objects.target_queue);
        objects.until(&sql, |waiting| waiting == 0).await;
        objects.until_nothing_is_open().await;
        assert_eq!(tries.0.load(Ordering::Relaxed), 3);
        let sql =
            "SELECT COUNT(*) AS n FROM ssbroker.dead_letters WHERE cause = N'interrupted' AND attempts = 3";
        objects.until(sql, |count| count == parked).await;
        assert_eq!(text(&objects.ask(&requester, "b").send().await.unwrap()), "b");
    }
}
