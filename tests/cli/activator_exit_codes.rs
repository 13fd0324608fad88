//! Exit codes of `ssbroker activator` that no other test meets on its way: scripts and service managers rely on them.
//!
//! `activator_check`, `activator_live`, `activator_convert` and `activator_run` beside this file have the rest.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::Embedded;
use ssbroker::client::Broker;
use ssbroker_emulator::{Fault, Trigger};
use tempfile::TempDir;
use tokio::net::{TcpListener, UnixListener};

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(30);

/// A user without rights; no program runs as it.
const NOBODY: u32 = 65_534;

fn activator(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.arg("activator").args(arguments);
    command
}

async fn output(mut command: Command) -> Output {
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    tokio::time::timeout(DEADLINE, run).await.expect("it does not end").unwrap()
}

/// Code and everything said.
async fn ended(command: Command) -> (Option<i32>, String) {
    let output = output(command).await;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), said.concat())
}

/// A configuration that listens nowhere, with its state in `state`.
fn config(file: &Path, connection: &str, enabled: bool) {
    let state = file.with_file_name("state");
    let text = format!(
        "[state]\ndir = {:?}\n[[notification]]\nname = \"//notify\"\nenabled = {enabled}\nconnection = '''{connection}'''\n\
         [[app]]\nname = \"orders\"\ncommand = \"true\"\non = {{ database = \"Sales\", schema = \"dbo\", queue = \"Orders\" }}\n",
        state.display().to_string()
    );
    std::fs::write(file, text).unwrap();
}

/// 4: on a server where public may not read the catalog, which is refused with error 229.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_the_server_refuses_exits_4() {
    let (folder, embedded) = (TempDir::new().unwrap(), Embedded::start().await);
    let master = Broker::connect(&embedded.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE DATABASE Sales;").await.unwrap();
    let file = folder.path().join("activator.toml");
    config(&file, &(embedded.emulator.connection_string("Sales") + ";application name=check"), true);
    let refused = Trigger::statement().containing("sys.service_contracts").of_application("check");
    let struck = embedded.emulator.faults().plan(refused.always(), Fault::error(229));
    let (code, said) = ended(activator(&["check", "--live", file.to_str().unwrap()])).await;
    assert!(code == Some(4) && said.contains("refused: //notify"), "{code:?}\n{said}");
    struck.end();
    let (code, _) = ended(activator(&["check", "--live", file.to_str().unwrap()])).await;
    assert_eq!(code, Some(1), "now it is only that nothing is there");
}

/// 4: the socket is that of another user's daemon.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_of_another_user_cannot_be_asked_which_exits_4() {
    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let _daemon = UnixListener::bind(state.join("activator.sock")).unwrap();
    let mut command = activator(&["status", "--state", state.to_str().unwrap()]);
    if !deny(&state, &mut command) {
        return;
    }
    let (code, said) = ended(command).await;
    assert!(code == Some(4) && said.contains("runs as another user"), "{code:?}\n{said}");
}

/// 4: the daemon may not use its state folder.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_the_system_refuses_exits_4() {
    let folder = TempDir::new().unwrap();
    let (file, state) = (folder.path().join("activator.toml"), folder.path().join("state"));
    config(&file, "server=x;user id=a;password=b", false);
    open_to_all(folder.path());
    std::fs::create_dir(&state).unwrap();
    let mut command = activator(&["run", "--config", file.to_str().unwrap()]);
    if !deny(&state, &mut command) {
        return;
    }
    let (code, said) = ended(command).await;
    assert!(code == Some(4) && said.contains("the activator cannot run"), "{code:?}\n{said}");
}

/// 5: while it waits for an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_a_command_waits_for_an_answer_exits_5() {
    let folder = TempDir::new().unwrap();
    let socket = UnixListener::bind(folder.path().join("activator.sock")).unwrap();
    for arguments in [&["status"][..], &["kick", "orders"], &["pause"], &["resume"], &["reload"]] {
        let command = activator(&[arguments, &["--state", folder.path().to_str().unwrap()]].concat());
        let code = interrupted(command, async { socket.accept().await.unwrap().0 }).await;
        assert_eq!(code, Some(5), "{arguments:?}");
    }
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (file, port) = (folder.path().join("activator.toml"), server.local_addr().unwrap().port());
    config(&file, &format!("server=tcp:127.0.0.1,{port};user id=a;password=b"), true);
    let command = activator(&["check", "--live", file.to_str().unwrap()]);
    let code = interrupted(command, async { server.accept().await.unwrap().0 }).await;
    assert_eq!(code, Some(5), "check --live");
}

/// 2: usage, and files that cannot be read. 1: files that are wrong, and what the daemon does not know.
#[tokio::test(flavor = "multi_thread")]
async fn usage_and_input_exit_2_and_a_wrong_file_exits_1_whatever_is_asked() {
    let folder = TempDir::new().unwrap();
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[state]\nfolder = \"x\"\n").unwrap();
    let commands: [&[&str]; 6] =
        [&["run"], &["status"], &["kick", "x"], &["pause"], &["resume"], &["reload"]];
    for command in commands {
        for (file, expected) in [("/no/such/file.toml", 2), (wrong.to_str().unwrap(), 1)] {
            let (code, said) = ended(activator(&[command, &["--config", file]].concat())).await;
            assert_eq!(code, Some(expected), "{command:?} {file}\n{said}");
        }
        let (code, said) = ended(activator(&[command, &["--no-such-option"]].concat())).await;
        assert_eq!(code, Some(2), "{command:?}\n{said}");
    }
    for command in [&["check"][..], &["convert"], &["kick"], &["check", "--json", "x"]] {
        assert_eq!(ended(activator(command)).await.0, Some(2), "{command:?}");
    }
}

/// 3: nobody answers there.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_every_question_exits_3() {
    let folder = TempDir::new().unwrap();
    for command in [&["status"][..], &["kick", "x"], &["pause"], &["resume"], &["reload"]] {
        let command = [command, &["--state", folder.path().to_str().unwrap()]].concat();
        let (code, said) = ended(activator(&command)).await;
        assert!(code == Some(3) && said.contains("no activator can be asked"), "{code:?}\n{said}");
    }
}

/// Starts a command, waits until it is connected to somebody who says nothing, and interrupts it.
async fn interrupted<T>(mut command: Command, connected: impl Future<Output = T>) -> Option<i32> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _silent = tokio::time::timeout(DEADLINE, connected).await.expect("it does not connect");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    tokio::time::timeout(DEADLINE, ended).await.expect("it does not end").unwrap().code()
}

/// Makes a folder one that the command may not use. Root may use every folder, so it runs as nobody then. False if that
/// cannot be had here.
fn deny(folder: &Path, command: &mut Command) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    open_to_all(folder.parent().unwrap());
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    std::fs::set_permissions(folder, PermissionsExt::from_mode(if is_root { 0o700 } else { 0 })).unwrap();
    if !is_root {
        return true;
    }
    command.uid(NOBODY);
    let mut probe = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    let can_run = probe.arg("--version").uid(NOBODY).stdout(Stdio::null()).status().is_ok();
    if !can_run {
        println!("skipped: the program is where only root can run it");
    }
    can_run
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}
