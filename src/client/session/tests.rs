//! The clean, busy, broken rule of a session and of the pool, against a scripted server that speaks just enough TDS.

use tokio::net::TcpListener;

use super::testing::ScriptedServer;
use super::*;
use crate::client::pool::SessionPool;

/// Polls a request often enough to have it written, then drops it.
async fn drop_half_way(request: impl Future) {
    drop(tokio::time::timeout(Duration::from_millis(50), request).await);
}

#[tokio::test]
async fn a_request_that_was_dropped_leaves_the_session_unusable() {
    let mut session = ScriptedServer::start().await.session().await;
    drop_half_way(session.batch("HANG")).await;
    assert!(!session.is_clean());
    let error = session.batch("SELECT 1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
}

#[tokio::test]
async fn a_request_that_was_never_polled_does_not_matter() {
    let mut session = ScriptedServer::start().await.session().await;
    drop(session.batch("HANG"));
    session.batch("SELECT 1").await.unwrap();
    assert!(session.is_clean());
}

#[tokio::test]
async fn a_server_error_leaves_the_session_usable_unless_it_is_fatal() {
    let mut session = ScriptedServer::start().await.session().await;
    let error = session.batch("ERROR 8429 16").await.unwrap_err();
    assert!(error.dialog_is_over() && session.is_clean(), "{error:?}");
    session.batch("SELECT 1").await.unwrap();
    let error = session.batch("ERROR 99999 21").await.unwrap_err();
    assert!(error.is_connection_lost() && !session.is_clean(), "{error:?}");
}

#[tokio::test]
async fn a_closed_socket_is_a_lost_connection_and_during_a_commit_an_unknown_outcome() {
    let server = ScriptedServer::start().await;
    let mut session = server.session().await;
    let error = session.batch("CLOSE").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error:?}");
    let mut session = server.session().await;
    session.begin().await.unwrap();
    assert!(session.in_transaction());
    session.batch("LOSE").await.unwrap();
    let error = session.commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitUnknown, "{error:?}");
    assert!(!session.is_clean());
}

#[tokio::test]
async fn a_request_beyond_its_limit_fails_and_gives_the_session_up() {
    let mut session = ScriptedServer::start().await.session().await;
    session.set_request_timeout(Some(Duration::from_millis(20)));
    let error = session.batch("HANG").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(!session.is_clean());
}

#[tokio::test]
async fn every_request_is_counted() {
    let server = ScriptedServer::start().await;
    let counter = RequestCounter::default();
    let mut session = Session::connect(&server.options(), counter.clone()).await.unwrap();
    let set_up = counter.sent();
    session.begin().await.unwrap();
    session.save("here").await.unwrap();
    session.execute(&Statement::new("SELECT 1")).await.unwrap();
    session.rollback_to("here").await.unwrap();
    session.rollback_if_open().await.unwrap();
    assert!(!session.in_transaction());
    assert_eq!(counter.sent() - set_up, 5);
}

#[tokio::test]
async fn the_pool_reuses_a_clean_session_and_discards_any_other() {
    let server = ScriptedServer::start().await;
    let pool = SessionPool::new(server.options());
    pool.prove().await.unwrap();
    for _ in 0..3 {
        pool.get().await.unwrap().batch("SELECT 1").await.unwrap();
    }
    assert_eq!(server.logins(), 1);
    {
        let mut session = pool.get().await.unwrap();
        drop_half_way(session.batch("HANG")).await;
    }
    pool.get().await.unwrap().batch("SELECT 1").await.unwrap();
    assert_eq!(server.logins(), 2, "after a dropped request");
    pool.get().await.unwrap().begin().await.unwrap();
    pool.get().await.unwrap().batch("SELECT 1").await.unwrap();
    assert_eq!(server.logins(), 3, "after a transaction left open");
}

#[tokio::test]
async fn a_caller_waits_for_the_acquire_timeout_and_learns_why() {
    let server = ScriptedServer::start().await;
    let pool = SessionPool::new(server.options().with_acquire_timeout(Duration::from_millis(50)));
    let _taken = pool.get().await.unwrap();
    let exhausted = pool.get().await.unwrap_err();
    assert_eq!(exhausted.kind(), ErrorKind::PoolExhausted);
    assert!(exhausted.is_retryable() && !exhausted.is_connection_lost(), "{exhausted}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = BrokerOptions::new(&format!("127.0.0.1,{}", silent.local_addr().unwrap().port()), "u", "p");
    let pool = SessionPool::new(silent.unwrap().with_acquire_timeout(Duration::from_millis(50)));
    assert_eq!(pool.get().await.unwrap_err().kind(), ErrorKind::Timeout, "no connection is in use");
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let nobody = BrokerOptions::new(&format!("127.0.0.1,{unused}"), "u", "p").unwrap();
    let pool = SessionPool::new(nobody.with_acquire_timeout(Duration::from_millis(300)));
    let error = pool.get().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Connect), "{error:?}");
    assert!(error.to_string().contains(&unused.to_string()), "{error}");
}
