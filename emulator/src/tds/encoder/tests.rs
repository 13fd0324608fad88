//! Events in, tokens out.

use bytes::{Bytes, BytesMut};
use uuid::Uuid;

use super::*;
use crate::output::{Change, Command};
use crate::tds::token::{Token, read_tokens};
use crate::tds::types::Form;
use crate::value::{DateTime, SqlType, Value};

fn encoder() -> TokenEncoder {
    TokenEncoder::new(Arc::from("server"))
}

fn tokens(encoder: &mut TokenEncoder) -> Vec<Token> {
    let mut bytes = BytesMut::new();
    encoder.buffer().move_to(usize::MAX, &mut bytes);
    read_tokens(bytes.freeze()).unwrap()
}

fn reply(events: Vec<Event>) -> Vec<Token> {
    let mut encoder = encoder();
    events.into_iter().for_each(|event| encoder.emit(event));
    encoder.finish();
    tokens(&mut encoder)
}

fn columns(columns: &[Column]) -> Event {
    Event::Columns(columns.into())
}

fn done(command: Command, count: Option<u64>) -> Event {
    Event::StatementDone { command, count, in_procedure: false, failed: false }
}

fn dones(tokens: &[Token]) -> Vec<Done> {
    tokens.iter().filter_map(|token| if let Token::Done(done) = token { Some(*done) } else { None }).collect()
}

#[test]
fn only_the_last_done_lacks_the_more_bit() {
    let tokens = reply(vec![
        done(Command::Insert, Some(3)),
        done(Command::Other, None),
        done(Command::Select, Some(0)),
    ]);
    let seen: Vec<_> = dones(&tokens).iter().map(|done| (done.status, done.command, done.count)).collect();
    assert_eq!(seen, [(Done::COUNT | Done::MORE, 0xC3, 3), (Done::MORE, 0, 0), (Done::COUNT, 0xC1, 0)]);
}

#[test]
fn commands_have_the_numbers_clients_know() {
    let numbers = [Command::Select, Command::Insert, Command::Delete, Command::Update, Command::Merge]
        .map(|command| dones(&reply(vec![done(command, None)]))[0].command);
    assert_eq!(numbers, [0xC1, 0xC3, 0xC4, 0xC5, 0x117]);
}

#[test]
fn a_result_set_reads_back() {
    let tokens = reply(vec![
        columns(&[Column::new("n", SqlType::Int), Column::not_null("s", SqlType::nvarchar(5))]),
        Event::Row(vec![Value::Int(1), Value::nvarchar("ü")]),
        Event::Row(vec![Value::Null, Value::nvarchar("")]),
        done(Command::Select, Some(2)),
    ]);
    let Token::Columns(described) = &tokens[0] else { panic!("{tokens:?}") };
    assert_eq!((described[0].0.as_str(), described[1].1.ty), ("n", SqlType::nvarchar(5)));
    assert_eq!(tokens[1], Token::Row(vec![Value::Int(1), Value::nvarchar("ü")]));
    assert_eq!(tokens[2], Token::Row(vec![Value::Null, Value::nvarchar("")]));
    assert_eq!(tokens.len(), 4);
}

#[test]
fn columns_without_nulls_have_types_of_fixed_length() {
    let types = [SqlType::Int, SqlType::Bit, SqlType::BigInt, SqlType::DateTime, SqlType::UniqueIdentifier];
    let described = types.map(|ty| Column::not_null("c", ty));
    let moment = DateTime { days: 1, thirds: 2 };
    let values = vec![
        Value::Int(1),
        Value::Bit(true),
        Value::BigInt(2),
        Value::DateTime(moment),
        Value::Uuid(Uuid::nil()),
    ];
    let tokens = reply(vec![columns(&described), Event::Row(values.clone())]);
    let Token::Columns(read) = &tokens[0] else { panic!("{tokens:?}") };
    let fixed: Vec<_> = read.iter().map(|(_, info)| matches!(info.form, Form::Fixed(_))).collect();
    assert_eq!(fixed, [true, true, true, true, false]);
    assert_eq!(tokens[1], Token::Row(values));
}

#[test]
fn a_reply_without_events_is_one_done() {
    assert_eq!(reply(vec![]), [Token::Done(Done::plain(DoneKind::Statement))]);
}

#[test]
fn an_error_without_a_done_ends_in_a_failed_done() {
    let error = SqlError::new(208, "Invalid object name 't'.").at_line(3);
    let tokens = reply(vec![Event::Error(error.clone())]);
    assert_eq!(tokens[0], Token::Error(error));
    assert_eq!(dones(&tokens)[0].status, Done::ERROR);
}

#[test]
fn notices_are_info_tokens_and_do_not_fail() {
    let notice = SqlError::with_severity(0, 0, "hello");
    let tokens = reply(vec![Event::Info(notice.clone())]);
    assert_eq!(tokens[0], Token::Info(notice));
    assert_eq!(dones(&tokens)[0].status, 0);
}

