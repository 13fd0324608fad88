//! The program `ssbroker`: takes arguments and environment, runs, ends with an exit code. Nothing else does any of these.

use std::process::ExitCode;

use clap::Parser;
use ssbroker::cli::{self, Arguments, Environment};

fn main() -> ExitCode {
    let environment = Environment::new(std::env::vars_os());
    match Arguments::try_parse() {
        Ok(arguments) => cli::run(arguments, environment).into(),
        Err(error) => cli::explain_usage(&error).into(),
    }
}
