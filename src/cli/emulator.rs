//! `emulator`: the embedded broker alone, for any SQL Server client.

use std::net::SocketAddr;
use std::path::PathBuf;

use ssbroker_emulator::Emulator;

use super::environment::Environment;
use super::exit::{CliError, ExitStatus};
use super::stop::StopSignals;
use super::terminal;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:14330")]
    listen: SocketAddr,
    /// Write the server's certificate (PEM) to this file, for clients that check it
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
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
    if given.is_none() {
        terminal::remark(format_args!("user sa, password {}", emulator.password()));
    }
    terminal::say(format_args!("listening on {}", emulator.address()));
    signals.next().await;
    emulator.shutdown().await;
    Ok(ExitStatus::Done)
}
