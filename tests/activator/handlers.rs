//! What a handler is given, and how its start and its end are told.

use super::daemon::{CONNECTION, Daemon, config, eventually, shell};
use nix::libc;
use ssbroker::activator::Record;
use ssbroker::activator::launch::Outcome;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Keys of an application that give its script `$OUT`, a file of that name here.
    fn out(&self, name: &str) -> String {
        format!("env = {{ OUT = {:?} }}", self.file(name).display().to_string())
    }

    fn daemon(&self, apps: &str) -> Daemon {
        Daemon::start(config(&self.state(), apps))
    }

    /// Those that hold anything: empty ones stand ready for launches to come.
    fn output_files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.state().join("runs")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.metadata().is_ok_and(|metadata| metadata.len() > 0)).collect()
    }
}

/// One application with a command of its own.
fn app(command: &Path, keys: &str) -> String {
    format!(
        "[[app]]\nname = \"one\"\ncommand = {:?}\non = {{ database = \"Sales\", schema = \"dbo\", queue = \"one\" }}\n{keys}\n",
        command.display().to_string()
    )
}

#[tokio::test]
async fn arguments_arrive_exactly_as_configured() {
    let place = Place::new();
    let arguments = r#"args = ["-c", 'for each; do printf "[%s]" "$each"; done > "$OUT"', "sh", "a b", "it's \"so\"", "", "%queue%", "*", "$HOME", "%%", "--", "ä"]"#;
    let app = format!(
        "[[app]]\nname = \"a\"\ncommand = \"sh\"\n{arguments}\n{}\n\
         on = {{ database = \"Sales\", schema = \"dbo\", queue = \"An 'odd' queue\" }}\n",
        place.out("arguments")
    );
    let daemon = place.daemon(&app);
    daemon.notify("An 'odd' queue").await.unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    let seen = fs::read_to_string(place.file("arguments")).unwrap();
    assert_eq!(seen, r#"[a b][it's "so"][][An 'odd' queue][*][$HOME][%][--][ä]"#);
}

#[tokio::test]
async fn the_environment_tells_what_the_handler_is_for() {
    let place = Place::new();
    let daemon = place.daemon(&shell("orders", r#"env > "$OUT""#, &place.out("env")));
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    let Some(Record::Launched { launch, .. }) =
        daemon.records().into_iter().find(|record| matches!(record, Record::Launched { .. }))
    else {
        panic!("no launch")
    };
    let seen = fs::read_to_string(place.file("env")).unwrap();
    let inherited =
        |line: &&str| line.split_once('=').is_some_and(|(name, _)| std::env::var_os(name).is_some());
    let mut ours: Vec<&str> =
        seen.lines().filter(|line| line.starts_with("SSBROKER_") && !inherited(line)).collect();
    ours.sort_unstable();
    let launch = format!("SSBROKER_LAUNCH_ID={launch}");
    let expected = [
        "SSBROKER_APP=orders",
        "SSBROKER_DATABASE=Sales",
        "SSBROKER_KIND=launch",
        &launch,
        "SSBROKER_QUEUE=orders",
        "SSBROKER_SCHEMA=dbo",
        "SSBROKER_SERVER=db1,14330",
        "SSBROKER_SERVER_NAME=DB1\\SALES",
    ];
    assert_eq!(ours, expected);
    assert!(seen.lines().any(|line| line.starts_with("PATH=")), "the rest is inherited");
}

#[tokio::test]
async fn the_connection_string_is_passed_only_on_request() {
    let place = Place::new();
    let keys = format!("pass_connection = true\n{}", place.out("connection"));
    let daemon = place.daemon(&shell("orders", r#"printf %s "$SSBROKER_CONNECTION" > "$OUT""#, &keys));
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    assert_eq!(fs::read_to_string(place.file("connection")).unwrap(), CONNECTION);
}

#[tokio::test]
async fn a_handler_runs_in_its_folder_in_its_own_session_with_nothing_to_read() {
    let place = Place::new();
    let folder = place.file("work here");
    fs::create_dir(&folder).unwrap();
    let script = "pwd > where; cat > read; cut -d ' ' -f 1,5,6 /proc/$$/stat > ids";
    let keys = format!("work_dir = {:?}", folder.display().to_string());
    let daemon = place.daemon(&shell("orders", script, &keys));
    daemon.notify("orders").await.unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("where").trim_end(), fs::canonicalize(&folder).unwrap().display().to_string());
    assert_eq!(read("read"), "");
    let pid = daemon.launched(1).await[0];
    assert_eq!(read("ids").trim_end(), format!("{pid} {pid} {pid}"), "process, group and session are one");
}

/// The helper is a program that cannot be started, so the handler can only have been started without it.
#[tokio::test]
async fn a_handler_for_which_nothing_is_set_up_is_started_without_a_helper_and_finds_the_same() {
    let place = Place::new();
    let script =
        "cut -d ' ' -f 1,5,6 /proc/$$/stat; cat; echo \"$0 $SSBROKER_QUEUE\"; echo sorry >&2; kill -PIPE $$";
    let apps = shell("orders", script, "");
    let daemon = Daemon::with_program(config(&place.state(), &apps), "/no/such/helper".into());
    daemon.notify("orders").await.unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Signal(13)]);
    let pid = daemon.launched(1).await[0];
    let mut written: Vec<String> =
        place.output_files().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    written.sort();
    assert_eq!(written, [format!("{pid} {pid} {pid}\nsh orders\n"), "sorry\n".to_owned()]);
}

/// Keeps programs from opening a file: what a dead network drive does. The kernel waits for 45 seconds at most.
struct Lease(fs::File);

impl Lease {
    fn take(path: &Path) -> Self {
        /// The same number on every kind of Linux.
        const F_SETSIG: i32 = 10;
        let lease = Self(fs::File::open(path).unwrap());
        // The signal for "somebody waits" would end this process; the one that is asked for instead is ignored.
        lease.control(F_SETSIG, libc::SIGURG);
        lease.control(libc::F_SETLEASE, libc::F_WRLCK);
        lease
    }

    #[expect(unsafe_code, reason = "no crate of ours can ask for a lease")]
    fn control(&self, command: i32, argument: i32) {
        // SAFETY: the descriptor is open, and these commands take a number.
        let answer = unsafe { libc::fcntl(self.0.as_raw_fd(), command, argument) };
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    }

    /// Closing the file is not enough: a process that is being started has a copy of the descriptor.
    fn end(self) {
        self.control(libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// Whether a process runs this script.
fn runs(script: &Path) -> bool {
    let commands = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    let named = |command: Vec<u8>| {
        command.split(|byte| *byte == 0).any(|argument| argument == script.as_os_str().as_bytes())
    };
    commands.into_iter().any(named)
}

#[tokio::test]
async fn a_program_whose_start_does_not_come_back_is_given_up_and_ended_when_it_does() {
    let place = Place::new();
    let script = place.file("script");
    fs::write(&script, "#!/bin/sh\nsleep 300\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let lease = Lease::take(&script);
    let daemon = place.daemon(&(app(&script, "max = 1") + &shell("orders", "exit 0", "")));
    daemon.notify("one").await.unwrap();
    assert!(daemon.failure().await.1.contains("did not start within 5s"));
    // The next attempt is left to the helper, and holds up nobody else.
    eventually("the helper tries", || runs(&script).then_some(())).await;
    let orders = tokio::time::timeout(Duration::from_secs(4), daemon.notify("orders"));
    orders.await.expect("another application is served meanwhile").unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    daemon.stop().await;
    lease.end();
    eventually("it is ended", || (!runs(&script)).then_some(())).await;
}

#[tokio::test]
async fn what_a_handler_writes_is_kept_in_files_and_empty_files_go() {
    let place = Place::new();
    let daemon = place.daemon(&shell("orders", "echo hello; exit 0", ""));
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    let files = place.output_files();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0].extension().unwrap(), "out");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), "hello\n");
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let place = Place::new();
    let scripts = [("a", "exit 0"), ("b", "echo sorry >&2; exit 3"), ("c", "kill -9 $$"), ("d", "exit 127")];
    let apps: String = scripts.iter().map(|(queue, script)| shell(queue, script, "")).collect();
    let daemon = place.daemon(&apps);
    for (count, (queue, _)) in scripts.iter().enumerate() {
        daemon.notify(queue).await.unwrap();
        daemon.outcomes(count + 1).await;
    }
    let expected = [Outcome::Code(0), Outcome::Code(3), Outcome::Signal(9), Outcome::Code(127)];
    assert_eq!(daemon.outcomes(4).await, expected);
}

#[tokio::test]
async fn a_program_that_cannot_start_is_a_failed_launch_with_its_reason() {
    let place = Place::new();
    let (plain, script) = (place.file("plain"), place.file("script"));
    fs::write(&plain, "no program").unwrap();
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (command, keys, reason) in [
        (Path::new("/no/such/program"), "", "cannot start /no/such/program: No such file"),
        (&plain, "", "Permission denied"),
        (&script, "", "interpreter named in it"),
        (Path::new("no-such-program-on-the-path"), "", "No such file"),
        (Path::new("sh"), "work_dir = \"/no/such/folder\"", "working folder /no/such/folder"),
    ] {
        let daemon = place.daemon(&app(command, keys));
        daemon.notify("one").await.unwrap();
        let (_, told) = daemon.failure().await;
        assert!(told.contains(reason), "{told}");
        assert!(place.output_files().is_empty());
        let records = daemon.stop().await;
        assert!(
            !records.iter().any(|record| matches!(record, Record::Launched { .. } | Record::Exited { .. }))
        );
        fs::remove_dir_all(place.state()).unwrap();
    }
}

#[tokio::test]
async fn a_helper_that_says_nothing_is_a_failed_launch_too() {
    let place = Place::new();
    for (program, reason) in
        [("/bin/true", "helper process ended"), ("/no/such/helper", "cannot start the helper process")]
    {
        let daemon = Daemon::with_program(
            config(&place.state(), &shell("orders", "exit 0", "umask = \"022\"")),
            program.into(),
        );
        daemon.notify("orders").await.unwrap();
        let (_, told) = daemon.failure().await;
        assert!(told.contains(reason), "{told}");
        drop(daemon.stop().await);
        fs::remove_dir_all(place.state()).unwrap();
    }
}
