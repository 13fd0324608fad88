//! Values and conditions: operators and their precedence.
//!
//! One rule reads both, since only what follows a parenthesis tells `(a) = 1` from `(a = 1)`; the two are
//! told apart on the way up. From weakest to strongest: OR, AND, NOT, comparisons, `+ - & | ^`, `* / %`.
//!
//! Must not know what is at the leaves.

use super::stream::{Cost, Parsed, Parser, fail};
use crate::tsql::ast::expr::{AssignOp, BinaryOp, CompareOp};
use crate::tsql::ast::{Condition, Expr};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// What an expression turned out to be.
#[derive(Debug)]
pub(super) enum Operand {
    /// A value.
    Value(Expr),
    /// A condition, and the position of the operator that made it one. Boxed to keep the parser's own stack
    /// small where expressions nest.
    Condition(Box<Condition>, usize),
}

/// How weak an operator an expression may contain, from the weakest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Or,
    And,
    Not,
    Comparison,
    Additive,
    Multiplicative,
    Primary,
}

impl Parser<'_> {
    /// A value.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let operand = self.operand(Level::Additive)?;
        self.value_of(operand)
    }

    /// A condition.
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        let operand = self.operand(Level::Or)?;
        self.condition_of(operand)
    }

    /// Either, with operators of the given level and stronger ones.
    pub(super) fn operand(&mut self, level: Level) -> Parsed<Operand> {
        self.nested(Cost::Expression, |parser| parser.climb(level))
    }

    /// Operators as long as they are strong enough; what is stronger still is read as the right operand.
    fn climb(&mut self, level: Level) -> Parsed<Operand> {
        let mut left = self.first_operand(level)?;
        let mut height = 0;
        while let Some(next) = self.operator_level()
            && next >= level
        {
            height += 1;
            if height >= self.levels_left() {
                return fail(ParseError::nested_too_deeply(self.token().line));
            }
            left = self.apply_operator(next, left)?;
        }
        Ok(left)
    }

    fn first_operand(&mut self, level: Level) -> Parsed<Operand> {
        if level <= Level::Comparison && matches!(self.token().kind, TokenKind::Keyword(_)) {
            return self.negation_or_predicate();
        }
        self.primary()
    }

    /// How strong the operator is that comes next.
    fn operator_level(&self) -> Option<Level> {
        match self.token().kind {
            TokenKind::Equal | TokenKind::Less | TokenKind::Greater | TokenKind::Bang => {
                Some(Level::Comparison)
            }
            TokenKind::Keyword(keyword) => match keyword {
                Keyword::Or => Some(Level::Or),
                Keyword::And => Some(Level::And),
                Keyword::Is | Keyword::Like | Keyword::Between | Keyword::In => Some(Level::Comparison),
                Keyword::Not if self.negatable_follows() => Some(Level::Comparison),
                _ => None,
            },
            kind => arithmetic(kind).map(|(_, level)| level),
        }
    }

    fn apply_operator(&mut self, level: Level, left: Operand) -> Parsed<Operand> {
        match level {
            Level::Or => self.junction(left, Keyword::Or, Level::And, Condition::Or),
            Level::And => self.junction(left, Keyword::And, Level::Not, Condition::And),
            Level::Additive => self.arithmetic(left, Level::Multiplicative),
            Level::Multiplicative => self.arithmetic(left, Level::Primary),
            Level::Not | Level::Comparison | Level::Primary => {
                let position = self.position();
                let left = self.value_of(left)?;
                let condition = self.predicate(left)?;
                Ok(Operand::Condition(Box::new(condition), position))
            }
        }
    }

    /// Demands a value.
    pub(super) fn value_of(&mut self, operand: Operand) -> Parsed<Expr> {
        match operand {
            Operand::Value(value) => Ok(value),
            Operand::Condition(_, position) => self.unexpected_at(position),
        }
    }

    fn condition_of(&self, operand: Operand) -> Parsed<Condition> {
        match operand {
            Operand::Condition(condition, _) => Ok(*condition),
            Operand::Value(_) => fail(self.condition_expected()),
        }
    }

    fn condition_expected(&self) -> ParseError {
        let token = self.token();
        match token.kind {
            TokenKind::Invalid => self.unexpected_error(),
            TokenKind::End => {
                let last = self.previous_token();
                ParseError::condition_expected(self.bare_text(last), last.line)
            }
            _ => ParseError::condition_expected(self.bare_text(token), token.line),
        }
    }

    /// `a AND b AND c`, `a OR b OR c`
    fn junction(
        &mut self,
        first: Operand,
        keyword: Keyword,
        below: Level,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Parsed<Operand> {
        let position = self.position();
        let mut conditions = vec![self.condition_of(first)?];
        while self.take_keyword(keyword) {
            let next = self.operand(below)?;
            conditions.push(self.condition_of(next)?);
        }
        Ok(Operand::Condition(Box::new(join(conditions)), position))
    }

    /// One operator of arithmetic with its right operand.
    fn arithmetic(&mut self, left: Operand, below: Level) -> Parsed<Operand> {
        let left = Box::new(self.value_of(left)?);
        let Some((op, _)) = arithmetic(self.token().kind) else { return self.unexpected() };
        self.advance();
        let right = self.operand(below)?;
        let right = Box::new(self.value_of(right)?);
        Ok(Operand::Value(Expr::Binary { op, left, right }))
    }

    fn negation_or_predicate(&mut self) -> Parsed<Operand> {
        let position = self.position();
        if self.take_keyword(Keyword::Not) {
            let inner = self.operand(Level::Not)?;
            let condition = self.condition_of(inner)?;
            return Ok(Operand::Condition(Box::new(Condition::Not(Box::new(condition))), position));
        }
        match self.predicate_function()? {
            Some(condition) => Ok(Operand::Condition(Box::new(condition), position)),
            None => self.primary(),
        }
    }

    /// `EXISTS (..)`, `UPDATE(column)`.
    fn predicate_function(&mut self) -> Parsed<Option<Condition>> {
        if self.take_keyword(Keyword::Exists) {
            let query = self.parenthesised_query()?;
            return Ok(Some(Condition::Exists(Box::new(query))));
        }
        if self.at_keyword(Keyword::Update) && self.token_ahead(1).kind == TokenKind::OpenParen {
            self.advance();
            self.advance();
            let column = self.ident()?;
            self.expect(TokenKind::CloseParen)?;
            return Ok(Some(Condition::ColumnUpdated(column)));
        }
        if self.at_keyword(Keyword::Contains) || self.at_keyword(Keyword::Freetext) {
            return self.unsupported("full-text predicates");
        }
        Ok(None)
    }

    /// The predicate that `left` begins; its operator comes next.
    fn predicate(&mut self, left: Expr) -> Parsed<Condition> {
        if let Some(op) = self.comparison_operator()? {
            return self.compare(left, op);
        }
        if self.take_keyword(Keyword::Is) {
            let negated = self.take_keyword(Keyword::Not);
            self.expect_keyword(Keyword::Null)?;
            return Ok(Condition::IsNull { operand: left, negated });
        }
        let negated = self.take_keyword(Keyword::Not);
        match self.token().kind {
            TokenKind::Keyword(Keyword::Like) => self.like(left, negated),
            TokenKind::Keyword(Keyword::Between) => self.between(left, negated),
            _ => self.membership(left, negated),
        }
    }

    fn negatable_follows(&self) -> bool {
        let negatable = [Keyword::Like, Keyword::Between, Keyword::In];
        negatable.iter().any(|keyword| self.is_keyword_ahead(1, *keyword))
    }

    /// A comparison operator; blanks may stand within it (`< >`).
    fn comparison_operator(&mut self) -> Parsed<Option<CompareOp>> {
        let first = self.token().kind;
        if !matches!(first, TokenKind::Equal | TokenKind::Less | TokenKind::Greater | TokenKind::Bang) {
            return Ok(None);
        }
        self.advance();
        let second = self.token().kind;
        let (op, two_tokens) = match (first, second) {
            (TokenKind::Less, TokenKind::Greater) | (TokenKind::Bang, TokenKind::Equal) => {
                (CompareOp::NotEqual, true)
            }
            (TokenKind::Less, TokenKind::Equal) | (TokenKind::Bang, TokenKind::Greater) => {
                (CompareOp::LessOrEqual, true)
            }
            (TokenKind::Greater, TokenKind::Equal) | (TokenKind::Bang, TokenKind::Less) => {
                (CompareOp::GreaterOrEqual, true)
            }
            (TokenKind::Equal, _) => (CompareOp::Equal, false),
            (TokenKind::Less, _) => (CompareOp::Less, false),
            (TokenKind::Greater, _) => (CompareOp::Greater, false),
            _ => return self.unexpected(),
        };
        if two_tokens {
            self.advance();
        }
        Ok(Some(op))
    }

    fn compare(&mut self, left: Expr, op: CompareOp) -> Parsed<Condition> {
        let all = self.at_keyword(Keyword::All);
        if all || self.at_keyword(Keyword::Any) || self.at_keyword(Keyword::Some) {
            self.advance();
            let query = Box::new(self.parenthesised_query()?);
            return Ok(Condition::Quantified { op, all, left, query });
        }
        let right = self.expression()?;
        Ok(Condition::Compare { op, left, right })
    }

    fn like(&mut self, operand: Expr, negated: bool) -> Parsed<Condition> {
        self.advance();
        let pattern = self.expression()?;
        let braced = self.take(TokenKind::OpenBrace);
        let escape = if self.take_keyword(Keyword::Escape) { Some(self.expression()?) } else { None };
        if braced {
            self.expect(TokenKind::CloseBrace)?;
        }
        Ok(Condition::Like { operand, pattern, escape, negated })
    }

    fn between(&mut self, operand: Expr, negated: bool) -> Parsed<Condition> {
        self.advance();
        let low = self.expression()?;
        self.expect_keyword(Keyword::And)?;
        let high = self.expression()?;
        Ok(Condition::Between { operand, low, high, negated })
    }

    fn membership(&mut self, operand: Expr, negated: bool) -> Parsed<Condition> {
        self.advance();
        if self.query_in_parentheses_follows() {
            let query = Box::new(self.parenthesised_query()?);
            return Ok(Condition::InQuery { operand, query, negated });
        }
        let list = self.parenthesised(Self::expression)?;
        Ok(Condition::InList { operand, list, negated })
    }

    /// `=`, `+=` and the other assignment operators.
    pub(super) fn assign_op(&mut self) -> Parsed<AssignOp> {
        let Some(op) = assignment(self.token().kind) else { return self.unexpected() };
        self.advance();
        Ok(op)
    }
}

