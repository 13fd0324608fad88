//! `emulator`: the embedded broker alone, for any SQL Server client.

use std::net::SocketAddr;
use std::path::PathBuf;

use ssbroker_emulator::Emulator;

use super::environment::Environment;
use super::exit::{CliError, ExitStatus};
use super::script;
use super::stop::StopSignals;
use super::terminal;
use crate::client::Broker;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:14330")]
    listen: SocketAddr,
    /// Write the server's certificate (PEM) to this file, for clients that check it
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Create this database
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Run this T-SQL script at the start, in that database (without one in master); more of them run in their order
    #[arg(long, value_name = "FILE")]
    script: Vec<PathBuf>,
}

pub(super) async fn run(arguments: Arguments, environment: &Environment) -> Result<ExitStatus, CliError> {
    let mut signals = StopSignals::listen()?;
    let given = environment.get("SSBROKER_EMULATOR_PASSWORD");
    let mut builder = Emulator::builder().listen(arguments.listen);
    if let Some(password) = given {
        builder = builder.password(password);
    }
    let emulator = builder
        .start()
        .await
        .map_err(|error| CliError::usage(format!("cannot listen on {}", arguments.listen)).because(error))?;
    if let Some(file) = &arguments.certificate {
        std::fs::write(file, emulator.certificate_pem())
            .map_err(|error| CliError::usage(format!("cannot write {}", file.display())).because(error))?;
    }
    if let Err(error) = prepare(&emulator, &arguments).await {
        emulator.shutdown().await;
        return Err(error);
    }
    if given.is_none() {
        terminal::remark(format_args!("user sa, password {}", emulator.password()));
    }
    terminal::say(format_args!("listening on {}", emulator.address()));
    signals.next().await;
    emulator.shutdown().await;
    Ok(ExitStatus::Done)
}

/// Makes what is asked for, before anybody is told where the broker listens.
async fn prepare(emulator: &Emulator, arguments: &Arguments) -> Result<(), CliError> {
    let master = "master";
    if let Some(name) = &arguments.database {
        let broker = Broker::connect(&emulator.connection_string(master)).await?;
        broker.batch(&format!("CREATE DATABASE [{}];", name.replace(']', "]]"))).await?;
    }
    if arguments.script.is_empty() {
        return Ok(());
    }
    let database = arguments.database.as_deref().unwrap_or(master);
    let broker = Broker::connect(&emulator.connection_string(database)).await?;
    for file in &arguments.script {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| CliError::usage(format!("cannot read {name}")).because(error))?;
        script::run(&broker, &name, &text).await?;
    }
    Ok(())
}
