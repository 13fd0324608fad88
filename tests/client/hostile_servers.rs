//! Case C128: servers that answer nonsense. Every answer is an error in time or a value, and never a panic; memory stays small.
//!
//! Answers of the embedded broker are recorded and played back cut short, changed byte by byte, without an end or for ever.
//! What may come before a login is also tested beside the code that connects, with random bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ssbroker::client::{Broker, BrokerOptions, ErrorKind, QueueName, Result};
use tokio::io::AsyncReadExt;

use super::connections::plain;
use super::fake_server::{Ending, FakeServer, LARGEST, Message, Recording, Script, unencrypted};
use super::objects::Objects;
use super::soaks::random::Random;
use super::work::{child_test, memory};
use crate::support::{Backend, Embedded};

/// Values of many types with and without a fixed length, then an information and an error.
const QUESTION: &str = "SELECT N'text' AS t, CAST(N'a' AS nvarchar(max)) AS l, CAST(0x01 AS varbinary(max)) AS b, CAST('<a/>' AS xml) \
     AS x, NEWID() AS id, SYSUTCDATETIME() AS m, CAST(1.25 AS decimal(9, 2)) AS d, CAST(NULL AS bigint) AS n, CAST(1 AS bit) AS f; \
     PRINT 'information'; RAISERROR('the end', 16, 1)";

/// What a client that asks the question through this port of the machine is told.
async fn ask(options: BrokerOptions) -> Result<()> {
    let broker = Broker::with_options(options).await?;
    broker.batch(QUESTION).await.map(drop)
}

fn through(connection_string: &str, from: u16, to: u16) -> String {
    connection_string.replace(&format!(",{from}"), &format!(",{to}"))
}

async fn recorded() -> Recording {
    let embedded = Embedded::start().await;
    let address = embedded.emulator.address();
    let mut all = Recording::of(address, async |port| {
        let there = through(&embedded.connection_string(), address.port(), port);
        assert_eq!(ask(plain(&there)).await.unwrap_err().server_number(), Some(50_000));
    })
    .await;
    all.remove(0)
}

/// A way to damage an answer.
struct Damage {
    how: &'static str,
    bytes: Vec<u8>,
    /// Nothing comes after it on this connection.
    is_last: bool,
    /// What is left can be no answer.
    is_error: bool,
}

/// The answer damaged at this place, in every way there is.
fn damaged(answer: &Message, at: usize) -> Vec<Damage> {
    let content = &answer.content;
    let whole = answer.in_packets(LARGEST);
    let cut = whole[..whole.len() - content.len() + at].to_vec();
    let short = answer.with(content[..at].to_vec()).in_packets(LARGEST);
    let mut ways = vec![
        Damage { how: "the stream ends", bytes: cut, is_last: true, is_error: true },
        Damage { how: "the message ends", bytes: short, is_last: true, is_error: false },
    ];
    let changes: [(&str, &[u8]); 5] = [
        ("all bits", &[!content[at]]),
        ("one bit", &[content[at] ^ 1]),
        ("longest of two bytes", &[0xff; 2]),
        ("longest of eight bytes", &[0xff; 8]),
        ("nearly the longest", &[0xfd, 0xff, 0xff, 0x7f]),
    ];
    for (how, new) in changes {
        let mut content = content.clone();
        content.iter_mut().skip(at).zip(new).for_each(|(old, new)| *old = *new);
        let bytes = answer.with(content).in_packets(LARGEST);
        ways.push(Damage { how, bytes, is_last: false, is_error: false });
    }
    ways
}

/// What a client makes of a script. A panic or a call that does not end fails the test.
async fn outcome(
    server: &FakeServer,
    script: Script,
    limits: fn(BrokerOptions) -> BrokerOptions,
    shown: &str,
) -> Result<()> {
    server.follow([script]).await;
    let asking = tokio::spawn(ask(limits(server.options())));
    let asked = tokio::time::timeout(Duration::from_secs(60), asking).await;
    asked.unwrap_or_else(|_| panic!("{shown}: no end")).unwrap_or_else(|panic| panic!("{shown}: {panic}"))
}