/// The assignment operator a token is.
pub(super) fn assignment(kind: TokenKind) -> Option<AssignOp> {
    Some(match kind {
        TokenKind::Equal => AssignOp::Set,
        TokenKind::PlusEqual => AssignOp::Combine(BinaryOp::Add),
        TokenKind::MinusEqual => AssignOp::Combine(BinaryOp::Subtract),
        TokenKind::StarEqual => AssignOp::Combine(BinaryOp::Multiply),
        TokenKind::SlashEqual => AssignOp::Combine(BinaryOp::Divide),
        TokenKind::PercentEqual => AssignOp::Combine(BinaryOp::Modulo),
        TokenKind::AmpersandEqual => AssignOp::Combine(BinaryOp::BitAnd),
        TokenKind::PipeEqual => AssignOp::Combine(BinaryOp::BitOr),
        TokenKind::CaretEqual => AssignOp::Combine(BinaryOp::BitXor),
        _ => return None,
    })
}

/// The operator of arithmetic a token is, and how strong it is.
fn arithmetic(kind: TokenKind) -> Option<(BinaryOp, Level)> {
    Some(match kind {
        TokenKind::Plus => (BinaryOp::Add, Level::Additive),
        TokenKind::Minus => (BinaryOp::Subtract, Level::Additive),
        TokenKind::Ampersand => (BinaryOp::BitAnd, Level::Additive),
        TokenKind::Pipe => (BinaryOp::BitOr, Level::Additive),
        TokenKind::Caret => (BinaryOp::BitXor, Level::Additive),
        TokenKind::Star => (BinaryOp::Multiply, Level::Multiplicative),
        TokenKind::Slash => (BinaryOp::Divide, Level::Multiplicative),
        TokenKind::Percent => (BinaryOp::Modulo, Level::Multiplicative),
        _ => return None,
    })
}
