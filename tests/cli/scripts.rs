//! The scripts of `sql/`: each runs twice, the tear-down leaves nothing, and Microsoft's parser accepts them.

use std::path::{Path, PathBuf};
use std::process::Command;

use ssbroker::client::Broker;

use crate::support::{Backend, Embedded, run_script};

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "sql")).collect();
    scripts.sort();
    scripts
}

async fn objects(broker: &Broker) -> Vec<String> {
    let sql = "SELECT name FROM sys.services WHERE service_id > 65535 UNION ALL \
               SELECT name FROM sys.service_queues WHERE is_ms_shipped = 0 UNION ALL \
               SELECT name FROM sys.service_contracts WHERE service_contract_id > 65535 UNION ALL \
               SELECT name FROM sys.service_message_types WHERE message_type_id > 65535 UNION ALL \
               SELECT name FROM sys.event_notifications UNION ALL SELECT name FROM sys.tables";
    let rows = broker.batch(sql).await.unwrap().into_rows();
    rows.iter().map(|row| row.get("name").unwrap()).collect()
}

#[tokio::test]
async fn every_script_runs_twice_and_the_tear_down_leaves_nothing() {
    let embedded = Embedded::start().await;
    let broker = Broker::connect(&embedded.connection_string()).await.unwrap();
    broker.batch("CREATE DATABASE scripts").await.unwrap();
    let broker = Broker::connect(&embedded.emulator.connection_string("scripts")).await.unwrap();
    let scripts = scripts();
    assert_eq!(scripts.len(), 14);
    let mut most = 0;
    for script in &scripts {
        let text = std::fs::read_to_string(script).unwrap();
        run_script(&broker, &text).await;
        run_script(&broker, &text).await;
        most = most.max(objects(&broker).await.len());
    }
    assert_eq!(most, 24);
    assert_eq!(objects(&broker).await, [] as [&str; 0]);
}

/// Tables that an earlier version of the scripts made get the indexes too.
#[tokio::test]
async fn a_script_adds_the_indexes_that_are_missing() {
    let embedded = Embedded::start().await;
    let broker = Broker::connect(&embedded.connection_string()).await.unwrap();
    broker.batch("CREATE DATABASE scripts").await.unwrap();
    let broker = Broker::connect(&embedded.emulator.connection_string("scripts")).await.unwrap();
    let indexes = [
        ("05-dead-letters", "attempts", "ix_attempts_last_attempt"),
        ("05-dead-letters", "dead_letters", "ix_dead_letters_parked"),
        ("06-shared-pool", "pool_dialogs", "ix_pool_dialogs_conversation"),
        ("07-sending", "unsent", "ix_unsent_noted"),
        ("07-sending", "sent_messages", "ix_sent_messages_sent"),
        ("09-waiters", "waiters", "ix_waiters_requester"),
        ("09-waiters", "waiters", "ix_waiters_deadline"),
        ("10-retries", "retries", "ix_retries_message"),
    ];
    for (script, table, index) in indexes {
        let path = format!("{}/sql/{script}.sql", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let count = format!(
            "SELECT COUNT(*) AS n FROM sys.indexes WHERE name = N'{index}' AND object_id = OBJECT_ID(N'ssbroker.{table}')"
        );
        for found in [0, 1, 1] {
            if found == 0 {
                run_script(&broker, &text).await;
                broker.batch(&format!("DROP INDEX [{index}] ON [ssbroker].[{table}]")).await.unwrap();
            } else {
                run_script(&broker, &text).await;
            }
            let results = broker.batch(&count).await.unwrap();
            assert_eq!(results.first_row().unwrap().get::<i32>("n").unwrap(), found, "{index}");
        }
    }
}

#[test]
fn every_script_passes_microsofts_parser() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/tsql-check");
    if !tool.exists() {
        println!("skipped: {} is not there", tool.display());
        return;
    }
    let output = Command::new(tool).args(scripts()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_t_sql_of_the_recipes_passes_microsofts_parser() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/tsql-check");
    if !tool.exists() {
        println!("skipped: {} is not there", tool.display());
        return;
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/samples/recipes.md")).unwrap();
    let fenced = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let in_rust = page.split("CHANGES: &str = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let texts: Vec<&str> = fenced.chain(in_rust).collect();
    assert_eq!(texts.len(), 3);
    let script = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(script.path(), texts.join("\nGO\n")).unwrap();
    let output = Command::new(tool).arg(script.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
