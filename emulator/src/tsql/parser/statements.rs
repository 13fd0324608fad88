//! Which statement starts here, and where it ends.
//!
//! Must not know the inside of any statement.

use super::stream::{Cost, Failure, Parsed, Parser, fail};
use crate::tsql::ast::broker::BrokerStatement;
use crate::tsql::ast::query::With;
use crate::tsql::ast::{Statement, StatementKind};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// All statements of the batch. Only the first may be a procedure's name without EXEC.
    pub(super) fn batch_statements(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.take_semicolons();
        if self.at_implicit_execute() {
            statements.push(self.statement_with(Self::implicit_execute)?);
        }
        self.statements_into(&mut statements)?;
        self.expect_end()?;
        Ok(statements)
    }

    /// Statements up to the END of a block or the end of the text; possibly none.
    pub(super) fn statement_list(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements)?;
        Ok(statements)
    }

    fn statements_into(&mut self, statements: &mut Vec<Statement>) -> Parsed<()> {
        let mut terminated = self.take_semicolons() || statements.is_empty();
        while !self.at(TokenKind::End) && !self.at_block_end() {
            if !terminated && self.at_keyword(Keyword::With) {
                return fail(ParseError::with_needs_semicolon(self.token().line));
            }
            let statement = self.statement()?;
            let is_label = matches!(statement.kind, StatementKind::Label(_));
            statements.push(statement);
            terminated = self.take_semicolons() || is_label;
        }
        Ok(())
    }

    fn take_semicolons(&mut self) -> bool {
        let any = self.at(TokenKind::Semicolon);
        while self.take(TokenKind::Semicolon) {}
        any
    }

    /// END of a block, which END CONVERSATION is not.
    fn at_block_end(&self) -> bool {
        self.at_keyword(Keyword::End) && !self.is_word_ahead(1, "CONVERSATION")
    }

    /// Whether ELSE comes next, semicolons aside; takes those then.
    pub(super) fn at_else_after_semicolons(&mut self) -> bool {
        let position = self.position();
        self.take_semicolons();
        let found = self.at_keyword(Keyword::Else);
        if !found {
            self.rewind(position);
        }
        found
    }

    /// One statement without its semicolon.
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        self.nested(Cost::One, |parser| parser.statement_with(Self::statement_kind))
    }

    fn statement_with(&mut self, rule: fn(&mut Self) -> Parsed<StatementKind>) -> Parsed<Statement> {
        let start = self.token();
        let position = self.position();
        let kind = match rule(self) {
            Err(Failure::Unsupported(construct)) => {
                self.rewind(position);
                self.unsupported_statement(construct)
            }
            other => other?,
        };
        Ok(Statement { line: start.line, span: self.span_from(start), kind })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        match self.token().kind {
            TokenKind::Keyword(keyword) => self.keyword_statement(keyword),
            TokenKind::Word => self.word_statement(),
            TokenKind::OpenParen if self.query_in_parentheses_follows() => self.query_statement(),
            _ => self.unexpected(),
        }
    }

    /// Statements whose first word is not reserved.
    fn word_statement(&mut self) -> Parsed<StatementKind> {
        if self.token_ahead(1).kind == TokenKind::Colon {
            return self.label();
        }
        if self.at_word("SEND") && self.is_keyword_ahead(1, Keyword::On) {
            return self.send().map(|send| broker(BrokerStatement::Send(send)));
        }
        if self.at_word("RECEIVE") {
            return self.receive().map(|receive| broker(BrokerStatement::Receive(receive)));
        }
        if self.at_word("GET") && self.is_word_ahead(1, "CONVERSATION") {
            return self
                .get_conversation_group()
                .map(|get| broker(BrokerStatement::GetConversationGroup(get)));
        }
        if self.at_word("MOVE") && self.is_word_ahead(1, "CONVERSATION") {
            return self.move_conversation().map(|moved| broker(BrokerStatement::MoveConversation(moved)));
        }
        if self.at_word("THROW") {
            return self.throw();
        }
        if (self.at_word("ENABLE") || self.at_word("DISABLE")) && self.is_keyword_ahead(1, Keyword::Trigger) {
            return self.unsupported("ENABLE and DISABLE TRIGGER");
        }
        self.unexpected()
    }

    /// SEND, GET CONVERSATION GROUP or MOVE CONVERSATION: no reserved words, yet no names where their next
    /// word says so.
    pub(super) fn at_conversation_verb(&self) -> bool {
        match self.token_ahead(1).kind {
            TokenKind::Keyword(Keyword::On) => self.at_word("SEND") && self.is_word_ahead(2, "CONVERSATION"),
            TokenKind::Word => {
                self.is_word_ahead(1, "CONVERSATION") && (self.at_word("GET") || self.at_word("MOVE"))
            }
            _ => false,
        }
    }

    fn keyword_statement(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        match keyword {
            Keyword::Begin => self.begin(),
            Keyword::End => self.end_conversation().map(|end| broker(BrokerStatement::EndConversation(end))),
            Keyword::If => self.if_statement(),
            Keyword::While => self.while_statement(),
            Keyword::Break => self.break_statement(),
            Keyword::Continue => self.continue_statement(),
            Keyword::Return => self.return_statement(),
            Keyword::Goto => self.goto(),
            Keyword::Print => self.print(),
            Keyword::Raiserror => self.raise_error(),
            Keyword::Waitfor => self.wait_for(),
            Keyword::Declare => self.declare(),
            Keyword::Set => self.set(),
            Keyword::Use => self.use_database(),
            Keyword::Exec | Keyword::Execute => self.execute_statement(),
            Keyword::Kill => self.kill(),
            Keyword::Commit => self.commit(),
            Keyword::Rollback => self.rollback(),
            Keyword::Save => self.save(),
            _ => self.data_statement(keyword),
        }
    }

    fn data_statement(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        match keyword {
            Keyword::Select
            | Keyword::With
            | Keyword::Insert
            | Keyword::Update
            | Keyword::Delete
            | Keyword::Merge => self.query_statement(),
            Keyword::Open | Keyword::Fetch | Keyword::Close | Keyword::Deallocate => {
                self.cursor_statement(keyword)
            }
            Keyword::Create => self.create(),
            Keyword::Alter => self.alter(),
            Keyword::Drop => self.drop_statement(),
            Keyword::Truncate => self.truncate(),
            Keyword::Grant | Keyword::Deny | Keyword::Revoke => self.permission(keyword),
            Keyword::Revert => self.revert(),
            _ => self.known_by_name(keyword),
        }
    }

    /// SELECT and the statements that change rows, with WITH before them.
    fn query_statement(&mut self) -> Parsed<StatementKind> {
        if self.at_keyword(Keyword::Update) && self.is_keyword_ahead(1, Keyword::Statistics) {
            return self.unsupported("UPDATE STATISTICS");
        }
        let with = self.with_clause()?;
        self.statement_after_with(with)
    }

    fn statement_after_with(&mut self, with: With) -> Parsed<StatementKind> {
        match self.token().kind {
            TokenKind::Keyword(Keyword::Insert) => Ok(StatementKind::Insert(Box::new(self.insert(with)?))),
            TokenKind::Keyword(Keyword::Update) => Ok(StatementKind::Update(Box::new(self.update(with)?))),
            TokenKind::Keyword(Keyword::Delete) => Ok(StatementKind::Delete(Box::new(self.delete(with)?))),
            TokenKind::Keyword(Keyword::Merge) => Ok(StatementKind::Merge(Box::new(self.merge(with)?))),
            _ => Ok(StatementKind::Select(Box::new(self.select_statement(with)?))),
        }
    }
}

/// A conversation statement as an ordinary one.
pub(super) fn broker(statement: BrokerStatement) -> StatementKind {
    StatementKind::Broker(Box::new(statement))
}
