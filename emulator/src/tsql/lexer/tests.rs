//! Tests of the lexer.

use super::TokenKind::{
    self, AmpersandEqual, Bang, Binary, CaretEqual, Colon, Decimal, Delimited, DoubleColon, End, Equal,
    Float, Greater, Integer, Invalid, Less, MinusEqual, Money, NationalString, PercentEqual, PipeEqual,
    PlusEqual, SlashEqual, StarEqual, String, Word,
};
use super::tokenize;
use crate::tsql::keywords::Keyword;

fn kinds(text: &str) -> Vec<TokenKind> {
    let mut kinds: Vec<_> = tokenize(text, true).list.iter().map(|token| token.kind).collect();
    assert_eq!(kinds.pop(), Some(End));
    kinds
}

fn texts(text: &str) -> Vec<&str> {
    let tokens = tokenize(text, true).list;
    tokens
        .iter()
        .map(|token| &text[token.start as usize..token.end as usize])
        .filter(|t| !t.is_empty())
        .collect()
}

#[test]
fn words_are_split_from_reserved_words() {
    assert_eq!(kinds("select Receive"), [TokenKind::Keyword(Keyword::Select), Word]);
    assert_eq!(texts("a.b..c"), ["a", ".", "b", ".", ".", "c"]);
    assert_eq!(kinds("#t ##t _x a@b$c größe"), [Word; 5]);
}

#[test]
fn delimited_names_may_hold_their_delimiter_doubled() {
    assert_eq!(texts("[a]]b]\"c\"\"d\""), ["[a]]b]", "\"c\"\"d\""]);
    assert_eq!(kinds("[//Company/Svc/Name]"), [Delimited]);
}

#[test]
fn double_quotes_are_strings_when_quoted_identifiers_are_off() {
    assert_eq!(tokenize("\"x\"", false).list[0].kind, String);
    assert_eq!(tokenize("\"x\"", true).list[0].kind, Delimited);
}

#[test]
fn numbers_come_in_four_kinds() {
    assert_eq!(kinds("1 1. .5 1.5 1e5 1.e-3 1e"), [Integer, Decimal, Decimal, Decimal, Float, Float, Float]);
    assert_eq!(kinds("0x 0xAbC $5 $-1.5 $ £3"), [Binary, Binary, Money, Money, Money, Money]);
    assert_eq!(kinds("$action"), [Word]);
    assert_eq!(kinds("1a"), [Integer, Word]);
}

#[test]
fn strings_span_lines_and_hold_doubled_quotes() {
    let text = "'a''b\nc' N'd' x";
    let tokens = tokenize(text, true).list;
    assert_eq!(kinds(text), [String, NationalString, Word]);
    assert_eq!((tokens[0].line, tokens[1].line), (1, 2));
}

#[test]
fn comments_nest_and_count_lines() {
    let tokens = tokenize("/* a /* b\n */ */ -- c\r\nx", true).list;
    assert_eq!((tokens[0].kind, tokens[0].line), (Word, 3));
    assert_eq!(kinds("--\n-- /*\n1--x"), [Integer]);
}

#[test]
fn compound_operators_are_one_token() {
    let expected =
        [PlusEqual, MinusEqual, StarEqual, SlashEqual, PercentEqual, AmpersandEqual, PipeEqual, CaretEqual];
    assert_eq!(kinds("+= -= *= /= %= &= |= ^="), expected);
    assert_eq!(kinds(":: : <> !="), [DoubleColon, Colon, Less, Greater, Bang, Equal]);
}

#[test]
fn what_has_no_end_ends_the_stream_with_an_error() {
    for (text, number) in [("x 'a''", 105), ("[a", 105), ("\"a", 105), ("/* /* */", 113), ("x ?", 102)] {
        let tokens = tokenize(text, true);
        assert_eq!(tokens.list[tokens.list.len() - 2].kind, Invalid, "{text}");
        assert_eq!(tokens.error.unwrap().number, number, "{text}");
    }
}

#[test]
fn blanks_outside_ascii_are_blanks() {
    assert_eq!(kinds("\u{feff}a\u{a0}b"), [Word, Word]);
}
