//! LOGIN7: who logs in, and with which wishes (MS-TDS 2.2.6.4).
//!
//! The password leaves this file only inside [`LoginRequest`], which never prints it.

use bytes::Bytes;

use super::error::ProtocolError;
use super::wire::WireReader;
use crate::request::LoginRequest;

/// The version all current clients send: TDS 7.4.
pub(crate) const TDS_7_4: u32 = 0x7400_0004;
/// The first version with the token layouts used here.
const OLDEST_VERSION: u32 = 0x7400_0000;
/// Where the table of offsets begins.
const TABLE: usize = 36;
/// Length of the fixed part.
const FIXED_LEN: usize = 94;
const INTEGRATED_SECURITY: u8 = 0x80;
const HAS_EXTENSION: u8 = 0x10;

/// Position of each variable field in the table of offsets.
#[derive(Debug, Clone, Copy)]
enum Field {
    Host = 0,
    User = 4,
    Password = 8,
    Application = 12,
    Extension = 20,
    Database = 32,
    NewPassword = 50,
}

/// A feature a client asks for (FeatureExt, MS-TDS 2.2.6.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Its number.
    pub(crate) id: u8,
    /// Its data.
    pub(crate) data: Bytes,
}

impl Feature {
    /// Federated authentication.
    pub(crate) const FEDERATED_AUTHENTICATION: u8 = 0x02;
    /// UTF8_SUPPORT.
    pub(crate) const UTF8_SUPPORT: u8 = 0x0A;
    /// Ends the list.
    pub(crate) const TERMINATOR: u8 = 0xFF;
}

/// A decoded LOGIN7 message.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    /// Version of the protocol, at least 7.4.
    pub(crate) tds_version: u32,
    /// Packet size wished for; 0 leaves it to the server.
    pub(crate) packet_size: u32,
    /// The features asked for.
    pub(crate) features: Vec<Feature>,
    /// What the session needs to know.
    pub(crate) request: LoginRequest,
}

impl Login {
    /// Decodes the message. Versions before 7.4, integrated and federated authentication and a change of password are
    /// refused by name.
    pub(crate) fn decode(payload: Bytes) -> Result<Login, ProtocolError> {
        let mut fixed = WireReader::new(payload.clone());
        let length = fixed.u32("LOGIN7 length")? as usize;
        let tds_version = fixed.u32("LOGIN7 version")?;
        if tds_version < OLDEST_VERSION {
            return Err(ProtocolError::unsupported(format!(
                "TDS version 0x{tds_version:08X}; the client must speak TDS 7.4"
            )));
        }
        if length < FIXED_LEN || length > payload.len() {
            return Err(fixed.malformed(format!("LOGIN7 length {length}")));
        }
        let packet_size = fixed.u32("LOGIN7 packet size")?;
        let fields = Fields { bytes: payload.slice(..length) };
        fields.refuse_other_authentication()?;
        let features = fields.features()?;
        if features.iter().any(|feature| feature.id == Feature::FEDERATED_AUTHENTICATION) {
            return Err(ProtocolError::unsupported("federated authentication; use SQL authentication"));
        }
        Ok(Login { tds_version, packet_size, features, request: fields.request()? })
    }
}

/// The variable fields of the message.
struct Fields {
    bytes: Bytes,
}

impl Fields {
    fn refuse_other_authentication(&self) -> Result<(), ProtocolError> {
        if self.bytes[25] & INTEGRATED_SECURITY != 0 {
            return Err(ProtocolError::unsupported("integrated authentication; use SQL authentication"));
        }
        if !self.raw(Field::NewPassword)?.is_empty() {
            return Err(ProtocolError::unsupported("changing the password at login"));
        }
        Ok(())
    }

    fn request(&self) -> Result<LoginRequest, ProtocolError> {
        Ok(LoginRequest {
            user: self.text(Field::User)?,
            password: super::wire::utf16_text(&unscrambled(&self.raw(Field::Password)?)),
            database: self.text(Field::Database)?,
            host: self.text(Field::Host)?,
            application: self.text(Field::Application)?,
        })
    }

    fn text(&self, field: Field) -> Result<String, ProtocolError> {
        Ok(super::wire::utf16_text(&self.raw(field)?))
    }

    /// The bytes of a field whose length counts characters.
    fn raw(&self, field: Field) -> Result<Bytes, ProtocolError> {
        let (offset, length) = self.entry(field)?;
        self.slice(offset, length * 2, field)
    }

    /// The features: the extension field holds the offset of their list.
    fn features(&self) -> Result<Vec<Feature>, ProtocolError> {
        if self.bytes[27] & HAS_EXTENSION == 0 {
            return Ok(Vec::new());
        }
        let (offset, length) = self.entry(Field::Extension)?;
        let pointer = self.slice(offset, length, Field::Extension)?;
        let start = WireReader::new(pointer).u32("LOGIN7 offset of the features")? as usize;
        if start > self.bytes.len() {
            return Err(ProtocolError::malformed("LOGIN7 features lie outside", start));
        }
        let mut list = WireReader::new(self.bytes.slice(start..));
        let mut features = Vec::new();
        loop {
            let id = list.u8("LOGIN7 feature")?;
            if id == Feature::TERMINATOR {
                return Ok(features);
            }
            let length = list.u32("LOGIN7 feature length")? as usize;
            features.push(Feature { id, data: list.take(length, "LOGIN7 feature data")? });
        }
    }

