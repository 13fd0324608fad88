//! What a token is.
//!
//! Must not know how tokens are found. A token holds no text of its own; the parser cuts it out of the batch
//! when it needs it.

use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A regular identifier that is no reserved word, `#temp` and `$action` included.
    Word,
    /// A reserved word.
    Keyword(Keyword),
    /// `[name]`, or `"name"` where quoted identifiers are on.
    Delimited,
    /// `@name` or `@@name`.
    Variable,
    /// Digits only.
    Integer,
    /// Digits with a decimal point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// A currency sign with an optional number.
    Money,
    /// `0x..`
    Binary,
    /// `'..'`, or `".."` where quoted identifiers are off.
    String,
    /// `N'..'`
    NationalString,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `&`
    Ampersand,
    /// `|`
    Pipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `!`, part of a comparison
    Bang,
    /// `+=`
    PlusEqual,
    /// `-=`
    MinusEqual,
    /// `*=`
    StarEqual,
    /// `/=`
    SlashEqual,
    /// `%=`
    PercentEqual,
    /// `&=`
    AmpersandEqual,
    /// `|=`
    PipeEqual,
    /// `^=`
    CaretEqual,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// A character that starts no token, or something without its end; the last token but one.
    Invalid,
    /// After the last token.
    End,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// Its line, 1-based.
    pub(crate) line: u32,
    /// First byte.
    pub(crate) start: u32,
    /// One past the last byte.
    pub(crate) end: u32,
}

/// The tokens of a batch.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// In order; the last is always [`TokenKind::End`].
    pub(crate) list: Vec<Token>,
    /// Why there is a [`TokenKind::Invalid`] token, when there is one.
    pub(crate) error: Option<ParseError>,
}
