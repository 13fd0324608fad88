//! Every way in which a fed handler can fail, and what becomes of its message and of those before and after it.

use super::stage::{QUICK, Stage, lines};
use ssbroker::activator::{ProcessRecord, Record};

/// Notes what it is fed; `WHAT` says what to do with a message called `bad`.
const HANDLER: &str = r#"
import json, os, sys, time
reply, log = sys.argv[1], sys.argv[2]
sys.stdin.readline()
def say(**answer): print(json.dumps(answer), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    text = (m["body"] or {}).get("text", "")
    open(log, "a").write("%s %d %s\n" % (text or m["type"].rsplit("/", 1)[1], m["attempt"], json.dumps(m["body"])))
    i = m["id"]
    if text == "bad":
        WHAT
    else:
        say(id=i, reply={"type": reply, "body": {"text": text}})
        say(id=i, done=True)
"#;

pub(super) fn handler(what: &str) -> String {
    HANDLER.replace("WHAT", what)
}

/// The names and attempts of what was fed.
fn fed(stage: &Stage) -> Vec<String> {
    let words = |line: String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    lines(&stage.file("log")).into_iter().map(words).collect()
}

/// Sends `one`, `bad`, `two` on one dialog and waits for the replies to the good ones.
async fn feed(what: &str, keys: &str) -> (Stage, Vec<Record>) {
    let stage = Stage::new().await;
    let dialog = stage.dialog().await;
    for text in ["one", "bad", "two"] {
        stage.send_on(&dialog, text).await;
    }
    let daemon = stage.python(&handler(what), &format!("{QUICK}\n{keys}"));
    let texts: Vec<String> = stage.replies(2).await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two"], "each reply is sent once and in order");
    stage.until(&stage.waiting_sql(), 0).await;
    assert!(stage.queue_is_on().await);
    assert_eq!(stage.number("SELECT COUNT(*) AS n FROM [ssbroker].[attempts]").await, 0);
    (stage, daemon.stop().await)
}

pub(super) fn unfit(records: &[Record]) -> Vec<String> {
    let reason = |record: &Record| match record {
        Record::Process(ProcessRecord::Unfit { reason, .. }) => Some(reason.clone()),
        _ => None,
    };
    records.iter().filter_map(reason).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_dies_with_a_message_gets_it_again_and_then_it_is_dead() {
    let (stage, records) = feed("os._exit(9)", "feed = { retry = \"10ms\", attempts = 2 }").await;
    assert_eq!(fed(&stage), ["one 1", "bad 1", "bad 2", "two 1"], "those before it are not fed again");
    let [(text, 2, reason)] = &stage.dead_letters().await[..] else { panic!() };
    assert!(text == "bad" && reason.contains("closed its standard output"), "{reason}");
    assert_eq!(unfit(&records).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_not_of_the_protocol_ends_the_handler() {
    for (what, told) in [
        ("print('hello', flush=True)", "not of the protocol"),
        ("say(id=i + 7, done=True)", "no message"),
        ("sys.stdout.write('half'); sys.exit(0)", "no end"),
    ] {
        let (stage, records) = feed(what, "feed = { retry = \"10ms\", attempts = 1 }").await;
        assert!(stage.dead_letters().await[0].2.contains(told), "{:?}", stage.dead_letters().await);
        assert!(unfit(&records)[0].contains(told));
    }
}

/// C075 for a handler that is fed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c075_a_message_without_an_answer_in_time_ends_the_handler() {
    let keys = "timeout = \"3s\"\nfeed = { retry = \"10ms\", attempts = 2 }";
    let (stage, records) = feed("time.sleep(600)", keys).await;
    assert_eq!(fed(&stage), ["one 1", "bad 1", "bad 2", "two 1"]);
    assert!(unfit(&records)[0].contains("did not answer within 3s"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_can_be_wanted_again_later_without_harm_to_the_handler() {
    let again = "say(id=i, retry='20ms') if m['attempt'] < 3 else say(id=i, done=True)";
    let (stage, records) = feed(again, "feed = { attempts = 9 }").await;
    assert_eq!(fed(&stage), ["one 1", "bad 1", "bad 2", "bad 3", "two 1"]);
    assert!(unfit(&records).is_empty() && stage.dead_letters().await.is_empty());
    assert_eq!(records.iter().filter(|record| matches!(record, Record::Launched { .. })).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_counts_against_its_message_alone() {
    let refused = "say(id=i, reply={'type': 'no such type'}, done=True)";
    let (stage, _) = feed(refused, "feed = { retry = \"10ms\", attempts = 2 }").await;
    let [(text, 2, reason)] = &stage.dead_letters().await[..] else { panic!() };
    assert!(text == "bad" && reason.contains("no such type"), "{reason}");
    assert_eq!(fed(&stage).iter().filter(|line| line.starts_with("bad")).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_table_a_dead_message_ends_its_conversation_and_nothing_else() {
    let stage = Stage::new().await;
    stage
        .objects
        .broker
        .batch("DROP TABLE [ssbroker].[attempts]; DROP TABLE [ssbroker].[dead_letters];")
        .await
        .unwrap();
    let (bad, good) = (stage.send("bad").await, stage.send("good").await);
    stage.send_on(&bad, "behind it").await;
    let keys = format!("{QUICK}\nfeed = {{ retry = \"10ms\", attempts = 2, dead_letter = \"end\" }}");
    let daemon = stage.python(&handler("os._exit(1)"), &keys);
    assert_eq!(stage.replies(1).await, [(good.handle(), "good".to_owned())]);
    let sql = format!(
        "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE conversation_handle = '{}' AND state = 'ER'",
        bad.handle()
    );
    stage.until(&sql, 1).await;
    stage.until(&stage.waiting_sql(), 0).await;
    let mut bad = fed(&stage);
    bad.retain(|line| !line.starts_with("good"));
    assert_eq!(bad, ["bad 1", "bad 2"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_the_system_are_fed_only_when_asked_for() {
    for (keys, expected) in [
        ("feed = { system = true }", &["one 1", "EndDialog 1"][..]),
        ("feed = { system = false }", &["one 1"]),
    ] {
        let stage = Stage::new().await;
        let daemon = stage.python(&handler("pass"), &format!("{QUICK}\n{keys}"));
        let dialog = stage.send("one").await;
        stage.replies(1).await;
        dialog.end().await.unwrap();
        stage.until(&stage.waiting_sql(), 0).await;
        // A handler that is sent replies to an ended conversation would fail; this one is stopped first.
        daemon.request_stop().await;
        daemon.stopped().await;
        assert_eq!(fed(&stage)[..expected.len()], *expected, "{keys}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_comes_as_a_file_that_is_gone_afterwards() {
    let stage = Stage::new().await;
    let read =
        "pass\n    if m['body'] and 'file' in m['body']: text = str(len(open(m['body']['file']).read()))";
    let program = HANDLER
        .replace("    i = m[\"id\"]\n", &format!("    i = m[\"id\"]\n    {read}\n"))
        .replace("WHAT", "pass");
    let daemon = stage.python(&program, &format!("{QUICK}\nfeed = {{ file_above = \"1KiB\" }}"));
    let dialog = stage.send(&"x".repeat(5_000)).await;
    stage.send_on(&dialog, "small").await;
    let texts: Vec<String> = stage.replies(2).await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["5000", "small"]);
    daemon.stop().await;
    let bodies = stage.file("state").join("bodies");
    assert_eq!(std::fs::read_dir(bodies).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_is_told_to_stop_answers_what_it_has_and_ends_well() {
    let stage = Stage::new().await;
    let slow =
        handler("time.sleep(0.5); say(id=i, reply={'type': reply, 'body': {'text': 'late'}}, done=True)");
    let daemon = stage.python(&slow, QUICK);
    let dialog = stage.send("bad").await;
    stage.send_on(&dialog, "two").await;
    crate::activator::daemon::eventually("it is fed", || (!fed(&stage).is_empty()).then_some(())).await;
    let records = daemon.stop().await;
    assert!(!records.iter().any(|record| matches!(record, Record::Killing { .. })));
    assert_eq!(crate::activator::daemon::outcomes(&records), [ssbroker::activator::launch::Outcome::Code(0)]);
    assert_eq!(stage.replies(1).await[0].1, "late");
    assert_eq!(stage.number(&stage.waiting_sql()).await, 1, "the next one waits for the next start");
}
