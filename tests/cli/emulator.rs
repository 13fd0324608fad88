//! `ssbroker emulator`: first line, password, certificate, end by signal.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use ssbroker::client::Broker;

/// Kills and reaps the program whatever becomes of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(arguments: &[&str], password: Option<&str>) -> (Running, String, Option<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.arg("emulator").args(["--listen", "127.0.0.1:0"]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove("SSBROKER_EMULATOR_PASSWORD");
    if let Some(password) = password {
        command.env("SSBROKER_EMULATOR_PASSWORD", password);
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on ").unwrap().to_owned();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let remark = if password.is_none() { stderr.lines().next().map(Result::unwrap) } else { None };
    (Running(child), address, remark)
}

async fn select_one(address: &str, password: &str, rest: &str) {
    let server = address.replace(':', ",");
    let connection = format!("Server=tcp:{server};Database=master;User ID=sa;Password={password};{rest}");
    let broker = Broker::connect(&connection).await.unwrap();
    let results = broker.batch("SELECT 1 AS one").await.unwrap();
    assert_eq!(results.first_row().unwrap().get::<i32>("one").unwrap(), 1);
}

#[tokio::test]
async fn it_says_where_it_listens_and_takes_the_password_of_the_environment() {
    let (_running, address, _) = start(&[], Some("Ch0sen-by-me"));
    select_one(&address, "Ch0sen-by-me", "Encrypt=false").await;
}

#[tokio::test]
async fn without_a_password_it_prints_a_random_one_and_its_certificate_can_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.pem");
    let (_running, address, remark) = start(&["--certificate", file.to_str().unwrap()], None);
    let remark = remark.unwrap();
    let password = remark.strip_prefix("user sa, password ").unwrap();
    let trust = format!("Encrypt=true;ServerCertificate={}", file.display());
    select_one(&address, password, &trust).await;
}

#[test]
fn it_ends_well_on_sigterm() {
    let (mut running, _, _) = start(&[], Some("Ch0sen-by-me"));
    let pid = running.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_ssbroker"))
        .args(["emulator", "--listen", &address])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.starts_with(&format!("error: cannot listen on {address}: ")), "{said}");
}

#[tokio::test]
async fn it_starts_with_a_database_and_what_scripts_make_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let first = script("first.sql", "CREATE QUEUE q;\nGO\nCREATE SERVICE s ON QUEUE q;\nGO\n");
    let second = script("second.sql", "CREATE TABLE t (a int);\nGO\nINSERT INTO t VALUES (7);\n");
    let arguments = ["--database", "My ]shop", "--script", &first, "--script", &second];
    let (_running, address, _) = start(&arguments, Some("Ch0sen-by-me"));
    let server = address.replace(':', ",");
    let connection =
        format!("Server=tcp:{server};Database=My ]shop;User ID=sa;Password=Ch0sen-by-me;Encrypt=false");
    let broker = Broker::connect(&connection).await.unwrap();
    let results =
        broker.batch("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM sys.services WHERE name = 's')").await;
    assert_eq!(results.unwrap().first_row().unwrap().get::<i32>("a").unwrap(), 7);
}

#[test]
fn a_script_that_fails_or_is_missing_ends_it_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.sql");
    std::fs::write(&file, "SELECT 1;\nGO\nCREATE SERVICE s ON QUEUE none;\n").unwrap();
    let run = |script: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
        let output =
            command.args(["emulator", "--listen", "127.0.0.1:0", "--script", script]).output().unwrap();
        assert!(output.stdout.is_empty(), "nobody is told where it listens");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(file.to_str().unwrap());
    assert!(code == Some(1) && said.contains("wrong.sql, batch of line 3"), "{code:?} {said}");
    let (code, said) = run("/no/such.sql");
    assert!(code == Some(2) && said.contains("cannot read /no/such.sql"), "{code:?} {said}");
}
