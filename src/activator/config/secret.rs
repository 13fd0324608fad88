//! Connection strings, which never print, and the `${env:NAME}` and `${file:PATH}` references in them.
//!
//! Reads neither environment nor files by itself: that is done by the [`Resolver`] the caller passes in.

use std::fmt;
use std::io;
use std::path::Path;

/// What a configuration may refer to outside its own file.
pub trait Resolver {
    /// The value of an environment variable, `None` if it is not set.
    fn environment(&self, name: &str) -> Option<String>;

    /// The content of a secret file.
    ///
    /// # Errors
    /// The system's reason when the file cannot be read as text.
    fn file(&self, path: &Path) -> io::Result<String>;

    /// What is doubtful about a secret file that was read; a warning. The default doubts nothing.
    fn doubt_about_file(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Judges a connection string once its references are resolved; answers a warning if it is right, but asks for
    /// something that is not built in.
    ///
    /// # Errors
    /// The reason, as a text that holds no secret. The default accepts everything.
    fn check_connection(&self, _connection: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// An ADO.NET connection string with everything resolved. Neither `Debug` nor `Display` shows any of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionString(String);

impl ConnectionString {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The whole text, password included. For the driver and for handlers that ask for it; never for a log.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionString(hidden)")
    }
}

impl fmt::Display for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The secret files that `written` refers to.
pub(crate) fn files(written: &str) -> impl Iterator<Item = &Path> {
    references(written, "${file:").map(Path::new)
}

/// The environment variables that `written` refers to.
pub(crate) fn variables(written: &str) -> impl Iterator<Item = &str> {
    references(written, "${env:")
}

fn references<'t>(written: &'t str, kind: &'static str) -> impl Iterator<Item = &'t str> {
    written.split(kind).skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// Replaces the references in `written`.
///
/// A reference that is the whole text is inserted as it is. Inside a connection string it must be the whole value of a
/// keyword, and is quoted there when it holds a character that would end the value.
pub(crate) fn resolve(written: &str, resolver: &dyn Resolver) -> Result<ConnectionString, String> {
    let mut resolved = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        let Some(end) = reference.find('}') else {
            return Err("a reference that begins with '${' has no closing '}'".to_owned());
        };
        let (name, after) = (&reference[2..end], &reference[end + 1..]);
        let value = look_up(name, resolver)?;
        resolved.push_str(before);
        if resolved.is_empty() && after.is_empty() {
            resolved.push_str(&value);
        } else if stands_alone(&resolved, after) {
            resolved.push_str(&quoted(&value));
        } else {
            return Err(format!(
                "${{{name}}} must be the whole value of a keyword, as in password=${{{name}}}"
            ));
        }
        rest = after;
    }
    resolved.push_str(rest);
    Ok(ConnectionString(resolved))
}

fn look_up(reference: &str, resolver: &dyn Resolver) -> Result<String, String> {
    match reference.split_once(':') {
        Some(("env", name)) if !name.is_empty() => {
            resolver.environment(name).ok_or_else(|| format!("environment variable '{name}' is not set"))
        }
        Some(("file", path)) if !path.is_empty() => match resolver.file(Path::new(path)) {
            Ok(text) => Ok(without_final_newline(&text).to_owned()),
            Err(error) => Err(format!("cannot read secret file '{path}': {error}")),
        },
        // What stands there is not repeated: it may be part of a password.
        _ => Err("a '${...}' is not understood; write ${env:NAME} or ${file:PATH}".to_owned()),
    }
}

/// Editors and `echo` end a file with a newline that is no part of the password.
fn without_final_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn stands_alone(before: &str, after: &str) -> bool {
    before.trim_end().ends_with('=') && (after.trim_start().is_empty() || after.trim_start().starts_with(';'))
}

/// Quotes a value by the rules of ADO.NET connection strings; a quote of the kind in use is doubled.
fn quoted(value: &str) -> String {
    let plain =
        !value.is_empty() && !value.contains([';', '=', '"', '\'', '{', '}']) && value.trim() == value;
    match value {
        _ if plain => value.to_owned(),
        _ if !value.contains('"') => format!("\"{value}\""),
        _ if !value.contains('\'') => format!("'{value}'"),
        _ => format!("\"{}\"", value.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Resolver, resolve};
    use std::io;
    use std::path::Path;

    struct Fixed;

    impl Resolver for Fixed {
        fn environment(&self, name: &str) -> Option<String> {
            match name {
                "PLAIN" => Some("s3cret".to_owned()),
                "ODD" => Some("a;b'c=".to_owned()),
                "BOTH" => Some("a\"b'c".to_owned()),
                _ => None,
            }
        }

        fn file(&self, path: &Path) -> io::Result<String> {
            match path.to_str() {
                Some("/run/secrets/ea") => Ok("from file\r\n".to_owned()),
                _ => Err(io::Error::from(io::ErrorKind::NotFound)),
            }
        }
    }

    fn resolved(text: &str) -> Result<String, String> {
        resolve(text, &Fixed).map(|connection| connection.expose().to_owned())
    }

    #[test]
    fn references_are_replaced_and_quoted_where_needed() {
        assert_eq!(resolved("user=x;password=${env:PLAIN};a=b").unwrap(), "user=x;password=s3cret;a=b");
        assert_eq!(resolved("password=${file:/run/secrets/ea}").unwrap(), "password=from file");
        assert_eq!(resolved("password=${env:ODD}").unwrap(), "password=\"a;b'c=\"");
        assert_eq!(resolved("password=${env:BOTH};x=y").unwrap(), "password=\"a\"\"b'c\";x=y");
        assert_eq!(resolved("${env:ODD}").unwrap(), "a;b'c=");
        assert_eq!(resolved("no reference $ { }").unwrap(), "no reference $ { }");
    }

    #[test]
    fn a_bad_reference_is_named_and_no_value_is_shown() {
        for (text, part) in [
            ("password=${env:NONE}", "'NONE' is not set"),
            ("password=${file:/nope}", "'/nope'"),
            ("password=${vault:x}", "not understood"),
            ("password=a${s3cret}", "not understood"),
            ("password=${env:PLAIN", "closing"),
            ("password=x${env:PLAIN}", "whole value"),
        ] {
            let message = resolved(text).unwrap_err();
            assert!(message.contains(part), "{message}");
            assert!(!message.contains("s3cret"));
        }
    }

    #[test]
    fn a_connection_string_never_prints() {
        let connection = resolve("server=db;password=${env:PLAIN}", &Fixed).unwrap();
        assert!(!format!("{connection:?} {connection}").contains("s3cret"));
        assert!(!format!("{connection:?} {connection}").contains("db"));
    }
}
