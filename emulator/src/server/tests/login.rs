//! PRELOGIN, TLS and LOGIN7.

use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;

use super::client::{BATCH, END, LOGIN, TestClient, TestServer, tls_handshake};
use crate::output::Change;
use crate::server::Encryption;
use crate::tds::prelogin::EncryptionOption;
use crate::tds::token::{Done, EnvChange, Token};
use crate::tls::ServerTls;

#[tokio::test]
async fn an_accepted_login_is_answered_as_clients_expect() {
    let mut server = TestServer::start(Encryption::Unsupported);
    let mut client = TestClient::new(server.stream.take().unwrap());
    let answer = client.prelogin(EncryptionOption::Off).await;
    assert_eq!((answer.encryption, answer.federated_authentication), (EncryptionOption::NotSupported, None));
    let tokens = client.login("secret").await;
    let database = Change::Database { old: "master".into(), new: "db1".into() };
    assert_eq!(tokens[0], Token::EnvChange(EnvChange::Session(database)));
    assert!(tokens.contains(&Token::EnvChange(EnvChange::PacketSize(4096, 8000))));
    assert!(tokens.iter().any(|token| matches!(token, Token::EnvChange(EnvChange::Collation(_)))));
    assert!(
        tokens.iter().any(|token| matches!(token, Token::LoginAck(ack) if ack.tds_version == 0x7400_0004))
    );
    assert!(tokens.iter().any(|token| matches!(token, Token::Features(features) if features.len() == 1)));
    assert!(matches!(tokens.last(), Some(Token::Done(done)) if done.status == 0));
    assert_eq!(server.seen.lines(), ["login sa db1"]);
    assert_eq!(server.options.counters.logins.load(Ordering::Relaxed), 1);
    assert_eq!(server.options.counters.connections_open.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_refused_login_is_told_why_and_the_connection_ends() {
    let mut server = TestServer::start(Encryption::Unsupported);
    let mut client = TestClient::new(server.stream.take().unwrap());
    client.prelogin(EncryptionOption::NotSupported).await;
    let tokens = client.login("wrong").await;
    assert!(matches!(&tokens[0], Token::Error(error) if (error.number, error.severity) == (18456, 14)));
    assert!(matches!(&tokens[1], Token::Done(done) if done.status == Done::ERROR));
    assert_eq!(tokens.len(), 2);
    assert!(client.reply().await.is_none());
    server.task.await.unwrap();
    assert_eq!(server.options.counters.connections_open.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_login_of_an_old_protocol_is_told_why() {
    let mut server = TestServer::start(Encryption::Unsupported);
    let mut client = TestClient::new(server.stream.take().unwrap());
    client.prelogin(EncryptionOption::NotSupported).await;
    let mut old = vec![0; 94];
    old[4..8].copy_from_slice(&0x7100_0001_u32.to_le_bytes());
    client.send_packet(LOGIN, END, &old).await;
    let tokens = client.reply().await.unwrap();
    assert!(matches!(&tokens[0], Token::Error(error) if error.message.contains("TDS 7.4")));
}

#[tokio::test]
async fn a_message_of_another_phase_or_a_long_one_ends_the_connection_before_the_login() {
    for (kind, length) in [(BATCH, 10), (LOGIN, 10), (0x12, 5000)] {
        let mut server = TestServer::start(Encryption::Unsupported);
        let mut client = TestClient::new(server.stream.take().unwrap());
        client.send_packet(kind, END, &vec![0; length]).await;
        assert!(client.reply().await.is_none());
        server.task.await.unwrap();
    }
}

#[tokio::test]
async fn everything_is_encrypted_when_client_and_server_want_it() {
    let tls = ServerTls::self_signed(&[]).unwrap();
    let mut server = TestServer::start(Encryption::Offered(tls.clone()));
    let mut client = TestClient::new(server.stream.take().unwrap());
    assert_eq!(client.prelogin(EncryptionOption::On).await.encryption, EncryptionOption::On);
    let mut client = TestClient::new(tls_handshake(client.stream, &tls).await);
    assert!(matches!(client.login("secret").await[0], Token::EnvChange(_)));
    client.batch("rows 3000").await;
    assert_eq!(client.reply().await.unwrap().len(), 3002);
}

#[tokio::test]
async fn only_the_login_is_encrypted_when_both_say_off() {
    let tls = ServerTls::self_signed(&[]).unwrap();
    let mut server = TestServer::start(Encryption::Offered(tls.clone()));
    let mut client = TestClient::new(server.stream.take().unwrap());
    assert_eq!(client.prelogin(EncryptionOption::Off).await.encryption, EncryptionOption::Off);
    let mut client = TestClient::new(tls_handshake(client.stream, &tls).await);
    client.send_login("secret").await;
    client.stream.flush().await.unwrap();
    let mut client = TestClient::new(client.stream.into_inner().0.into_inner());
    // The request follows the encrypted login at once, so that reading too much of the latter would lose it.
    client.batch("rows 2").await;
    assert!(matches!(client.reply().await.unwrap()[0], Token::EnvChange(_)));
    assert_eq!(client.reply().await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_client_without_encryption_is_sent_away_where_it_is_required() {
    let tls = ServerTls::self_signed(&[]).unwrap();
    let mut server = TestServer::start(Encryption::Required(tls));
    let mut client = TestClient::new(server.stream.take().unwrap());
    let answer = client.prelogin(EncryptionOption::NotSupported).await;
    assert_eq!(answer.encryption, EncryptionOption::Required);
    assert!(client.reply().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_log_in_is_disconnected() {
    let mut server = TestServer::start(Encryption::Unsupported);
    let mut client = TestClient::new(server.stream.take().unwrap());
    client.prelogin(EncryptionOption::NotSupported).await;
    assert!(client.reply().await.is_none(), "the login timeout passes on the paused clock");
    server.task.await.unwrap();
}
