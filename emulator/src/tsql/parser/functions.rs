//! Function calls: ordinary ones, those with a syntax of their own, and windows.
//!
//! Must not know which functions exist, beyond those whose arguments are not plain expressions.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::expr::{FrameBound, FunctionArguments, FunctionCall, Window, WindowFrame};
use crate::tsql::ast::query::OrderItem;
use crate::tsql::ast::{Expr, Ident, ObjectName};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// Methods of the xml type. User functions of these names under a schema are taken for them, as the text
/// alone does not tell.
const XML_METHODS: [&str; 5] = ["value", "query", "exist", "nodes", "modify"];

impl Parser<'_> {
    /// A column, or a call of a function whose name is no reserved word.
    pub(super) fn named_value(&mut self) -> Parsed<Expr> {
        let may_be_special = self.at(TokenKind::Word) && self.token_ahead(1).kind != TokenKind::Dot;
        if may_be_special && let Some(value) = self.special_function()? {
            return Ok(value);
        }
        let mut name = self.object_name()?;
        if self.at(TokenKind::DoubleColon) {
            return self.unsupported("static methods of CLR types");
        }
        if !self.at(TokenKind::OpenParen) {
            return Ok(Expr::Column(name));
        }
        if is_xml_method(&name) {
            let method = name.parts.pop().expect("a method name follows a column");
            let arguments = self.call_arguments()?;
            return Ok(Expr::Method { target: Box::new(Expr::Column(name)), method, arguments });
        }
        self.function_call(name)
    }

    fn special_function(&mut self) -> Parsed<Option<Expr>> {
        if self.at_word("NEXT") && self.is_word_ahead(1, "VALUE") && self.is_keyword_ahead(2, Keyword::For) {
            return self.next_value_for().map(Some);
        }
        if self.token_ahead(1).kind != TokenKind::OpenParen {
            return Ok(None);
        }
        let word = self.text_of(self.token());
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let value = match word.len() {
            4 if is("CAST") => self.cast(false)?,
            8 if is("TRY_CAST") => self.cast(true)?,
            5 if is("PARSE") => self.parse_function(false)?,
            9 if is("TRY_PARSE") => self.parse_function(true)?,
            3 if is("IIF") => self.iif()?,
            4 if is("TRIM") => self.trim()?,
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn next_value_for(&mut self) -> Parsed<Expr> {
        self.expect_words(&["NEXT", "VALUE"])?;
        self.expect_keyword(Keyword::For)?;
        let sequence = self.object_name_of(3)?;
        if self.at_keyword(Keyword::Over) {
            return self.unsupported("NEXT VALUE FOR .. OVER");
        }
        Ok(Expr::NextValueFor(sequence))
    }

    fn open_call(&mut self) -> Parsed<()> {
        self.advance();
        self.expect(TokenKind::OpenParen)
    }

    fn cast(&mut self, is_try: bool) -> Parsed<Expr> {
        self.open_call()?;
        let operand = Box::new(self.expression()?);
        self.expect_keyword(Keyword::As)?;
        let data_type = Box::new(self.data_type()?);
        self.expect(TokenKind::CloseParen)?;
        Ok(Expr::Cast { operand, data_type, is_try })
    }

    fn parse_function(&mut self, is_try: bool) -> Parsed<Expr> {
        self.open_call()?;
        let operand = Box::new(self.expression()?);
        self.expect_keyword(Keyword::As)?;
        let data_type = Box::new(self.data_type()?);
        let culture = if self.take_word("USING") { Some(Box::new(self.expression()?)) } else { None };
        self.expect(TokenKind::CloseParen)?;
        Ok(Expr::Parse { operand, data_type, culture, is_try })
    }

    fn convert(&mut self, is_try: bool) -> Parsed<Expr> {
        self.open_call()?;
        let data_type = Box::new(self.data_type()?);
        self.expect(TokenKind::Comma)?;
        let operand = Box::new(self.expression()?);
        let style = if self.take(TokenKind::Comma) { Some(Box::new(self.expression()?)) } else { None };
        self.expect(TokenKind::CloseParen)?;
        Ok(Expr::Convert { data_type, operand, style, is_try })
    }

    fn iif(&mut self) -> Parsed<Expr> {
        self.open_call()?;
        let condition = Box::new(self.condition()?);
        self.expect(TokenKind::Comma)?;
        let then = Box::new(self.expression()?);
        self.expect(TokenKind::Comma)?;
        let otherwise = Box::new(self.expression()?);
        self.expect(TokenKind::CloseParen)?;
        Ok(Expr::Iif { condition, then, otherwise })
    }

    /// `TRIM(x)`, or `TRIM(characters FROM x)` as a call with the two arguments in the order written.
    fn trim(&mut self) -> Parsed<Expr> {
        let name = ObjectName::single(self.ident()?);
        self.expect(TokenKind::OpenParen)?;
        let mut arguments = vec![self.expression()?];
        if self.take_keyword(Keyword::From) {
            arguments.push(self.expression()?);
        }
        self.expect(TokenKind::CloseParen)?;
        Ok(plain_call(name, arguments))
    }

    /// A value that starts with a reserved word other than NULL and CASE.
    pub(super) fn keyword_function(&mut self, keyword: Keyword) -> Parsed<Expr> {
        match keyword {
            Keyword::Convert => self.convert(false),
            Keyword::TryConvert => self.convert(true),
            Keyword::Coalesce | Keyword::Nullif | Keyword::Left | Keyword::Right => {
                let name = self.keyword_name();
                let arguments = self.parenthesised(Self::expression)?;
                Ok(plain_call(name, arguments))
            }
            Keyword::CurrentTimestamp
            | Keyword::CurrentDate
            | Keyword::CurrentUser
            | Keyword::SessionUser
            | Keyword::SystemUser
            | Keyword::User => Ok(plain_call(self.keyword_name(), Vec::new())),
            Keyword::Identity => self.unsupported("the IDENTITY function"),
            _ => self.unexpected(),
        }
    }

    fn keyword_name(&mut self) -> ObjectName {
        let token = self.advance();
        ObjectName::single(Ident::new(self.text_of(token)))
    }

    fn function_call(&mut self, name: ObjectName) -> Parsed<Expr> {
        self.expect(TokenKind::OpenParen)?;
        let distinct = self.take_keyword(Keyword::Distinct);
        if !distinct {
            self.take_keyword(Keyword::All);
        }
        let arguments = if self.take(TokenKind::Star) {
            FunctionArguments::Star
        } else {
            FunctionArguments::List(self.arguments_before_parenthesis()?)
        };
        self.expect(TokenKind::CloseParen)?;
        let within_group = self.within_group()?;
        let over = if self.at_keyword(Keyword::Over) { Some(self.window()?) } else { None };
        Ok(Expr::Function(Box::new(FunctionCall { name, arguments, distinct, within_group, over })))
    }

    /// `(a, b, ..)`, possibly empty.
    pub(super) fn call_arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(TokenKind::OpenParen)?;
        let arguments = self.arguments_before_parenthesis()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(arguments)
    }

    fn arguments_before_parenthesis(&mut self) -> Parsed<Vec<Expr>> {
        if self.at(TokenKind::CloseParen) {
            return Ok(Vec::new());
        }
        self.comma_separated(|parser| {
            if parser.at_keyword(Keyword::Default) {
                return parser.unsupported("DEFAULT as an argument of a function");
            }
            parser.expression()
        })
    }

    fn within_group(&mut self) -> Parsed<Vec<OrderItem>> {
        if !(self.at_word("WITHIN") && self.is_keyword_ahead(1, Keyword::Group)) {
            return Ok(Vec::new());
        }
        self.advance();
        self.advance();
        self.expect(TokenKind::OpenParen)?;
        let order = self.order_by()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(order)
    }

    fn window(&mut self) -> Parsed<Window> {
        self.advance();
        self.expect(TokenKind::OpenParen)?;
        let partition_by = if self.take_word("PARTITION") {
            self.expect_keyword(Keyword::By)?;
            self.comma_separated(Self::expression)?
        } else {
            Vec::new()
        };
        let order_by = if self.at_keyword(Keyword::Order) { self.order_by()? } else { Vec::new() };
        let frame = self.window_frame()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(Window { partition_by, order_by, frame })
    }

    fn window_frame(&mut self) -> Parsed<Option<WindowFrame>> {
        let rows = self.take_word("ROWS");
        if !rows && !self.take_word("RANGE") {
            return Ok(None);
        }
        if !self.take_keyword(Keyword::Between) {
            let start = self.frame_bound()?;
            return Ok(Some(WindowFrame { rows, start, end: None }));
        }
        let start = self.frame_bound()?;
        self.expect_keyword(Keyword::And)?;
        let end = Some(self.frame_bound()?);
        Ok(Some(WindowFrame { rows, start, end }))
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.take_keyword(Keyword::Current) {
            self.expect_word("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.take_word("UNBOUNDED") {
            return self.before_or_after(FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
        }
        let distance = Expr::Literal(self.constant()?);
        self.before_or_after(FrameBound::Preceding(distance.clone()), FrameBound::Following(distance))
    }

    fn before_or_after(&mut self, before: FrameBound, after: FrameBound) -> Parsed<FrameBound> {
        if self.take_word("PRECEDING") {
            return Ok(before);
        }
        self.expect_word("FOLLOWING")?;
        Ok(after)
    }
}

fn is_xml_method(name: &ObjectName) -> bool {
    name.parts.len() > 1 && XML_METHODS.contains(&name.name().as_str())
}

fn plain_call(name: ObjectName, arguments: Vec<Expr>) -> Expr {
    let arguments = FunctionArguments::List(arguments);
    Expr::Function(Box::new(FunctionCall {
        name,
        arguments,
        distinct: false,
        within_group: Vec::new(),
        over: None,
    }))
}
