//! The journal on a real folder, and its meaning after every kind of death.

use super::replay::State;
use super::{COMPACT_ABOVE, Entry, Journal, JournalError, Process, Replay};
use crate::activator::launch::{LaunchId, Outcome, Target};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

fn id(value: u128) -> LaunchId {
    LaunchId::from_u128(value)
}

fn target() -> Target {
    Target {
        server: "S".to_owned(),
        database: "Db".to_owned(),
        schema: "dbo".to_owned(),
        queue: "Q \"1\"\n".to_owned(),
    }
}

fn secure(journal: &mut Journal) {
    if let Some(file) = journal.unsecured() {
        journal.secured(file.sync_data()).unwrap();
    }
}

fn intent(launch: u128, app: &str) -> Entry {
    Entry::Intent { launch: id(launch), app: app.to_owned(), service: "//n".to_owned(), target: target() }
}

fn started(launch: u128) -> Entry {
    let process = Process { pid: 40 + launch as u32, start_time: 77, boot_id: "b".to_owned() };
    Entry::Started { launch: id(launch), process }
}

fn ended(launch: u128) -> Entry {
    Entry::Ended { launch: id(launch), outcome: Outcome::Code(0) }
}

fn kept(app: &str) -> Entry {
    Entry::Kept { app: app.to_owned(), service: "//n".to_owned(), target: target() }
}

fn replayed(entries: &[Entry]) -> Replay {
    let text: String = entries.iter().map(Entry::to_line).collect();
    let (state, damaged) = State::replay(text.as_bytes());
    state.report(damaged)
}

/// Launch numbers that run, that are unfinished, and applications with a kept notification.
fn summary(replay: &Replay) -> (Vec<LaunchId>, Vec<LaunchId>, Vec<String>) {
    (
        replay.running.iter().map(|launch| launch.launch).collect(),
        replay.unfinished.iter().map(|launch| launch.launch).collect(),
        replay.kept.iter().map(|notice| notice.app.clone()).collect(),
    )
}

#[test]
fn what_was_not_ended_is_running_or_unfinished() {
    let replay =
        replayed(&[intent(1, "a"), started(1), intent(2, "a"), intent(3, "b"), started(3), ended(3)]);
    assert_eq!(summary(&replay), (vec![id(1)], vec![id(2)], vec![]));
    assert_eq!(replay.running[0].process.pid, 41);
    assert_eq!(replay.unfinished[0].notice.target, target());
}

#[test]
fn a_kept_notification_is_settled_by_the_next_intent_of_its_application() {
    assert_eq!(summary(&replayed(&[kept("a"), kept("b"), intent(1, "a"), ended(1)])).2, ["b"]);
    let failed = Entry::Failed { launch: id(1), reason: "no such file".to_owned() };
    assert_eq!(
        summary(&replayed(&[intent(1, "a"), failed, kept("a")])),
        (vec![], vec![], vec!["a".to_owned()])
    );
}

#[test]
fn what_is_forgotten_is_kept_no_more() {
    let forgotten = |app: &str| Entry::Forgotten { app: app.to_owned() };
    let replay = replayed(&[kept("a"), kept("b"), forgotten("a"), forgotten("c")]);
    assert_eq!(summary(&replay), (vec![], vec![], vec!["b".to_owned()]));
}

#[test]
fn an_entry_that_contradicts_the_others_changes_nothing() {
    assert_eq!(summary(&replayed(&[started(1), ended(2)])), (vec![], vec![], vec![]));
}

#[test]
fn a_line_cut_off_at_any_byte_costs_that_line_only() {
    let whole = format!("{}{}", intent(1, "a").to_line(), started(1).to_line());
    let first = intent(1, "a").to_line().len();
    for cut in first..whole.len() - 1 {
        let (state, damaged) = State::replay(&whole.as_bytes()[..cut]);
        assert!(damaged.is_empty());
        assert_eq!(summary(&state.report(damaged)).1, [id(1)], "cut at {cut}");
    }
}

#[test]
fn a_damaged_line_is_reported_and_the_rest_counts() {
    let text = format!("{}{{\"entry\":\"star\n{}", intent(1, "a").to_line(), intent(2, "b").to_line());
    let (state, damaged) = State::replay(text.as_bytes());
    assert_eq!(damaged.iter().map(|line| line.line).collect::<Vec<_>>(), [2]);
    assert_eq!(summary(&state.report(damaged)).1, [id(1), id(2)]);
}

#[test]
fn a_later_version_may_add_fields() {
    let line = intent(1, "a").to_line().replace("\"app\"", "\"later\":[1],\"app\"");
    assert!(State::replay(line.as_bytes()).1.is_empty());
}

