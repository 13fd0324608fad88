//! Tests of the parser, by family of statements.

mod boundaries;
mod broker;
mod control_flow;
mod data;
mod definitions;
mod errors;
mod expressions;
mod limits;
mod snippets;

use crate::tsql::ast::{Batch, Statement, StatementKind};
use crate::tsql::parser::{ParseOptions, parse_batch};

/// The batch of a text that parses.
fn batch(text: &str) -> Batch {
    parse_batch(text, ParseOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The statements of a text that parses.
fn statements(text: &str) -> Vec<Statement> {
    batch(text).statements
}

/// What the only statement of a text says.
fn only(text: &str) -> StatementKind {
    let mut statements = statements(text);
    assert_eq!(statements.len(), 1, "{text}");
    statements.pop().unwrap().kind
}

/// The number of the error a text gives.
fn error_number(text: &str) -> i32 {
    parse_batch(text, ParseOptions::default()).expect_err(text).number
}

/// A statement's kind in one word, with the kinds of what is nested in blocks.
fn outline(statements: &[Statement]) -> String {
    let words: Vec<_> = statements.iter().map(|statement| word(&statement.kind)).collect();
    words.join(" ")
}

fn word(kind: &StatementKind) -> String {
    match kind {
        StatementKind::Block(inner) => format!("block({})", outline(inner)),
        StatementKind::If(inner) => {
            let otherwise = inner.otherwise.as_ref().map(|other| format!(" else {}", word(&other.kind)));
            format!("if({}{})", word(&inner.then.kind), otherwise.unwrap_or_default())
        }
        StatementKind::While(inner) => format!("while({})", word(&inner.body.kind)),
        StatementKind::TryCatch(inner) => {
            format!("try({}) catch({})", outline(&inner.try_block), outline(&inner.catch_block))
        }
        StatementKind::Unsupported { construct } => format!("unsupported[{construct}]"),
        other => {
            let text = format!("{other:?}");
            let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
            let family = &text[..end];
            let member = text[end..].trim_start_matches('(');
            let member = &member[..member.find(|c: char| !c.is_alphanumeric()).unwrap_or(member.len())];
            let grouped =
                ["Broker", "BrokerDdl", "Transaction", "Cursor", "Ddl", "Security"].contains(&family);
            if grouped { member.to_owned() } else { family.to_owned() }
        }
    }
}
