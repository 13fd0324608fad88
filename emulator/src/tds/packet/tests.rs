//! Framing: what comes out of the packets that went in.

use super::*;

fn packet(kind: u8, status: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, status];
    bytes.extend_from_slice(&u16::try_from(body.len() + HEADER_LEN).unwrap().to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 1, 0]);
    bytes.extend_from_slice(body);
    bytes
}

async fn read(bytes: &[u8]) -> Result<Option<Message>, ReadError> {
    MessageReader::new(bytes).read(64).await
}

fn protocol_error(result: Result<Option<Message>, ReadError>) -> String {
    match result {
        Err(ReadError::Protocol(error)) => error.to_string(),
        other => panic!("no protocol error: {other:?}"),
    }
}

#[tokio::test]
async fn packets_are_joined_and_their_status_bits_collected() {
    let bytes = [packet(1, 0x08, b"ab"), packet(1, 0x01, b"c")].concat();
    let message = read(&bytes).await.unwrap().unwrap();
    assert_eq!((message.kind, &message.payload[..]), (PacketType::SqlBatch, &b"abc"[..]));
    assert!(message.status.contains(Status::RESET_CONNECTION));
}

#[tokio::test]
async fn the_end_of_the_stream_is_orderly_only_between_messages() {
    assert!(read(b"").await.unwrap().is_none());
    let whole = packet(1, 1, b"abc");
    for cut in 1..whole.len() {
        assert!(matches!(read(&whole[..cut]).await, Err(ReadError::Io(_))), "cut at {cut}");
    }
}

#[tokio::test]
async fn an_attention_takes_the_place_of_an_unfinished_message() {
    let bytes = [packet(1, 0, b"ab"), packet(6, 1, b"")].concat();
    let message = read(&bytes).await.unwrap().unwrap();
    assert_eq!((message.kind, message.payload.len()), (PacketType::Attention, 0));
}

#[tokio::test]
async fn mixed_types_long_messages_and_bad_headers_are_refused() {
    let mixed = [packet(1, 0, b"ab"), packet(3, 1, b"")].concat();
    assert!(protocol_error(read(&mixed).await).contains("Rpc packet inside a SqlBatch"));
    assert!(protocol_error(read(&packet(1, 1, &[0; 65])).await).contains("longer than the 64"));
    assert!(protocol_error(read(&packet(0x16, 1, b"")).await).contains("packet type 0x16"));
    let mut short = packet(1, 1, b"");
    short[3] = 7;
    assert!(protocol_error(read(&short).await).contains("packet length 7"));
}

#[tokio::test]
async fn a_reply_is_cut_into_packets_that_read_back() {
    let body: Vec<u8> = (0..2000u32).map(|n| n as u8).collect();
    let mut data = OutputBuffer::default();
    data.put_shared(Bytes::from(body.clone()));
    let mut writer = MessageWriter::new(Vec::new());
    writer.set_packet_size(512);
    writer.write_full(PacketType::TabularResult, &mut data).await.unwrap();
    assert_eq!(data.len(), 2000 - 3 * 504, "the last part waits for the end of the message");
    writer.write_end(PacketType::TabularResult, &mut data).await.unwrap();
    let bytes = writer.into_inner();
    assert_eq!((bytes[6], bytes[512 + 6], bytes[1536 + 6], bytes[1536 + 1]), (1, 2, 4, 1));
    let message = MessageReader::new(&bytes[..]).read(4000).await.unwrap().unwrap();
    assert_eq!(message.payload, body);
}

#[tokio::test]
async fn a_message_that_fills_its_packet_exactly_is_one_packet() {
    let mut data = OutputBuffer::default();
    data.tail().put_bytes(1, 504);
    let mut writer = MessageWriter::new(Vec::new());
    writer.set_packet_size(512);
    writer.write_end(PacketType::TabularResult, &mut data).await.unwrap();
    assert_eq!(writer.into_inner().len(), 512);
}
