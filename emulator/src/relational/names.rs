//! Names of objects: as the engine takes them, and inside text as OBJECT_ID and its relatives take them.

use crate::engine;
use crate::error::SqlError;
use crate::tsql::ast::ObjectName;

/// A name as written, for the engine.
///
/// # Errors
/// 40510 for names with a linked server.
pub(crate) fn engine_name(name: &ObjectName) -> Result<engine::ObjectName, SqlError> {
    if let Some(server) = name.server() {
        return Err(SqlError::unsupported(format!("linked server {server}")));
    }
    let part = |part: Option<&crate::tsql::ast::Ident>| part.map(|part| part.as_str().to_owned());
    Ok(engine::ObjectName {
        database: part(name.database()),
        schema: part(name.schema()),
        name: name.name().as_str().to_owned(),
    })
}

/// The parts of `db.schema.[name]`, quotes undone; an omitted part is empty. `None` for text that is no such name.
pub(crate) fn split_name(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = first_part(rest)?;
        parts.push(part);
        if after.is_empty() {
            break;
        }
        rest = after.strip_prefix('.')?.trim_start();
    }
    (parts.len() <= 4).then_some(parts)
}

fn first_part(text: &str) -> Option<(String, &str)> {
    let close = match text.chars().next() {
        Some('[') => ']',
        Some('"') => '"',
        _ => {
            let end = text.find('.').unwrap_or(text.len());
            return Some((text[..end].trim().to_owned(), &text[end..]));
        }
    };
    let mut part = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((place, letter)) = letters.next() {
        if letter != close {
            part.push(letter);
            continue;
        }
        if letters.peek().is_none_or(|(_, next)| *next != close) {
            return Some((part, text[place + 1..].trim_start()));
        }
        part.push(letter);
        letters.next();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn parts_lose_their_quotes() {
        assert_eq!(split_name("dbo.t").unwrap(), ["dbo", "t"]);
        assert_eq!(split_name("[a.b]]c].\"d\"").unwrap(), ["a.b]c", "d"]);
        assert_eq!(split_name("tempdb..#t").unwrap(), ["tempdb", "", "#t"]);
    }

    #[test]
    fn broken_names_are_none() {
        assert!(split_name("[a").is_none());
        assert!(split_name("[a]b").is_none());
        assert!(split_name("a.b.c.d.e").is_none());
    }
}
