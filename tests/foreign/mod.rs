//! Clients this project did not write, as judges of the embedded broker: the smoke scripts of pymssql, python-tds and
//! mssql-python, in plain text and with full TLS, and a conversation between one of them and a Rust worker.
//!
//! They lie beside the project in `../shared/clients`, once installed. Where they are missing these tests say so and count
//! as skipped; `REQUIRE_FOREIGN_CLIENTS=1` makes that a failure, as in the project's own gate.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use ssbroker::client::{Broker, MessageTypeName, QueueName, handler_fn};
use tokio::process::Command;

use crate::support::{Backend, Embedded, run_script};

const OBJECTS: &str = include_str!("../../sql/02-objects.sql");
const DEAD_LETTERS: &str = include_str!("../../sql/05-dead-letters.sql");

#[tokio::test(flavor = "multi_thread")]
async fn pymssql_passes_in_plain_text_and_with_tls() {
    smoke("pymssql", &[&["--tls", "off"], &["--tls", "on"]]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_tds_passes_in_plain_text_and_with_tls() {
    // With TLS it wants to be given the certificate. Its own check of the host name does not work with the OpenSSL
    // binding it installs, hence `--trust`.
    smoke("pytds", &[&["--tls", "off"], &["--tls", "on", "--ca", "CERTIFICATE", "--trust"]]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mssql_python_passes_in_plain_text_and_with_tls() {
    smoke("mssql-python", &[&["--tls", "off"], &["--tls", "on", "--trust"]]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rust_worker_answers_a_python_client() {
    let Some(python) = installed().map(|cache| cache.join("python/bin/python")) else { return };
    let (embedded, broker) = broker_with_objects().await;
    run_script(&broker, DEAD_LETTERS).await;
    let reply = MessageTypeName::new("//ssbroker/digest/Reply").unwrap();
    let handler = handler_fn(move |delivery| {
        let reply = reply.clone();
        Box::pin(async move {
            let mut body = delivery.message().body.as_bytes().to_vec();
            body.reverse();
            delivery.reply(&reply, body).await?;
            Ok(())
        })
    });
    let worker = broker.worker(QueueName::in_schema("dbo", "DigestQueue").unwrap(), handler);
    let worker = tokio::spawn(worker.run(std::future::pending()));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/exchange.py");
    let output = Command::new(python)
        .arg(script)
        .arg(embedded.emulator.address().port().to_string())
        .env("SMOKE_PASSWORD", embedded.emulator.password())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.trim(), "20 replies");
    worker.abort();
}

/// Runs a client's smoke script once for each set of arguments; all steps must pass or be skipped by the script itself.
async fn smoke(client: &str, variants: &[&[&str]]) {
    if installed().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("server.pem");
    for variant in variants {
        let (embedded, _broker) = broker_with_objects().await;
        std::fs::write(&certificate, embedded.emulator.certificate_pem()).unwrap();
        let arguments: Vec<String> = variant
            .iter()
            .map(|argument| argument.replace("CERTIFICATE", certificate.to_str().unwrap()))
            .collect();
        let output = Command::new(clients().join("run"))
            .arg(client)
            .args(["--port", &embedded.emulator.address().port().to_string(), "--user", "sa"])
            .args(["--database", "msdb", "--contract", "//ssbroker/digest/Contract"])
            .args(["--from-service", "//ssbroker/digest/Client", "--to-service", "//ssbroker/digest/Service"])
            .args(["--message-type", "//ssbroker/digest/Request"])
            .args(["--queue", "[dbo].[DigestQueue]"])
            .args(&arguments)
            .env("SMOKE_PASSWORD", embedded.emulator.password())
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{client} {variant:?}: {}", said.lines().last().unwrap_or_default());
        assert!(
            output.status.success(),
            "{client} {variant:?}:\n{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(said.contains(" passed, 0 failed"), "{said}");
    }
}

async fn broker_with_objects() -> (Embedded, Broker) {
    let embedded = Embedded::start().await;
    let broker = Broker::connect(&embedded.connection_string()).await.unwrap();
    run_script(&broker, OBJECTS).await;
    (embedded, broker)
}

/// Where the smoke scripts lie.
fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/clients")
}

/// The folder the clients are installed in; says so when they are not.
fn installed() -> Option<PathBuf> {
    let chosen = std::env::var_os("SMOKE_CLIENTS_CACHE").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let cache = chosen.unwrap_or_else(|| home().join(".cache/tds-smoke-clients"));
    if clients().join("run").exists() && cache.join("python/bin/python").exists() {
        return Some(cache);
    }
    assert!(
        std::env::var_os("REQUIRE_FOREIGN_CLIENTS").is_none(),
        "the clients are required, but not installed"
    );
    println!("skipped: the clients of ../shared/clients are not there or not installed");
    None
}
