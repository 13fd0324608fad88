//! Conversation statements: BEGIN DIALOG, SEND, RECEIVE and the others.
//!
//! Must not know the engine. SEND, RECEIVE, GET and MOVE are no reserved words; which of them begins a
//! statement is decided where statements begin.

use super::stream::{Parsed, Parser};
use super::variables::VariableRole;
use crate::tsql::ast::Expr;
use crate::tsql::ast::broker::{
    BeginConversationTimer, BeginDialog, EndConversation, EndMode, GetConversationGroup, MoveConversation,
    NameOrVariable, Receive, ReceiveFilter, Related, Send, TextOrVariable,
};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// A queue's name has at most a database and a schema before it.
const QUEUE_NAME_PARTS: usize = 3;

impl Parser<'_> {
    /// BEGIN DIALOG [CONVERSATION].
    pub(super) fn begin_dialog(&mut self) -> Parsed<BeginDialog> {
        self.expect_keyword(Keyword::Begin)?;
        self.expect_word("DIALOG")?;
        self.take_word("CONVERSATION");
        let handle = self.variable()?;
        self.expect_keyword(Keyword::From)?;
        self.expect_word("SERVICE")?;
        let from_service = self.name_or_variable()?;
        self.expect_keyword(Keyword::To)?;
        self.expect_word("SERVICE")?;
        let to_service = self.text_or_variable()?;
        let broker_instance = if self.take(TokenKind::Comma) { Some(self.text_or_variable()?) } else { None };
        let contract = self.on_contract()?;
        let mut begin = BeginDialog {
            handle,
            from_service,
            to_service,
            broker_instance,
            contract,
            related: None,
            lifetime: None,
            encryption: None,
        };
        if self.take_keyword(Keyword::With) {
            self.comma_separated(|parser| parser.dialog_option(&mut begin))?;
        }
        Ok(begin)
    }

    fn on_contract(&mut self) -> Parsed<Option<NameOrVariable>> {
        if !self.take_keyword(Keyword::On) {
            return Ok(None);
        }
        self.expect_word("CONTRACT")?;
        self.name_or_variable().map(Some)
    }

    fn dialog_option(&mut self, begin: &mut BeginDialog) -> Parsed<()> {
        if self.take_word("RELATED_CONVERSATION") {
            self.expect(TokenKind::Equal)?;
            begin.related = Some(Related::Conversation(self.expression()?));
        } else if self.take_word("RELATED_CONVERSATION_GROUP") {
            self.expect(TokenKind::Equal)?;
            begin.related = Some(Related::Group(self.expression()?));
        } else if self.take_word("LIFETIME") {
            self.expect(TokenKind::Equal)?;
            begin.lifetime = Some(self.expression()?);
        } else {
            self.expect_word("ENCRYPTION")?;
            begin.encryption = Some(self.equals_on_off()?);
        }
        Ok(())
    }

    /// BEGIN CONVERSATION TIMER.
    pub(super) fn begin_conversation_timer(&mut self) -> Parsed<BeginConversationTimer> {
        self.expect_keyword(Keyword::Begin)?;
        self.expect_words(&["CONVERSATION", "TIMER"])?;
        self.expect(TokenKind::OpenParen)?;
        let handle = self.expression()?;
        self.expect(TokenKind::CloseParen)?;
        self.expect_word("TIMEOUT")?;
        self.expect(TokenKind::Equal)?;
        Ok(BeginConversationTimer { handle, timeout: self.expression()? })
    }

    /// SEND.
    pub(super) fn send(&mut self) -> Parsed<Send> {
        self.expect_word("SEND")?;
        self.expect_keyword(Keyword::On)?;
        self.expect_word("CONVERSATION")?;
        let handles = self.send_handles()?;
        let message_type = if self.take_word("MESSAGE") {
            self.expect_word("TYPE")?;
            Some(self.name_or_variable()?)
        } else {
            None
        };
        let body = if self.at(TokenKind::OpenParen) { Some(self.parenthesised_count()?) } else { None };
        Ok(Send { handles, message_type, body })
    }

    /// `h`, `(h)` or `(h1, h2, ..)`
    fn send_handles(&mut self) -> Parsed<Vec<Expr>> {
        if self.at(TokenKind::OpenParen) && !self.query_in_parentheses_follows() {
            return self.parenthesised(Self::expression);
        }
        Ok(vec![self.expression()?])
    }

    /// RECEIVE without WAITFOR around it.
    pub(super) fn receive(&mut self) -> Parsed<Receive> {
        self.expect_word("RECEIVE")?;
        let top = if self.take_keyword(Keyword::Top) { Some(self.parenthesised_count()?) } else { None };
        let items = self.comma_separated(Self::select_item)?;
        self.expect_keyword(Keyword::From)?;
        let queue = self.object_name_of(QUEUE_NAME_PARTS)?;
        let into = if self.take_keyword(Keyword::Into) {
            Some(self.variable_as(VariableRole::Table)?)
        } else {
            None
        };
        let filter = if self.take_keyword(Keyword::Where) { Some(self.receive_filter()?) } else { None };
        Ok(Receive { top, items, queue, into, filter })
    }

    fn receive_filter(&mut self) -> Parsed<ReceiveFilter> {
        let column = self.position();
        let name = self.ident()?;
        if name.is("conversation_handle") {
            self.expect(TokenKind::Equal)?;
            return Ok(ReceiveFilter::Conversation(self.text_or_variable()?));
        }
        if name.is("conversation_group_id") {
            self.expect(TokenKind::Equal)?;
            return Ok(ReceiveFilter::Group(self.text_or_variable()?));
        }
        self.unexpected_at(column)
    }

    /// GET CONVERSATION GROUP without WAITFOR around it.
    pub(super) fn get_conversation_group(&mut self) -> Parsed<GetConversationGroup> {
        self.expect_words(&["GET", "CONVERSATION"])?;
        self.expect_keyword(Keyword::Group)?;
        let group = self.variable()?;
        self.expect_keyword(Keyword::From)?;
        let queue = self.object_name_of(QUEUE_NAME_PARTS)?;
        Ok(GetConversationGroup { group, queue })
    }

    /// MOVE CONVERSATION.
    pub(super) fn move_conversation(&mut self) -> Parsed<MoveConversation> {
        self.expect_words(&["MOVE", "CONVERSATION"])?;
        let handle = self.expression()?;
        self.expect_keyword(Keyword::To)?;
        Ok(MoveConversation { handle, group: self.expression()? })
    }

    /// END CONVERSATION.
    pub(super) fn end_conversation(&mut self) -> Parsed<EndConversation> {
        self.expect_keyword(Keyword::End)?;
        self.expect_word("CONVERSATION")?;
        let handle = self.expression()?;
        let mode = if self.at_keyword(Keyword::With) { self.end_mode()? } else { EndMode::Plain };
        Ok(EndConversation { handle, mode })
    }

    /// WITH of END CONVERSATION; any other WITH belongs to a statement that lacks its semicolon.
    fn end_mode(&mut self) -> Parsed<EndMode> {
        if self.is_word_ahead(1, "CLEANUP") {
            self.advance();
            self.advance();
            return Ok(EndMode::WithCleanup);
        }
        if !self.is_word_ahead(1, "ERROR") {
            return Ok(EndMode::Plain);
        }
        self.advance();
        self.advance();
        self.expect(TokenKind::Equal)?;
        let code = self.signed_or_variable()?;
        self.expect_word("DESCRIPTION")?;
        self.expect(TokenKind::Equal)?;
        Ok(EndMode::WithError { code, description: self.text_or_variable_value()? })
    }

    /// A whole number or a variable. Microsoft's own parser takes no sign here, yet the code must be positive (8402).
    fn signed_or_variable(&mut self) -> Parsed<Expr> {
        if self.at(TokenKind::Minus) { self.signed_constant() } else { self.unsigned_or_variable() }
    }

    /// An identifier or a variable.
    fn name_or_variable(&mut self) -> Parsed<NameOrVariable> {
        if self.at(TokenKind::Variable) {
            return Ok(NameOrVariable::Variable(self.variable()?));
        }
        Ok(NameOrVariable::Name(self.ident()?))
    }

    /// A string constant or a variable.
    pub(super) fn text_or_variable(&mut self) -> Parsed<TextOrVariable> {
        if self.at(TokenKind::Variable) {
            return Ok(TextOrVariable::Variable(self.variable()?));
        }
        Ok(TextOrVariable::Text(self.string()?))
    }
}
