//! `samples/activated`: the commands of its page, run as they stand there, against the embedded broker.

use super::daemon::{program, within};
use crate::support::{Embedded, run_script};
use ssbroker::client::{Broker, Message};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The shell commands of the page, block by block.
fn blocks(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn run(block: &str, folder: &Path, connection: &str) -> Output {
    let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command
        .args(["-e", "-c", block])
        .current_dir(folder)
        .env("PATH", path)
        .env("ORDERS_CONNECTION", connection);
    // What a block leaves running must not hold up the test.
    let (out, err) = (folder.join("out"), folder.join("err"));
    command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let status = command.status().unwrap();
    let output = Output { status, stdout: fs::read(out).unwrap(), stderr: fs::read(err).unwrap() };
    assert!(output.status.success(), "{block}\n{output:?}");
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_page_lead_to_a_running_daemon() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().unwrap();
    copy(&root.join("samples/activated"), &folder.path().join("activated"));
    copy(&root.join("samples/python"), &folder.path().join("python"));
    let backend = Embedded::start().await;
    let master = Broker::connect(&backend.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE DATABASE [Orders]").await.unwrap();
    let connection = backend.emulator.connection_string("Orders");
    let broker = Broker::connect(&connection).await.unwrap();
    for script in ["samples/activated/objects.sql", "sql/05-dead-letters.sql"] {
        run_script(&broker, &fs::read_to_string(root.join(script)).unwrap()).await;
    }
    let page = fs::read_to_string(root.join("samples/activated/README.md")).unwrap();
    let [look, check, start, stop] = &blocks(&page)[..] else { panic!("the page has other blocks") };
    let folder = folder.path().join("activated");
    let said = run(look, &folder, &connection);
    let warnings = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        warnings.contains("warning") && String::from_utf8_lossy(&said.stdout).contains("valid"),
        "{said:?}"
    );
    run(check, &folder, &connection);
    tokio::task::block_in_place(|| run(start, &folder, &connection));
    run_script(&broker, &fs::read_to_string(root.join("samples/activated/send.sql")).unwrap()).await;
    let receive =
        "WAITFOR (RECEIVE conversation_group_id, conversation_handle, message_sequence_number, service_name,
        service_contract_name, message_type_name, validation, message_enqueue_time, priority, message_body
        FROM [ReceiptQueue]), TIMEOUT 20000";
    let rows = within(broker.execute(receive, &[])).await.unwrap().into_rows();
    let receipt = Message::from_row(rows.into_iter().next().unwrap()).unwrap();
    assert_eq!(receipt.body.to_utf16().unwrap(), "TEN CHAIRS");
    let said = tokio::task::block_in_place(|| run(stop, &folder, &connection));
    assert!(String::from_utf8_lossy(&said.stdout).contains("launched OrderHandler"), "{said:?}");
}
