//! The process environment as `main.rs` read it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::activator::config::{self, Resolver};
use crate::client::{BrokerOptions, ErrorKind};

/// Environment variables. `Debug` shows nothing, since values may be secrets.
#[derive(Clone, Default)]
pub struct Environment(HashMap<String, String>);

impl Environment {
    /// The variables; those whose name or value is not text are left out.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self(variables.into_iter().filter_map(text).collect())
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(hidden)")
    }
}

impl Resolver for Environment {
    fn environment(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        config::read_secret(path)
    }

    fn doubt_about_file(&self, path: &Path) -> Option<String> {
        config::doubt_about_secret(path)
    }

    /// A login of Windows is a right thing to ask for, and an old configuration does; but it is not built in, so the
    /// activator will not run with it.
    fn check_connection(&self, connection: &str) -> Result<Option<String>, String> {
        match BrokerOptions::from_connection_string(connection) {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Some(error.to_string())),
            Err(error) => Err(error.to_string()),
        }
    }
}
