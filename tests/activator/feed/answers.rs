//! Answers that come early, late or from a handler that is going, and what keeps the activator itself from doing its part:
//! no message is lost by it, and none is blamed.

use super::faults::{handler, unfit};
use super::stage::{QUICK, Stage, lines};
use crate::activator::daemon::{Daemon, eventually, parse};
use crate::activator::site::status;
use crate::support::run_script;
use ssbroker::activator::Record;
use ssbroker::client::Dialog;
use std::fs;

/// Reads so much of its first message that it knows the number, says "done", and is gone.
const HASTY: &str = r#"
import os, re, sys
data = b""
while not (found := re.search(rb'\n\{"id":([0-9]+),', data)): data += os.read(0, 100)
open(sys.argv[2], "a").write("fed\n")
os.write(1, b'{"id":%s,"done":true}\n' % found[1])
os._exit(0)
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_holds_though_its_message_was_not_read_to_the_end() {
    let stage = Stage::new().await;
    let daemon = stage.python(HASTY, &format!("{QUICK}\nfeed = {{ retry = \"10ms\", attempts = 2 }}"));
    // More than a pipe holds.
    stage.send(&"x".repeat(500_000)).await;
    stage.until(&stage.waiting_sql(), 0).await;
    let reason = daemon.until(|records: &[Record]| unfit(records).pop()).await;
    // Whichever of its two pipes is seen to be closed first.
    assert!(["does not read", "closed its"].iter().any(|told| reason.contains(told)), "{reason}");
    daemon.stop().await;
    assert_eq!(lines(&stage.file("log")), ["fed"], "it is settled the first time");
    assert!(stage.dead_letters().await.is_empty());
}

/// Ends the conversation of the first message when the second one, of the same group, is in its hands already.
const TARDY: &str = r#"
import json, sys
reply = sys.argv[1]
sys.stdin.readline()
def say(**answer): print(json.dumps(answer), flush=True)
first = None
for line in sys.stdin:
    m = json.loads(line)
    if first: say(id=first, end=True)
    else: first = m["id"]
    say(id=m["id"], reply={"type": reply, "body": m["body"]})
    say(id=m["id"], done=True)
"#;

/// A daemon without a command timeout: a feed that waited for an end would wait for itself, for ever.
fn without_time_out(stage: &Stage, program: &str, feed: &str) -> Daemon {
    let path = stage.file("handler.py");
    fs::write(&path, program).unwrap();
    let (path, reply) = (path.display().to_string(), stage.objects.reply.clone());
    let log = stage.file("log").display().to_string();
    let text =
        stage.configuration("python3", &[&path, &reply, &log], &format!("{QUICK}\nfeed = {{ {feed} }}"));
    let patient = text.replacen("connection = \"", "connection = \"command timeout=0;", 1);
    assert_ne!(text, patient);
    Daemon::start(parse(&patient))
}

fn in_state(dialog: &Dialog, state: &str) -> String {
    format!(
        "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE conversation_handle = '{}' AND state = '{state}'",
        dialog.handle()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_end_waits_for_the_group_that_its_own_feed_holds_and_the_feed_goes_on() {
    let stage = Stage::new().await;
    let dialog = stage.dialog().await;
    for text in ["one", "two"] {
        stage.send_on(&dialog, text).await;
    }
    let daemon = without_time_out(&stage, TARDY, "batch = 1");
    let texts: Vec<String> = stage.replies(2).await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two"]);
    stage.until(&in_state(&dialog, "DI"), 1).await;
    assert!(unfit(&daemon.stop().await).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_of_a_message_that_went_back_leaves_it_its_conversation() {
    let stage = Stage::new().await;
    let dialog = stage.send("bad").await;
    // The server refuses the first answer, so the message goes back; then the handler ends what it takes for done.
    let program = handler("answer(m)").replace(
        "for line",
        r#"def answer(m):
    i = m["id"]
    if m["attempt"] == 1:
        say(id=i, reply={"type": "no such type"}, done=True)
    elif m["attempt"] == 2:
        say(id=1, end=True)
        say(id=i, retry="10ms")
    else:
        say(id=i, reply={"type": reply, "body": {"text": "well"}}, done=True)
for line"#,
    );
    let daemon = without_time_out(&stage, &program, "retry = \"10ms\", attempts = 9");
    assert_eq!(stage.replies(1).await[0].1, "well");
    stage.until(&stage.waiting_sql(), 0).await;
    assert!(unfit(&daemon.stop().await).is_empty());
    assert_eq!(stage.number(&in_state(&dialog, "CO")).await, 1, "nobody has ended it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_our_own_disk_does_not_take_is_no_fault_of_its_message() {
    let stage = Stage::new().await;
    let keys = format!("{QUICK}\nfeed = {{ retry = \"10ms\", attempts = 1, file_above = \"1KiB\" }}");
    let daemon = stage.python(&handler("pass").replace("else:\n", "else:\n        text = 'read'\n"), &keys);
    let bodies = stage.file("state").join("bodies");
    eventually("the folder is there", || bodies.exists().then_some(())).await;
    fs::remove_dir(&bodies).unwrap();
    stage.send(&"x".repeat(5_000)).await;
    let reason = daemon.until(|records: &[Record]| unfit(records).pop()).await;
    assert!(reason.contains("cannot be put into a file"), "{reason}");
    fs::create_dir(&bodies).unwrap();
    assert_eq!(stage.replies(1).await[0].1, "read");
    assert!(stage.dead_letters().await.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_cannot_be_given_up_is_told_and_those_before_it_are_settled() {
    let stage = Stage::new().await;
    stage.objects.broker.batch("DROP TABLE [ssbroker].[dead_letters];").await.unwrap();
    let dialog = stage.dialog().await;
    for text in ["one", "bad"] {
        stage.send_on(&dialog, text).await;
    }
    let keys = format!("{QUICK}\nfeed = {{ retry = \"10ms\", attempts = 1 }}");
    let daemon = stage.python(&handler("os._exit(9)"), &keys);
    assert_eq!(stage.replies(1).await[0].1, "one");
    let told = |reason: &String| reason.contains("cannot be given up");
    daemon.until(|records: &[Record]| unfit(records).iter().any(told).then_some(())).await;
    assert_eq!(stage.number(&stage.waiting_sql()).await, 1, "it is still there");
    run_script(&stage.objects.broker, include_str!("../../../sql/05-dead-letters.sql")).await;
    stage.until(&stage.waiting_sql(), 0).await;
    assert_eq!(stage.dead_letters().await[0].0, "bad");
    daemon.stop().await;
    let fed = lines(&stage.file("log"));
    assert_eq!(fed.iter().filter(|line| line.starts_with("bad")).count(), 1, "no handler sees it again");
}

/// Answers each message with its body.
const ECHO: &str = r#"
import json, sys
sys.stdin.readline()
for line in sys.stdin:
    m = json.loads(line)
    print(json.dumps({"id": m["id"], "reply": {"type": sys.argv[1], "body": m["body"]}, "done": True}), flush=True)
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_says_how_many_messages_a_process_was_fed() {
    let stage = Stage::new().await;
    let daemon = stage.python(ECHO, QUICK);
    for number in 0..3 {
        stage.send(&number.to_string()).await;
    }
    stage.replies(3).await;
    let status = status(&stage.file("state")).await.unwrap();
    let received: Vec<_> = status.apps[0].children.iter().map(|child| child.received).collect();
    assert_eq!(received, [Some(3)]);
    daemon.stop().await;
}
