//! What the cases about connections share: receivers that wait, a question with a known answer, the server's sessions.

use std::time::Duration;

use ssbroker::client::{Broker, BrokerOptions, Receiver, SqlValue};
use ssbroker_emulator::Emulator;

use super::objects::Objects;

/// A broker without encryption, so that what a test measures is not the handshake.
pub(super) async fn broker(
    emulator: &Emulator,
    change: impl FnOnce(BrokerOptions) -> BrokerOptions,
) -> Broker {
    Broker::with_options(change(plain(&emulator.connection_string("msdb")))).await.unwrap()
}

/// The options of a connection string, without encryption.
pub(super) fn plain(connection_string: &str) -> BrokerOptions {
    connection_string.replace("Encrypt=false", "Encrypt=danger_plaintext").parse().unwrap()
}

/// Asks for a number; an answer that belongs to somebody else's question shows.
pub(super) async fn number(broker: &Broker, number: i32) -> i32 {
    let results = broker.execute("SELECT @P1 AS number", &[SqlValue::I32(number)]).await.unwrap();
    results.first_row().unwrap().get("number").unwrap()
}

/// How many sessions the server has, that of the question included.
pub(super) async fn sessions(broker: &Broker) -> i32 {
    let sql = "SELECT COUNT(*) AS n FROM sys.dm_exec_sessions WHERE is_user_process = 1";
    broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
}

/// Waits until the server has no more sessions than these.
pub(super) async fn until_sessions(broker: &Broker, most: i32) {
    let ended = async {
        while sessions(broker).await > most {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.expect("a session stays on the server");
}

/// Receivers of the target queue that wait at the server.
pub(super) async fn waiting_receivers(objects: &Objects, count: usize) -> Vec<Receiver> {
    let mut receivers = Vec::new();
    for _ in 0..count {
        let mut receiver = objects.broker.receive(objects.queue()).open().await.unwrap();
        assert!(receiver.next_within(Duration::from_millis(5)).await.unwrap().is_none());
        receivers.push(receiver);
    }
    receivers
}
