//! The leaves of expressions: constants, variables, columns, CASE, subqueries, and what may follow a value.
//!
//! Must not know operators of two operands.

use super::expressions::{Level, Operand};
use super::stream::{Cost, Parsed, Parser, fail};
use crate::tsql::ast::expr::UnaryOp;
use crate::tsql::ast::{DataTypeName, Expr, Ident, Literal, ObjectName, TypeArguments};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// A value with its signs and what follows it; a condition only in parentheses.
    pub(super) fn primary(&mut self) -> Parsed<Operand> {
        if let Some(op) = unary(self.token().kind) {
            self.advance();
            let inner = self.nested(Cost::One, Self::primary)?;
            let operand = Box::new(self.value_of(inner)?);
            return Ok(Operand::Value(Expr::Unary { op, operand }));
        }
        let operand =
            if self.at(TokenKind::OpenParen) { self.in_parentheses()? } else { Operand::Value(self.leaf()?) };
        match operand {
            Operand::Value(value) => self.suffixes(value).map(Operand::Value),
            condition => Ok(condition),
        }
    }

    fn in_parentheses(&mut self) -> Parsed<Operand> {
        if self.query_in_parentheses_follows() {
            let query = self.parenthesised_query()?;
            return Ok(Operand::Value(Expr::Subquery(Box::new(query))));
        }
        self.advance();
        let inner = self.operand(Level::Or)?;
        self.expect(TokenKind::CloseParen)?;
        Ok(inner)
    }

    fn leaf(&mut self) -> Parsed<Expr> {
        let token = self.token();
        match token.kind {
            TokenKind::Variable => self.variable_value(),
            TokenKind::Word | TokenKind::Delimited | TokenKind::Dot => self.named_value(),
            TokenKind::Keyword(keyword) => self.keyword_value(keyword),
            TokenKind::OpenBrace => self.odbc_escape(),
            _ => self.constant().map(Expr::Literal),
        }
    }

    fn variable_value(&mut self) -> Parsed<Expr> {
        let variable = self.variable()?;
        Ok(if variable.is_system() { Expr::SystemVariable(variable) } else { Expr::Variable(variable) })
    }

    /// A constant other than NULL, without a sign.
    pub(super) fn constant(&mut self) -> Parsed<Literal> {
        let token = self.token();
        let text = self.text_of(token);
        let literal = match token.kind {
            TokenKind::Integer => whole_number(text),
            TokenKind::Decimal => Literal::Decimal(text.to_owned()),
            TokenKind::Float => Literal::Float(float(text)),
            TokenKind::Money => {
                Literal::Money(text.trim_start_matches(|c: char| !c.is_ascii() || c == '$').to_owned())
            }
            TokenKind::Binary => Literal::Binary(bytes(&text[2..])),
            TokenKind::String => Literal::String { text: self.string_of(token), national: false },
            TokenKind::NationalString => Literal::String { text: self.string_of(token), national: true },
            _ => return self.unexpected(),
        };
        self.advance();
        Ok(literal)
    }

    fn keyword_value(&mut self, keyword: Keyword) -> Parsed<Expr> {
        match keyword {
            Keyword::Null => {
                self.advance();
                Ok(Expr::Literal(Literal::Null))
            }
            Keyword::Case => self.case(),
            Keyword::Identitycol | Keyword::Rowguidcol => {
                let token = self.advance();
                Ok(Expr::Column(ObjectName::single(Ident::new(self.text_of(token)))))
            }
            _ => self.keyword_function(keyword),
        }
    }

    fn case(&mut self) -> Parsed<Expr> {
        self.advance();
        if self.at_keyword(Keyword::When) {
            let branches = self.case_branches(Self::condition)?;
            let otherwise = self.case_end()?;
            return Ok(Expr::SearchedCase { branches, otherwise });
        }
        let operand = Box::new(self.expression()?);
        let branches = self.case_branches(Self::expression)?;
        let otherwise = self.case_end()?;
        Ok(Expr::SimpleCase { operand, branches, otherwise })
    }

    fn case_branches<T>(&mut self, mut when: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<(T, Expr)>> {
        let mut branches = Vec::new();
        while self.take_keyword(Keyword::When) {
            let test = when(self)?;
            self.expect_keyword(Keyword::Then)?;
            branches.push((test, self.expression()?));
        }
        if branches.is_empty() { self.unexpected() } else { Ok(branches) }
    }

    fn case_end(&mut self) -> Parsed<Option<Box<Expr>>> {
        let otherwise =
            if self.take_keyword(Keyword::Else) { Some(Box::new(self.expression()?)) } else { None };
        self.expect_keyword(Keyword::End)?;
        Ok(otherwise)
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{guid '..'}`, `{fn f(..)}`: the ODBC spellings.
    fn odbc_escape(&mut self) -> Parsed<Expr> {
        self.advance();
        let value = if self.take_word("fn") {
            self.leaf()?
        } else if self.take_word("d") || self.take_word("t") || self.take_word("ts") {
            self.typed_constant("datetime")?
        } else {
            self.expect_word("guid")?;
            self.typed_constant("uniqueidentifier")?
        };
        self.expect(TokenKind::CloseBrace)?;
        Ok(value)
    }

    fn typed_constant(&mut self, data_type: &str) -> Parsed<Expr> {
        let operand = Box::new(Expr::string(self.string()?));
        let name = ObjectName::single(Ident::new(data_type));
        let data_type = Box::new(DataTypeName { name, arguments: TypeArguments::None });
        Ok(Expr::Cast { operand, data_type, is_try: false })
    }

    /// COLLATE, AT TIME ZONE and method calls after a value.
    fn suffixes(&mut self, mut value: Expr) -> Parsed<Expr> {
        let mut count = 0;
        loop {
            count += 1;
            if count >= self.levels_left() {
                return fail(ParseError::nested_too_deeply(self.token().line));
            }
            value = if self.take_keyword(Keyword::Collate) {
                Expr::Collate { operand: Box::new(value), collation: self.ident()? }
            } else if self.at_word("AT") && self.is_word_ahead(1, "TIME") {
                self.expect_words(&["AT", "TIME", "ZONE"])?;
                let zone = self.nested(Cost::One, Self::primary)?;
                Expr::AtTimeZone { operand: Box::new(value), zone: Box::new(self.value_of(zone)?) }
            } else if self.at_method_call() {
                self.advance();
                self.method_call(value)?
            } else {
                return Ok(value);
            };
        }
    }

    fn at_method_call(&self) -> bool {
        self.at(TokenKind::Dot)
            && super::names::is_ident(self.token_ahead(1))
            && self.token_ahead(2).kind == TokenKind::OpenParen
    }

    /// `method(arguments)` after the dot.
    pub(super) fn method_call(&mut self, target: Expr) -> Parsed<Expr> {
        let method = self.ident()?;
        let arguments = self.call_arguments()?;
        Ok(Expr::Method { target: Box::new(target), method, arguments })
    }

    /// A number, string or NULL with an optional sign, or a variable: what option lists take as a value.
    pub(super) fn constant_or_variable(&mut self) -> Parsed<Expr> {
        if self.at(TokenKind::Variable) {
            return self.variable_value();
        }
        self.signed_constant()
    }

    /// A constant with an optional sign, NULL included.
    pub(super) fn signed_constant(&mut self) -> Parsed<Expr> {
        if self.take_keyword(Keyword::Null) {
            return Ok(Expr::Literal(Literal::Null));
        }
        let sign = match self.token().kind {
            TokenKind::Minus => Some(UnaryOp::Minus),
            TokenKind::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        let Some(op) = sign else { return self.constant().map(Expr::Literal) };
        self.advance();
        if !self.at_number() {
            return self.unexpected();
        }
        let operand = Box::new(Expr::Literal(self.constant()?));
        Ok(Expr::Unary { op, operand })
    }

    fn at_number(&self) -> bool {
        is_number(self.token())
    }
}

fn is_number(token: Token) -> bool {
    matches!(token.kind, TokenKind::Integer | TokenKind::Decimal | TokenKind::Float | TokenKind::Money)
}

fn unary(kind: TokenKind) -> Option<UnaryOp> {
    Some(match kind {
        TokenKind::Minus => UnaryOp::Minus,
        TokenKind::Plus => UnaryOp::Plus,
        TokenKind::Tilde => UnaryOp::BitNot,
        _ => return None,
    })
}

fn whole_number(text: &str) -> Literal {
    text.parse().map_or_else(|_| Literal::Decimal(text.to_owned()), Literal::Int)
}

/// `1e` and `1e+` are legal and mean an exponent of zero.
fn float(text: &str) -> f64 {
    let mantissa = text.trim_end_matches(['e', 'E', '+', '-']);
    mantissa.parse().expect("a float token without a bare exponent is a number")
}

/// An odd number of digits has a zero put before it.
fn bytes(digits: &str) -> Vec<u8> {
    let digit =
        |byte: u8| (byte as char).to_digit(16).expect("a binary token holds hexadecimal digits") as u8;
    let (head, pairs) = digits.as_bytes().split_at(digits.len() % 2);
    let first = head.iter().map(|byte| digit(*byte));
    first.chain(pairs.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]))).collect()
}
