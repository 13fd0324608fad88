//! Logins, users, roles, permissions, EXECUTE AS, REVERT.
//!
//! Must not know who exists.

use super::definitions::security;
use super::stream::{Parsed, Parser};
use crate::tsql::ast::security::{
    ExecuteAsStatement, ImpersonatedPrincipal, LoginDefinition, Permission, PermissionAction,
    PermissionStatement, PrincipalSource, RoleAction, Securable, SecurityStatement, UserDefinition,
};
use crate::tsql::ast::{Ident, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// A login, after LOGIN.
    pub(super) fn login_definition(&mut self, is_alter: bool) -> Parsed<LoginDefinition> {
        let mut login = LoginDefinition {
            name: self.ident()?,
            password: None,
            source: None,
            default_database: None,
            enable: None,
            new_name: None,
        };
        if is_alter && (self.at_word("ENABLE") || self.at_word("DISABLE")) {
            login.enable = Some(self.at_word("ENABLE"));
            self.advance();
            return Ok(login);
        }
        if is_alter && (self.at_keyword(Keyword::Add) || self.at_keyword(Keyword::Drop)) {
            return self.unsupported("credentials of a login");
        }
        if !is_alter && self.take_keyword(Keyword::From) {
            login.source = Some(self.login_source()?);
            if !self.take_keyword(Keyword::With) {
                return Ok(login);
            }
        } else {
            self.expect_keyword(Keyword::With)?;
        }
        self.comma_separated(|parser| parser.login_option(&mut login))?;
        Ok(login)
    }

    fn login_source(&mut self) -> Parsed<PrincipalSource> {
        if self.take_word("WINDOWS") {
            return Ok(PrincipalSource::External);
        }
        if self.take_keyword(Keyword::External) {
            self.expect_word("PROVIDER")?;
            return Ok(PrincipalSource::External);
        }
        self.key_source()
    }

    fn key_source(&mut self) -> Parsed<PrincipalSource> {
        if self.take_word("CERTIFICATE") {
            return Ok(PrincipalSource::Certificate(self.ident()?));
        }
        self.expect_word("ASYMMETRIC")?;
        self.expect_keyword(Keyword::Key)?;
        Ok(PrincipalSource::AsymmetricKey(self.ident()?))
    }

    fn login_option(&mut self, login: &mut LoginDefinition) -> Parsed<()> {
        if self.take_word("PASSWORD") {
            self.expect(TokenKind::Equal)?;
            login.password = self.password()?;
        } else if self.take_word("DEFAULT_DATABASE") {
            login.default_database = Some(self.equals_ident()?);
        } else if self.take_word("NAME") {
            login.new_name = Some(self.equals_ident()?);
        } else if self.take_word("CHECK_POLICY") || self.take_word("CHECK_EXPIRATION") {
            self.equals_on_off()?;
        } else if self.take_word("SID") {
            self.expect(TokenKind::Equal)?;
            self.constant()?;
        } else if self.take_word("DEFAULT_LANGUAGE") || self.take_word("CREDENTIAL") {
            self.equals_ident()?;
        } else {
            return self.unexpected();
        }
        Ok(())
    }

    /// A password, and the words that may follow it. A hashed one is not kept.
    fn password(&mut self) -> Parsed<Option<String>> {
        let password = if self.take(TokenKind::Binary) { None } else { Some(self.string()?) };
        let hashed = self.take_word("HASHED");
        while self.take_word("MUST_CHANGE") || self.take_word("UNLOCK") {}
        if self.take_word("OLD_PASSWORD") {
            self.expect(TokenKind::Equal)?;
            self.string()?;
        }
        Ok(password.filter(|_| !hashed))
    }

    /// A user, after USER.
    pub(super) fn user_definition(&mut self, is_alter: bool) -> Parsed<UserDefinition> {
        let name = self.ident()?;
        let source = if is_alter { None } else { self.user_source()? };
        let mut user = UserDefinition { name, source, default_schema: None, new_name: None };
        if is_alter || self.at_keyword(Keyword::With) {
            self.expect_keyword(Keyword::With)?;
            self.comma_separated(|parser| parser.user_option(&mut user))?;
        }
        Ok(user)
    }

    fn user_source(&mut self) -> Parsed<Option<PrincipalSource>> {
        if self.take_word("WITHOUT") {
            self.expect_word("LOGIN")?;
            return Ok(Some(PrincipalSource::WithoutLogin));
        }
        if !self.take_keyword(Keyword::For) && !self.take_keyword(Keyword::From) {
            return Ok(None);
        }
        if self.take_word("LOGIN") {
            return Ok(Some(PrincipalSource::Login(self.ident()?)));
        }
        if self.take_keyword(Keyword::External) {
            self.expect_word("PROVIDER")?;
            return Ok(Some(PrincipalSource::External));
        }
        self.key_source().map(Some)
    }

    fn user_option(&mut self, user: &mut UserDefinition) -> Parsed<()> {
        if self.take_word("DEFAULT_SCHEMA") {
            self.expect(TokenKind::Equal)?;
            user.default_schema = if self.take_keyword(Keyword::Null) { None } else { Some(self.ident()?) };
        } else if self.take_word("NAME") {
            user.new_name = Some(self.equals_ident()?);
        } else if self.take_word("LOGIN") {
            user.source = Some(PrincipalSource::Login(self.equals_ident()?));
        } else if self.at_word("PASSWORD") {
            return self.unsupported("users with a password");
        } else if self.take_word("DEFAULT_LANGUAGE") {
            self.equals_ident()?;
        } else if self.take_word("ALLOW_ENCRYPTED_VALUE_MODIFICATIONS") {
            self.equals_on_off()?;
        } else {
            return self.unexpected();
        }
        Ok(())
    }

    /// ALTER ROLE, after ROLE.
    pub(super) fn alter_role(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let action = if self.take_keyword(Keyword::Add) {
            self.expect_word("MEMBER")?;
            RoleAction::AddMember(self.ident()?)
        } else if self.take_keyword(Keyword::Drop) {
            self.expect_word("MEMBER")?;
            RoleAction::DropMember(self.ident()?)
        } else {
            self.expect_keyword(Keyword::With)?;
            self.expect_word("NAME")?;
            RoleAction::Rename(self.equals_ident()?)
        };
        Ok(security(SecurityStatement::AlterRole { name, action }))
    }

    /// ALTER AUTHORIZATION, at AUTHORIZATION.
    pub(super) fn alter_authorization(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_keyword(Keyword::On)?;
        let Securable { class, name } = self.securable()?;
        self.expect_keyword(Keyword::To)?;
        let owner = if self.take_keyword(Keyword::Schema) {
            self.expect_word("OWNER")?;
            None
        } else {
            Some(self.ident()?)
        };
        Ok(security(SecurityStatement::AlterAuthorization { class, securable: name, owner }))
    }

    /// GRANT, DENY, REVOKE.
    pub(super) fn permission(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        self.advance();
        let action = match keyword {
            Keyword::Grant => PermissionAction::Grant,
            Keyword::Deny => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let mut grant_option = action == PermissionAction::Revoke && self.grant_option_for()?;
        let mut permissions = self.comma_separated(Self::one_permission)?;
        let securable = if self.take_keyword(Keyword::On) { Some(self.securable()?) } else { None };
        self.columns_of_securable(&mut permissions)?;
        if !self.take_keyword(Keyword::To) {
            if action != PermissionAction::Revoke {
                return self.unexpected();
            }
            self.expect_keyword(Keyword::From)?;
        }
        let principals = self.comma_separated(Self::principal)?;
        grant_option |= action == PermissionAction::Grant && self.with_grant_option()?;
        let cascade = self.take_keyword(Keyword::Cascade);
        let grantor = if self.take_keyword(Keyword::As) { Some(self.ident()?) } else { None };
        Ok(security(SecurityStatement::Permission(PermissionStatement {
            action,
            permissions,
            securable,
            principals,
            grant_option,
            cascade,
            grantor,
        })))
    }

    fn grant_option_for(&mut self) -> Parsed<bool> {
        if !self.take_keyword(Keyword::Grant) {
            return Ok(false);
        }
        self.expect_keyword(Keyword::Option)?;
        self.expect_keyword(Keyword::For)?;
        Ok(true)
    }

    fn with_grant_option(&mut self) -> Parsed<bool> {
        let found = self.at_keyword(Keyword::With) && self.is_keyword_ahead(1, Keyword::Grant);
        if found {
            self.advance();
            self.advance();
            self.expect_keyword(Keyword::Option)?;
        }
        Ok(found)
    }

    /// The words of a permission, and the columns it is limited to.
    fn one_permission(&mut self) -> Parsed<Permission> {
        let mut name = String::new();
        while is_permission_word(self.token()) {
            let token = self.advance();
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&self.text_of(token).to_ascii_uppercase());
        }
        if name.is_empty() {
            return self.unexpected();
        }
        let columns = self.optional_ident_list()?;
        Ok(Permission { name, columns })
    }

    /// `[class::]name`
    fn securable(&mut self) -> Parsed<Securable> {
        let class = self.securable_class();
        Ok(Securable { class, name: self.object_name()? })
    }

    /// Columns written after the table belong to every permission that names none itself.
    fn columns_of_securable(&mut self, permissions: &mut [Permission]) -> Parsed<()> {
        let columns = self.optional_ident_list()?;
        for permission in permissions.iter_mut().filter(|permission| permission.columns.is_empty()) {
            permission.columns.clone_from(&columns);
        }
        Ok(())
    }

    fn securable_class(&mut self) -> Option<String> {
        let mut distance = 0;
        while matches!(self.token_ahead(distance).kind, TokenKind::Word | TokenKind::Keyword(_)) {
            distance += 1;
        }
        if distance == 0 || self.token_ahead(distance).kind != TokenKind::DoubleColon {
            return None;
        }
        let words: Vec<_> = (0..distance).map(|_| self.advance()).collect();
        self.advance();
        let words: Vec<_> = words.into_iter().map(|word| self.text_of(word).to_ascii_uppercase()).collect();
        Some(words.join(" "))
    }

    /// A principal; PUBLIC is a reserved word and one too.
    fn principal(&mut self) -> Parsed<Ident> {
        if self.at_keyword(Keyword::Public) {
            let token = self.advance();
            return Ok(Ident::new(self.text_of(token)));
        }
        self.ident()
    }

    /// EXECUTE AS as a statement, at AS.
    pub(super) fn execute_as_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let principal = if self.take_word("CALLER") {
            ImpersonatedPrincipal::Caller
        } else if self.take_word("LOGIN") {
            self.expect(TokenKind::Equal)?;
            ImpersonatedPrincipal::Login(self.text_or_variable()?)
        } else {
            self.expect_keyword(Keyword::User)?;
            self.expect(TokenKind::Equal)?;
            ImpersonatedPrincipal::User(self.text_or_variable()?)
        };
        let mut no_revert = false;
        if self.at_keyword(Keyword::With) && self.is_word_ahead(1, "COOKIE") {
            return self.unsupported("EXECUTE AS .. WITH COOKIE");
        }
        if self.at_keyword(Keyword::With) && self.is_word_ahead(1, "NO") {
            self.advance();
            self.advance();
            self.expect_keyword(Keyword::Revert)?;
            no_revert = true;
        }
        Ok(security(SecurityStatement::ExecuteAs(ExecuteAsStatement { principal, no_revert })))
    }

    /// REVERT.
    pub(super) fn revert(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_keyword(Keyword::With) && self.is_word_ahead(1, "COOKIE") {
            return self.unsupported("REVERT WITH COOKIE");
        }
        Ok(security(SecurityStatement::Revert))
    }
}

/// Permissions are made of words, many of them reserved; ON, TO and FROM end them.
fn is_permission_word(token: Token) -> bool {
    match token.kind {
        TokenKind::Keyword(keyword) => !matches!(keyword, Keyword::On | Keyword::To | Keyword::From),
        kind => kind == TokenKind::Word,
    }
}
