//! Blocks, IF, WHILE, TRY and CATCH, labels and GOTO, RETURN, WAITFOR, USE, KILL.
//!
//! Must not know how any of them runs.

use super::statements::broker;
use super::stream::{Failure, Parsed, Parser, fail};
use crate::tsql::ast::broker::BrokerStatement;
use crate::tsql::ast::statement::{If, Kill, TryCatch, WaitFor, While};
use crate::tsql::ast::{Condition, Expr, Ident, Statement, StatementKind};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// The labels of a batch and the GOTOs that name them.
#[derive(Debug, Default)]
pub(super) struct Labels {
    declared: Vec<Ident>,
    wanted: Vec<(Ident, u32)>,
}

impl Labels {
    /// The labels, once every GOTO is known to have one.
    pub(super) fn resolve(self) -> Result<Vec<Ident>, ParseError> {
        for (label, line) in &self.wanted {
            if !self.declared.iter().any(|declared| declared.is(label.as_str())) {
                return Err(ParseError::unknown_label(label.as_str(), *line));
            }
        }
        Ok(self.declared)
    }
}

impl Parser<'_> {
    /// Whatever BEGIN begins.
    pub(super) fn begin(&mut self) -> Parsed<StatementKind> {
        match self.token_ahead(1).kind {
            TokenKind::Keyword(Keyword::Tran | Keyword::Transaction | Keyword::Distributed) => {
                self.begin_transaction()
            }
            TokenKind::Word if self.is_word_ahead(1, "TRY") => self.try_catch(),
            TokenKind::Word if self.is_word_ahead(1, "DIALOG") => {
                self.begin_dialog().map(|begin| broker(BrokerStatement::BeginDialog(begin)))
            }
            TokenKind::Word if self.is_word_ahead(1, "CONVERSATION") => self
                .begin_conversation_timer()
                .map(|timer| broker(BrokerStatement::BeginConversationTimer(timer))),
            TokenKind::Word if self.is_word_ahead(1, "ATOMIC") => self.unsupported("BEGIN ATOMIC"),
            _ => self.block(),
        }
    }

    fn block(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let statements = self.nonempty_list()?;
        self.expect_keyword(Keyword::End)?;
        Ok(StatementKind::Block(statements))
    }

    fn nonempty_list(&mut self) -> Parsed<Vec<Statement>> {
        let statements = self.statement_list()?;
        if statements.is_empty() { self.unexpected() } else { Ok(statements) }
    }

    fn try_catch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let try_block = self.nonempty_list()?;
        self.expect_keyword(Keyword::End)?;
        self.expect_word("TRY")?;
        self.expect_keyword(Keyword::Begin)?;
        self.expect_word("CATCH")?;
        let catch_block = self.statement_list()?;
        self.expect_keyword(Keyword::End)?;
        self.expect_word("CATCH")?;
        Ok(StatementKind::TryCatch(Box::new(TryCatch { try_block, catch_block })))
    }

    /// IF with its branches. When the condition is beyond the emulator, the branches go with it.
    pub(super) fn if_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.guarded_condition()?;
        let then = self.statement()?;
        let otherwise = if self.at_else_after_semicolons() {
            self.advance();
            Some(self.statement()?)
        } else {
            None
        };
        Ok(match condition {
            Ok(condition) => StatementKind::If(Box::new(If { condition, then, otherwise })),
            Err(construct) => StatementKind::Unsupported { construct: construct.to_owned() },
        })
    }

    /// WHILE with its body. When the condition is beyond the emulator, the body goes with it.
    pub(super) fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.guarded_condition()?;
        self.loop_depth += 1;
        let body = self.statement()?;
        self.loop_depth -= 1;
        Ok(match condition {
            Ok(condition) => StatementKind::While(Box::new(While { condition, body })),
            Err(construct) => StatementKind::Unsupported { construct: construct.to_owned() },
        })
    }

    /// A condition, or the name of what is beyond the emulator in it.
    fn guarded_condition(&mut self) -> Parsed<Result<Condition, &'static str>> {
        match self.condition() {
            Ok(condition) => Ok(Ok(condition)),
            Err(Failure::Unsupported(construct)) => {
                self.skip_to_next_statement();
                Ok(Err(construct))
            }
            Err(failure) => Err(failure),
        }
    }

    /// BREAK.
    pub(super) fn break_statement(&mut self) -> Parsed<StatementKind> {
        self.within_loop(135, "BREAK", StatementKind::Break)
    }

    /// CONTINUE.
    pub(super) fn continue_statement(&mut self) -> Parsed<StatementKind> {
        self.within_loop(136, "CONTINUE", StatementKind::Continue)
    }

    fn within_loop(&mut self, number: i32, keyword: &str, kind: StatementKind) -> Parsed<StatementKind> {
        let line = self.advance().line;
        if self.loop_depth == 0 { fail(ParseError::outside_loop(number, keyword, line)) } else { Ok(kind) }
    }

    /// RETURN with or without a value.
    pub(super) fn return_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let value = if self.value_follows() { Some(self.expression()?) } else { None };
        Ok(StatementKind::Return(value))
    }

    /// Whether the next token can begin a value and cannot begin a statement.
    fn value_follows(&self) -> bool {
        match self.token().kind {
            TokenKind::Keyword(keyword) => is_value_keyword(keyword),
            TokenKind::Word => !self.at_word_statement(),
            TokenKind::Semicolon | TokenKind::End | TokenKind::CloseParen => false,
            _ => true,
        }
    }

    fn at_word_statement(&self) -> bool {
        let label = self.token_ahead(1).kind == TokenKind::Colon;
        label || self.at_word("RECEIVE") || self.at_word("THROW") || self.at_conversation_verb()
    }

    /// `label:`
    pub(super) fn label(&mut self) -> Parsed<StatementKind> {
        let line = self.token().line;
        let label = self.ident()?;
        self.expect(TokenKind::Colon)?;
        if self.labels.declared.iter().any(|declared| declared.is(label.as_str())) {
            return fail(ParseError::duplicate_label(label.as_str(), line));
        }
        self.labels.declared.push(label.clone());
        Ok(StatementKind::Label(label))
    }

    /// `GOTO label`
    pub(super) fn goto(&mut self) -> Parsed<StatementKind> {
        let line = self.advance().line;
        let label = self.ident()?;
        self.labels.wanted.push((label.clone(), line));
        Ok(StatementKind::Goto(label))
    }

    /// WAITFOR in all its forms.
    pub(super) fn wait_for(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let wait = if self.take_word("DELAY") {
            WaitFor::Delay(self.text_or_variable_value()?)
        } else if self.take_word("TIME") {
            WaitFor::Time(self.text_or_variable_value()?)
        } else {
            self.wait_for_messages()?
        };
        Ok(StatementKind::WaitFor(Box::new(wait)))
    }

    /// A string constant or a variable, as a value.
    pub(super) fn text_or_variable_value(&mut self) -> Parsed<Expr> {
        if !self.at(TokenKind::Variable) && !self.at_string() {
            return self.unexpected();
        }
        self.constant_or_variable()
    }

    fn wait_for_messages(&mut self) -> Parsed<WaitFor> {
        self.expect(TokenKind::OpenParen)?;
        if self.at_word("GET") {
            let get = self.get_conversation_group()?;
            let timeout = self.wait_timeout()?;
            return Ok(WaitFor::GetConversationGroup { get, timeout });
        }
        if !self.at_word("RECEIVE") {
            return self.unexpected();
        }
        let receive = self.receive()?;
        let timeout = self.wait_timeout()?;
        Ok(WaitFor::Receive { receive, timeout })
    }

    /// `) [, TIMEOUT n]`
    fn wait_timeout(&mut self) -> Parsed<Option<Expr>> {
        self.expect(TokenKind::CloseParen)?;
        if !self.take(TokenKind::Comma) {
            return Ok(None);
        }
        self.expect_word("TIMEOUT")?;
        self.constant_or_variable().map(Some)
    }

    /// `USE database`
    pub(super) fn use_database(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(StatementKind::Use(self.ident()?))
    }

    /// `KILL n [WITH STATUSONLY]`
    pub(super) fn kill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_word("QUERY") || self.at_word("STATS") {
            return self.unsupported("KILL of a query notification subscription or statistics job");
        }
        let session = self.signed_constant()?;
        let status_only = self.take_keyword(Keyword::With);
        if status_only {
            self.expect_word("STATUSONLY")?;
        }
        Ok(StatementKind::Kill(Kill { session, status_only }))
    }
}

fn is_value_keyword(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Null
            | Keyword::Case
            | Keyword::Convert
            | Keyword::TryConvert
            | Keyword::Coalesce
            | Keyword::Nullif
            | Keyword::Left
            | Keyword::Right
            | Keyword::CurrentTimestamp
            | Keyword::CurrentUser
            | Keyword::SessionUser
            | Keyword::SystemUser
            | Keyword::User
    )
}
