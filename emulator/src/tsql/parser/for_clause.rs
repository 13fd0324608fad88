//! FOR XML, FOR JSON, FOR BROWSE.
//!
//! Must not know how rows become XML or JSON.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::query::{ForClause, ForJson, ForXml, XmlElements, XmlMode};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// FOR of a query, if one comes next; FOR of a cursor stays.
    pub(super) fn for_clause(&mut self) -> Parsed<Option<ForClause>> {
        if !self.at_keyword(Keyword::For) {
            return Ok(None);
        }
        if self.is_keyword_ahead(1, Keyword::Browse) {
            self.advance();
            self.advance();
            return Ok(Some(ForClause::Browse));
        }
        let (xml, json) = (self.is_word_ahead(1, "XML"), self.is_word_ahead(1, "JSON"));
        if !xml && !json {
            return Ok(None);
        }
        self.advance();
        self.advance();
        if xml { self.for_xml().map(Some) } else { self.for_json().map(Some) }
    }

    fn for_xml(&mut self) -> Parsed<ForClause> {
        let mode = self.xml_mode()?;
        let mut xml = ForXml {
            mode,
            elements: None,
            root: None,
            as_type: false,
            binary_base64: false,
            xml_schema: false,
        };
        while self.take(TokenKind::Comma) {
            self.xml_directive(&mut xml)?;
        }
        Ok(ForClause::Xml(xml))
    }

    fn xml_mode(&mut self) -> Parsed<XmlMode> {
        if self.take_word("RAW") {
            return Ok(XmlMode::Raw(self.optional_name_in_parentheses()?));
        }
        if self.take_word("PATH") {
            return Ok(XmlMode::Path(self.optional_name_in_parentheses()?));
        }
        if self.take_word("AUTO") {
            return Ok(XmlMode::Auto);
        }
        self.expect_word("EXPLICIT")?;
        Ok(XmlMode::Explicit)
    }

    fn xml_directive(&mut self, xml: &mut ForXml) -> Parsed<()> {
        if self.take_word("TYPE") {
            xml.as_type = true;
        } else if self.take_word("ROOT") {
            xml.root = Some(self.root_name()?);
        } else if self.take_word("ELEMENTS") {
            xml.elements = Some(self.xml_elements());
        } else if self.take_words(&["BINARY", "BASE64"]) {
            xml.binary_base64 = true;
        } else if self.take_word("XMLSCHEMA") {
            self.optional_name_in_parentheses()?;
            xml.xml_schema = true;
        } else if self.at_word("XMLDATA") {
            return self.unsupported("FOR XML XMLDATA");
        } else {
            return self.unexpected();
        }
        Ok(())
    }

    fn xml_elements(&mut self) -> XmlElements {
        if self.take_word("XSINIL") {
            return XmlElements::XsiNil;
        }
        self.take_word("ABSENT");
        XmlElements::Absent
    }

    fn for_json(&mut self) -> Parsed<ForClause> {
        let path = self.take_word("PATH");
        if !path {
            self.expect_word("AUTO")?;
        }
        let mut json = ForJson { path, root: None, include_null_values: false, without_array_wrapper: false };
        while self.take(TokenKind::Comma) {
            if self.take_word("ROOT") {
                json.root = Some(self.root_name()?);
            } else if self.take_word("INCLUDE_NULL_VALUES") {
                json.include_null_values = true;
            } else {
                self.expect_word("WITHOUT_ARRAY_WRAPPER")?;
                json.without_array_wrapper = true;
            }
        }
        Ok(ForClause::Json(json))
    }

    fn root_name(&mut self) -> Parsed<String> {
        Ok(self.optional_name_in_parentheses()?.unwrap_or_else(|| "root".to_owned()))
    }

    /// `('name')` if a parenthesis comes next.
    fn optional_name_in_parentheses(&mut self) -> Parsed<Option<String>> {
        if !self.take(TokenKind::OpenParen) {
            return Ok(None);
        }
        let name = self.string()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(Some(name))
    }
}
