//! `activator run` and `activator check`, and the hidden first step of a handler process.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::exit::{CliError, ExitStatus};
use super::stop::StopSignals;
use super::terminal;
use crate::activator::config::{self, LoadError, Loaded};
use crate::activator::{Activator, trampoline};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Run the activator until SIGTERM or SIGINT; a second signal kills what still runs
    Run {
        /// EAService.config or activator.toml
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Check a configuration: 0 valid, 1 invalid with every fault, 2 cannot be read
    Check {
        /// EAService.config or activator.toml
        file: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct LaunchArguments {
    /// Folder to work in
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// The handler and its arguments
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

pub(super) fn run(command: Command, environment: &Environment) -> Result<ExitStatus, CliError> {
    match command {
        Command::Check { file } => check(&file, environment),
        Command::Run { config } => start(&config, environment),
    }
}

/// Becomes the handler; comes back only when that is not possible.
pub(super) fn launch(arguments: LaunchArguments) -> ExitStatus {
    trampoline::exec_handler(arguments.work_dir.as_deref(), &arguments.command);
    ExitStatus::HandlerNotStarted
}

fn check(file: &Path, environment: &Environment) -> Result<ExitStatus, CliError> {
    let Some(loaded) = load(file, environment)? else { return Ok(ExitStatus::NotWell) };
    let services = loaded.config.notifications.len();
    let applications = loaded.config.applications.len();
    let summary = format!("valid, {services} notification services, {applications} applications");
    terminal::say(format_args!("{}: {summary}", file.display()));
    Ok(ExitStatus::Done)
}

fn start(file: &Path, environment: &Environment) -> Result<ExitStatus, CliError> {
    let Some(loaded) = load(file, environment)? else { return Ok(ExitStatus::NotWell) };
    crate::logging::start(&loaded.config.log)
        .map_err(|error| CliError::usage("cannot open the log file").because(error))?;
    super::block_on(async move {
        let mut signals = StopSignals::listen()?;
        let (stop, stops) = tokio::sync::mpsc::channel(2);
        tokio::spawn(async move {
            loop {
                signals.next().await;
                if stop.send(()).await.is_err() {
                    return;
                }
            }
        });
        let outcome = Activator::new(loaded.config).run(stops).await;
        outcome.map_err(|error| CliError::usage("the activator cannot run").because(error))?;
        Ok(ExitStatus::Done)
    })
}

/// Reads a configuration, printing warnings, or every fault when it is invalid.
fn load(file: &Path, environment: &Environment) -> Result<Option<Loaded>, CliError> {
    match config::load(file, environment) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|warning| terminal::remark(format_args!("warning: {warning}")));
            Ok(Some(loaded))
        }
        Err(LoadError::Invalid(faults)) => {
            faults.iter().for_each(terminal::remark);
            Ok(None)
        }
        Err(unreadable) => Err(CliError::usage("no configuration").because(unreadable)),
    }
}
