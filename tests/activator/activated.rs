//! `samples/activated`: the commands of its page, run as they stand there, one block after the other.

use super::daemon::{program, signal, within};
use ssbroker::client::{Broker, Message};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The port the page gives to its server; somebody else may have it here.
const PORT: &str = "14330";

/// A copy of the samples and the scripts in which the page is followed. Dropped, nothing that it started goes on.
struct Place {
    root: TempDir,
    port: String,
    /// What the blocks so far have exported, as in one shell.
    exports: String,
}

impl Place {
    fn new() -> Self {
        let (from, root) = (Path::new(env!("CARGO_MANIFEST_DIR")), TempDir::new().unwrap());
        for folder in ["samples/activated", "samples/python", "sql"] {
            copy(&from.join(folder), &root.path().join(folder));
        }
        // A port that is free now; should somebody take it first, the block that needs it fails.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { root, port: port.to_string(), exports: String::new() }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("samples/activated")
    }

    /// The shell commands of the page, block by block.
    fn blocks(&self) -> Vec<String> {
        let page = fs::read_to_string(self.folder().join("README.md")).unwrap().replace(PORT, &self.port);
        let blocks = page.split("```sh\n").skip(1);
        blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
    }

    /// Runs a block in the folder of the page; it must succeed.
    fn run(&mut self, block: &str) -> (String, String) {
        let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let folder = self.folder();
        let mut command = Command::new("sh");
        let script = format!("{}{block}", self.exports);
        command.args(["-e", "-c", &script]).current_dir(&folder).env("PATH", path);
        // What a block leaves running must not hold up the test.
        let (out, err) = (folder.join("out"), folder.join("err"));
        command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
        let status = command.status().unwrap();
        let output = Output { status, stdout: fs::read(out).unwrap(), stderr: fs::read(err).unwrap() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{block}\n{}\n{}", text(&output.stdout), text(&output.stderr));
        for line in block.lines().filter(|line| line.starts_with("export ")) {
            self.exports.push_str(line);
            self.exports.push('\n');
        }
        (text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for file in ["state/pid", "emulator.pid"] {
            if let Ok(pid) = fs::read_to_string(self.folder().join(file)) {
                signal(pid.trim(), "KILL");
            }
        }
    }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_page_lead_to_a_running_daemon() {
    let mut place = Place::new();
    let blocks = place.blocks();
    let [look, convert, server, check, start, stop, clean] = &blocks[..] else {
        panic!("the page has other blocks")
    };
    let (said, warnings) = place.run(look);
    assert!(said.contains("valid") && warnings.matches("warning").count() == 3, "{said}{warnings}");
    let (said, _) = place.run(convert);
    assert!(said.contains("converted.toml: valid"), "{said}");
    assert!(place.run(server).0.contains("listening on 127.0.0.1"));
    let (said, _) = place.run(check);
    let warned = said.lines().filter(|line| line.starts_with("warning: ")).collect::<Vec<_>>();
    assert!(matches!(warned[..], [one] if one.ends_with("[disabled-unheard]")), "{said}");
    let (said, _) = place.run(start);
    for line in ["listening on //orders/Notifications", "launched OrderHandler", "a receipt for ten chairs"] {
        assert!(said.contains(line), "{line} is missing in\n{said}");
    }
    assert_eq!(receipt(&place.port).await, "TEN CHAIRS");
    let (said, _) = place.run(stop);
    for line in ["OrderQueueActivation", "listening", "stopped", "exit code 3"] {
        assert!(said.contains(line), "{line} is missing in\n{said}");
    }
    place.run(clean);
}

/// The receipt, as any client sees it.
async fn receipt(port: &str) -> String {
    let connection =
        format!("server=tcp:127.0.0.1,{port};database=Orders;user id=sa;password=Try-it-2024;encrypt=false");
    let broker = Broker::connect(&connection).await.unwrap();
    let receive =
        "WAITFOR (RECEIVE conversation_group_id, conversation_handle, message_sequence_number, service_name,
        service_contract_name, message_type_name, validation, message_enqueue_time, priority, message_body
        FROM [ReceiptQueue]), TIMEOUT 20000";
    let rows = within(broker.execute(receive, &[])).await.unwrap().into_rows();
    let receipt = Message::from_row(rows.into_iter().next().unwrap()).unwrap();
    receipt.body.to_utf16().unwrap().to_owned()
}
