//! RPC: remote procedure calls, one or several in a message (MS-TDS 2.2.6.6).

use bytes::Bytes;

use super::error::ProtocolError;
use super::headers;
use super::types::{TypeInfo, read_value};
use super::wire::WireReader;
use crate::request::{CallParameter, ProcedureCall, ProcedureName};

/// Stands for the length of a name when the procedure is called by number.
const BY_NUMBER: u16 = 0xFFFF;
/// Separates calls since TDS 7.2.
const BATCH_FLAG: u8 = 0xFF;
/// Separated calls before; some clients still send it. No name is so long: the `@` included, it has at most 128
/// characters, of which clients send no more than 127.
const OLD_BATCH_FLAG: u8 = 0x80;
/// Ends a call that is not to be executed.
const NO_EXECUTION_FLAG: u8 = 0xFE;
const BY_REFERENCE: u8 = 0x01;
const DEFAULT_VALUE: u8 = 0x02;
const ENCRYPTED: u8 = 0x08;

/// The calls of a message, in order.
pub(crate) fn decode(payload: Bytes) -> Result<Vec<ProcedureCall>, ProtocolError> {
    let mut message = WireReader::new(payload);
    headers::skip_headers(&mut message)?;
    let mut calls = Vec::new();
    loop {
        calls.push(call(&mut message)?);
        match message.peek() {
            None => return Ok(calls),
            Some(_) => {
                message.u8("batch flag")?;
                if message.is_empty() {
                    return Ok(calls);
                }
            }
        }
    }
}

/// One call, up to the separator or the end.
fn call(message: &mut WireReader) -> Result<ProcedureCall, ProtocolError> {
    let procedure = match message.u16("procedure name length")? {
        BY_NUMBER => ProcedureName::Number(message.u16("procedure number")?),
        length => ProcedureName::Name(message.utf16(usize::from(length), "procedure name")?),
    };
    // Recompilation and reuse of metadata change no answer: metadata is always sent.
    let _options = message.u16("procedure options")?;
    let mut parameters = Vec::new();
    loop {
        match message.peek() {
            None | Some(BATCH_FLAG | OLD_BATCH_FLAG) => return Ok(ProcedureCall { procedure, parameters }),
            Some(NO_EXECUTION_FLAG) => {
                return Err(ProtocolError::unsupported("a procedure call that is not to be executed"));
            }
            Some(_) => parameters.push(parameter(message)?),
        }
    }
}

fn parameter(message: &mut WireReader) -> Result<CallParameter, ProtocolError> {
    let name = message.b_varchar("parameter name")?;
    let status = message.u8("parameter status")?;
    if status & ENCRYPTED != 0 {
        return Err(ProtocolError::unsupported(format!("Always Encrypted (parameter '{name}')")));
    }
    let info = TypeInfo::read(message)?;
    let value = read_value(message, &info)?;
    Ok(CallParameter {
        name,
        output: status & BY_REFERENCE != 0,
        default: status & DEFAULT_VALUE != 0,
        ty: info.ty,
        value,
    })
}

/// Encodes calls as a client does.
#[cfg(test)]
pub(crate) fn encode(calls: &[ProcedureCall], target: &mut super::buffer::OutputBuffer) {
    use bytes::BufMut;
    headers::put_headers(target.tail());
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            target.tail().put_u8(BATCH_FLAG);
        }
        match &call.procedure {
            ProcedureName::Number(number) => {
                target.tail().put_u16_le(BY_NUMBER);
                target.tail().put_u16_le(*number);
            }
            ProcedureName::Name(name) => super::token::put_us_varchar(target.tail(), name),
        }
        target.tail().put_u16_le(0);
        for parameter in &call.parameters {
            super::token::put_b_varchar(target.tail(), &parameter.name);
            target.tail().put_u8(u8::from(parameter.output) | (u8::from(parameter.default) << 1));
            super::types::write_type_info(target.tail(), parameter.ty, crate::value::Collation::DEFAULT);
            super::types::write_value(target, parameter.ty, &parameter.value).unwrap();
        }
    }
}

#[cfg(test)]
mod tests;
