//! `activator run`: the daemon in the foreground, until a signal ends it.

use super::super::block_on;
use super::super::environment::Environment;
use super::super::exit::{CliError, ExitStatus};
use super::super::stop::StopSignals;
use super::configuration;
use crate::activator::Activator;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// EAService.config or activator.toml
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let Some(loaded) = configuration::load(&arguments.config, environment)? else {
        return Ok(ExitStatus::NotWell);
    };
    crate::logging::start(&loaded.config.log)
        .map_err(|error| CliError::usage("cannot open the log file").because(error))?;
    block_on(async move {
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
        let outcome = Activator::new(loaded.config).reap_orphans().run(stops).await;
        outcome.map_err(|error| CliError::usage("the activator cannot run").because(error))?;
        Ok(ExitStatus::Done)
    })
}
