//! Which CREATE, ALTER or DROP it is.
//!
//! Must not know the inside of any definition.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::StatementKind;
use crate::tsql::ast::ddl::{CreateSchema, DdlStatement, Drop, DropKind, ModuleAction};
use crate::tsql::ast::security::SecurityStatement;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// CREATE.
    pub(super) fn create(&mut self) -> Parsed<StatementKind> {
        let start = self.position();
        self.advance();
        if let Some(statement) = self.create_broker_object()? {
            return Ok(statement);
        }
        if let Some(statement) = self.optional_index()? {
            return Ok(statement);
        }
        let or_alter = self.at_keyword(Keyword::Or) && self.is_keyword_ahead(1, Keyword::Alter);
        if or_alter {
            self.advance();
            self.advance();
        }
        let action = if or_alter { ModuleAction::CreateOrAlter } else { ModuleAction::Create };
        let TokenKind::Keyword(keyword) = self.token().kind else { return self.create_by_word(start) };
        match keyword {
            Keyword::Proc | Keyword::Procedure => self.procedure(start, action),
            Keyword::View | Keyword::Function | Keyword::Trigger => self.module(start, "CREATE", keyword),
            _ if or_alter => self.unexpected(),
            Keyword::Table => self.create_table(),
            Keyword::Database => self.create_database(),
            Keyword::Schema => self.create_schema(start),
            Keyword::User => {
                self.advance();
                let user = self.user_definition(false)?;
                Ok(security(SecurityStatement::CreateUser(user)))
            }
            _ => self.known_definition(start, "CREATE"),
        }
    }

    fn create_by_word(&mut self, start: usize) -> Parsed<StatementKind> {
        if self.take_word("LOGIN") {
            let login = self.login_definition(false)?;
            return Ok(security(SecurityStatement::CreateLogin(login)));
        }
        if self.take_word("ROLE") {
            let name = self.ident()?;
            let owner = self.optional_owner()?;
            return Ok(security(SecurityStatement::CreateRole { name, owner }));
        }
        self.known_definition(start, "CREATE")
    }

    /// ALTER.
    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        let start = self.position();
        self.advance();
        if let Some(statement) = self.alter_broker_object()? {
            return Ok(statement);
        }
        if self.take_word("LOGIN") {
            let login = self.login_definition(true)?;
            return Ok(security(SecurityStatement::AlterLogin(login)));
        }
        if self.take_word("ROLE") {
            return self.alter_role();
        }
        let TokenKind::Keyword(keyword) = self.token().kind else {
            return self.known_definition(start, "ALTER");
        };
        match keyword {
            Keyword::Proc | Keyword::Procedure => self.procedure(start, ModuleAction::Alter),
            Keyword::View | Keyword::Function | Keyword::Trigger => self.module(start, "ALTER", keyword),
            Keyword::Table => self.alter_table(),
            Keyword::Database => self.alter_database(start),
            Keyword::Authorization => self.alter_authorization(),
            Keyword::User => {
                self.advance();
                let user = self.user_definition(true)?;
                Ok(security(SecurityStatement::AlterUser(user)))
            }
            _ => self.known_definition(start, "ALTER"),
        }
    }

    fn create_schema(&mut self, start: usize) -> Parsed<StatementKind> {
        self.refuse_unless_first(start, "CREATE SCHEMA")?;
        self.advance();
        let name = self.optional_ident()?;
        let owner = self.optional_owner()?;
        if name.is_none() && owner.is_none() {
            return self.unexpected();
        }
        if self.at_keyword(Keyword::Create)
            || self.at_keyword(Keyword::Grant)
            || self.at_keyword(Keyword::Deny)
        {
            return self.unsupported("CREATE SCHEMA with objects in it");
        }
        Ok(ddl(DdlStatement::CreateSchema(CreateSchema { name, owner })))
    }

    /// TRUNCATE TABLE.
    pub(super) fn truncate(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_keyword(Keyword::Table)?;
        let name = self.object_name()?;
        if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
            return self.unsupported("TRUNCATE TABLE of partitions");
        }
        Ok(ddl(DdlStatement::TruncateTable(name)))
    }

    /// DROP.
    pub(super) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        let start = self.position();
        self.advance();
        if let Some(statement) = self.drop_broker_object()? {
            return Ok(statement);
        }
        if let Some(statement) = self.optional_drop_index()? {
            return Ok(statement);
        }
        let Some((kind, parts)) = self.drop_kind() else { return self.known_definition(start, "DROP") };
        let if_exists = self.at_keyword(Keyword::If);
        if if_exists {
            self.advance();
            self.expect_keyword(Keyword::Exists)?;
        }
        let names = self.comma_separated(|parser| parser.object_name_of(parts))?;
        if kind == DropKind::Trigger && self.at_keyword(Keyword::On) {
            return self.unsupported("DROP TRIGGER ON DATABASE or ALL SERVER");
        }
        Ok(ddl(DdlStatement::Drop(Drop { kind, if_exists, names })))
    }

    /// What DROP drops, and how many parts its name may have.
    fn drop_kind(&mut self) -> Option<(DropKind, usize)> {
        let (kind, parts) = match self.token().kind {
            TokenKind::Keyword(keyword) => match keyword {
                Keyword::Table => (DropKind::Table, 3),
                Keyword::View => (DropKind::View, 3),
                Keyword::Proc | Keyword::Procedure => (DropKind::Procedure, 3),
                Keyword::Function => (DropKind::Function, 3),
                Keyword::Trigger => (DropKind::Trigger, 2),
                Keyword::Schema => (DropKind::Schema, 1),
                Keyword::Database => (DropKind::Database, 1),
                Keyword::User => (DropKind::User, 1),
                _ => return None,
            },
            _ if self.at_word("TYPE") => (DropKind::Type, 2),
            _ if self.at_word("SYNONYM") => (DropKind::Synonym, 2),
            _ if self.at_word("SEQUENCE") => (DropKind::Sequence, 3),
            _ if self.at_word("LOGIN") => (DropKind::Login, 1),
            _ if self.at_word("ROLE") => (DropKind::Role, 1),
            _ => return None,
        };
        // DROP DATABASE AUDIT SPECIFICATION, DROP DATABASE SCOPED CREDENTIAL, DROP SCHEMA-less families.
        let longer = ["AUDIT", "SCOPED", "ENCRYPTION"].iter().any(|word| self.is_word_ahead(1, word));
        if kind == DropKind::Database && longer && super::names::is_ident(self.token_ahead(2)) {
            return None;
        }
        self.advance();
        Some((kind, parts))
    }
}

/// A definition as an ordinary statement.
pub(super) fn ddl(statement: DdlStatement) -> StatementKind {
    StatementKind::Ddl(Box::new(statement))
}

/// A security statement as an ordinary one.
pub(super) fn security(statement: SecurityStatement) -> StatementKind {
    StatementKind::Security(Box::new(statement))
}
