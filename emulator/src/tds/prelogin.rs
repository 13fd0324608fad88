//! PRELOGIN: versions, encryption and what else is settled before the login (MS-TDS 2.2.6.5).

use bytes::{BufMut, Bytes, BytesMut};

use super::error::ProtocolError;
use super::wire::WireReader;

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const INSTANCE: u8 = 0x02;
const THREAD_ID: u8 = 0x03;
const MARS: u8 = 0x04;
const FEDERATED_AUTHENTICATION: u8 = 0x06;
const TERMINATOR: u8 = 0xFF;

/// The ENCRYPTION option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EncryptionOption {
    /// Encryption is possible; only the login is encrypted.
    Off,
    /// Everything is encrypted.
    On,
    /// Encryption is not possible.
    NotSupported,
    /// Encryption is demanded.
    Required,
}

impl EncryptionOption {
    fn from_wire(byte: u8) -> Option<EncryptionOption> {
        match byte {
            0 => Some(EncryptionOption::Off),
            1 => Some(EncryptionOption::On),
            2 => Some(EncryptionOption::NotSupported),
            3 => Some(EncryptionOption::Required),
            _ => None,
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            EncryptionOption::Off => 0,
            EncryptionOption::On => 1,
            EncryptionOption::NotSupported => 2,
            EncryptionOption::Required => 3,
        }
    }
}

/// The options of a PRELOGIN message that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreLogin {
    /// Version of the sender's program: major, minor, build (big-endian), sub-build.
    pub(crate) version: [u8; 6],
    /// What it says about encryption.
    pub(crate) encryption: EncryptionOption,
    /// FEDAUTHREQUIRED, if it was sent. A reply must have it only if the request had (ODBC 18 gives up otherwise).
    pub(crate) federated_authentication: Option<u8>,
}

impl PreLogin {
    /// Decodes the options; unknown ones are skipped.
    pub(crate) fn decode(payload: Bytes) -> Result<PreLogin, ProtocolError> {
        let mut table = WireReader::new(payload.clone());
        let mut found = PreLogin {
            version: [0; 6],
            encryption: EncryptionOption::NotSupported,
            federated_authentication: None,
        };
        loop {
            let option = table.u8("PRELOGIN option")?;
            if option == TERMINATOR {
                return Ok(found);
            }
            let offset = usize::from(table.u16_be("PRELOGIN option offset")?);
            let length = usize::from(table.u16_be("PRELOGIN option length")?);
            let data = payload
                .get(offset..offset + length)
                .ok_or_else(|| table.malformed(format!("PRELOGIN option 0x{option:02X} lies outside")))?;
            found.take_option(option, data, &table)?;
        }
    }

    /// Encodes a message with these options.
    pub(crate) fn encode(&self, target: &mut BytesMut) {
        let mut options: Vec<(u8, Vec<u8>)> = vec![
            (VERSION, self.version.to_vec()),
            (ENCRYPTION, vec![self.encryption.to_wire()]),
            (INSTANCE, vec![0]),
            (THREAD_ID, Vec::new()),
            (MARS, vec![0]),
        ];
        options.extend(self.federated_authentication.map(|byte| (FEDERATED_AUTHENTICATION, vec![byte])));
        let mut offset = options.len() * 5 + 1;
        for (option, data) in &options {
            target.put_u8(*option);
            target.put_u16(offset as u16);
            target.put_u16(data.len() as u16);
            offset += data.len();
        }
        target.put_u8(TERMINATOR);
        options.iter().for_each(|(_, data)| target.put_slice(data));
    }

    fn take_option(&mut self, option: u8, data: &[u8], at: &WireReader) -> Result<(), ProtocolError> {
        match (option, data) {
            (VERSION, data) => {
                self.version =
                    data.try_into().map_err(|_| at.malformed("PRELOGIN version is not 6 bytes"))?;
            }
            (ENCRYPTION, [byte]) => {
                self.encryption = EncryptionOption::from_wire(*byte)
                    .ok_or_else(|| at.malformed(format!("PRELOGIN encryption {byte}")))?;
            }
            (ENCRYPTION, _) => return Err(at.malformed("PRELOGIN encryption is not 1 byte")),
            (FEDERATED_AUTHENTICATION, data) => self.federated_authentication = data.first().copied(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_survive_a_round_trip() {
        for federated_authentication in [None, Some(1)] {
            let message = PreLogin {
                version: [16, 0, 3, 232, 0, 0],
                encryption: EncryptionOption::Required,
                federated_authentication,
            };
            let mut bytes = BytesMut::new();
            message.encode(&mut bytes);
            assert_eq!(PreLogin::decode(bytes.freeze()).unwrap(), message);
        }
    }

    #[test]
    fn options_outside_the_message_are_refused() {
        let error = PreLogin::decode(Bytes::from_static(&[0, 0, 6, 0, 6, 0xFF])).unwrap_err();
        assert!(error.to_string().contains("lies outside"), "{error}");
        assert!(PreLogin::decode(Bytes::from_static(&[0, 0, 6])).is_err());
        assert!(PreLogin::decode(Bytes::new()).is_err());
    }
}
