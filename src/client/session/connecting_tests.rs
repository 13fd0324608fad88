//! Connecting: redirection, tokens, named instances, the one time-out, and servers that answer nonsense.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use super::testing::{LoginReply, ScriptedServer};
use super::*;
use crate::client::options::{Encryption, TokenProvider};
use crate::client::pool::SessionPool;

async fn connect(options: &BrokerOptions) -> Result<Session> {
    Session::connect(options, RequestCounter::default()).await
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn holds(message: &[u8], part: &[u8]) -> bool {
    message.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn a_redirection_is_followed_once() {
    let target = ScriptedServer::start().await;
    let listener = ScriptedServer::answering(LoginReply::Routed(target.port)).await;
    connect(&listener.options()).await.unwrap();
    assert_eq!((listener.logins(), target.logins()), (1, 1));
    let twice = ScriptedServer::answering(LoginReply::Routed(listener.port)).await;
    let error = connect(&twice.options()).await.unwrap_err();
    assert!(error.to_string().contains("redirected twice"), "{error}");
}

struct Numbered(AtomicU64);

impl TokenProvider for Numbered {
    async fn token(&self) -> Result<String> {
        Ok(format!("token-{}", self.0.fetch_add(1, Ordering::SeqCst)))
    }
}

#[tokio::test]
async fn each_connection_logs_in_with_a_token_asked_for_anew() {
    let server = ScriptedServer::start().await;
    let options = server.options().with_token_provider(Numbered(AtomicU64::new(1)));
    connect(&options).await.unwrap();
    connect(&options).await.unwrap();
    let logins = server.login_messages();
    assert!(holds(&logins[0], &utf16("token-1")) && holds(&logins[1], &utf16("token-2")));
}

#[tokio::test]
async fn a_token_that_is_not_given_ends_the_attempt_with_its_reason() {
    struct Refusing;
    impl TokenProvider for Refusing {
        async fn token(&self) -> Result<String> {
            Err(Error::new(ErrorKind::LoginFailed, "the tenant is unknown"))
        }
    }
    let server = ScriptedServer::start().await;
    let error = connect(&server.options().with_token_provider(Refusing)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LoginFailed);
    assert!(error.to_string().contains("asking for an access token: the tenant is unknown"), "{error}");
    assert_eq!(server.logins(), 0);
}

#[tokio::test]
async fn the_connect_timeout_bounds_token_login_and_settings_together() {
    struct Never;
    impl TokenProvider for Never {
        async fn token(&self) -> Result<String> {
            std::future::pending().await
        }
    }
    let limit = Duration::from_millis(100);
    let silent = ScriptedServer::answering(LoginReply::AcceptedThenSilent).await;
    let accepting = ScriptedServer::start().await;
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mute_options =
        BrokerOptions::new(&format!("127.0.0.1,{}", mute.local_addr().unwrap().port()), "u", "p").unwrap();
    for options in [silent.options(), accepting.options().with_token_provider(Never), mute_options] {
        let begun = Instant::now();
        let error = connect(&options.with_connect_timeout(limit)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert!(error.to_string().contains("took longer than 100ms"), "{error}");
        assert!(begun.elapsed() < 5 * limit, "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn the_port_of_a_named_instance_is_asked_of_the_browser_service() {
    let server = ScriptedServer::start().await;
    let browser = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let browser_port = browser.local_addr().unwrap().port();
    let port = server.port;
    tokio::spawn(async move {
        let mut question = [0; 64];
        let (length, client) = browser.recv_from(&mut question).await.unwrap();
        assert_eq!(&question[..length], b"\x04ORDERS");
        let text = format!("ServerName;DB;InstanceName;ORDERS;IsClustered;No;Version;16.0.1;tcp;{port};;");
        let size = u16::try_from(text.len()).unwrap().to_le_bytes();
        browser.send_to(&[&[5], &size[..], text.as_bytes()].concat(), client).await.unwrap();
    });
    let mut options = BrokerOptions::new("127.0.0.1\\ORDERS", "u", "p").unwrap();
    options = options.with_encryption(Encryption::Never);
    options.browser_port = browser_port;
    connect(&options).await.unwrap();
    assert_eq!(server.logins(), 1);
}

#[tokio::test]
async fn a_browser_that_does_not_answer_is_told_with_the_way_around_it() {
    let nobody = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut options = BrokerOptions::new("127.0.0.1\\ORDERS", "u", "p").unwrap();
    options.browser_port = nobody.local_addr().unwrap().port();
    let error = connect(&options).await.unwrap_err();
    assert!(error.to_string().contains("write the port as 'host,port'"), "{error}");
}

#[tokio::test]
async fn the_number_of_retries_is_honoured() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let options = BrokerOptions::new(&format!("127.0.0.1,{closed}"), "u", "p").unwrap();
    for retries in [0, 2] {
        let options = options.clone().with_connect_retries(retries);
        let begun = Instant::now();
        let error = SessionPool::new(options).get().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect, "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{retries} retries took {:?}", begun.elapsed());
    }
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        (0..length).map(|_| (self.next() >> 24) as u8).collect()
    }
}

/// The answers of one hostile connection: a right PRELOGIN or nonsense, then tokens damaged somewhere.
fn hostile_answers(random: &mut Random) -> [Vec<u8>; 2] {
    let prelogin = vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2];
    let first = if random.next().is_multiple_of(4) { random.bytes(64) } else { prelogin };
    let mut second =
        vec![0xad, 20, 0, 1, 0x74, 0, 0, 4, 1, b'S', 0, 16, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0];
    match random.next() % 4 {
        0 => second = random.bytes(96),
        1 => second.truncate((random.next() % 24) as usize),
        2 => {
            let at = (random.next() % 24) as usize;
            second[at] = (random.next() >> 16) as u8;
        }
        _ => {
            let token =
                [0x81, 0xaa, 0xab, 0xe3, 0xae, 0xd1, 0xd2, 0xed, 0xac, 0xee][(random.next() % 10) as usize];
            second = [vec![token, 0xff, 0xff], random.bytes(48)].concat();
        }
    }
    [first, second]
}

fn packet(answer: &[u8]) -> Vec<u8> {
    let length = u16::try_from(answer.len() + 8).unwrap().to_be_bytes();
    [&[4, 1, length[0], length[1], 0, 0, 1, 0], answer].concat()
}

/// Serves one connection: each of the answers to one packet read, then the end of the stream.
async fn serve_hostile(listener: &TcpListener, answers: [Vec<u8>; 2]) -> std::io::Result<()> {
    let (mut socket, _) = listener.accept().await?;
    for answer in answers {
        let mut header = [0; 8];
        socket.read_exact(&mut header).await?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut body = vec![0; length.saturating_sub(8)];
        socket.read_exact(&mut body).await?;
        socket.write_all(&packet(&answer)).await?;
    }
    socket.shutdown().await
}

#[tokio::test]
async fn c128_a_malformed_reply_is_an_error_within_the_deadline_and_never_a_panic() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("127.0.0.1,{}", listener.local_addr().unwrap().port());
    let limit = Duration::from_secs(2);
    let options = BrokerOptions::new(&server, "u", "p")
        .unwrap()
        .with_encryption(Encryption::Never)
        .with_connect_timeout(limit);
    let mut random = Random(0x00C1_28C1_28C1_28C1);
    for round in 0..10_000 {
        let answers = hostile_answers(&mut random);
        let shown = format!("round {round}: {answers:02x?}");
        let begun = Instant::now();
        let (outcome, _) = tokio::join!(connect(&options), serve_hostile(&listener, answers));
        assert!(outcome.is_err(), "{shown}");
        assert!(begun.elapsed() < limit + Duration::from_secs(1), "{shown}: {:?}", begun.elapsed());
    }
}