#[test]
fn a_procedure_ends_with_its_values_status_and_doneproc() {
    let mut encoder = encoder();
    encoder.emit(Event::StatementDone {
        command: Command::Select,
        count: None,
        in_procedure: true,
        failed: false,
    });
    encoder.emit(Event::ReturnStatus(-6));
    encoder.emit(Event::OutputParameter {
        ordinal: 2,
        name: "@h".into(),
        ty: SqlType::Int,
        value: Value::Int(9),
    });
    encoder.emit(Event::ProcedureDone { failed: true });
    encoder.end_procedure();
    encoder.finish();
    let tokens = tokens(&mut encoder);
    assert_eq!(tokens[1..3], [Token::Status(-6), Token::Output(2, "@h".into(), Value::Int(9))]);
    let kinds: Vec<_> = dones(&tokens).iter().map(|done| (done.kind, done.status)).collect();
    assert_eq!(kinds, [(DoneKind::InProcedure, Done::MORE), (DoneKind::Procedure, Done::ERROR)]);
}

#[test]
fn a_call_without_an_end_of_its_own_gets_a_doneproc() {
    let mut encoder = encoder();
    encoder.emit(Event::Error(SqlError::new(2812, "Could not find stored procedure 'p'.")));
    encoder.end_procedure();
    encoder.finish();
    let done = dones(&tokens(&mut encoder))[0];
    assert_eq!((done.kind, done.status), (DoneKind::Procedure, Done::ERROR));
}

#[test]
fn an_interrupted_reply_ends_failed_but_without_an_error() {
    let mut encoder = encoder();
    encoder.emit(done(Command::Other, None));
    encoder.finish_interrupted();
    let tokens = tokens(&mut encoder);
    assert_eq!(dones(&tokens).iter().map(|done| done.status).collect::<Vec<_>>(), [Done::MORE, Done::ERROR]);
    assert_eq!(tokens.len(), 2);
}

#[test]
fn changes_read_back() {
    let changes = [
        Change::Database { old: "master".into(), new: "db1".into() },
        Change::TransactionBegun(7),
        Change::TransactionCommitted(u64::MAX),
        Change::TransactionRolledBack(1),
        Change::Reset,
    ];
    let tokens = reply(changes.iter().cloned().map(Event::Change).collect());
    let expected = changes.into_iter().map(|change| Token::EnvChange(EnvChange::Session(change)));
    assert_eq!(tokens[..5], expected.collect::<Vec<_>>());
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_in_the_reply_and_its_result_fails() {
    let tokens = reply(vec![
        columns(&[Column::new("a", SqlType::Int), Column::not_null("b", SqlType::Int)]),
        Event::Row(vec![Value::Int(1), Value::Int(1)]),
        Event::Row(vec![Value::Int(2), Value::Null]),
        Event::Row(vec![Value::Int(3), Value::Int(3)]),
        done(Command::Select, Some(3)),
        done(Command::Other, None),
    ]);
    assert_eq!(tokens[1], Token::Row(vec![Value::Int(1), Value::Int(1)]));
    let Token::Error(error) = &tokens[2] else { panic!("{tokens:?}") };
    assert_eq!((error.number, error.message.contains("column 'b'")), (INTERNAL_ERROR, true));
    let statuses: Vec<_> = dones(&tokens).iter().map(|done| done.status).collect();
    assert_eq!(statuses, [Done::COUNT | Done::ERROR | Done::MORE, 0]);
    assert_eq!(tokens.len(), 5);
}

#[test]
fn an_output_value_of_the_wrong_type_fails_its_procedure() {
    let value = Value::varchar("1");
    let tokens = reply(vec![
        Event::OutputParameter { ordinal: 0, name: "@a".into(), ty: SqlType::Int, value },
        Event::ProcedureDone { failed: false },
    ]);
    assert!(matches!(&tokens[0], Token::Error(error) if error.message.contains("'@a'")));
    assert_eq!(dones(&tokens)[0].status, Done::ERROR);
}

#[test]
fn it_is_full_from_32_kib_on_and_keeps_large_values_by_reference() {
    let mut encoder = encoder();
    encoder.emit(columns(&[Column::new("b", SqlType::Image)]));
    assert!(!encoder.is_full());
    let body = Bytes::from(vec![1; 20_000_000]);
    encoder.emit(Event::Row(vec![Value::Binary(body.clone())]));
    assert!(encoder.is_full());
    assert!(encoder.buffer().tail().capacity() < 1 << 20, "the value was copied");
    encoder.emit(done(Command::Select, Some(1)));
    encoder.finish();
    assert_eq!(tokens(&mut encoder)[1], Token::Row(vec![Value::Binary(body)]));
}
