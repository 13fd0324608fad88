//! The clean, busy, broken rule of a session and of the pool, against a scripted server that speaks just enough TDS.

use std::sync::atomic::AtomicUsize;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::client::options::Encryption;
use crate::client::pool::SessionPool;

/// Answers a batch by the word in it: HANG never, CLOSE by closing, ERROR n class c with that error, anything else with
/// success. Commits are answered by closing when the last batch held LOSE.
struct ScriptedServer {
    port: u16,
    logins: Arc<AtomicUsize>,
}

impl ScriptedServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let logins = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&logins);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&counter)));
            }
        });
        Self { port, logins }
    }

    fn options(&self) -> BrokerOptions {
        let options = BrokerOptions::new(&format!("127.0.0.1,{}", self.port), "u", "p").unwrap();
        options.with_encryption(Encryption::Never).with_max_pool_size(1)
    }

    async fn session(&self) -> Session {
        Session::connect(&self.options(), RequestCounter::default()).await.unwrap()
    }

    fn logins(&self) -> usize {
        self.logins.load(Ordering::SeqCst)
    }
}

async fn serve(mut socket: TcpStream, logins: Arc<AtomicUsize>) {
    let mut lose_commit = false;
    while let Some((kind, payload)) = read_message(&mut socket).await {
        let answer = match kind {
            // Version and "encryption not supported".
            0x12 => vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2],
            0x10 => {
                logins.fetch_add(1, Ordering::SeqCst);
                [login_acknowledged(), done(0)].concat()
            }
            0x0e if lose_commit => return,
            0x01 => {
                let text = batch_text(&payload);
                lose_commit = text.contains("LOSE");
                match text.split_whitespace().collect::<Vec<_>>()[..] {
                    ["HANG"] => continue,
                    ["CLOSE"] => return,
                    ["ERROR", number, class] => {
                        [server_error(number.parse().unwrap(), class.parse().unwrap()), done(2)].concat()
                    }
                    _ => done(0),
                }
            }
            _ => done(0),
        };
        let mut packet = vec![4, 1];
        packet.extend(u16::try_from(answer.len() + 8).unwrap().to_be_bytes());
        packet.extend([0, 0, 1, 0]);
        packet.extend(answer);
        if socket.write_all(&packet).await.is_err() {
            return;
        }
    }
}

async fn read_message(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 8];
        socket.read_exact(&mut header).await.ok()?;
        let mut body = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])) - 8];
        socket.read_exact(&mut body).await.ok()?;
        payload.extend(body);
        if header[1] & 1 != 0 {
            return Some((header[0], payload));
        }
    }
}

fn batch_text(payload: &[u8]) -> String {
    let headers = u32::from_le_bytes(payload[..4].try_into().unwrap()) as usize;
    let units: Vec<u16> =
        payload[headers..].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

fn token(kind: u8, content: Vec<u8>) -> Vec<u8> {
    [vec![kind], u16::try_from(content.len()).unwrap().to_le_bytes().to_vec(), content].concat()
}

fn login_acknowledged() -> Vec<u8> {
    token(0xad, vec![1, 0x74, 0, 0, 4, 1, b'S', 0, 16, 0, 0, 0])
}

fn server_error(number: u32, class: u8) -> Vec<u8> {
    let mut content = number.to_le_bytes().to_vec();
    content.extend([1, class, 1, 0, b'E', 0, 0, 0, 1, 0, 0, 0]);
    token(0xaa, content)
}

fn done(status: u16) -> Vec<u8> {
    [vec![0xfd], status.to_le_bytes().to_vec(), vec![0; 10]].concat()
}

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
    assert_eq!(pool.get().await.unwrap_err().kind(), ErrorKind::Timeout);
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let nobody = BrokerOptions::new(&format!("127.0.0.1,{unused}"), "u", "p").unwrap();
    let pool = SessionPool::new(nobody.with_acquire_timeout(Duration::from_millis(300)));
    let error = pool.get().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Connect), "{error:?}");
    assert!(error.to_string().contains(&unused.to_string()), "{error}");
}