#[test]
fn the_shortest_journal_means_the_same() {
    let entries =
        [intent(1, "a"), started(1), kept("a"), intent(2, "b"), kept("c"), intent(3, "c"), ended(3)];
    let text: String = entries.iter().map(Entry::to_line).collect();
    let (state, _) = State::replay(text.as_bytes());
    let short: String = state.entries().iter().map(Entry::to_line).collect();
    assert_eq!(State::replay(short.as_bytes()).0, state);
    assert_eq!(state.entries().len(), 4);
}

#[test]
fn what_is_appended_is_there_after_a_restart_and_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, replay) = Journal::open(&dir.path().join("state")).unwrap();
    assert_eq!(summary(&replay), (vec![], vec![], vec![]));
    for entry in [intent(1, "a"), started(1), intent(2, "a"), started(2), ended(2), kept("a")] {
        journal.append(&entry).unwrap();
    }
    drop(journal);
    let (journal, replay) = Journal::open(&dir.path().join("state")).unwrap();
    assert_eq!(summary(&replay), (vec![id(1)], vec![], vec!["a".to_owned()]));
    drop(journal);
    let text = fs::read_to_string(dir.path().join("state/journal.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn the_journal_goes_on_after_a_cut_off_line() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(&intent(1, "a")).unwrap();
    drop(journal);
    let path = dir.path().join("journal.jsonl");
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"entry\":\"sta").unwrap();
    let (mut journal, replay) = Journal::open(dir.path()).unwrap();
    assert!(replay.damaged.is_empty());
    journal.append(&started(1)).unwrap();
    drop(journal);
    assert_eq!(summary(&Journal::open(dir.path()).unwrap().1).0, [id(1)]);
}

#[test]
fn a_damaged_journal_is_set_aside_and_does_not_stop_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("garbage\n{}", intent(1, "a").to_line());
    fs::write(dir.path().join("journal.jsonl"), &text).unwrap();
    let (_journal, replay) = Journal::open(dir.path()).unwrap();
    assert_eq!((replay.damaged.len(), replay.unfinished.len()), (1, 1));
    let damaged = dir.path().join("journal.damaged");
    assert_eq!(fs::read_to_string(&damaged).unwrap(), text);
    assert_eq!(fs::metadata(&damaged).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_second_daemon_is_refused_until_the_first_has_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(dir.path()).unwrap();
    assert!(matches!(Journal::open(dir.path()), Err(JournalError::InUse(_))));
    drop(journal);
    assert!(Journal::open(dir.path()).is_ok());
}

#[test]
fn a_journal_that_grows_is_compacted_while_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(&intent(1, "a")).unwrap();
    journal.compact_at = 2_000;
    for launch in 2..40 {
        journal.append(&intent(launch, "a")).unwrap();
        journal.append(&ended(launch)).unwrap();
        secure(&mut journal);
    }
    let length = fs::metadata(dir.path().join("journal.jsonl")).unwrap().len();
    assert_eq!(journal.compact_at, COMPACT_ABOVE, "it was compacted and is small again");
    assert_eq!(length, journal.length);
    drop(journal);
    assert_eq!(summary(&Journal::open(dir.path()).unwrap().1).1, [id(1)]);
}

#[test]
fn a_line_half_written_by_a_failed_append_is_cut_off_before_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(&intent(1, "a")).unwrap();
    let usable = std::mem::replace(&mut journal.file, fs::File::open(&path).unwrap().into());
    let error = journal.append(&started(1)).unwrap_err();
    assert!(error.to_string().starts_with("cannot write to the journal "));
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"entry\":").unwrap();
    journal.file = usable;
    journal.append(&ended(1)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, format!("{}{}", intent(1, "a").to_line(), ended(1).to_line()));
}

#[test]
fn lines_are_secured_once_and_a_sync_that_failed_writes_them_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    assert!(journal.unsecured().is_none(), "nothing was written yet");
    journal.append(&intent(1, "a")).unwrap();
    journal.append(&ended(1)).unwrap();
    journal.append(&intent(2, "a")).unwrap();
    assert!(journal.unsecured().is_some() && journal.unsecured().is_none());

    journal.secured(Err(io::Error::other("the disk is gone"))).unwrap();
    assert!(journal.unsecured().is_none(), "what was written anew is on disk");
    assert_eq!(fs::read_to_string(&path).unwrap(), intent(2, "a").to_line());

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = journal.secured(Err(io::Error::other("the disk is gone"))).unwrap_err();
    assert!(error.to_string().starts_with("cannot replace the journal "));
    assert!(journal.unsecured().is_some(), "it is to be tried again");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = Journal::open(&dir.path().join("file/state")).unwrap_err();
    assert!(error.to_string().starts_with("cannot create the state folder "));
}