/// What is waited for in vain is given up soon, be it for the login or for the question.
fn soon(options: BrokerOptions) -> BrokerOptions {
    let limit = Duration::from_millis(100);
    options.with_connect_timeout(limit).with_command_timeout(limit)
}

#[tokio::test]
async fn c128_an_answer_damaged_anywhere_is_an_error_or_a_value_and_never_a_panic() {
    let (recording, server) = (recorded().await, FakeServer::start().await);
    let (mut rounds, mut errors, begun) = (0, 0, Instant::now());
    for (part, answer) in recording.answers.iter().enumerate() {
        for at in 0..answer.content.len() {
            for Damage { how, bytes, is_last, is_error } in damaged(answer, at) {
                let mut script = recording.script();
                script.parts[part] = bytes;
                if is_last || part >= SETTINGS {
                    script.parts.truncate(part + 1);
                }
                let shown = format!("answer {part}, byte {at}, {how}");
                let outcome = outcome(&server, script, soon, &shown).await;
                let is_undamaged = outcome.as_ref().is_err_and(|error| error.server_number() == Some(50_000));
                assert!(!is_undamaged || !is_error, "{shown}: {outcome:?}");
                errors += usize::from(outcome.is_err() && !is_undamaged);
                rounds += 1;
            }
        }
    }
    println!("C128: {rounds} damaged answers, {errors} errors, {:?}", begun.elapsed());
    assert!(errors > rounds / 3);
}

/// The answer to the library's first statement, after which nothing of the handshake is left to go wrong.
const SETTINGS: usize = 2;

/// Case C128, before the login: what is said in the name of TLS.
#[tokio::test]
async fn c128_damage_to_a_tls_handshake_is_an_error() {
    let embedded = Embedded::start().await;
    let address = embedded.emulator.address();
    let encrypted = |port| {
        let there = through(&embedded.connection_string(), address.port(), port);
        let there = there.replace("Encrypt=false", "Encrypt=true;TrustServerCertificate=true");
        there.parse::<BrokerOptions>().unwrap().with_connect_timeout(Duration::from_millis(500))
    };
    let recording = Recording::of(address, async |port| {
        // The recorder waits for whole messages, which the handshake has only at its beginning.
        ask(encrypted(port)).await.unwrap_err();
    })
    .await
    .remove(0);
    let (server, hello) = (FakeServer::start().await, &recording.answers[1]);
    let mut random = Random::new(0xC128);
    for at in 0..300 {
        let mut script = recording.script();
        let noise = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        let damages = damaged(hello, at * (hello.content.len() - 1) / 300);
        let changed = damages.into_iter().map(|damage| damage.bytes).nth(at % 7).unwrap();
        script.parts[1] = if at % 8 == 7 { hello.with(noise).in_packets(LARGEST) } else { changed };
        script.parts.truncate(2);
        server.follow([script]).await;
        let asked = tokio::spawn(ask(encrypted(server.port()))).await;
        let error = asked.unwrap_or_else(|panic| panic!("{at}: {panic}")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Tls | ErrorKind::Connect), "{at}: {error:?}");
    }
}

/// Case C128: an answer that does not come to its end, or that has none, costs the time limit and nothing else.
#[tokio::test]
async fn c128_an_answer_that_hangs_or_never_ends_is_given_up_at_the_time_limit() {
    const DONE: usize = 13;
    let (recording, server) = (recorded().await, FakeServer::start().await);
    for (part, answer) in recording.answers.iter().enumerate().take(QUESTION_PART + 1) {
        for ends in [Ending::Hangs, Ending::Repeats] {
            let mut script = recording.script();
            let content = &answer.content;
            script.parts.truncate(part + 1);
            script.parts[part] = match ends {
                Ending::Hangs => answer.with(content[..content.len() / 2].to_vec()).in_packets(LARGEST),
                _ => answer.with(content[..content.len() - DONE.min(content.len() / 2)].to_vec()).begun(),
            };
            script.ends = ends;
            let shown = format!("answer {part}, {ends:?}");
            let (limits, expected): (fn(_) -> _, _) = match part {
                QUESTION_PART => (impatient_question, [ErrorKind::CommitUnknown; 2]),
                _ => (soon, [ErrorKind::Connect, ErrorKind::Protocol]),
            };
            let error = outcome(&server, script, limits, &shown).await.unwrap_err();
            assert!(expected.contains(&error.kind()), "{shown}: {error:?}");
        }
    }
}

