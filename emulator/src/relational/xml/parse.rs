//! Paths as text, with the namespaces declared before them or by the statement.

use crate::error::SqlError;
use crate::relational::errors;

/// Prefixes and what they stand for; the empty prefix is the default for elements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Namespaces(pub(crate) Vec<(String, String)>);

impl Namespaces {
    fn of(&self, prefix: &str) -> Option<&str> {
        if prefix == "xml" {
            return Some("http://www.w3.org/XML/1998/namespace");
        }
        self.0.iter().rev().find(|(known, _)| known == prefix).map(|(_, uri)| uri.as_str())
    }
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// It starts at the document.
    pub(super) absolute: bool,
    /// Its steps.
    pub(super) steps: Vec<Step>,
    /// `(path)[n]`: which of all that it finds.
    pub(super) of_all: Option<Position>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Where it goes.
    pub(super) axis: Axis,
    /// What it takes there.
    pub(super) test: Test,
    /// Which of that it keeps.
    pub(super) predicates: Vec<Predicate>,
}

/// Where a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Child,
    /// `//`: the node itself and everything below it, then child.
    Descendant,
    Attribute,
    Itself,
    Parent,
}

/// What a step takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    /// A name; `None` as namespace is any, an empty one is none.
    Name { namespace: Option<String>, local: String },
    /// `*`, `@*`
    AnyName,
    /// `text()`
    Text,
    /// `node()`, also what `.` and `..` take
    Any,
}

/// What a predicate keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Predicate {
    /// `[n]`, `[last()]`
    At(Position),
    /// `[path]`
    Has(Path),
    /// `[path = "text"]`, `!=` when negated
    Compares { path: Path, text: String, equal: bool },
}

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Counted from 1.
    Number(usize),
    Last,
}

impl Path {
    /// Whether it may look at more than what lies below the node it starts from.
    pub(super) fn looks_around(&self) -> bool {
        let in_predicate = |predicate: &Predicate| match predicate {
            Predicate::At(_) => false,
            Predicate::Has(path) | Predicate::Compares { path, .. } => path.looks_around(),
        };
        self.absolute
            || self
                .steps
                .iter()
                .any(|step| step.axis == Axis::Parent || step.predicates.iter().any(in_predicate))
    }

    /// Whether it finds one node at most, whatever the document.
    pub(super) fn is_singleton(&self) -> bool {
        let single = |step: &Step| {
            matches!(step.axis, Axis::Itself | Axis::Parent)
                || (step.axis == Axis::Attribute && step.test != Test::AnyName)
                || (step.axis == Axis::Child
                    && step.predicates.iter().any(|predicate| matches!(predicate, Predicate::At(_))))
        };
        self.of_all.is_some() || self.steps.iter().all(single)
    }
}

/// Reads a path; `outer` are the namespaces of WITH XMLNAMESPACES.
///
/// # Errors
/// 2229 for a prefix nobody declared, 40510 for anything but a path.
pub(crate) fn parse_path(text: &str, outer: &Namespaces) -> Result<Path, SqlError> {
    let mut reader = Reader { rest: text, whole: text, namespaces: outer.clone() };
    reader.prolog()?;
    let path = reader.top()?;
    reader.space();
    if reader.rest.is_empty() { Ok(path) } else { Err(reader.unsupported()) }
}

struct Reader<'t> {
    rest: &'t str,
    whole: &'t str,
    namespaces: Namespaces,
}

impl<'t> Reader<'t> {
    fn unsupported(&self) -> SqlError {
        SqlError::unsupported(format_args!("XQuery '{}'", self.whole.trim()))
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), SqlError> {
        if self.take(token) { Ok(()) } else { Err(self.unsupported()) }
    }

    fn word(&mut self, word: &str) -> Result<(), SqlError> {
        self.expect(word)
    }

    /// `declare namespace p = "uri";`, `declare default element namespace "uri";`
    fn prolog(&mut self) -> Result<(), SqlError> {
        while self.take("declare") {
            let prefix = if self.take("default") {
                self.word("element")?;
                self.word("namespace")?;
                String::new()
            } else {
                self.word("namespace")?;
                self.space();
                let prefix = self.ncname().ok_or_else(|| self.unsupported())?.to_owned();
                self.expect("=")?;
                prefix
            };
            let uri = self.literal()?;
            self.expect(";")?;
            self.namespaces.0.push((prefix, uri));
        }
        Ok(())
    }

