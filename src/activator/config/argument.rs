//! The arguments of a handler: templates with the four macros, and the old product's one-line form taken apart.
//!
//! Pure; starts nothing and knows no file format.

use std::fmt;

/// The four names a handler can be told, as the notification gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacroValues<'a> {
    /// `%sqlserver%`
    pub server: &'a str,
    /// `%database%`
    pub database: &'a str,
    /// `%schema%`
    pub schema: &'a str,
    /// `%queue%`
    pub queue: &'a str,
}

/// One argument of a handler, with macros still to be filled in.
///
/// A value is always within one argument, whatever characters it holds: arguments are taken apart first and filled
/// afterwards, so a queue name with a space or a quote can neither split nor join arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Macro),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Macro {
    Server,
    Database,
    Schema,
    Queue,
}

/// A text of the form `%name%` whose name is none of the four.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMacro(String);

impl fmt::Display for UnknownMacro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'%{}%' is not a macro; there are %sqlserver%, %database%, %schema% and %queue%, and '%%' for a percent sign",
            self.0
        )
    }
}

impl std::error::Error for UnknownMacro {}

impl ArgumentTemplate {
    /// Reads macros, without regard to case; `%%` is a percent sign, and so is a `%` that begins no `%name%`.
    ///
    /// # Errors
    /// A `%name%` that is none of the four is refused, since it is most likely a misspelt one.
    pub fn parse(text: &str) -> Result<Self, UnknownMacro> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            plain.push_str(before);
            rest = after;
            if let Some(after_second) = rest.strip_prefix('%') {
                plain.push('%');
                rest = after_second;
            } else if let Some((name, after_macro)) = macro_name(rest) {
                let value = Macro::named(name).ok_or_else(|| UnknownMacro(name.to_owned()))?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Value(value));
                rest = after_macro;
            } else {
                plain.push('%');
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// The argument with every macro replaced by its value.
    #[must_use]
    pub fn fill(&self, values: MacroValues<'_>) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Value(Macro::Server) => values.server,
                Part::Value(Macro::Database) => values.database,
                Part::Value(Macro::Schema) => values.schema,
                Part::Value(Macro::Queue) => values.queue,
            })
            .collect()
    }
}

impl Macro {
    fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "sqlserver" => Some(Self::Server),
            "database" => Some(Self::Database),
            "schema" => Some(Self::Schema),
            "queue" => Some(Self::Queue),
            _ => None,
        }
    }
}

/// Takes a command line apart as Windows programs do (the rules of `CommandLineToArgvW` for all but the first word).
///
/// Space and tab separate; a quote opens or closes a part in which they do not; backslashes count only before a quote,
/// where two stand for one and an odd one makes the quote literal; two quotes inside a quoted part give one literal
/// quote and close it.
#[must_use]
pub fn split_command_line(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' if !quoted => words.extend(word.take()),
            '\\' => {
                let mut count = 1;
                while chars.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let before_quote = chars.peek() == Some(&'"');
                let kept = if before_quote { count / 2 } else { count };
                let word = word.get_or_insert_default();
                word.extend(std::iter::repeat_n('\\', kept));
                if before_quote && count % 2 == 1 {
                    word.extend(chars.next());
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                if quoted && chars.next_if_eq(&'"').is_some() {
                    word.push('"');
                }
                quoted = !quoted;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// Puts a command line together that [`split_command_line`] takes apart into `words`.
#[must_use]
pub fn join_command_line(words: &[&str]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Backslashes count before a quote only: there each is doubled, and so are those before the closing quote.
fn quoted(word: &str) -> String {
    if !word.is_empty() && !word.contains(|c: char| c == '"' || c.is_whitespace()) {
        return word.to_owned();
    }
    let mut quoted = String::from('"');
    let mut backslashes = 0;
    for c in word.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        quoted.push(c);
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes));
    quoted.push('"');
    quoted
}

/// If `rest`, which follows a percent sign, begins with `name%`: the name and what follows it.
fn macro_name(rest: &str) -> Option<(&str, &str)> {
    let (name, after) = rest.split_once('%')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::{ArgumentTemplate, MacroValues, join_command_line, split_command_line};

    fn filled(text: &str) -> String {
        let values =
            MacroValues { server: "DB1\\S", database: "Sales", schema: "dbo", queue: "a \"b\" %schema%" };
        ArgumentTemplate::parse(text).unwrap().fill(values)
    }

    #[test]
    fn macros_are_filled_once_and_without_regard_to_case() {
        assert_eq!(filled("%SqlServer%/%database%.%schema%"), "DB1\\S/Sales.dbo");
        assert_eq!(filled("-q=%queue%"), "-q=a \"b\" %schema%");
    }

    #[test]
    fn percent_signs_can_be_written() {
        assert_eq!(filled("100%"), "100%");
        assert_eq!(filled("%%queue%%"), "%queue%");
        assert_eq!(filled("5 % of 6 %"), "5 % of 6 %");
        assert_eq!(filled("%%%queue%"), "%a \"b\" %schema%");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn a_misspelt_macro_is_refused_by_name() {
        let error = ArgumentTemplate::parse("x %quue% y").unwrap_err();
        assert!(error.to_string().starts_with("'%quue%' is not a macro"));
    }

    #[test]
    fn command_lines_are_taken_apart_as_on_windows() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  \t ", &[]),
            ("a  b\tc", &["a", "b", "c"]),
            (r#""a b" c"#, &["a b", "c"]),
            (r#""" x"#, &["", "x"]),
            (r#"pre"mid dle"post"#, &["premid dlepost"]),
            (r"c:\dir\file c:\", &[r"c:\dir\file", r"c:\"]),
            (r#""c:\dir with\\" x"#, &[r"c:\dir with\", "x"]),
            (r#"a\"b"#, &[r#"a"b"#]),
            (r#"a\\\"b"#, &[r#"a\"b"#]),
            (r#""a""b""#, &[r#"a"b"#]),
            (r#""open end"#, &["open end"]),
            ("'single quotes'", &["'single", "quotes'"]),
        ];
        for (line, expected) in table {
            assert_eq!(split_command_line(line), *expected, "{line}");
        }
    }

    #[test]
    fn what_is_put_together_comes_apart_as_it_was() {
        // Every word of up to five of these characters, alone and between others.
        let alphabet = ['a', ' ', '"', '\\', '\n'];
        let mut words = vec![String::new()];
        let mut longest = words.clone();
        for _ in 0..5 {
            longest = longest.iter().flat_map(|word| alphabet.map(|c| format!("{word}{c}"))).collect();
            words.extend(longest.iter().cloned());
        }
        for word in &words {
            assert_eq!(split_command_line(&join_command_line(&[word])), [word.as_str()], "{word:?}");
            let between = ["x", word, "\\"];
            assert_eq!(split_command_line(&join_command_line(&between)), between, "{word:?}");
        }
    }

    #[test]
    fn a_value_with_spaces_and_quotes_stays_one_argument() {
        let words = split_command_line("--queue %queue% --db \"%database% x\"");
        let arguments: Vec<_> = words.iter().map(|word| filled(word)).collect();
        assert_eq!(arguments, ["--queue", "a \"b\" %schema%", "--db", "Sales x"]);
    }
}
