//! `activator run`: the daemon in the foreground, until a signal ends it.

use super::super::block_on;
use super::super::environment::Environment;
use super::super::exit::{CliError, ExitStatus};
use super::super::stop::StopSignals;
use super::{configuration, service_manager};
use crate::activator::config::{ConfigFile, Reading};
use crate::activator::{Activator, ReloadHandle, Reloaded};
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// EAService.config or activator.toml
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Warn of what the format does not know and pass over it, instead of refusing it
    #[arg(long)]
    lenient: bool,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let reading = Reading::default().lenient(arguments.lenient);
    let Some(loaded) = configuration::load(&arguments.config, reading, environment)? else {
        return Ok(ExitStatus::NotWell);
    };
    crate::logging::start(&loaded.config.log)
        .map_err(|error| CliError::usage("cannot open the log file").because(error).or_refused())?;
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
        let file = ConfigFile::new(&arguments.config, reading, environment.clone());
        let activator = Activator::new(loaded.config).reload_from(file).reap_orphans();
        let activator = service_manager::attach(activator);
        reload_on_hangup(activator.reload_handle())?;
        // On a task of its own, which unlike this one runs where the events come from.
        let outcome = tokio::spawn(activator.run(stops)).await.expect("the activator does not panic");
        outcome.map_err(|error| CliError::usage("the activator cannot run").because(error).or_refused())?;
        Ok(ExitStatus::Done)
    })
}

/// SIGHUP asks for the configuration to be read again; the log says what came of it.
fn reload_on_hangup(reload: ReloadHandle) -> Result<(), CliError> {
    let mut hangup = signal(SignalKind::hangup())
        .map_err(|error| CliError::usage("cannot listen for signals").because(error))?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            service_manager::reloading();
            let outcome = reload.reload().await;
            service_manager::reloaded();
            if outcome == Reloaded::Unchanged {
                tracing::info!(target: "activator", "the configuration was read again and is the same");
            }
        }
    });
    Ok(())
}
