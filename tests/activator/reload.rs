//! The configuration file is saved in every way people save files, and the running daemon takes it up.
//!
//! Real files and the system's own watches. Nothing waits for time to pass: each test waits for what the daemon tells.

use super::daemon::{Daemon, is_running, shell, text};
use ssbroker::activator::{Record, Reloaded};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use tempfile::TempDir;

/// A handler that runs until it is asked to end.
const WAITS: &str = "sleep 1000 & trap 'kill $!; exit 0' TERM; wait";

struct Folder {
    root: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A configuration with one application of `max` processes.
    fn with_max(&self, max: u32) -> String {
        text(&self.at("state"), &shell("q", WAITS, &format!("max = {max}")))
    }
}

/// Waits until the log tells of this change.
async fn told(daemon: &Daemon, change: &str) {
    let is_it = |record: &Record| {
        matches!(record, Record::Reconfigured { .. }) && record.to_string().contains(change)
    };
    daemon.until(|records| records.iter().any(is_it).then_some(())).await;
}

/// Waits until the log tells that the file is not used, and answers every reason so far.
async fn refused(daemon: &Daemon) -> Vec<String> {
    let fault = |record: &Record| match record {
        Record::ReloadRefused { fault } => Some(fault.clone()),
        _ => None,
    };
    let faults = |records: &[Record]| Some(records.iter().filter_map(fault).collect::<Vec<_>>());
    daemon.until(|records| faults(records).filter(|faults| !faults.is_empty())).await
}

fn max_is(max: u32) -> String {
    format!("application q has min 1 and max {max} instead of")
}

#[tokio::test]
async fn a_file_that_is_written_in_place_is_taken_up() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, _) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    daemon.notify("q").await.unwrap();
    daemon.launched(1).await;
    fs::write(&file, folder.with_max(2)).unwrap();
    told(&daemon, &max_is(2)).await;
    daemon.launched(2).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_file_that_is_renamed_over_the_old_one_is_taken_up_each_time() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, _) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    for max in 2..5 {
        // As editors do: a new file beside it, and sometimes the old one kept.
        fs::write(folder.at("new"), folder.with_max(max)).unwrap();
        if max == 3 {
            fs::rename(&file, folder.at("activator.toml~")).unwrap();
        }
        fs::rename(folder.at("new"), &file).unwrap();
        told(&daemon, &max_is(max)).await;
    }
    daemon.stop().await;
}

/// The files of a mounted configuration map: `activator.toml -> ..data/activator.toml`, `..data -> ..VERSION`.
fn mount(folder: &Folder, version: &str, content: &str) {
    let data = folder.at(version);
    fs::create_dir(&data).unwrap();
    fs::write(data.join("activator.toml"), content).unwrap();
    symlink(version, folder.at("..data_tmp")).unwrap();
    fs::rename(folder.at("..data_tmp"), folder.at("..data")).unwrap();
}

#[tokio::test]
async fn a_mounted_configuration_map_is_taken_up_with_each_swap_of_its_link() {
    let folder = Folder::new();
    mount(&folder, "..v1", &folder.with_max(1));
    let file = folder.at("activator.toml");
    symlink("..data/activator.toml", &file).unwrap();
    let (daemon, _) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    for max in 2..5 {
        mount(&folder, &format!("..v{max}"), &folder.with_max(max));
        fs::remove_dir_all(folder.at(&format!("..v{}", max - 1))).unwrap();
        told(&daemon, &max_is(max)).await;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_link_to_a_file_elsewhere_is_followed() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let real = elsewhere.at("real.toml");
    fs::write(&real, folder.with_max(1)).unwrap();
    let file = folder.at("activator.toml");
    symlink(&real, &file).unwrap();
    let (daemon, _) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    fs::write(&real, folder.with_max(2)).unwrap();
    told(&daemon, &max_is(2)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_half_written_file_is_read_again_when_it_is_whole() {
    use std::io::Write;
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, handle) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    let whole = folder.with_max(2);
    let (first, second) = whole.split_at(whole.rfind('2').unwrap());
    let mut half = fs::File::create(&file).unwrap();
    half.write_all(first.as_bytes()).unwrap();
    half.flush().unwrap();
    // Who asks is told at once that this cannot be used.
    assert!(matches!(handle.reload().await, Reloaded::Refused(_)));
    half.write_all(second.as_bytes()).unwrap();
    drop(half);
    told(&daemon, &max_is(2)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_every_fault_is_told() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, handle) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    let pid = daemon.launched(1).await[0];
    let bad = folder.with_max(0).replace("[[app]]", "[[app]]\nworkdir = \"/\"");
    fs::write(&file, &bad).unwrap();
    let faults = refused(&daemon).await;
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("'workdir' is not a key") && faults[1].contains("max = 0"), "{faults:?}");
    assert_eq!(handle.reload().await, Reloaded::Refused(faults));
    assert!(is_running(pid));
    fs::remove_file(&file).unwrap();
    let Reloaded::Refused(reasons) = handle.reload().await else {
        panic!("a missing file is no configuration")
    };
    assert!(reasons[0].contains("cannot read"), "{reasons:?}");
    fs::write(&file, folder.with_max(3)).unwrap();
    told(&daemon, &max_is(3)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn who_asks_is_told_what_came_of_it() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, handle) = Daemon::of_file(&file);
    assert_eq!(handle.reload().await, Reloaded::Unchanged);
    daemon.stop().await;
    assert!(matches!(handle.reload().await, Reloaded::Refused(_)), "nobody is there any more");
}

#[tokio::test]
async fn a_removed_application_ends_and_a_new_one_is_launched() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    let state = folder.at("state");
    fs::write(&file, text(&state, &shell("old", WAITS, ""))).unwrap();
    let (daemon, _) = Daemon::of_file(&file);
    daemon.notify("old").await.unwrap();
    let pid = daemon.launched(1).await[0];
    fs::write(&file, text(&state, &shell("new", WAITS, ""))).unwrap();
    told(&daemon, "application new is new").await;
    daemon.outcomes(1).await;
    assert!(!is_running(pid));
    daemon.notify("new").await.unwrap();
    daemon.launched(2).await;
    daemon.stop().await;
}

#[tokio::test]
async fn c058_a_reload_never_lets_a_second_process_run_beside_the_first() {
    let folder = Folder::new();
    let file = folder.at("activator.toml");
    fs::write(&file, folder.with_max(1)).unwrap();
    let (daemon, handle) = Daemon::of_file(&file);
    daemon.notify("q").await.unwrap();
    daemon.launched(1).await;
    fs::write(&file, format!("{}stop_grace = \"5s\"\n", folder.with_max(1))).unwrap();
    // Either the request or the watch takes it up first.
    handle.reload().await;
    told(&daemon, "application q is different from its next launch on: stop_grace").await;
    daemon.notify("q").await.unwrap();
    let at_max = |record: &Record| matches!(record, Record::AtMax { .. });
    daemon.until(|records| records.iter().any(at_max).then_some(())).await;
    assert_eq!(daemon.launched(1).await.len(), 1);
    daemon.stop().await;
}
