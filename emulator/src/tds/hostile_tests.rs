//! Hostile bytes: every decoder answers cut, changed and random messages by a value or an error, without a panic.
//!
//! Memory is bounded by construction, as decoders only slice the message; that a huge announced length is refused before
//! anything is allocated has a test of its own.

use bytes::{BufMut, Bytes, BytesMut};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::buffer::OutputBuffer;
use super::login::{Login, TDS_7_4};
use super::prelogin::{EncryptionOption, PreLogin};
use super::{batch, packet, rpc, transaction_manager};
use crate::request::{CallParameter, LoginRequest, ProcedureCall, ProcedureName, TransactionRequest};
use crate::value::{Length, SqlType, Value};

const ROUNDS: usize = 4000;

/// Runs all decoders; what they answer does not matter.
fn decode_all(bytes: &Bytes) {
    let _ = PreLogin::decode(bytes.clone());
    let _ = Login::decode(bytes.clone());
    let _ = batch::decode(bytes.clone());
    let _ = rpc::decode(bytes.clone());
    let _ = transaction_manager::decode(bytes.clone());
}

fn valid_messages() -> Vec<BytesMut> {
    let mut messages = vec![BytesMut::new(); 4];
    let version = [0; 6];
    PreLogin { version, encryption: EncryptionOption::On, federated_authentication: Some(1) }
        .encode(&mut messages[0]);
    let request = LoginRequest { user: "sa".into(), password: "x".into(), ..LoginRequest::default() };
    let features = vec![super::login::Feature { id: 10, data: Bytes::from_static(&[1]) }];
    Login { tds_version: TDS_7_4, packet_size: 4096, features, request }.encode(&mut messages[1]);
    transaction_manager::encode(&TransactionRequest::Save { name: "s".into() }, &mut messages[2]);
    batch::encode("SELECT 1", &mut messages[3]);
    messages.push(call_with_all_kinds_of_values());
    messages
}

fn call_with_all_kinds_of_values() -> BytesMut {
    let parameter = |ty, value| CallParameter { name: "@p".into(), output: true, default: false, ty, value };
    let parameters = vec![
        parameter(SqlType::Int, Value::Int(1)),
        parameter(SqlType::NVarChar(Length::Max), Value::nvarchar("abc")),
        parameter(SqlType::VarBinary(Length::Limited(9)), Value::Binary(Bytes::from_static(b"abc"))),
        parameter(SqlType::Decimal { precision: 38, scale: 4 }, Value::Int(5)),
        parameter(SqlType::SqlVariant, Value::nvarchar("v")),
        parameter(SqlType::DateTimeOffset(7), Value::Null),
        parameter(SqlType::Xml, Value::Null),
    ];
    let mut buffer = OutputBuffer::default();
    rpc::encode(&[ProcedureCall { procedure: ProcedureName::Number(10), parameters }], &mut buffer);
    let mut bytes = BytesMut::new();
    buffer.move_to(usize::MAX, &mut bytes);
    bytes
}

#[test]
fn c128_cut_messages_do_not_panic() {
    for message in valid_messages() {
        let message = message.freeze();
        (0..message.len()).for_each(|cut| decode_all(&message.slice(..cut)));
    }
}

#[test]
fn c128_changed_messages_do_not_panic() {
    let mut random = StdRng::seed_from_u64(7);
    for message in valid_messages() {
        for _ in 0..ROUNDS {
            let mut changed = message.clone();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..changed.len());
                changed[at] = if random.random_bool(0.3) { 0xFF } else { random.random() };
            }
            decode_all(&changed.freeze());
        }
    }
}

#[test]
fn c128_random_bytes_do_not_panic() {
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..ROUNDS {
        let length = random.random_range(0..200);
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        decode_all(&Bytes::from(bytes));
    }
}

#[tokio::test]
async fn c128_random_packets_do_not_panic() {
    let mut random = StdRng::seed_from_u64(13);
    for _ in 0..ROUNDS {
        let length = random.random_range(0..60);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        if let Some(first) = bytes.first_mut() {
            *first = [1, 3, 6, 14, 16, 18][random.random_range(0..6)];
        }
        let _ = packet::MessageReader::new(&bytes[..]).read(40).await;
    }
}

#[test]
fn c128_a_huge_announced_length_is_refused_before_anything_is_allocated() {
    let mut message = call_with_all_kinds_of_values();
    let end = message.len();
    message.put_slice(&[0, 0, 0xA5, 0xFF, 0xFF]);
    message.put_u64_le(u64::MAX - 2);
    message.put_u32_le(u32::MAX);
    let error = rpc::decode(message.freeze()).unwrap_err().to_string();
    assert_eq!(error, format!("chunk needs 4294967295 bytes, 0 are left at byte {}", end + 17));
}
