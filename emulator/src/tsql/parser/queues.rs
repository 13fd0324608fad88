//! CREATE QUEUE and ALTER QUEUE with their options.
//!
//! Must not know the catalog.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::broker::{Activation, ActivationOptions, AlterQueueAction, BrokerDdl, QueueOptions};
use crate::tsql::ast::security::ExecuteAs;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// CREATE QUEUE, after QUEUE.
    pub(super) fn create_queue(&mut self) -> Parsed<BrokerDdl> {
        let name = self.object_name_of(3)?;
        let options = if self.take_keyword(Keyword::With) {
            self.queue_options(false)?
        } else {
            QueueOptions::default()
        };
        let filegroup = if self.take_keyword(Keyword::On) { Some(self.ident()?) } else { None };
        Ok(BrokerDdl::CreateQueue { name, options, filegroup })
    }

    /// ALTER QUEUE, after QUEUE.
    pub(super) fn alter_queue(&mut self) -> Parsed<BrokerDdl> {
        let name = self.object_name_of(3)?;
        let action = if self.take_keyword(Keyword::With) {
            AlterQueueAction::Set(self.queue_options(true)?)
        } else if self.take_word("REBUILD") {
            self.queue_maintenance_option()?;
            AlterQueueAction::Rebuild
        } else if self.take_word("REORGANIZE") {
            self.queue_maintenance_option()?;
            AlterQueueAction::Reorganize
        } else {
            self.expect_word("MOVE")?;
            self.expect_keyword(Keyword::To)?;
            AlterQueueAction::MoveTo(self.ident()?)
        };
        Ok(BrokerDdl::AlterQueue { name, action })
    }

    /// `WITH (MAXDOP = n)`, `WITH (LOB_COMPACTION = ON)`: about how the work is done only.
    fn queue_maintenance_option(&mut self) -> Parsed<()> {
        if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
            self.advance();
            self.skip_parentheses()?;
        }
        Ok(())
    }

    fn queue_options(&mut self, is_alter: bool) -> Parsed<QueueOptions> {
        let mut options = QueueOptions::default();
        self.comma_separated(|parser| parser.queue_option(&mut options, is_alter))?;
        Ok(options)
    }

    fn queue_option(&mut self, options: &mut QueueOptions, is_alter: bool) -> Parsed<()> {
        if self.take_word("STATUS") {
            options.status = Some(self.equals_on_off()?);
        } else if self.take_word("RETENTION") {
            options.retention = Some(self.equals_on_off()?);
        } else if self.take_word("ACTIVATION") {
            options.activation = Some(self.activation(is_alter)?);
        } else {
            self.expect_word("POISON_MESSAGE_HANDLING")?;
            self.expect(TokenKind::OpenParen)?;
            self.expect_word("STATUS")?;
            options.poison_message_handling = Some(self.equals_on_off()?);
            self.expect(TokenKind::CloseParen)?;
        }
        Ok(())
    }

    fn activation(&mut self, is_alter: bool) -> Parsed<ActivationOptions> {
        self.expect(TokenKind::OpenParen)?;
        let options = if is_alter && self.take_keyword(Keyword::Drop) {
            ActivationOptions::Drop
        } else {
            let mut activation = Activation::default();
            self.comma_separated(|parser| parser.activation_option(&mut activation))?;
            ActivationOptions::Set(activation)
        };
        self.expect(TokenKind::CloseParen)?;
        Ok(options)
    }

    fn activation_option(&mut self, activation: &mut Activation) -> Parsed<()> {
        if self.take_word("STATUS") {
            activation.status = Some(self.equals_on_off()?);
        } else if self.take_word("PROCEDURE_NAME") {
            self.expect(TokenKind::Equal)?;
            activation.procedure = Some(self.object_name_of(3)?);
        } else if self.take_word("MAX_QUEUE_READERS") {
            self.expect(TokenKind::Equal)?;
            activation.max_queue_readers = Some(self.small_number()?);
        } else {
            activation.execute_as = Some(self.activation_execute_as()?);
        }
        Ok(())
    }

    fn activation_execute_as(&mut self) -> Parsed<ExecuteAs> {
        if !self.take_keyword(Keyword::Execute) {
            self.expect_keyword(Keyword::Exec)?;
        }
        self.expect_keyword(Keyword::As)?;
        if self.take_word("SELF") {
            return Ok(ExecuteAs::SelfUser);
        }
        if self.take_word("OWNER") {
            return Ok(ExecuteAs::Owner);
        }
        Ok(ExecuteAs::User(self.string()?))
    }
}
