//! Cursor statements.
//!
//! Must not know which cursors are declared.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::StatementKind;
use crate::tsql::ast::cursor::{
    CursorConcurrency, CursorDefinition, CursorModel, CursorName, CursorPurpose, CursorScope,
    CursorStatement, Fetch, FetchDirection,
};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// Options between CURSOR and FOR.
#[derive(Default)]
struct CursorOptions {
    scope: Option<CursorScope>,
    scroll: bool,
    forward_only: bool,
    model: Option<CursorModel>,
    concurrency: Option<CursorConcurrency>,
    type_warning: bool,
}

impl Parser<'_> {
    /// `name [INSENSITIVE] [SCROLL] CURSOR .. FOR ..`, after DECLARE.
    pub(super) fn declare_cursor(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let insensitive = self.take_word("INSENSITIVE");
        let scroll = self.take_word("SCROLL");
        self.expect_keyword(Keyword::Cursor)?;
        let definition = self.cursor_definition(insensitive, scroll)?;
        Ok(cursor(CursorStatement::Declare { name, definition }))
    }

    /// What follows CURSOR.
    pub(super) fn cursor_definition(&mut self, insensitive: bool, scroll: bool) -> Parsed<CursorDefinition> {
        let mut options = CursorOptions { scroll, ..CursorOptions::default() };
        if insensitive {
            options.model = Some(CursorModel::Static);
        }
        while !self.take_keyword(Keyword::For) {
            self.cursor_option(&mut options)?;
        }
        let with = self.with_clause()?;
        let query = Box::new(self.select_statement(with)?);
        let purpose = self.cursor_purpose()?;
        let CursorOptions { scope, scroll, forward_only, model, concurrency, type_warning } = options;
        Ok(CursorDefinition { scope, scroll, forward_only, model, concurrency, type_warning, query, purpose })
    }

    fn cursor_option(&mut self, options: &mut CursorOptions) -> Parsed<()> {
        if !self.at(TokenKind::Word) {
            return self.unexpected();
        }
        let word = self.text_of(self.token()).to_ascii_uppercase();
        match word.as_str() {
            "LOCAL" => options.scope = Some(CursorScope::Local),
            "GLOBAL" => options.scope = Some(CursorScope::Global),
            "SCROLL" => options.scroll = true,
            "FORWARD_ONLY" => options.forward_only = true,
            "STATIC" => options.model = Some(CursorModel::Static),
            "KEYSET" => options.model = Some(CursorModel::Keyset),
            "DYNAMIC" => options.model = Some(CursorModel::Dynamic),
            "FAST_FORWARD" => options.model = Some(CursorModel::FastForward),
            "READ_ONLY" => options.concurrency = Some(CursorConcurrency::ReadOnly),
            "SCROLL_LOCKS" => options.concurrency = Some(CursorConcurrency::ScrollLocks),
            "OPTIMISTIC" => options.concurrency = Some(CursorConcurrency::Optimistic),
            "TYPE_WARNING" => options.type_warning = true,
            _ => return self.unexpected(),
        }
        self.advance();
        Ok(())
    }

    fn cursor_purpose(&mut self) -> Parsed<CursorPurpose> {
        if !self.take_keyword(Keyword::For) {
            return Ok(CursorPurpose::Unspecified);
        }
        if self.take_keyword(Keyword::Read) {
            self.expect_word("ONLY")?;
            return Ok(CursorPurpose::ReadOnly);
        }
        self.expect_keyword(Keyword::Update)?;
        let columns =
            if self.take_keyword(Keyword::Of) { self.comma_separated(Self::ident)? } else { Vec::new() };
        Ok(CursorPurpose::Update(columns))
    }

    /// OPEN, FETCH, CLOSE, DEALLOCATE.
    pub(super) fn cursor_statement(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        self.advance();
        if keyword == Keyword::Fetch {
            return self.fetch();
        }
        if self.at_key_statement() {
            return self.unsupported("OPEN and CLOSE of keys");
        }
        let name = self.cursor_name()?;
        Ok(cursor(match keyword {
            Keyword::Open => CursorStatement::Open(name),
            Keyword::Close => CursorStatement::Close(name),
            _ => CursorStatement::Deallocate(name),
        }))
    }

    /// `OPEN SYMMETRIC KEY`, `CLOSE MASTER KEY`, `CLOSE ALL SYMMETRIC KEYS`
    fn at_key_statement(&self) -> bool {
        self.is_keyword_ahead(1, Keyword::Key)
            || (self.at_keyword(Keyword::All) && self.is_word_ahead(1, "SYMMETRIC"))
    }

    /// `[GLOBAL] name` or a variable.
    pub(super) fn cursor_name(&mut self) -> Parsed<CursorName> {
        if self.at(TokenKind::Variable) {
            return Ok(CursorName::Variable(self.variable()?));
        }
        let global = self.at_word("GLOBAL") && super::names::is_ident(self.token_ahead(1));
        if global {
            self.advance();
        }
        Ok(CursorName::Name { name: self.ident()?, global })
    }

    fn fetch(&mut self) -> Parsed<StatementKind> {
        let direction = self.fetch_direction()?;
        if !self.take_keyword(Keyword::From) && direction.is_some() {
            return self.unexpected();
        }
        let name = self.cursor_name()?;
        let into =
            if self.take_keyword(Keyword::Into) { self.comma_separated(Self::variable)? } else { Vec::new() };
        let direction = direction.unwrap_or(FetchDirection::Next);
        Ok(cursor(CursorStatement::Fetch(Fetch { direction, cursor: name, into })))
    }

    /// A direction word, which FROM has to follow.
    fn fetch_direction(&mut self) -> Parsed<Option<FetchDirection>> {
        let plain = [
            ("NEXT", FetchDirection::Next),
            ("PRIOR", FetchDirection::Prior),
            ("FIRST", FetchDirection::First),
            ("LAST", FetchDirection::Last),
        ];
        for (word, direction) in plain {
            if self.at_word(word) && self.is_keyword_ahead(1, Keyword::From) {
                self.advance();
                return Ok(Some(direction));
            }
        }
        if self.take_word("ABSOLUTE") {
            return Ok(Some(FetchDirection::Absolute(self.constant_or_variable()?)));
        }
        if self.take_word("RELATIVE") {
            return Ok(Some(FetchDirection::Relative(self.constant_or_variable()?)));
        }
        Ok(None)
    }
}

fn cursor(statement: CursorStatement) -> StatementKind {
    StatementKind::Cursor(Box::new(statement))
}
