//! Calls as clients send them.

use bytes::{BufMut, BytesMut};

use super::*;
use crate::tds::buffer::OutputBuffer;
use crate::value::{Length, SqlType, Value};

fn parameter(name: &str, ty: SqlType, value: Value) -> CallParameter {
    CallParameter { name: name.into(), output: false, default: false, ty, value }
}

fn bytes_of(calls: &[ProcedureCall]) -> BytesMut {
    let mut buffer = OutputBuffer::default();
    encode(calls, &mut buffer);
    let mut bytes = BytesMut::new();
    buffer.move_to(usize::MAX, &mut bytes);
    bytes
}

fn sample_calls() -> Vec<ProcedureCall> {
    let max = SqlType::NVarChar(Length::Max);
    let handle = CallParameter { output: true, ..parameter("", SqlType::Int, Value::Null) };
    let default = CallParameter { default: true, ..parameter("@d", SqlType::Int, Value::Null) };
    vec![
        ProcedureCall {
            procedure: ProcedureName::Number(13),
            parameters: vec![
                handle,
                parameter("", max, Value::nvarchar("@P1 int")),
                parameter("@P1", SqlType::Int, Value::Int(-5)),
            ],
        },
        ProcedureCall { procedure: ProcedureName::Name("[dbo].[p]".into()), parameters: vec![default] },
    ]
}

#[test]
fn several_calls_of_a_message_survive_a_round_trip() {
    assert_eq!(decode(bytes_of(&sample_calls()).freeze()).unwrap(), sample_calls());
}

#[test]
fn the_old_separator_and_one_at_the_end_are_taken() {
    let call = ProcedureCall { procedure: ProcedureName::Name("p".into()), parameters: vec![] };
    let mut bytes = bytes_of(std::slice::from_ref(&call));
    bytes.put_u8(0x80);
    assert_eq!(decode(bytes.clone().freeze()).unwrap(), std::slice::from_ref(&call));
    bytes.put_slice(&[1, 0, b'p', 0, 0, 0]);
    assert_eq!(decode(bytes.freeze()).unwrap(), [call.clone(), call]);
}

#[test]
fn what_the_emulator_lacks_is_refused_by_name() {
    let refused = |tail: &[u8]| {
        let call = ProcedureCall { procedure: ProcedureName::Name("p".into()), parameters: vec![] };
        let mut bytes = bytes_of(&[call]);
        bytes.put_slice(tail);
        decode(bytes.freeze()).unwrap_err().to_string()
    };
    assert!(refused(&[0, 0x08, 0x38]).contains("Always Encrypted"));
    assert!(refused(&[0xFE]).contains("not to be executed"));
    assert!(refused(&[0, 0, 0xF3]).contains("table-valued parameters"));
}

#[test]
fn a_cut_message_is_an_error_wherever_it_is_cut() {
    let whole = bytes_of(&sample_calls()[..1]).freeze();
    let complete: Vec<usize> = (0..whole.len()).filter(|cut| decode(whole.slice(..*cut)).is_ok()).collect();
    // Only where a parameter ends is the rest a message of its own: before each of the three.
    assert_eq!(complete.len(), 3, "{complete:?}");
}
