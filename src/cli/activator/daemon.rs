//! `activator status`, `kick`, `pause`, `resume` and `reload`: what a running daemon is asked over its socket.

use super::super::block_on_until_interrupted;
use super::super::environment::Environment;
use super::super::exit::{CliError, ExitStatus};
use super::super::terminal;
use super::{configuration, status_table};
use crate::activator::config::Reading;
use crate::activator::control::{Answer, Request, ask};
use std::path::PathBuf;

/// Which daemon is meant.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Daemon {
    /// State folder of the daemon
    #[arg(long, value_name = "DIR", default_value = "/var/lib/ssbroker")]
    state: PathBuf,
    /// The daemon's configuration, which names its state folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct StatusArguments {
    #[command(flatten)]
    daemon: Daemon,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// The last runs of one application instead
    #[arg(long, value_name = "APP")]
    history: Option<String>,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 20, requires = "history")]
    count: usize,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AppArguments {
    #[command(flatten)]
    daemon: Daemon,
    /// Name of the application
    app: String,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct OptionalAppArguments {
    #[command(flatten)]
    daemon: Daemon,
    /// Name of the application; every application without one
    app: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ReloadArguments {
    #[command(flatten)]
    daemon: Daemon,
}

pub(super) fn status(arguments: StatusArguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let request = match arguments.history {
        Some(app) => Request::History { app, count: arguments.count },
        None => Request::Status,
    };
    let json = arguments.json;
    answer(&arguments.daemon, environment, request, json)
}

pub(super) fn kick(arguments: AppArguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let request = Request::Kick { app: arguments.app };
    answer(&arguments.daemon, environment, request, false)
}

pub(super) fn pause(
    arguments: OptionalAppArguments,
    environment: &Environment,
) -> Result<ExitStatus, CliError> {
    answer(&arguments.daemon, environment, Request::Pause { app: arguments.app }, false)
}

pub(super) fn resume(
    arguments: OptionalAppArguments,
    environment: &Environment,
) -> Result<ExitStatus, CliError> {
    answer(&arguments.daemon, environment, Request::Resume { app: arguments.app }, false)
}

pub(super) fn reload(arguments: &ReloadArguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    answer(&arguments.daemon, environment, Request::Reload, false)
}

/// Asks and prints. A refusal is printed as an error: the thing asked for is not done.
fn answer(
    daemon: &Daemon,
    environment: &Environment,
    request: Request,
    json: bool,
) -> Result<ExitStatus, CliError> {
    let Some(state) = state_dir(daemon, environment)? else { return Ok(ExitStatus::NotWell) };
    let unasked = |error| CliError::unreachable("the activator cannot be asked").because(error).or_refused();
    let answer = block_on_until_interrupted(async { ask(&state, request).await.map_err(unasked) })?;
    match answer {
        Answer::Done(text) => terminal::say(text),
        Answer::Status(status) if json => terminal::say(as_json(&*status)),
        Answer::Status(status) => terminal::say(status_table::status(&status)),
        Answer::History(runs) if json => terminal::say(as_json(&runs)),
        Answer::History(runs) => terminal::say(status_table::history(&runs)),
        Answer::Error(reason) => return Err(CliError::not_well(reason)),
    }
    Ok(ExitStatus::Done)
}

fn state_dir(daemon: &Daemon, environment: &Environment) -> Result<Option<PathBuf>, CliError> {
    let Some(file) = &daemon.config else { return Ok(Some(daemon.state.clone())) };
    // What the daemon may have been told to ignore does not matter here.
    let loaded = configuration::load(file, Reading::default().lenient(true), environment)?;
    Ok(loaded.map(|loaded| loaded.config.state.dir))
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what the activator answers is plain data")
}
