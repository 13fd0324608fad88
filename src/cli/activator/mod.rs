//! The subcommands of `activator`, one file each, and the hidden first step of a handler process.

mod check;
mod configuration;
mod convert;
mod daemon;
mod launch;
mod run;
mod service_manager;
mod status_table;

use super::environment::Environment;
use super::exit::{CliError, ExitStatus};

pub(super) use launch::{Arguments as LaunchArguments, launch};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Run the activator until SIGTERM or SIGINT; a second signal kills what still runs
    Run(run::Arguments),
    /// Check a configuration, and with --live its servers: 0 well, 1 faults, 2 unreadable, 3 unreachable, 4 refused
    Check(check::Arguments),
    /// Show what a running activator knows: queues, processes, listeners, warnings with their cures
    Status(daemon::StatusArguments),
    /// Start a handler now, as a notification would
    Kick(daemon::AppArguments),
    /// Launch nothing of an application, or of all, until it is resumed; what runs goes on
    Pause(daemon::OptionalAppArguments),
    /// Launch again, beginning with what came meanwhile
    Resume(daemon::OptionalAppArguments),
    /// Read the configuration again
    Reload(daemon::ReloadArguments),
    /// Write a configuration in the other format: EAService.config as activator.toml, or the reverse
    Convert(convert::Arguments),
}

pub(super) fn run(command: Command, environment: &Environment) -> Result<ExitStatus, CliError> {
    match command {
        Command::Run(arguments) => run::run(&arguments, environment),
        Command::Check(arguments) => check::run(&arguments, environment),
        Command::Status(arguments) => daemon::status(arguments, environment),
        Command::Kick(arguments) => daemon::kick(arguments, environment),
        Command::Pause(arguments) => daemon::pause(arguments, environment),
        Command::Resume(arguments) => daemon::resume(arguments, environment),
        Command::Reload(arguments) => daemon::reload(&arguments, environment),
        Command::Convert(arguments) => convert::run(&arguments),
    }
}
