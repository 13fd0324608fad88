//! Many messages while handlers and daemons are killed: none is lost, each reply is sent once, and what comes again says so.

use super::stage::{QUICK, Stage, lines};
use crate::activator::daemon::{program, signal};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Dies now and then, before or after it has answered.
const HANDLER: &str = r#"
import json, os, random, sys
reply, log, risk = sys.argv[1], sys.argv[2], float(sys.argv[3])
sys.stdin.readline()
for line in sys.stdin:
    m = json.loads(line)
    with open(log, "a") as f: f.write("%s/%d %d\n" % (m["conversation"], m["sequence"], m["attempt"]))
    if random.random() < risk: os._exit(1)
    print(json.dumps({"id": m["id"], "reply": {"type": reply, "body": m["body"]}, "done": True}), flush=True)
    if random.random() < risk: os._exit(1)
"#;

struct Plan {
    messages: usize,
    dialogs: usize,
    handler_risk: f64,
    daemon_kills: usize,
}

impl Plan {
    async fn run(self) {
        let stage = Stage::new().await;
        let config = self.write_configuration(&stage);
        let mut dialogs = Vec::new();
        for _ in 0..self.dialogs {
            dialogs.push(stage.dialog().await);
        }
        let mut daemon = start(&config);
        let mut replies: HashMap<String, usize> = HashMap::new();
        let mut kills = 0;
        for number in 0..self.messages {
            stage.send_on(&dialogs[number % self.dialogs], &number.to_string()).await;
            if number * (self.daemon_kills + 1) / self.messages > kills {
                kills += 1;
                take_some(&stage, &mut replies).await;
                signal(&daemon.id().to_string(), "KILL");
                daemon.wait().unwrap();
                daemon = start(&config);
            }
        }
        while replies.len() < self.messages {
            let before = replies.values().sum::<usize>();
            let taken = tokio::time::timeout(Duration::from_secs(60), take_some(&stage, &mut replies)).await;
            let after = replies.values().sum::<usize>();
            assert!(
                taken.is_ok() && after > before,
                "{} of {} replies, and no more",
                replies.len(),
                self.messages
            );
        }
        stage.until(&stage.waiting_sql(), 0).await;
        signal(&daemon.id().to_string(), "TERM");
        assert!(daemon.wait().unwrap().success());
        self.check(&stage, &replies).await;
    }

    fn write_configuration(&self, stage: &Stage) -> std::path::PathBuf {
        let handler = stage.file("handler.py");
        fs::write(&handler, HANDLER).unwrap();
        let (handler, log) = (handler.display().to_string(), stage.file("log").display().to_string());
        let (reply, risk) = (stage.objects.reply.clone(), self.handler_risk.to_string());
        let keys = format!(
            "max = 3\nmin = 2\n{QUICK}\nfeed = {{ retry = \"10ms\", attempts = 1000, idle = \"1s\" }}"
        );
        let text = stage.configuration("python3", &[&handler, &reply, &log, &risk], &keys);
        let config = stage.file("activator.toml");
        fs::write(&config, text).unwrap();
        config
    }

    async fn check(&self, stage: &Stage, replies: &HashMap<String, usize>) {
        let wrong: Vec<_> = replies.iter().filter(|(_, count)| **count != 1).collect();
        assert!(wrong.is_empty(), "sent more than once: {wrong:?}");
        assert_eq!(replies.len(), self.messages);
        assert!(stage.queue_is_on().await);
        assert!(stage.dead_letters().await.is_empty());
        let mut attempts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for line in lines(&stage.file("log")) {
            let (message, attempt) = line.split_once(' ').unwrap();
            attempts.entry(message.to_owned()).or_default().push(attempt.parse().unwrap());
        }
        assert_eq!(attempts.len(), self.messages);
        for (message, attempts) in &attempts {
            let rises = attempts.windows(2).all(|pair| pair[0] < pair[1]);
            // The first may be above 1: a handler can die with a message before it has read it.
            assert!(rises, "{message} was fed as {attempts:?}");
        }
        let repeated = attempts.values().filter(|attempts| attempts.len() > 1).count();
        println!("{} messages, {repeated} of them fed more than once", self.messages);
        assert!(repeated > 0, "nothing was disturbed");
    }
}

fn start(config: &std::path::Path) -> Child {
    let mut command = Command::new(program());
    command.args(["activator", "run", "--config"]).arg(config);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

async fn take_some(stage: &Stage, replies: &mut HashMap<String, usize>) {
    for (_, text) in stage.replies(1).await {
        *replies.entry(text).or_default() += 1;
    }
}

/// The short form of the acceptance run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_sent_twice_while_handlers_and_daemons_are_killed() {
    Plan { messages: 3_000, dialogs: 40, handler_risk: 0.002, daemon_kills: 3 }.run().await;
}

/// The long form; run with `--ignored`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: 100,000 messages"]
async fn nothing_is_lost_or_sent_twice_in_a_long_run() {
    Plan { messages: 100_000, dialogs: 400, handler_risk: 0.001, daemon_kills: 20 }.run().await;
}
