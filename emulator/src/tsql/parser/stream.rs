//! The token stream as the grammar sees it: looking ahead, taking tokens, refusing them.
//!
//! Must not know any statement.

use super::control_flow::Labels;
use super::entry::ParseOptions;
use super::variables::VariableTokens;
use crate::tsql::ast::Span;
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind, Tokens, tokenize};

/// Why a rule did not yield a node.
#[derive(Debug)]
pub(super) enum Failure {
    /// The text is no T-SQL.
    Syntax(Box<ParseError>),
    /// The text is T-SQL that the emulator does not offer; names the construct.
    Unsupported(&'static str),
}

/// What a rule yields.
pub(super) type Parsed<T> = Result<T, Failure>;

/// How deep a batch may nest, in levels of statements. A server answers 191 at a depth that depends on its
/// stack; this one keeps the parser and every walk over the tree within a thread of 2 MiB.
const MAX_DEPTH: u32 = 500;

/// What one level of nesting takes from [`MAX_DEPTH`]: the more rules lie within it, the more stack it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// A statement in another, a join, a sign: 500 levels.
    One = 1,
    /// An expression in another: 250 levels.
    Expression = 2,
    /// A query in another, its select list included: 80 levels.
    Query = 3,
}

/// A batch on its way from tokens to tree.
pub(super) struct Parser<'t> {
    /// The batch.
    pub(super) text: &'t str,
    tokens: Vec<Token>,
    lexical_error: Option<ParseError>,
    position: usize,
    depth: u32,
    /// Labels and GOTOs seen so far.
    pub(super) labels: Labels,
    /// How many WHILE loops are open here.
    pub(super) loop_depth: u32,
    /// What the variables of the text are there for, where it is not their value.
    pub(super) variables: VariableTokens,
}

