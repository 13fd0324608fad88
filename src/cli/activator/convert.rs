//! `activator convert`: a configuration in the other format, on standard output.

use super::super::exit::{CliError, ExitStatus};
use super::super::terminal;
use crate::activator::config::{self, LoadError, Reading, Target};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// EAService.config, activator.toml, or a file of the sample program of 2005
    file: PathBuf,
    /// The format to write; without it the other one
    #[arg(long, value_enum)]
    to: Option<Format>,
    /// Warn of what the format does not know and pass over it, instead of refusing it
    #[arg(long)]
    lenient: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// activator.toml
    Toml,
    /// EAService.config
    Xml,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitStatus, CliError> {
    let file = &arguments.file;
    let bytes = std::fs::read(file)
        .map_err(|error| CliError::usage(format!("cannot read {}", file.display())).because(error))?;
    let target = arguments.to.map(|format| match format {
        Format::Toml => Target::Toml,
        Format::Xml => Target::EaService,
    });
    let reading = Reading::default().lenient(arguments.lenient);
    match config::convert(file, &bytes, reading, target) {
        Ok(converted) => {
            converted.remarks.iter().for_each(|remark| terminal::remark(format_args!("warning: {remark}")));
            terminal::say(converted.text.trim_end());
            Ok(ExitStatus::Done)
        }
        Err(LoadError::Invalid(faults)) => {
            faults.iter().for_each(terminal::remark);
            Ok(ExitStatus::NotWell)
        }
        Err(unreadable) => Err(CliError::usage("no configuration").because(unreadable)),
    }
}
