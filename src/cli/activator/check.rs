//! `activator check`: says everything that is wrong with a configuration file, and with `--live` with its servers.

use super::super::block_on_until_interrupted;
use super::super::environment::Environment;
use super::super::exit::{CliError, ExitStatus};
use super::super::terminal;
use super::configuration;
use crate::activator::config::{Config, Reading};
use crate::activator::{Severity, check_live};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// EAService.config or activator.toml
    file: PathBuf,
    /// Warn of what the format does not know and pass over it, instead of refusing it
    #[arg(long)]
    lenient: bool,
    /// Connect to every notification service too, and name each missing permission, object and mismatch with its cure
    #[arg(long)]
    live: bool,
    /// What is found on the servers as one JSON list
    #[arg(long, requires = "live")]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let file = &arguments.file;
    let Some(loaded) = configuration::load(file, Reading::default().lenient(arguments.lenient), environment)?
    else {
        return Ok(ExitStatus::NotWell);
    };
    let services = loaded.config.notifications.len();
    let applications = loaded.config.applications.len();
    let summary = format!("valid, {services} notification services, {applications} applications");
    if !arguments.json {
        terminal::say(format_args!("{}: {summary}", file.display()));
    }
    if arguments.live { live(&loaded.config, arguments.json) } else { Ok(ExitStatus::Done) }
}

fn live(config: &Config, json: bool) -> Result<ExitStatus, CliError> {
    let findings = block_on_until_interrupted(async { Ok(check_live(config).await) })?;
    if json {
        terminal::say(serde_json::to_string(&findings).expect("findings are plain data"));
    } else {
        findings.iter().for_each(terminal::say);
        if findings.is_empty() {
            terminal::say("the servers are as they should be");
        }
    }
    Ok(match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Unreachable) => ExitStatus::Unreachable,
        Some(Severity::Refused) => ExitStatus::Refused,
        Some(Severity::Fault) => ExitStatus::NotWell,
        _ => ExitStatus::Done,
    })
}
