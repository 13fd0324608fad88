//! Settles the encryption of a connection from what client and server want (MS-TDS 2.2.6.5, table of ENCRYPTION).

use super::options::Encryption;
use crate::tds::prelogin::EncryptionOption;
use crate::tls::ServerTls;

/// What is encrypted.
#[derive(Debug)]
pub(super) enum Agreed<'a> {
    /// Nothing.
    Nothing,
    /// The login; plain text after it.
    Login(&'a ServerTls),
    /// Everything from here on.
    Everything(&'a ServerTls),
    /// The two cannot agree; the connection ends after the answer.
    Disagreed,
}

/// The ENCRYPTION option of the answer, and what follows from it. REQ, which tiberius sends, counts as ON.
pub(super) fn settle(server: &Encryption, client: EncryptionOption) -> (EncryptionOption, Agreed<'_>) {
    match (server, client) {
        (Encryption::Unsupported, _) | (Encryption::Offered(_), EncryptionOption::NotSupported) => {
            (EncryptionOption::NotSupported, Agreed::Nothing)
        }
        (Encryption::Offered(tls), EncryptionOption::Off) => (EncryptionOption::Off, Agreed::Login(tls)),
        (Encryption::Required(_), EncryptionOption::NotSupported) => {
            (EncryptionOption::Required, Agreed::Disagreed)
        }
        (Encryption::Required(tls), EncryptionOption::Off) => {
            (EncryptionOption::Required, Agreed::Everything(tls))
        }
        (
            Encryption::Offered(tls) | Encryption::Required(tls),
            EncryptionOption::On | EncryptionOption::Required,
        ) => (EncryptionOption::On, Agreed::Everything(tls)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_wishes_is_settled_as_ms_tds_says() {
        use EncryptionOption::{NotSupported, Off, On, Required};
        let tls = ServerTls::self_signed(&[]).unwrap();
        let (offered, required) = (Encryption::Offered(tls.clone()), Encryption::Required(tls));
        let table = [
            (&Encryption::Unsupported, On, NotSupported, "Nothing"),
            (&Encryption::Unsupported, Off, NotSupported, "Nothing"),
            (&offered, NotSupported, NotSupported, "Nothing"),
            (&offered, Off, Off, "Login"),
            (&offered, On, On, "Everything"),
            (&offered, Required, On, "Everything"),
            (&required, NotSupported, Required, "Disagreed"),
            (&required, Off, Required, "Everything"),
            (&required, On, On, "Everything"),
        ];
        for (server, client, answer, outcome) in table {
            let (answered, agreed) = settle(server, client);
            assert_eq!(answered, answer, "{client:?}");
            assert!(format!("{agreed:?}").starts_with(outcome), "{client:?}: {agreed:?}");
        }
    }
}
