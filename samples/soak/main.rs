//! Long runs that try to break a promise: `cargo run --release --example soak -- NAME --minutes N`.
//!
//! Each soak is one file in `soaks`, named after what it tries, with a short form among the tests. It prints what it counted
//! and fails when the promise was broken. Everything runs on the embedded broker. To add one: a file there, a line in
//! `SOAKS` here.
#![expect(clippy::print_stdout, reason = "the numbers are this program's product")]
#![expect(clippy::print_stderr, reason = "so are its complaints")]

mod soaks;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use soaks::{Answer, Budget, Child};

/// A soak as the command line knows it.
struct Soak {
    name: &'static str,
    tries: &'static str,
    run: fn(Budget) -> Pin<Box<dyn Future<Output = Answer>>>,
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "l1-drops",
        tries: "receives dropped at random moments lose and double nothing",
        run: |budget| Box::pin(soaks::drops::run(budget)),
    },
    Soak {
        name: "l3-leaks",
        tries: "failing handlers and killed processes leave no conversation open",
        run: |budget| Box::pin(async move { soaks::leaks::run(budget, 1_000_000, &own_child).await }),
    },
    Soak {
        name: "l5-poison",
        tries: "errors, panics, doomed transactions and cancelled handlers never switch the queue off",
        run: |budget| Box::pin(soaks::poison::run(budget)),
    },
    Soak {
        name: "l7-requests",
        tries: "a requester killed at random points has every reply used exactly once",
        run: |budget| Box::pin(async move { soaks::requests::run(budget, &requesting_child).await }),
    },
    Soak {
        name: "d5-limits",
        tries: "never more activated processes than max, none unaccounted for, every message read",
        run: |budget| Box::pin(async move { soaks::limits::run(budget, &beside("ssbroker")?).await }),
    },
    Soak {
        name: "l9-reconnect",
        tries: "a receiver is back within a second of its server",
        run: |budget| Box::pin(soaks::reconnect::run(budget, Duration::from_secs(30))),
    },
];

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--child", connection_string] => soaks::leaks::child(connection_string).await,
        ["--requester", connection_string] => soaks::requests::child(connection_string).await,
        [name] => run(name, "1").await,
        [name, "--minutes", minutes] => run(name, minutes).await,
        _ => Err(usage().into()),
    };
    match answer {
        Ok(numbers) => {
            println!("{numbers}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(name: &str, minutes: &str) -> Answer {
    let soak = SOAKS.iter().find(|soak| soak.name == name).ok_or_else(usage)?;
    let minutes: f64 = minutes.parse().map_err(|_| usage())?;
    (soak.run)(Budget::time(Duration::from_secs_f64(minutes * 60.0))).await
}

/// This program as the child of a soak.
fn own_child(connection_string: &str) -> Result<Child, Box<dyn std::error::Error>> {
    itself("--child", connection_string)
}

/// This program as the requester of a soak.
fn requesting_child(connection_string: &str) -> Result<Child, Box<dyn std::error::Error>> {
    itself("--requester", connection_string)
}

fn itself(role: &str, connection_string: &str) -> Result<Child, Box<dyn std::error::Error>> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.args([role, connection_string]).kill_on_drop(true);
    Ok(command.spawn()?)
}

/// A program that was built with this one.
fn beside(name: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?.with_file_name("..").join(name);
    match program.canonicalize() {
        Ok(program) => Ok(program),
        Err(_missing) => Err(format!("build {name} first, with the same profile as this program").into()),
    }
}

fn usage() -> String {
    let names = SOAKS.iter().map(|soak| format!("  {:<14}{}", soak.name, soak.tries));
    format!("usage: soak NAME [--minutes N]\n{}", names.collect::<Vec<_>>().join("\n"))
}