    fn entry(&self, field: Field) -> Result<(usize, usize), ProtocolError> {
        let at = TABLE + field as usize;
        let mut entry = WireReader::new(self.bytes.slice(at..at + 4));
        Ok((usize::from(entry.u16("LOGIN7 offset")?), usize::from(entry.u16("LOGIN7 length")?)))
    }

    fn slice(&self, offset: usize, length: usize, field: Field) -> Result<Bytes, ProtocolError> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        if offset + length > self.bytes.len() {
            return Err(ProtocolError::malformed(format!("LOGIN7 field {field:?} lies outside"), offset));
        }
        Ok(self.bytes.slice(offset..offset + length))
    }
}

/// The password's bytes: each had its halves swapped and was then combined with 0xA5.
fn unscrambled(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| (byte ^ 0xA5).rotate_left(4)).collect()
}

#[cfg(test)]
impl Login {
    /// Encodes the message as a client does.
    pub(crate) fn encode(&self, target: &mut bytes::BytesMut) {
        use bytes::BufMut;
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let scrambled =
            utf16(&self.request.password).iter().map(|byte| byte.rotate_left(4) ^ 0xA5).collect::<Vec<u8>>();
        let mut fixed = vec![0; FIXED_LEN];
        fixed[4..8].copy_from_slice(&self.tds_version.to_le_bytes());
        fixed[8..12].copy_from_slice(&self.packet_size.to_le_bytes());
        let mut data = Vec::new();
        let texts = [
            (Field::Host, utf16(&self.request.host)),
            (Field::User, utf16(&self.request.user)),
            (Field::Password, scrambled),
            (Field::Application, utf16(&self.request.application)),
            (Field::Database, utf16(&self.request.database)),
        ];
        for (field, bytes) in texts {
            let at = TABLE + field as usize;
            fixed[at..at + 2].copy_from_slice(&((FIXED_LEN + data.len()) as u16).to_le_bytes());
            fixed[at + 2..at + 4].copy_from_slice(&((bytes.len() / 2) as u16).to_le_bytes());
            data.extend_from_slice(&bytes);
        }
        if !self.features.is_empty() {
            fixed[27] |= HAS_EXTENSION;
            let at = TABLE + Field::Extension as usize;
            let pointer = FIXED_LEN + data.len();
            fixed[at..at + 2].copy_from_slice(&(pointer as u16).to_le_bytes());
            fixed[at + 2] = 4;
            data.extend_from_slice(&(pointer as u32 + 4).to_le_bytes());
            for feature in &self.features {
                data.push(feature.id);
                data.extend_from_slice(&(feature.data.len() as u32).to_le_bytes());
                data.extend_from_slice(&feature.data);
            }
            data.push(Feature::TERMINATOR);
        }
        let length = (FIXED_LEN + data.len()) as u32;
        fixed[..4].copy_from_slice(&length.to_le_bytes());
        target.put_slice(&fixed);
        target.put_slice(&data);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;

    fn sample() -> Login {
        Login {
            tds_version: TDS_7_4,
            packet_size: 8000,
            features: vec![Feature { id: Feature::UTF8_SUPPORT, data: Bytes::from_static(&[1]) }],
            request: LoginRequest {
                user: "sa".into(),
                password: "geheim ü€".into(),
                database: "db1".into(),
                host: "h".into(),
                application: "app".into(),
            },
        }
    }

    fn encoded(login: &Login) -> BytesMut {
        let mut bytes = BytesMut::new();
        login.encode(&mut bytes);
        bytes
    }

    #[test]
    fn all_fields_survive_a_round_trip() {
        let decoded = Login::decode(encoded(&sample()).freeze()).unwrap();
        assert_eq!(decoded.request.password, "geheim ü€");
        assert_eq!(format!("{:?}", decoded.request), format!("{:?}", sample().request));
        assert_eq!((decoded.packet_size, decoded.features), (8000, sample().features));
    }

    #[test]
    fn the_password_is_not_readable_on_the_wire() {
        let bytes = encoded(&sample());
        let plain: Vec<u8> = "geheim".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(!bytes.windows(plain.len()).any(|window| window == plain));
    }

    #[test]
    fn old_versions_and_other_authentication_are_refused_by_name() {
        let refused = |change: &dyn Fn(&mut BytesMut)| {
            let mut bytes = encoded(&sample());
            change(&mut bytes);
            Login::decode(bytes.freeze()).unwrap_err().to_string()
        };
        assert!(refused(&|b| b[4..8].copy_from_slice(&0x7100_0001u32.to_le_bytes())).contains("TDS 7.4"));
        assert!(refused(&|b| b[25] |= 0x80).contains("integrated authentication"));
        let features = vec![Feature { id: Feature::FEDERATED_AUTHENTICATION, data: Bytes::new() }];
        let bytes = encoded(&Login { features, ..sample() }).freeze();
        assert!(Login::decode(bytes).unwrap_err().to_string().contains("federated authentication"));
    }

    #[test]
    fn fields_outside_the_message_are_refused() {
        let mut bytes = encoded(&sample());
        bytes[TABLE + 6] = 0xFF;
        bytes[TABLE + 7] = 0xFF;
        assert!(Login::decode(bytes.freeze()).unwrap_err().to_string().contains("User lies outside"));
        let whole = encoded(&sample());
        for cut in 0..whole.len() {
            assert!(Login::decode(whole.clone().freeze().slice(..cut)).is_err(), "cut at {cut}");
        }
    }
}
