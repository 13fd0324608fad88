//! The probes of T-SQL behaviour that lie beside the repository, when they do: how many are answered as a server would.

use std::path::{Path, PathBuf};

use super::support::{Client, Server};

/// Probes that must pass; the others need what is not built yet.
const LEAST_PASSED: usize = 87;

#[tokio::test]
async fn probes_answer_as_a_server_would() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/tsql");
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    for file in ["probes.txt", "programs.txt"] {
        let Some(text) = probe_text(folder.join(file)) else {
            eprintln!("skipped: no {file} beside the repository");
            return;
        };
        for probe in text.split("\n### ").skip(1) {
            match judge(probe).await {
                Ok(title) => passed.push(title),
                Err(report) => failed.push(report),
            }
        }
    }
    let report = failed.join("\n");
    assert!(
        passed.len() >= LEAST_PASSED,
        "{} of {} probes passed\n{report}",
        passed.len(),
        passed.len() + failed.len()
    );
    if std::env::var_os("SSBROKER_SHOW_PROBES").is_some() {
        eprintln!("{} passed, {} failed\n{report}", passed.len(), failed.len());
    }
}

fn probe_text(path: PathBuf) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| format!("\n{text}"))
}

/// The title of a probe that passed, or a report.
async fn judge(probe: &str) -> Result<String, String> {
    let (title, rest) = probe.split_once('\n').unwrap_or((probe, ""));
    let (batches, expected) = rest.split_once("\n---").unwrap_or((rest, ""));
    let expected: Vec<&str> = expected.trim_matches('\n').lines().filter(|line| !line.is_empty()).collect();
    let server = Server::start();
    let mut client = server.client();
    client.run("CREATE DATABASE probe; USE probe").await;
    let mut answers = Vec::new();
    for batch in batches.split("\nGO") {
        answers.extend(answer(&server, &mut client, batch).await);
    }
    match answers == expected {
        true => Ok(title.to_owned()),
        false => Err(format!("{title}\n    wanted {expected:?}\n    got    {answers:?}")),
    }
}

async fn answer(server: &Server, client: &mut Client, batch: &str) -> Vec<String> {
    let moving = async {
        loop {
            server.clock.wait_for_sleepers(1).await;
            server.clock.advance(std::time::Duration::from_millis(10));
            tokio::task::yield_now().await;
        }
    };
    let lines = tokio::select! {
        lines = client.run(batch) => lines,
        () = moving => Vec::new(),
    };
    let told = |line: &String| {
        !["INFO", "BEGUN", "COMMI", "ROLLE", "DATAB", "STATU"].iter().any(|word| line.starts_with(word))
    };
    lines.into_iter().filter(told).collect()
}
