//! Identifiers, object names, variables, constants in option lists, data types.
//!
//! Must not know what the names are for.

use super::stream::{Parsed, Parser, fail};
use crate::tsql::ast::{DataTypeName, Ident, ObjectName, TypeArguments, VariableName};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind};

const MAX_NAME_LENGTH: usize = 128;
const MAX_PARTS: usize = 4;

impl Parser<'_> {
    /// Whether an identifier comes next.
    pub(super) fn at_ident(&self) -> bool {
        is_ident(self.token())
    }

    /// An identifier.
    pub(super) fn ident(&mut self) -> Parsed<Ident> {
        if !self.at_ident() {
            return self.unexpected();
        }
        let token = self.advance();
        self.ident_of(token)
    }

    /// An identifier, if one comes next.
    pub(super) fn optional_ident(&mut self) -> Parsed<Option<Ident>> {
        if self.at_ident() { self.ident().map(Some) } else { Ok(None) }
    }

    fn ident_of(&self, token: Token) -> Parsed<Ident> {
        let bare = self.bare_text(token);
        let delimited = token.kind == TokenKind::Delimited;
        let text = if !delimited {
            bare.to_owned()
        } else if self.text_of(token).starts_with('[') {
            bare.replace("]]", "]")
        } else {
            bare.replace("\"\"", "\"")
        };
        if text.len() > MAX_NAME_LENGTH && text.encode_utf16().count() > MAX_NAME_LENGTH {
            return fail(ParseError::name_too_long(&text, token.line));
        }
        if delimited && text.is_empty() {
            return fail(ParseError::near("", token.line));
        }
        Ok(Ident { text, delimited })
    }

    /// `(a, b, ..)`
    pub(super) fn ident_list(&mut self) -> Parsed<Vec<Ident>> {
        self.parenthesised(Self::ident)
    }

    /// `(a, b, ..)` if a parenthesis comes next, else nothing.
    pub(super) fn optional_ident_list(&mut self) -> Parsed<Vec<Ident>> {
        if self.at(TokenKind::OpenParen) { self.ident_list() } else { Ok(Vec::new()) }
    }

    /// A name of one to four parts; parts other than the last may be empty (`db..t`, `..t`).
    pub(super) fn object_name(&mut self) -> Parsed<ObjectName> {
        let line = self.token().line;
        let mut parts = Vec::with_capacity(2);
        while self.take(TokenKind::Dot) {
            parts.push(Ident::new(""));
        }
        parts.push(self.ident()?);
        self.more_parts(&mut parts)?;
        let name = ObjectName { parts };
        if name.parts.len() > MAX_PARTS {
            return fail(ParseError::too_many_prefixes(&name.to_string(), MAX_PARTS - 1, line));
        }
        Ok(name)
    }

    fn more_parts(&mut self, parts: &mut Vec<Ident>) -> Parsed<()> {
        while self.at(TokenKind::Dot) {
            if !is_ident(self.token_ahead(1)) && self.token_ahead(1).kind != TokenKind::Dot {
                return Ok(());
            }
            self.advance();
            while self.take(TokenKind::Dot) {
                parts.push(Ident::new(""));
            }
            parts.push(self.ident()?);
        }
        Ok(())
    }

    /// A name that takes at most `parts` parts; more are error 117.
    pub(super) fn object_name_of(&mut self, parts: usize) -> Parsed<ObjectName> {
        let line = self.token().line;
        let name = self.object_name()?;
        if name.parts.len() > parts {
            return fail(ParseError::too_many_prefixes(&name.to_string(), parts - 1, line));
        }
        Ok(name)
    }

    /// A variable.
    pub(super) fn variable(&mut self) -> Parsed<VariableName> {
        if !self.at(TokenKind::Variable) {
            return self.unexpected();
        }
        let token = self.advance();
        Ok(VariableName::new(self.text_of(token)))
    }

    /// Whether a string constant comes next.
    pub(super) fn at_string(&self) -> bool {
        matches!(self.token().kind, TokenKind::String | TokenKind::NationalString)
    }

    /// A string constant's text.
    pub(super) fn string(&mut self) -> Parsed<String> {
        if !self.at_string() {
            return self.unexpected();
        }
        let token = self.advance();
        Ok(self.string_of(token))
    }

    /// The text of a string token with doubled quotes undone.
    pub(super) fn string_of(&self, token: Token) -> String {
        let bare = self.bare_text(token);
        if self.text_of(token).starts_with('"') {
            bare.replace("\"\"", "\"")
        } else if bare.contains('\'') {
            bare.replace("''", "'")
        } else {
            bare.to_owned()
        }
    }

    /// A whole number without a sign.
    pub(super) fn unsigned(&mut self) -> Parsed<u32> {
        let token = self.token();
        match self.text_of(token).parse() {
            Ok(number) if token.kind == TokenKind::Integer => {
                self.advance();
                Ok(number)
            }
            _ => self.unexpected(),
        }
    }

    /// `ON` or `OFF`.
    pub(super) fn on_off(&mut self) -> Parsed<bool> {
        if self.take_keyword(Keyword::On) {
            return Ok(true);
        }
        self.expect_keyword(Keyword::Off)?;
        Ok(false)
    }

    /// `= ON` or `= OFF`.
    pub(super) fn equals_on_off(&mut self) -> Parsed<bool> {
        self.expect(TokenKind::Equal)?;
        self.on_off()
    }

    /// A data type.
    pub(super) fn data_type(&mut self) -> Parsed<DataTypeName> {
        let name = self.data_type_name()?;
        let arguments = self.type_arguments()?;
        Ok(DataTypeName { name, arguments })
    }

    fn data_type_name(&mut self) -> Parsed<ObjectName> {
        let national = self.take_keyword(Keyword::National);
        if !national && self.take_keyword(Keyword::Double) {
            self.expect_word("PRECISION")?;
            return Ok(ObjectName::single(Ident::new("float")));
        }
        if self.take_keyword(Keyword::Cursor) {
            return Ok(ObjectName::single(Ident::new("cursor")));
        }
        let name = self.object_name_of(3)?;
        Ok(self.plain_type_name(name, national))
    }

    /// Reduces spellings of several words and ISO synonyms to the server's own names.
    fn plain_type_name(&mut self, name: ObjectName, national: bool) -> ObjectName {
        if name.parts.len() > 1 || name.parts[0].delimited {
            return name;
        }
        let word = name.parts[0].text.to_ascii_lowercase();
        let reduced = match word.as_str() {
            "char" | "character" => self.varying(national, "varchar", "char"),
            "nchar" => self.varying(true, "varchar", "char"),
            "binary" => {
                if self.take_keyword(Keyword::Varying) {
                    "varbinary"
                } else {
                    "binary"
                }
            }
            "text" if national => "ntext",
            "integer" => "int",
            "dec" => "decimal",
            _ => return name,
        };
        ObjectName::single(Ident::new(reduced))
    }

    fn varying(&mut self, national: bool, varying: &'static str, fixed: &'static str) -> &'static str {
        match (self.take_keyword(Keyword::Varying), national) {
            (true, true) => "nvarchar",
            (true, false) => varying,
            (false, true) => "nchar",
            (false, false) => fixed,
        }
    }

    fn type_arguments(&mut self) -> Parsed<TypeArguments> {
        if !self.take(TokenKind::OpenParen) {
            return Ok(TypeArguments::None);
        }
        let arguments = if self.take_word("max") {
            TypeArguments::Max
        } else if self.at(TokenKind::Integer) {
            self.numeric_type_arguments()?
        } else {
            let _ = self.take_word("CONTENT") || self.take_word("DOCUMENT");
            TypeArguments::XmlSchemaCollection(self.object_name_of(3)?)
        };
        self.expect(TokenKind::CloseParen)?;
        Ok(arguments)
    }

    fn numeric_type_arguments(&mut self) -> Parsed<TypeArguments> {
        let first = self.unsigned()?;
        if self.take(TokenKind::Comma) {
            return Ok(TypeArguments::Two(first, self.unsigned()?));
        }
        Ok(TypeArguments::One(first))
    }
}

/// Whether a token is an identifier.
pub(super) fn is_ident(token: Token) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::Delimited)
}
