//! Reads the server part of a connection string: `[tcp:]host[,port]`.

use super::super::error::{Error, Result};
use super::DEFAULT_PORT;

/// Host and port.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
}

impl ServerAddress {
    /// Named instances are refused unless a port is given: finding their port needs the SQL Browser service.
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
        if let (Some(instance), None) = (instance, port) {
            return Err(Error::config(format!(
                "server '{text}' names the instance '{instance}': write its port instead, as 'host,port'"
            )));
        }
        Ok(Self { host: host_name(text, host)?, port: port.unwrap_or(DEFAULT_PORT) })
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
                ServerAddress { host: host.into(), port },
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_the_reason() {
        for (text, reason) in [
            ("db\\SQLEXPRESS", "write its port"),
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