impl<'t> Parser<'t> {
    /// A parser at the start of `text`.
    pub(super) fn new(text: &'t str, options: ParseOptions) -> Parser<'t> {
        let Tokens { list, error } = tokenize(text, options.quoted_identifier);
        Parser {
            text,
            tokens: list,
            lexical_error: error,
            position: 0,
            depth: 0,
            labels: Labels::default(),
            loop_depth: 0,
            variables: VariableTokens::default(),
        }
    }

    /// The next token.
    pub(super) fn token(&self) -> Token {
        self.tokens[self.position]
    }

    /// All tokens.
    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The token `distance` after the next one; the end token beyond the end.
    pub(super) fn token_ahead(&self, distance: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.position + distance).min(last)]
    }

    /// The token taken last; the first one when none was.
    pub(super) fn previous_token(&self) -> Token {
        self.tokens[self.position.saturating_sub(1)]
    }

    /// The text of a token.
    pub(super) fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The index of the next token, to say later where something stood.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Goes back to an index that [`Parser::position`] gave.
    pub(super) fn rewind(&mut self, position: usize) {
        self.position = position;
    }

    /// Where the first statement of the batch starts.
    pub(super) fn first_statement_position(&self) -> usize {
        self.tokens.iter().take_while(|token| token.kind == TokenKind::Semicolon).count()
    }

    /// Whether a statement within another is being parsed.
    pub(super) fn is_within_block(&self) -> bool {
        self.depth > 1
    }

    /// Takes the next token; the end token stays.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    /// From the first byte of `start` to the last byte of the token taken last.
    pub(super) fn span_from(&self, start: Token) -> Span {
        let end = self.previous_token().end.max(start.start);
        Span { start: start.start as usize, end: end as usize }
    }

    /// Whether the next token is of this kind.
    pub(super) fn at(&self, kind: TokenKind) -> bool {
        self.token().kind == kind
    }

    /// Whether the next token is this reserved word.
    pub(super) fn at_keyword(&self, keyword: Keyword) -> bool {
        self.at(TokenKind::Keyword(keyword))
    }

    /// Whether the next token is this word, which is not reserved.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.is_word_ahead(0, word)
    }

    /// Whether the token `distance` after the next one is this word, which is not reserved.
    pub(super) fn is_word_ahead(&self, distance: usize, word: &str) -> bool {
        let token = self.token_ahead(distance);
        token.kind == TokenKind::Word && self.text_of(token).eq_ignore_ascii_case(word)
    }

    /// Whether the token `distance` after the next one is this reserved word.
    pub(super) fn is_keyword_ahead(&self, distance: usize, keyword: Keyword) -> bool {
        self.token_ahead(distance).kind == TokenKind::Keyword(keyword)
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        self.position += usize::from(found);
        found
    }

    /// Takes the next token if it is this reserved word.
    pub(super) fn take_keyword(&mut self, keyword: Keyword) -> bool {
        self.take(TokenKind::Keyword(keyword))
    }

    /// Takes the next token if it is this word, which is not reserved.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.position += usize::from(found);
        found
    }

    /// Takes these words, none of them reserved, if all of them come next.
    pub(super) fn take_words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(distance, word)| self.is_word_ahead(distance, word));
        if found {
            self.position += words.len();
        }
        found
    }

    /// Takes a token of this kind or refuses what stands there.
    pub(super) fn expect(&mut self, kind: TokenKind) -> Parsed<()> {
        if self.take(kind) { Ok(()) } else { self.unexpected() }
    }

    /// Takes this reserved word or refuses what stands there.
    pub(super) fn expect_keyword(&mut self, keyword: Keyword) -> Parsed<()> {
        self.expect(TokenKind::Keyword(keyword))
    }

    /// Takes this word or refuses what stands there.
    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { self.unexpected() }
    }

    /// Takes these words or refuses the first that differs.
    pub(super) fn expect_words(&mut self, words: &[&str]) -> Parsed<()> {
        words.iter().try_for_each(|word| self.expect_word(word))
    }

    /// Refuses anything but the end of the text.
    pub(super) fn expect_end(&self) -> Parsed<()> {
        if self.at(TokenKind::End) { Ok(()) } else { self.unexpected() }
    }

    /// `item, item, ..`
    pub(super) fn comma_separated<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.take(TokenKind::Comma) {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// `(item, item, ..)`
    pub(super) fn parenthesised<T>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(TokenKind::OpenParen)?;
        let list = self.comma_separated(item)?;
        self.expect(TokenKind::CloseParen)?;
        Ok(list)
    }

    /// Skips a balanced `( .. )` whose content is of no interest.
    pub(super) fn skip_parentheses(&mut self) -> Parsed<()> {
        self.expect(TokenKind::OpenParen)?;
        let mut depth = 1;
        while depth > 0 {
            match self.token().kind {
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen => depth -= 1,
                TokenKind::End | TokenKind::Invalid => return self.unexpected(),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// Runs a rule one level deeper.
    pub(super) fn nested<T>(&mut self, cost: Cost, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let cost = cost as u32;
        if self.depth + cost > MAX_DEPTH {
            return fail(ParseError::nested_too_deeply(self.token().line));
        }
        self.depth += cost;
        let result = rule(self);
        self.depth -= cost;
        result
    }

    /// How many levels are left below this one.
    pub(super) fn levels_left(&self) -> usize {
        (MAX_DEPTH - self.depth) as usize
    }

    /// Refuses the next token.
    pub(super) fn unexpected<T>(&self) -> Parsed<T> {
        fail(self.unexpected_error())
    }

    /// The error for the next token: 156 for a reserved word, 102 otherwise, and at the end of the text 102
    /// at the last token.
    pub(super) fn unexpected_error(&self) -> ParseError {
        let token = self.token();
        match token.kind {
            TokenKind::Invalid => self.lexical_error.clone().expect("an invalid token has a reason"),
            TokenKind::Keyword(_) => ParseError::near_keyword(self.text_of(token), token.line),
            TokenKind::End => {
                let last = self.previous_token();
                ParseError::near(self.bare_text(last), last.line)
            }
            _ => ParseError::near(self.bare_text(token), token.line),
        }
    }

    /// Refuses a token that was taken already.
    pub(super) fn unexpected_at<T>(&mut self, position: usize) -> Parsed<T> {
        self.rewind(position);
        self.unexpected()
    }

    /// A token's text without quotes or brackets, as messages show it.
    pub(super) fn bare_text(&self, token: Token) -> &'t str {
        let text = self.text_of(token);
        match token.kind {
            TokenKind::String | TokenKind::Delimited => &text[1..text.len() - 1],
            TokenKind::NationalString => &text[2..text.len() - 1],
            _ => text,
        }
    }
}

/// A rule's answer to text that is no T-SQL.
pub(super) fn fail<T>(error: ParseError) -> Parsed<T> {
    Err(Failure::Syntax(Box::new(error)))
}
