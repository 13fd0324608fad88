//! `activator check`: says everything that is wrong with a configuration file, and nothing else.

use super::super::environment::Environment;
use super::super::exit::{CliError, ExitStatus};
use super::super::terminal;
use super::configuration;
use crate::activator::config::Reading;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// EAService.config or activator.toml
    file: PathBuf,
    /// Warn of what the format does not know and pass over it, instead of refusing it
    #[arg(long)]
    lenient: bool,
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
    terminal::say(format_args!("{}: {summary}", file.display()));
    Ok(ExitStatus::Done)
}
