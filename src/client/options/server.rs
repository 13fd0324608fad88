//! Reads the server part of a connection string: `[tcp:]host[\instance][,port]`.

use super::super::error::{Error, Result};
use super::DEFAULT_PORT;

/// Host and port, or host and the instance whose port is to be asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) instance: Option<String>,
}

impl ServerAddress {
    /// A port makes the name of an instance superfluous, and `MSSQLSERVER` is the default instance.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let address = strip_protocol(text.trim())?;
        let (name, port) = match address.split_once(',') {
            Some((name, port)) => (name.trim(), Some(parse_port(text, port.trim())?)),
            None => (address, None),
        };
        let (host, instance) = match name.split_once('\\') {
            Some((host, instance)) => (host.trim(), Some(instance.trim())),
            None => (name, None),
        };
        let host = host_name(text, host)?;
        if instance == Some("") {
            return Err(Error::config(format!("server '{text}' has no instance after the backslash")));
        }
        let instance = instance.filter(|name| port.is_none() && !name.eq_ignore_ascii_case("MSSQLSERVER"));
        Ok(Self { host, port: port.unwrap_or(DEFAULT_PORT), instance: instance.map(str::to_owned) })
    }
}

fn strip_protocol(text: &str) -> Result<&str> {
    let Some((protocol, address)) = text.split_once(':') else { return Ok(text) };
    match protocol.trim().to_ascii_lowercase().as_str() {
        "tcp" => Ok(address.trim()),
        "np" | "lpc" | "admin" | "via" => {
            Err(Error::config(format!("server '{text}': only tcp connections are supported, not {protocol}")))
        }
        // An address of IP version 6 has colons of its own.
        _ => Ok(text),
    }
}

fn parse_port(text: &str, port: &str) -> Result<u16> {
    match port.parse() {
        Ok(0) | Err(_) => Err(Error::config(format!("server '{text}': '{port}' is not a port (1 to 65535)"))),
        Ok(port) => Ok(port),
    }
}

fn host_name(text: &str, host: &str) -> Result<String> {
    let lower = host.to_ascii_lowercase();
    match lower.as_str() {
        "" => Err(Error::config(format!("server '{text}' has no host name"))),
        "." | "(local)" => Ok("localhost".to_owned()),
        "(localdb)" => {
            Err(Error::config(format!("server '{text}': LocalDB is not supported, it has no tcp port")))
        }
        _ => Ok(host.trim_start_matches('[').trim_end_matches(']').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_all_their_forms() {
        let table = [
            ("db", "db", 1433),
            ("tcp:db.example.com,14330", "db.example.com", 14330),
            (" TCP: db , 1500 ", "db", 1500),
            (".", "localhost", 1433),
            ("(local),1444", "localhost", 1444),
            ("::1,1433", "::1", 1433),
            ("tcp:[::1],1500", "::1", 1500),
            ("db\\SQLEXPRESS,1500", "db", 1500),
        ];
        for (text, host, port) in table {
            assert_eq!(
                ServerAddress::parse(text).unwrap(),
                ServerAddress { host: host.into(), port, instance: None },
                "{text}"
            );
        }
    }

    #[test]
    fn an_instance_is_kept_unless_a_port_is_given_or_it_is_the_default_one() {
        let instance = |text: &str| ServerAddress::parse(text).unwrap().instance;
        assert_eq!(instance("tcp:db\\SQLEXPRESS").as_deref(), Some("SQLEXPRESS"));
        assert_eq!(instance(".\\inst").as_deref(), Some("inst"));
        assert_eq!(instance("db\\mssqlserver"), None);
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_the_reason() {
        for (text, reason) in [
            ("db\\", "no instance after the backslash"),
            ("np:\\\\db\\pipe\\sql\\query", "only tcp"),
            ("(localdb)\\v11,1", "LocalDB"),
            ("db,x", "not a port"),
            ("db,0", "not a port"),
            (",1433", "no host name"),
        ] {
            let error = ServerAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
