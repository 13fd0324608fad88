//! Text to tokens: what each stretch of a batch is, where it starts and on which line.
//!
//! Must not know any grammar. A string or comment without an end becomes an [`TokenKind::Invalid`] token that
//! ends the stream, so that an earlier mistake of grammar is still reported first, as a server does.

use super::token::{Token, TokenKind, Tokens};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;

/// Splits a batch into tokens.
pub(crate) fn tokenize(text: &str, quoted_identifier: bool) -> Tokens {
    let list = Vec::with_capacity(text.len() / 5 + 2);
    let mut lexer =
        Lexer { text, bytes: text.as_bytes(), position: 0, line: 1, quoted_identifier, list, error: None };
    lexer.run();
    Tokens { list: lexer.list, error: lexer.error }
}

struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    position: usize,
    line: u32,
    quoted_identifier: bool,
    list: Vec<Token>,
    error: Option<ParseError>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while self.error.is_none() && self.skip_blanks() {
            let (start, line) = (self.position, self.line);
            let kind = self.next_kind();
            self.push(kind, start, line);
        }
        self.push(TokenKind::End, self.position, self.line);
    }

    fn push(&mut self, kind: TokenKind, start: usize, line: u32) {
        self.list.push(Token { kind, line, start: start as u32, end: self.position as u32 });
    }

    /// Moves to the next token; false at the end of the text.
    fn skip_blanks(&mut self) -> bool {
        while let Some(&byte) = self.bytes.get(self.position) {
            match byte {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.position += 1,
                b'-' if self.peek(1) == Some(b'-') => self.skip_line_comment(),
                b'/' if self.peek(1) == Some(b'*') => {
                    if !self.skip_block_comment() {
                        return false;
                    }
                }
                0x80.. if self.skip_unicode_blank() => {}
                _ => return true,
            }
        }
        false
    }

    fn newline(&mut self) {
        self.line += 1;
        self.position += 1;
    }

    fn peek(&self, distance: usize) -> Option<u8> {
        self.bytes.get(self.position + distance).copied()
    }

    fn skip_line_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.position += 1;
        }
    }

    /// Comments nest. False, with an error noted, when the text ends first.
    fn skip_block_comment(&mut self) -> bool {
        let (start, first_line) = (self.position, self.line);
        let mut depth = 0;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.position += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                (b'\n', _) => self.newline(),
                _ => self.position += 1,
            }
        }
        self.error = Some(ParseError::unclosed_comment(first_line));
        self.push(TokenKind::Invalid, start, first_line);
        false
    }

    /// Blanks outside ASCII: no-break spaces and byte-order marks that got into a script.
    fn skip_unicode_blank(&mut self) -> bool {
        let character = self.character();
        let blank = character.is_whitespace() || character == '\u{feff}' || character == '\u{200b}';
        if blank {
            self.position += character.len_utf8();
        }
        blank
    }

    fn character(&self) -> char {
        self.text[self.position..].chars().next().expect("the position is on a character")
    }

    fn next_kind(&mut self) -> TokenKind {
        match self.bytes[self.position] {
            b'N' | b'n' if self.peek(1) == Some(b'\'') => {
                self.position += 1;
                self.quoted(b'\'', TokenKind::NationalString)
            }
            b'\'' => self.quoted(b'\'', TokenKind::String),
            b'"' if self.quoted_identifier => self.quoted(b'"', TokenKind::Delimited),
            b'"' => self.quoted(b'"', TokenKind::String),
            b'[' => self.quoted(b']', TokenKind::Delimited),
            b'@' => self.variable(),
            b'$' => self.dollar(),
            b'0' if matches!(self.peek(1), Some(b'x' | b'X')) => self.binary(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            byte if is_word_start(byte) => self.word_or_currency(),
            _ => self.symbol(),
        }
    }

    /// Takes everything up to the closing character; a doubled one is part of the content.
    fn quoted(&mut self, close: u8, kind: TokenKind) -> TokenKind {
        let first_line = self.line;
        self.position += 1;
        let content = self.position;
        while let Some(byte) = self.peek(0) {
            if byte == b'\n' {
                self.line += 1;
            }
            self.position += 1;
            if byte == close {
                if self.peek(0) != Some(close) {
                    return kind;
                }
                self.position += 1;
            }
        }
        self.error = Some(ParseError::unclosed_quotation(&self.text[content..], first_line));
        TokenKind::Invalid
    }

    fn variable(&mut self) -> TokenKind {
        self.position += 1;
        self.take_word_part();
        TokenKind::Variable
    }

    fn take_word_part(&mut self) {
        while self.peek(0).is_some_and(is_word_part) {
            let length = if self.bytes[self.position] < 0x80 { 1 } else { self.unicode_word_part() };
            if length == 0 {
                return;
            }
            self.position += length;
        }
    }

    /// Bytes of a character outside ASCII that may stand in a name; zero when it may not.
    fn unicode_word_part(&self) -> usize {
        let character = self.character();
        if character.is_whitespace() || character == '\u{feff}' { 0 } else { character.len_utf8() }
    }

    /// `$action` is a word, `$12.5` an amount of money, and a lone `$` is zero.
    fn dollar(&mut self) -> TokenKind {
        self.position += 1;
        if self.peek(0).is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            self.take_word_part();
            return TokenKind::Word;
        }
        self.amount()
    }

    fn amount(&mut self) -> TokenKind {
        if matches!(self.peek(0), Some(b'-' | b'+'))
            && self.peek(1).is_some_and(|b| b.is_ascii_digit() || b == b'.')
        {
            self.position += 1;
        }
        self.take_digits();
        if self.peek(0) == Some(b'.') {
            self.position += 1;
            self.take_digits();
        }
        TokenKind::Money
    }

    fn take_digits(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }

    fn binary(&mut self) -> TokenKind {
        self.position += 2;
        while self.peek(0).is_some_and(|byte| byte.is_ascii_hexdigit()) {
            self.position += 1;
        }
        TokenKind::Binary
    }

    fn number(&mut self) -> TokenKind {
        let mut kind = TokenKind::Integer;
        self.take_digits();
        if self.peek(0) == Some(b'.') {
            kind = TokenKind::Decimal;
            self.position += 1;
            self.take_digits();
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            kind = TokenKind::Float;
            self.position += 1;
            if matches!(self.peek(0), Some(b'-' | b'+')) {
                self.position += 1;
            }
            self.take_digits();
        }
        kind
    }

    fn word_or_currency(&mut self) -> TokenKind {
        let start = self.position;
        if self.bytes[start] >= 0x80 && is_currency(self.character()) {
            self.position += self.character().len_utf8();
            return self.amount();
        }
        self.take_word_part();
        if self.position == start {
            return self.invalid_character();
        }
        Keyword::find(&self.text[start..self.position]).map_or(TokenKind::Word, TokenKind::Keyword)
    }

    fn symbol(&mut self) -> TokenKind {
        let byte = self.bytes[self.position];
        let followed_by_equal = self.peek(1) == Some(b'=');
        if followed_by_equal && let Some(kind) = compound_assignment(byte) {
            self.position += 2;
            return kind;
        }
        if byte == b':' && self.peek(1) == Some(b':') {
            self.position += 2;
            return TokenKind::DoubleColon;
        }
        match single_symbol(byte) {
            Some(kind) => {
                self.position += 1;
                kind
            }
            None => self.invalid_character(),
        }
    }

    fn invalid_character(&mut self) -> TokenKind {
        let start = self.position;
        self.position += self.character().len_utf8();
        self.error = Some(ParseError::near(&self.text[start..self.position], self.line));
        TokenKind::Invalid
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'#' || byte >= 0x80
}

