//! The command line: one file for each subcommand, and what they share.
//!
//! Reads no environment and never exits: `main.rs` passes the one in and does the other.

mod activator;
mod demo;
mod digest;
mod digest_handler;
mod emulator;
mod environment;
mod exit;
mod script;
mod stop;
mod terminal;

use std::future::Future;

use clap::{Parser, Subcommand};

pub use environment::Environment;
pub use exit::{CliError, ExitStatus};

use crate::activator::config::{LogLevel, LogSettings};

/// SQL Server Service Broker from outside the server.
#[derive(Debug, Parser)]
#[command(name = "ssbroker", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the whole product at work on the embedded broker: send, activate, receive, reply, verify
    Demo(demo::Arguments),
    /// Run the embedded broker alone, for any SQL Server client
    Emulator(emulator::Arguments),
    /// The external activator: launch handlers when messages arrive
    #[command(subcommand)]
    Activator(activator::Command),
    /// Handler of the demo: answer each request with the SHA-256 digest of its body
    #[command(hide = true)]
    DigestHandler(digest_handler::Arguments),
    /// First step of a handler process: settle into its surroundings, then become the handler
    #[command(hide = true)]
    LaunchHandler(activator::LaunchArguments),
}

/// Runs what the arguments say and answers how it ended. Errors are printed, one line with their causes.
#[must_use]
pub fn run(arguments: Arguments, environment: Environment) -> ExitStatus {
    match execute(arguments.command, &environment) {
        Ok(status) => status,
        Err(error) => {
            terminal::complain(&error);
            error.status()
        }
    }
}

/// Prints help, version or what is wrong with the arguments.
#[must_use]
pub fn explain_usage(error: &clap::Error) -> ExitStatus {
    let printed = error.print();
    match (error.use_stderr(), printed) {
        (false, Ok(())) => ExitStatus::Done,
        _ => ExitStatus::Usage,
    }
}

fn execute(command: Command, environment: &Environment) -> Result<ExitStatus, CliError> {
    match command {
        Command::Demo(arguments) => {
            log_warnings();
            block_on(demo::run(arguments))
        }
        Command::Emulator(arguments) => {
            log_warnings();
            block_on(emulator::run(arguments, environment))
        }
        Command::Activator(command) => activator::run(command, environment),
        Command::DigestHandler(arguments) => {
            log_warnings();
            block_on(digest_handler::run(arguments, environment))
        }
        Command::LaunchHandler(arguments) => Ok(activator::launch(arguments)),
    }
}

/// Commands that people watch log to standard error, warnings only.
fn log_warnings() {
    let settings = LogSettings { level: LogLevel::Warn, ..LogSettings::default() };
    // Only a log file can fail, and this has none.
    let _ = crate::logging::start(&settings);
}

/// The same for work that only looks or asks: a stop signal ends it at once.
fn block_on_until_interrupted<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    block_on(async {
        let mut signals = stop::StopSignals::listen()?;
        tokio::select! {
            outcome = work => outcome,
            () = signals.next() => Err(CliError::interrupted()),
        }
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::usage("cannot start the runtime").because(error))?;
    let outcome = runtime.block_on(work);
    // Blocking work that is still under way must not hold up the end.
    runtime.shutdown_background();
    outcome
}