const QUESTION_PART: usize = 3;

/// The login has the time it takes.
fn impatient_question(options: BrokerOptions) -> BrokerOptions {
    options.with_command_timeout(Duration::from_millis(100))
}

/// Case C128: a login that is answered for ever is given up in time, and nothing of it is kept. Measured in a process of its
/// own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c128_an_endless_answer_to_a_login_takes_no_memory() {
    let (recording, server) = (recorded().await, FakeServer::start().await);
    let mut script = recording.script();
    let login = &recording.answers[1];
    script.parts.truncate(2);
    script.parts[1] = login.with(login.content[..login.content.len() - 13].to_vec()).begun();
    script.ends = Ending::Repeats;
    server.follow([script]).await;
    let mut child = child_test("client::hostile_servers::endless_login", PORT, &server.port().to_string());
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{said}");
    let growth: usize = said.split("growth=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    println!("C128: an endless login took {} KiB", growth >> 10);
    assert!(growth < 16 << 20, "{growth}");
}

const PORT: &str = "SSBROKER_TEST_ENDLESS_LOGIN";

/// Not a test: the process whose memory is measured.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn endless_login() {
    let Ok(port) = std::env::var(PORT) else { return };
    let options = unencrypted(port.parse().unwrap()).with_connect_timeout(Duration::from_secs(1));
    let before = memory("VmRSS");
    let error = ask(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error:?}");
    println!("growth={};", memory("VmHWM") - before);
}

/// Case C128 for a receiver: a malformed answer is a lost connection; the next one brings the message.
#[tokio::test]
async fn c128_a_receiver_connects_anew_after_a_malformed_answer() {
    let embedded = Arc::new(Embedded::start().await);
    let address = embedded.emulator.address();
    let objects = Objects::create(Arc::clone(&embedded) as Arc<dyn Backend>).await;
    let _dialog = objects.begin_with(&["a"]).await;
    let recording = Recording::of(address, async |port| {
        let there = through(&embedded.connection_string(), address.port(), port);
        assert_eq!(first_text(plain(&there), objects.queue()).await, "a");
    })
    .await;
    let (server, good) = (FakeServer::start().await, recording[1].script());
    let received = &recording[1].answers[RECEIVE_PART];
    let mut rounds = 0;
    for at in (0..received.content.len()).step_by(5) {
        for Damage { how, bytes, is_error, .. } in damaged(received, at) {
            let mut script = good.clone();
            script.parts.truncate(RECEIVE_PART + 1);
            script.parts[RECEIVE_PART] = bytes;
            server.follow([recording[0].script(), script, good.clone()]).await;
            let asked = tokio::spawn(received_text(server.options(), objects.queue()));
            let asked = tokio::time::timeout(Duration::from_secs(30), asked).await;
            let outcome = asked.unwrap_or_else(|_| panic!("byte {at}, {how}: no end")).unwrap();
            assert!(!is_error || outcome.as_ref().is_ok_and(|text| text == "a"), "{at}, {how}: {outcome:?}");
            let died = outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Closed);
            assert!(!died, "{at}, {how}: the task of the receiver panicked");
            rounds += 1;
        }
    }
    println!("C128: {rounds} damaged answers to a receiver");
    assert!(rounds > 500);
}

/// Of the receiver's own connection: two for the login, then settings and which broker it is.
const RECEIVE_PART: usize = 4;

async fn first_text(options: BrokerOptions, queue: QueueName) -> String {
    received_text(options, queue).await.unwrap()
}

async fn received_text(options: BrokerOptions, queue: QueueName) -> Result<String> {
    let broker = Broker::with_options(options).await?;
    let mut receiver = broker.receive(queue).open().await?;
    let batch = receiver.next().await?;
    Ok(String::from_utf8_lossy(batch.messages()[0].body.as_bytes()).into_owned())
}
