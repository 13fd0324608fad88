//! `demo`: the whole product at work on the embedded broker.
//!
//! Requests go out over a pool of dialogs; the activator hears of them through event notifications and launches handler
//! processes; their replies are checked one by one. The scenario is that of the sample activated application of
//! Microsoft's team blog, with SHA-256 in place of MD5. `stage` sets everything up, `source` says what is sent, `traffic`
//! sends and collects, `ledger` checks, `report` tells.

mod ledger;
mod report;
mod source;
mod stage;
mod traffic;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::exit::{CliError, ExitStatus};
use super::stop::StopSignals;
use super::terminal;

use report::Report;
use source::Source;
use stage::Stage;

/// How long to wait for the next reply before giving up on those that are missing.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Send every file below this folder (without `target` and `.git`)
    #[arg(default_value = ".", conflicts_with = "messages")]
    path: PathBuf,
    /// Send so many synthetic messages instead of files
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// Bytes of each synthetic message
    #[arg(long, value_name = "BYTES", default_value_t = 1024, requires = "messages")]
    size: usize,
    /// Time each handler spends on a message, as `20ms` or `1s`
    #[arg(long, value_parser = parse_duration, default_value = "0ms")]
    work: Duration,
    /// Handlers started by the first notification
    #[arg(long, default_value_t = 1)]
    min: u32,
    /// Most handlers alive at once
    #[arg(long, default_value_t = 4)]
    max: u32,
    /// Print one JSON object as the last line
    #[arg(long)]
    json: bool,
    /// Leave the broker running afterwards and say how to connect
    #[arg(long)]
    keep: bool,
}

/// Durations as people write them: `20ms`, `1s`, `5m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("'{text}' does not begin with a number"))?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        _ => Err(format!("'{text}' needs a unit: ms, s or m")),
    }
}

pub(super) async fn run(arguments: Arguments) -> Result<ExitStatus, CliError> {
    let mut signals = StopSignals::listen()?;
    let source = match arguments.messages {
        Some(count) => Source::synthetic(count, arguments.size),
        None => Source::files(&arguments.path)?,
    };
    let stage = Stage::set(&arguments).await?;
    let work = perform(&stage, &source, arguments.json);
    let report = tokio::select! {
        report = work => report?,
        () = signals.next() => {
            stage.clear().await;
            terminal::remark("interrupted");
            return Ok(ExitStatus::Interrupted);
        }
    };
    if arguments.json {
        terminal::say(report.to_json());
    } else {
        terminal::say(&report);
    }
    if arguments.keep {
        terminal::remark(stage.how_to_connect());
        signals.next().await;
    }
    stage.clear().await;
    Ok(if report.is_well() { ExitStatus::Done } else { ExitStatus::NotWell })
}

async fn perform(stage: &Stage, source: &Source, quiet: bool) -> Result<Report, CliError> {
    let started = Instant::now();
    let outcome = traffic::run(stage, source, quiet).await?;
    let seconds = started.elapsed().as_secs_f64();
    let handlers = stage.stop_activator().await;
    let leaked_conversations = stage.open_conversations().await?;
    Ok(Report::new(outcome, handlers, leaked_conversations, seconds))
}