    fn literal(&mut self) -> Result<String, SqlError> {
        self.space();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let quote = quote.ok_or_else(|| self.unsupported())?;
        let inside = &self.rest[1..];
        let end = inside.find(quote).ok_or_else(|| self.unsupported())?;
        self.rest = &inside[end + 1..];
        Ok(inside[..end].to_owned())
    }

    /// `path` or `(path)[n]`, which may go on: `(path)[1]/text()`.
    fn top(&mut self) -> Result<Path, SqlError> {
        if !self.take("(") {
            return self.path();
        }
        let mut path = self.path()?;
        self.expect(")")?;
        if self.take("[") {
            path.of_all = Some(self.position()?.ok_or_else(|| self.unsupported())?);
            self.expect("]")?;
        }
        Ok(path)
    }

    fn path(&mut self) -> Result<Path, SqlError> {
        let descends = self.take("//");
        let absolute = descends || self.take("/");
        let mut steps = Vec::new();
        self.space();
        if absolute && !descends && (self.rest.is_empty() || self.rest.starts_with(')')) {
            return Ok(Path { absolute, steps, of_all: None });
        }
        steps.push(self.step(descends)?);
        loop {
            let descends = self.take("//");
            if !descends && !self.take("/") {
                return Ok(Path { absolute, steps, of_all: None });
            }
            steps.push(self.step(descends)?);
        }
    }

    fn step(&mut self, descends: bool) -> Result<Step, SqlError> {
        self.space();
        let (axis, test) = if self.take("..") {
            (Axis::Parent, Test::Any)
        } else if self.rest.starts_with('.') {
            self.rest = &self.rest[1..];
            (Axis::Itself, Test::Any)
        } else if self.take("@") {
            (Axis::Attribute, self.name_test(false)?)
        } else if self.take("text()") {
            (Axis::Child, Test::Text)
        } else if self.take("node()") {
            (Axis::Child, Test::Any)
        } else {
            (Axis::Child, self.name_test(true)?)
        };
        let axis = match (descends, axis) {
            (false, axis) => axis,
            (true, Axis::Child) => Axis::Descendant,
            (true, _) => return Err(self.unsupported()),
        };
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.predicate()?);
            self.expect("]")?;
        }
        Ok(Step { axis, test, predicates })
    }

    fn name_test(&mut self, is_element: bool) -> Result<Test, SqlError> {
        self.space();
        if self.take("*") {
            if self.take(":") {
                let local = self.ncname().ok_or_else(|| self.unsupported())?.to_owned();
                return Ok(Test::Name { namespace: None, local });
            }
            return Ok(Test::AnyName);
        }
        let first = self.ncname().ok_or_else(|| self.unsupported())?.to_owned();
        if self.rest.starts_with('(') || self.rest.starts_with("::") {
            return Err(self.unsupported());
        }
        if let Some(rest) = self.rest.strip_prefix(':') {
            self.rest = rest;
            let local = self.ncname().ok_or_else(|| self.unsupported())?.to_owned();
            if self.rest.starts_with('(') {
                return Err(self.unsupported());
            }
            let uri = self.namespaces.of(&first).ok_or_else(|| errors::undeclared_prefix(&first))?;
            return Ok(Test::Name { namespace: Some(uri.to_owned()), local });
        }
        let default = if is_element { self.namespaces.of("").unwrap_or_default() } else { "" };
        Ok(Test::Name { namespace: Some(default.to_owned()), local: first })
    }

    fn ncname(&mut self) -> Option<&'t str> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let starts = self.rest.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        let name = starts.then(|| &self.rest[..end])?;
        self.rest = &self.rest[end..];
        Some(name)
    }

    fn position(&mut self) -> Result<Option<Position>, SqlError> {
        if self.take("last()") {
            return Ok(Some(Position::Last));
        }
        self.space();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        if end == 0 {
            return Ok(None);
        }
        let number = self.rest[..end].parse().map_err(|_| self.unsupported())?;
        self.rest = &self.rest[end..];
        Ok(Some(Position::Number(number)))
    }

    fn predicate(&mut self) -> Result<Predicate, SqlError> {
        if let Some(position) = self.position()? {
            return Ok(Predicate::At(position));
        }
        let path = self.path()?;
        let equal = !self.take("!=");
        if equal && !self.take("=") {
            return Ok(Predicate::Has(path));
        }
        Ok(Predicate::Compares { path, text: self.literal()?, equal })
    }
}
