//! One TOML table whose keys are taken by name and type, with the line of each, until none may be left.
//!
//! Knows no key of the configuration.

use super::super::fault::Report;
use super::super::raw::Located;
use crate::activator::nearest::nearest;
use crate::activator::text::LineIndex;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table that is being read.
#[derive(Debug)]
pub(super) struct Table<'t> {
    content: &'t DeTable<'t>,
    lines: &'t LineIndex,
    /// What people call this table, as in `[[app]]`.
    name: String,
    line: u32,
    /// Every key that was asked for, and so is known.
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    /// The whole document.
    pub(super) fn root(content: &'t DeTable<'t>, lines: &'t LineIndex) -> Self {
        Self { content, lines, name: "the file".to_owned(), line: 1, known: Vec::new() }
    }

    /// The line on which the table begins.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// The line of `key`, or that of the table if the key is absent.
    pub(super) fn line_of(&self, key: &str) -> u32 {
        self.content.get_key_value(key).map_or(self.line, |(key, _)| self.lines.line(key.span().start))
    }

    /// What `read` finds under `key`, which must be there.
    pub(super) fn required<T>(
        &mut self,
        report: &mut Report,
        key: &'static str,
        read: fn(&mut Self, &mut Report, &'static str) -> Option<T>,
    ) -> Option<T> {
        if !self.content.contains_key(key) {
            report.fault(self.line, format!("{} lacks '{key}'", self.name));
        }
        read(self, report, key)
    }

    /// A string.
    pub(super) fn string(&mut self, report: &mut Report, key: &'static str) -> Option<Located<String>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(self.located(value, text.clone().into_owned())),
            other => self.wrong_type(report, key, "a string", other),
        }
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, report: &mut Report, key: &'static str) -> Option<Located<bool>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Boolean(boolean) => Some(self.located(value, *boolean)),
            other => self.wrong_type(report, key, "true or false", other),
        }
    }

    /// A whole number within `low..=high`.
    pub(super) fn number(
        &mut self,
        report: &mut Report,
        key: &'static str,
        low: u32,
        high: u32,
    ) -> Option<Located<u32>> {
        let value = self.take(key)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            return self.wrong_type(report, key, "a whole number", value.get_ref());
        };
        match i64::from_str_radix(integer.as_str(), integer.radix()).map(u32::try_from) {
            Ok(Ok(number)) if (low..=high).contains(&number) => Some(self.located(value, number)),
            _ => {
                let line = self.line_of(key);
                report.fault(line, format!("{key} = {integer} must be a whole number from {low} to {high}"));
                None
            }
        }
    }

    /// A string that `parse` makes something of, such as a duration.
    pub(super) fn parsed<T>(
        &mut self,
        report: &mut Report,
        key: &'static str,
        parse: fn(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let text = self.string(report, key)?;
        match parse(&text.value) {
            Ok(value) => Some(Located { value, line: text.line }),
            Err(message) => {
                report.fault(text.line, format!("{key}: {message}"));
                None
            }
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        report: &mut Report,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<Located<T>> {
        let text = self.string(report, key)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            report
                .fault(text.line, format!("{key} = \"{}\" must be one of {}", text.value, known.join(", ")));
        }
        found.map(|(_, value)| Located { value: *value, line: text.line })
    }

    /// An array of strings; an absent one is empty.
    pub(super) fn strings(&mut self, report: &mut Report, key: &'static str) -> Vec<Located<String>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type::<()>(report, key, "an array of strings", value.get_ref());
            return Vec::new();
        };
        let mut strings = Vec::new();
        for element in array {
            match element.get_ref() {
                DeValue::String(text) => strings.push(self.located(element, text.clone().into_owned())),
                other => {
                    let line = self.lines.line(element.span().start);
                    report.fault(line, format!("{key} must hold strings only, not {}", named_type(other)));
                }
            }
        }
        strings
    }

    /// A table whose keys are free and whose values are strings; an absent one is empty.
    pub(super) fn variables(
        &mut self,
        report: &mut Report,
        key: &'static str,
    ) -> Vec<(Located<String>, Located<String>)> {
        let Some(inner) = self.table(report, key) else { return Vec::new() };
        let mut variables = Vec::new();
        for (name, value) in inner.content {
            let line = self.lines.line(name.span().start);
            match value.get_ref() {
                DeValue::String(text) => {
                    let name = Located { value: name.get_ref().clone().into_owned(), line };
                    variables.push((name, self.located(value, text.clone().into_owned())));
                }
                other => {
                    report.fault(
                        line,
                        format!("{key}.{} must be a string, not {}", name.get_ref(), named_type(other)),
                    );
                }
            }
        }
        variables
    }

    /// A table inside this one.
    pub(super) fn table(&mut self, report: &mut Report, key: &'static str) -> Option<Table<'t>> {
        let line = self.line_of(key);
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Table(content) => Some(self.inner(content, format!("[{key}]"), line)),
            other => self.wrong_type(report, key, "a table", other),
        }
    }

    /// The tables of an array such as `[[app]]`; an absent one is empty.
    pub(super) fn tables(&mut self, report: &mut Report, key: &'static str) -> Vec<Table<'t>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            let message = format!("'{key}' must be written as [[{key}]], once for each");
            report.fault(self.line_of(key), message);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in array {
            let line = self.lines.line(element.span().start);
            match element.get_ref() {
                DeValue::Table(content) => tables.push(self.inner(content, format!("[[{key}]]"), line)),
                other => report.fault(line, format!("{key} must hold tables, not {}", named_type(other))),
            }
        }
        tables
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(&self, report: &mut Report) {
        for key in self.content.keys() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                let hint = match nearest(name, self.known.iter().copied()) {
                    Some(known) => format!("; did you mean '{known}'?"),
                    None => String::new(),
                };
                let line = self.lines.line(key.span().start);
                report.deviation(line, format!("'{name}' is not a key of {}{hint}", self.name));
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.known.push(key);
        self.content.get(key)
    }

    fn located<T>(&self, at: &Spanned<DeValue<'_>>, value: T) -> Located<T> {
        Located { value, line: self.lines.line(at.span().start) }
    }

    fn inner(&self, content: &'t DeTable<'t>, name: String, line: u32) -> Table<'t> {
        Table { content, lines: self.lines, name, line, known: Vec::new() }
    }

    fn wrong_type<T>(
        &self,
        report: &mut Report,
        key: &str,
        expected: &str,
        found: &DeValue<'_>,
    ) -> Option<T> {
        report.fault(self.line_of(key), format!("'{key}' must be {expected}, not {}", named_type(found)));
        None
    }
}

fn named_type(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