fn is_word_part(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'@' || byte == b'$'
}

fn is_currency(character: char) -> bool {
    matches!(character, '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20b1}')
}

fn compound_assignment(byte: u8) -> Option<TokenKind> {
    Some(match byte {
        b'+' => TokenKind::PlusEqual,
        b'-' => TokenKind::MinusEqual,
        b'*' => TokenKind::StarEqual,
        b'/' => TokenKind::SlashEqual,
        b'%' => TokenKind::PercentEqual,
        b'&' => TokenKind::AmpersandEqual,
        b'|' => TokenKind::PipeEqual,
        b'^' => TokenKind::CaretEqual,
        _ => return None,
    })
}

fn single_symbol(byte: u8) -> Option<TokenKind> {
    Some(match byte {
        b'+' => TokenKind::Plus,
        b'-' => TokenKind::Minus,
        b'*' => TokenKind::Star,
        b'/' => TokenKind::Slash,
        b'%' => TokenKind::Percent,
        b'&' => TokenKind::Ampersand,
        b'|' => TokenKind::Pipe,
        b'^' => TokenKind::Caret,
        b'~' => TokenKind::Tilde,
        b'=' => TokenKind::Equal,
        b'<' => TokenKind::Less,
        b'>' => TokenKind::Greater,
        b'!' => TokenKind::Bang,
        b'(' => TokenKind::OpenParen,
        b')' => TokenKind::CloseParen,
        b'{' => TokenKind::OpenBrace,
        b'}' => TokenKind::CloseBrace,
        b',' => TokenKind::Comma,
        b'.' => TokenKind::Dot,
        b';' => TokenKind::Semicolon,
        b':' => TokenKind::Colon,
        _ => return None,
    })
}
