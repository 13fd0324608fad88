//! ALTER TABLE.
//!
//! Must not know how tables are stored.

use super::definitions::ddl;
use super::stream::{Parsed, Parser};
use crate::tsql::ast::ddl::{AlterTable, AlterTableAction, AlterTableDrop, DdlStatement};
use crate::tsql::ast::{Ident, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// ALTER TABLE, at TABLE.
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.object_name_of(3)?;
        let action = self.alter_table_action()?;
        Ok(ddl(DdlStatement::AlterTable(AlterTable { name, action })))
    }

    fn alter_table_action(&mut self) -> Parsed<AlterTableAction> {
        let no_check = self.validation_of_existing_rows()?;
        let TokenKind::Keyword(keyword) = self.token().kind else { return self.word_action() };
        match keyword {
            Keyword::Add => {
                self.advance();
                Ok(AlterTableAction::Add { elements: self.comma_separated(Self::table_element)?, no_check })
            }
            Keyword::Drop => {
                self.advance();
                self.table_drops()
            }
            Keyword::Alter => {
                self.advance();
                self.expect_keyword(Keyword::Column)?;
                self.alter_column()
            }
            Keyword::Check | Keyword::Nocheck => {
                self.advance();
                self.expect_keyword(Keyword::Constraint)?;
                let names = self.all_or_names()?;
                Ok(AlterTableAction::CheckConstraint { check: keyword == Keyword::Check, names })
            }
            Keyword::Set => self.unsupported("ALTER TABLE SET"),
            _ => self.unexpected(),
        }
    }

    /// `WITH CHECK`, `WITH NOCHECK`: whether it is NOCHECK.
    fn validation_of_existing_rows(&mut self) -> Parsed<bool> {
        let no_check = self.take_keyword(Keyword::With) && !self.take_keyword(Keyword::Check);
        if no_check {
            self.expect_keyword(Keyword::Nocheck)?;
        }
        Ok(no_check)
    }

    fn word_action(&mut self) -> Parsed<AlterTableAction> {
        let enable = self.take_word("ENABLE");
        if !enable && !self.take_word("DISABLE") {
            for (word, construct) in [("SWITCH", "ALTER TABLE SWITCH"), ("REBUILD", "ALTER TABLE REBUILD")] {
                if self.at_word(word) {
                    return self.unsupported(construct);
                }
            }
            return self.unexpected();
        }
        if self.at_word("CHANGE_TRACKING") {
            return self.unsupported("change tracking");
        }
        self.expect_keyword(Keyword::Trigger)?;
        let names = self.all_or_names()?;
        Ok(AlterTableAction::EnableTrigger { enable, names })
    }

    fn alter_column(&mut self) -> Parsed<AlterTableAction> {
        let adds_or_drops = self.is_keyword_ahead(1, Keyword::Add) || self.is_keyword_ahead(1, Keyword::Drop);
        if adds_or_drops {
            return self.unsupported("ALTER COLUMN ADD and DROP");
        }
        Ok(AlterTableAction::AlterColumn(Box::new(self.column_definition()?)))
    }

    /// `ALL`, as an empty list, or names.
    fn all_or_names(&mut self) -> Parsed<Vec<Ident>> {
        if self.take_keyword(Keyword::All) { Ok(Vec::new()) } else { self.comma_separated(Self::ident) }
    }

    /// `COLUMN a, b`, `CONSTRAINT c`, `c`; a name without a word before it is of the kind of the one before.
    fn table_drops(&mut self) -> Parsed<AlterTableAction> {
        let mut column = false;
        let drops = self.comma_separated(|parser| {
            if parser.take_keyword(Keyword::Column) {
                column = true;
            } else if parser.take_keyword(Keyword::Constraint) {
                column = false;
            }
            let if_exists = parser.take_keyword(Keyword::If);
            if if_exists {
                parser.expect_keyword(Keyword::Exists)?;
            }
            Ok(AlterTableDrop { column, if_exists, name: parser.ident()? })
        })?;
        Ok(AlterTableAction::Drop(drops))
    }
}
