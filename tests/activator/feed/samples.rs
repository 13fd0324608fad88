//! The handlers of `samples/`, each fed with real messages.

use super::stage::{QUICK, Stage};
use ssbroker::activator::Record;
use ssbroker::client::Body;
use std::process::{Command, Stdio};

/// Whether a program can be run here; says so if not.
fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = version.is_ok_and(|status| status.success());
    if !is_there {
        println!("skipped: {program} is not there");
    }
    is_there
}

/// Feeds a sample with five orders on two dialogs; answers what it replied, in the order of each dialog.
async fn replies_of(command: &str, sample: &str) -> [Vec<String>; 2] {
    let stage = Stage::new().await;
    let path = format!("{}/samples/{sample}", env!("CARGO_MANIFEST_DIR"));
    let reply = stage.objects.reply.clone();
    let daemon = stage.daemon(command, &[&path, &reply], QUICK);
    let dialogs = [stage.dialog().await, stage.dialog().await];
    for (at, text) in ["one", "two", "three \"quoted\"", "vier: ä", "five"].iter().enumerate() {
        stage.send_on(&dialogs[at % 2], text).await;
    }
    let replies = stage.replies(5).await;
    let on = |at: usize| {
        let handle = dialogs[at].handle();
        replies.iter().filter(|(on, _)| *on == handle).map(|(_, text)| text.clone()).collect()
    };
    let replied = [on(0), on(1)];
    for dialog in dialogs {
        dialog.end().await.unwrap();
    }
    stage.until(&stage.waiting_sql(), 0).await;
    let records = daemon.stop().await;
    assert!(records.iter().all(|record| !matches!(record, Record::Killing { .. })), "{records:#?}");
    replied
}

fn upper() -> [Vec<String>; 2] {
    [vec!["ONE".into(), "THREE \"QUOTED\"".into(), "FIVE".into()], vec!["TWO".into(), "VIER: Ä".into()]]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sample_answers_every_order() {
    if is_there("python3") {
        assert_eq!(replies_of("python3", "python/handler.py").await, upper());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_sample_answers_every_order() {
    if is_there("node") {
        assert_eq!(replies_of("node", "node/handler.mjs").await, upper());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shell_sample_sends_every_order_back() {
    let expected = [
        vec!["one".to_owned(), "three \"quoted\"".into(), "five".into()],
        vec!["two".into(), "vier: ä".into()],
    ];
    assert_eq!(replies_of("sh", "shell/handler.sh").await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_the_python_sample_cannot_use_goes_to_the_dead_letters() {
    let stage = Stage::new().await;
    let path = format!("{}/samples/python/handler.py", env!("CARGO_MANIFEST_DIR"));
    let reply = stage.objects.reply.clone();
    let daemon = stage.daemon("python3", &[&path, &reply], QUICK);
    let dialog = stage.dialog().await;
    dialog.send(&*stage.objects.request, Body::bytes(vec![1, 0, 255])).await.unwrap();
    stage.send_on(&dialog, "good").await;
    assert_eq!(stage.replies(1).await[0].1, "GOOD");
    let sql = "SELECT COUNT(*) AS n FROM [ssbroker].[dead_letters] WHERE reason = 'an order has to be text'";
    assert_eq!(stage.number(sql).await, 1);
    daemon.stop().await;
}
