//! Runs in the table `ssbroker.runs`, on the embedded broker.

use super::daemon::{Daemon, parse, shell, within};
use super::site::{Site, config_text};
use crate::support::run_script;
use ssbroker::activator::launch::Outcome;
use ssbroker::client::Row;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const SCRIPT: &str = include_str!("../../sql/13-runs.sql");
const HISTORY: &str = "[history]\ntable = \"//notify\"\n";

/// A daemon that keeps the runs of `apps` in the table.
fn daemon(site: &Site, state: &Path, apps: &str) -> Daemon {
    let text = config_text(state, &site.embedded.emulator.connection_string("Sales"), apps);
    Daemon::start(parse(&format!("{HISTORY}{text}")))
}

/// Waits until the table holds so many runs; answers them in the order in which they ended.
async fn runs(site: &Site, count: usize) -> Vec<Row> {
    let sql = "SELECT r.*, DATEDIFF(second, r.ended, SYSUTCDATETIME()) AS age FROM ssbroker.runs AS r ORDER BY ended;";
    within(async {
        loop {
            let rows = site.run(sql).await.into_rows();
            if rows.len() >= count {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_kept_in_the_table_once_it_is_there_and_the_last_ones_when_the_daemon_stops() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders", "Returns"]).await);
    let apps = shell("Orders", "echo last words >&2; exit 3", "") + &shell("Returns", "exec sleep 300", "");
    let daemon = daemon(&site, state.path(), &apps);
    daemon.notify("Orders").await.unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(3)]);
    // Nobody has made the table yet: the run waits.
    run_script(&site.owner, SCRIPT).await;
    let kept = runs(&site, 1).await;
    let row = &kept[0];
    assert_eq!(row.get::<String>("app").unwrap(), "Orders");
    assert_eq!(row.get::<Option<i32>>("exit_code").unwrap(), Some(3));
    assert_eq!(row.get::<Option<i32>>("signal").unwrap(), None);
    assert_eq!(row.get::<String>("stderr_tail").unwrap(), "last words");
    assert!(row.get::<Option<f64>>("seconds").unwrap().unwrap() < 30.0);
    assert!((0..60).contains(&row.get::<i32>("age").unwrap()));
    assert_eq!(row.get::<Option<i32>>("pid").unwrap(), i32::try_from(daemon.launched(1).await[0]).ok());
    assert!(!row.get::<String>("host").unwrap().is_empty());

    daemon.notify("Returns").await.unwrap();
    daemon.launched(2).await;
    daemon.stop().await;
    let kept = runs(&site, 2).await;
    assert_eq!(kept[1].get::<Option<i32>>("signal").unwrap(), Some(15));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_rows_go_and_a_run_is_kept_once() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    run_script(&site.owner, SCRIPT).await;
    site.run(
        "INSERT INTO ssbroker.runs (launch_id, app, host, ended, stderr_tail) VALUES (NEWID(), N'a', N'', DATEADD(day, -31, \
         SYSUTCDATETIME()), N''), (NEWID(), N'b', N'', DATEADD(day, -29, SYSUTCDATETIME()), N'');",
    )
    .await;
    let daemon = daemon(&site, state.path(), &shell("Orders", "exit 0", ""));
    daemon.notify("Orders").await.unwrap();
    daemon.outcomes(1).await;
    daemon.stop().await;
    let names: Vec<String> =
        runs(&site, 2).await.iter().map(|row| row.get::<String>("app").unwrap()).collect();
    assert_eq!(names, ["b", "Orders"]);
}
