//! Reads whole replies back, for tests: a small client's view of the tokens.

use bytes::Bytes;

use super::{Done, DoneKind, EnvChange, LoginAck, col_metadata, error_info, feature_ext_ack, return_value};
use crate::error::SqlError;
use crate::tds::error::ProtocolError;
use crate::tds::login::Feature;
use crate::tds::types::{TypeInfo, read_value};
use crate::tds::wire::WireReader;
use crate::value::Value;

/// A token of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// COLMETADATA: names and types.
    Columns(Vec<(String, TypeInfo)>),
    /// ROW
    Row(Vec<Value>),
    /// DONE, DONEPROC, DONEINPROC
    Done(Done),
    /// ENVCHANGE
    EnvChange(EnvChange),
    /// ERROR
    Error(SqlError),
    /// INFO
    Info(SqlError),
    /// LOGINACK
    LoginAck(LoginAck),
    /// FEATUREEXTACK
    Features(Vec<Feature>),
    /// RETURNSTATUS
    Status(i32),
    /// RETURNVALUE: position, name, value.
    Output(u16, String, Value),
}

/// All tokens of a message.
pub(crate) fn read_tokens(message: Bytes) -> Result<Vec<Token>, ProtocolError> {
    let mut reader = WireReader::new(message);
    let mut columns: Vec<TypeInfo> = Vec::new();
    let mut tokens = Vec::new();
    while !reader.is_empty() {
        let token = read_token(&mut reader, &columns)?;
        if let Token::Columns(described) = &token {
            columns = described.iter().map(|(_, info)| *info).collect();
        }
        tokens.push(token);
    }
    Ok(tokens)
}

fn read_token(reader: &mut WireReader, columns: &[TypeInfo]) -> Result<Token, ProtocolError> {
    Ok(match reader.u8("token")? {
        0x81 => Token::Columns(col_metadata::read(reader)?),
        0xD1 => {
            let values: Result<Vec<_>, _> = columns.iter().map(|info| read_value(reader, info)).collect();
            Token::Row(values?)
        }
        0xFD => Token::Done(Done::read(DoneKind::Statement, reader)?),
        0xFE => Token::Done(Done::read(DoneKind::Procedure, reader)?),
        0xFF => Token::Done(Done::read(DoneKind::InProcedure, reader)?),
        0xE3 => Token::EnvChange(EnvChange::read(reader)?),
        0xAA => Token::Error(error_info::read(reader)?),
        0xAB => Token::Info(error_info::read(reader)?),
        0xAD => Token::LoginAck(LoginAck::read(reader)?),
        0xAE => Token::Features(feature_ext_ack::read(reader)?),
        super::return_status::TOKEN => Token::Status(reader.u32("status")? as i32),
        return_value::TOKEN => {
            let (ordinal, name, value) = return_value::read(reader)?;
            Token::Output(ordinal, name, value)
        }
        unknown => return Err(reader.malformed(format!("token 0x{unknown:02X}"))),
    })
}
