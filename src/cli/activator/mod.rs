//! The subcommands of `activator`, one file each, and the hidden first step of a handler process.

mod check;
mod configuration;
mod convert;
mod launch;
mod run;

use super::environment::Environment;
use super::exit::{CliError, ExitStatus};

pub(super) use launch::{Arguments as LaunchArguments, launch};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Run the activator until SIGTERM or SIGINT; a second signal kills what still runs
    Run(run::Arguments),
    /// Check a configuration: 0 valid, 1 invalid with every fault, 2 cannot be read
    Check(check::Arguments),
    /// Write a configuration in the other format: EAService.config as activator.toml, or the reverse
    Convert(convert::Arguments),
}

pub(super) fn run(command: Command, environment: &Environment) -> Result<ExitStatus, CliError> {
    match command {
        Command::Run(arguments) => run::run(&arguments, environment),
        Command::Check(arguments) => check::run(&arguments, environment),
        Command::Convert(arguments) => convert::run(&arguments),
    }
}
