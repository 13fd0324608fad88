//! Translates the driver's errors into ours. Knows no session and no statement.

use std::io;

use tiberius::error::Error as DriverError;

use super::super::error::{Error, ErrorKind, ServerError};

/// The error of a request.
pub(super) fn translate(error: DriverError) -> Error {
    match error {
        DriverError::Server(token) => Error::from_server(ServerError {
            state: token.state(),
            class: token.class(),
            server: token.server().to_owned(),
            procedure: token.procedure().to_owned(),
            line: token.line(),
            ..ServerError::new(token.code(), token.message())
        }),
        DriverError::Io { kind, ref message } => {
            Error::new(ErrorKind::ConnectionLost, "the connection was lost")
                .with_cause(io::Error::new(kind, message.clone()))
        }
        DriverError::Encoding(_) | DriverError::Conversion(_) | DriverError::BulkInput(_) => {
            Error::new(ErrorKind::Value, "a value cannot be encoded for the server").with_cause(error)
        }
        other => Error::new(ErrorKind::Protocol, "the server's answer is not understood").with_cause(other),
    }
}

/// The error of a connection attempt: what fails there says something about address, TLS or login.
pub(super) fn translate_connect(error: DriverError) -> Error {
    match error {
        DriverError::Tls(ref reason) => {
            let text = format!("the TLS handshake failed: {reason}");
            Error::new(ErrorKind::Tls, text)
        }
        DriverError::Io { kind, ref message } => {
            Error::new(ErrorKind::Connect, "the connection cannot be made")
                .with_cause(io::Error::new(kind, message.clone()))
        }
        DriverError::Protocol(_) => {
            Error::new(ErrorKind::Connect, "the peer does not answer like SQL Server").with_cause(error)
        }
        other => translate(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_socket_is_a_lost_connection_and_while_connecting_a_failed_connection() {
        let broken = || DriverError::Io { kind: io::ErrorKind::BrokenPipe, message: "pipe".into() };
        assert_eq!(translate(broken()).kind(), ErrorKind::ConnectionLost);
        assert_eq!(translate_connect(broken()).kind(), ErrorKind::Connect);
        assert_eq!(translate_connect(DriverError::Tls("bad".into())).kind(), ErrorKind::Tls);
        assert_eq!(translate(DriverError::Protocol("what".into())).kind(), ErrorKind::Protocol);
    }
}
