//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION.
//!
//! Must not know what a transaction does.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::StatementKind;
use crate::tsql::ast::statement::{TransactionName, TransactionStatement};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// `BEGIN [DISTRIBUTED] TRAN [name] [WITH MARK ['text']]`
    pub(super) fn begin_transaction(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let distributed = self.take_keyword(Keyword::Distributed);
        if !self.take_transaction_word() {
            return self.unexpected();
        }
        let name = self.transaction_name()?;
        if self.at_keyword(Keyword::With) && self.is_word_ahead(1, "MARK") {
            self.advance();
            self.advance();
            if self.at_string() || self.at(TokenKind::Variable) {
                self.advance();
            }
        }
        Ok(StatementKind::Transaction(TransactionStatement::Begin { distributed, name }))
    }

    /// `COMMIT [TRAN [name] | WORK]`
    pub(super) fn commit(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.optional_transaction_name()?;
        if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
            self.advance();
            self.expect(TokenKind::OpenParen)?;
            self.expect_word("DELAYED_DURABILITY")?;
            self.equals_on_off()?;
            self.expect(TokenKind::CloseParen)?;
        }
        Ok(StatementKind::Transaction(TransactionStatement::Commit { name }))
    }

    /// `ROLLBACK [TRAN [name] | WORK]`
    pub(super) fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.optional_transaction_name()?;
        Ok(StatementKind::Transaction(TransactionStatement::Rollback { name }))
    }

    /// `SAVE TRAN name`
    pub(super) fn save(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if !self.take_transaction_word() {
            return self.unexpected();
        }
        match self.transaction_name()? {
            Some(name) => Ok(StatementKind::Transaction(TransactionStatement::Save(name))),
            None => self.unexpected(),
        }
    }

    fn take_transaction_word(&mut self) -> bool {
        self.take_keyword(Keyword::Tran) || self.take_keyword(Keyword::Transaction)
    }

    fn optional_transaction_name(&mut self) -> Parsed<Option<TransactionName>> {
        if self.take_transaction_word() {
            return self.transaction_name();
        }
        self.take_word("WORK");
        Ok(None)
    }

    /// A name, unless a statement follows whose first word is not reserved.
    fn transaction_name(&mut self) -> Parsed<Option<TransactionName>> {
        if self.at(TokenKind::Variable) {
            return Ok(Some(TransactionName::Variable(self.variable()?)));
        }
        if !self.at_alias() || self.at_conversation_verb() {
            return Ok(None);
        }
        Ok(Some(TransactionName::Name(self.ident()?)))
    }
}
