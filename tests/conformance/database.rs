//! What is done to the broker of a whole database: V-39 and V-40.

use uuid::Uuid;

use super::fixture::Fixture;
use super::message::Message;
use super::sql::Sql;
use super::vector::Outcome;

impl Fixture {
    async fn broker_guid(&self) -> Uuid {
        self.value("SELECT service_broker_guid FROM sys.databases WHERE database_id = DB_ID()", &[]).await
    }
}

pub(super) async fn a_new_broker_forgets_all_conversations(fixture: &Fixture) -> Outcome {
    let before = fixture.broker_guid().await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.run("ALTER DATABASE [db_#] SET NEW_BROKER WITH ROLLBACK IMMEDIATE", &[]).await;
    assert_ne!(fixture.broker_guid().await, before);
    assert_eq!(fixture.endpoints().await, []);
    assert_eq!((fixture.look("qa_#").await, fixture.look("qb_#").await), (vec![], vec![]));
    let again = fixture.begin().await;
    fixture.send(again, "m0").await;
    assert_eq!(fixture.wait("qb_#").await.len(), 1);
    Outcome::Passed
}

pub(super) async fn conversations_can_be_ended_with_an_error(fixture: &Fixture) -> Outcome {
    let before = fixture.broker_guid().await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.wait("qb_#").await.len(), 1);
    let sql = "ALTER DATABASE [db_#] SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE";
    fixture.run(sql, &[]).await;
    assert_eq!(fixture.broker_guid().await, before);
    for queue in ["qa_#", "qb_#"] {
        let told = fixture.wait(queue).await;
        assert_eq!(told.iter().map(Message::error_code).collect::<Vec<_>>(), [-9719], "{queue}");
    }
    Outcome::Passed
}
