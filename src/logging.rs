//! Sets up logging for the program: where lines go, in which form, from which level on. A library never calls this.

use std::io;

use tracing_appender::rolling::{InitError, RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::activator::config::{LogFormat, LogLevel, LogRotation, LogSettings};

/// Logs as `settings` say, for the rest of the process. Lines carry RFC 3339 times in UTC.
///
/// # Errors
/// When the log file's folder cannot be made or written.
pub fn start(settings: &LogSettings) -> Result<(), InitError> {
    let Some(file) = &settings.file else {
        install(settings, io::stderr);
        return Ok(());
    };
    let folder = file.parent().unwrap_or_else(|| std::path::Path::new("/"));
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let appender = RollingFileAppender::builder()
        .rotation(rotation(settings.rotation))
        .max_log_files(settings.keep as usize)
        .filename_prefix(name)
        .build(folder)?;
    install(settings, std::sync::Mutex::new(appender));
    Ok(())
}

/// A second call has no effect: the first one decides for the process.
///
/// A line that cannot be written is lost without a word. The complaint would go to standard error, and a complaint that
/// cannot be written either is a panic in whatever task was logging.
fn install(settings: &LogSettings, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter(settings.level))
        .with_writer(writer)
        .log_internal_errors(false)
        .with_ansi(false)
        .with_target(false);
    let _ = match settings.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}

/// The driver logs every error of the server at ERROR, also those that are handled; so it is left out.
fn filter(level: LogLevel) -> EnvFilter {
    let level = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    EnvFilter::new(format!("{level},tiberius=off"))
}

fn rotation(rotation: LogRotation) -> Rotation {
    match rotation {
        LogRotation::Daily => Rotation::DAILY,
        LogRotation::Hourly => Rotation::HOURLY,
        LogRotation::Never => Rotation::NEVER,
    }
}
