//! Short names for uuids, in the order in which a script sees them, so that its output can be read and compared.
//!
//! `h1` is a conversation handle, `g1` a conversation group, `c1` a conversation id, `u1` any other: the column in which it
//! was seen first decides. This file must not know events or sessions.

use std::collections::HashMap;

use uuid::Uuid;

/// Characters of a uuid as text.
const TEXT_LENGTH: usize = 36;

/// The names given so far.
#[derive(Default)]
pub(super) struct Labels {
    names: HashMap<Uuid, String>,
    uuids: HashMap<String, Uuid>,
    counts: HashMap<char, usize>,
}

impl Labels {
    /// The name of a uuid seen in a column of that name.
    pub(super) fn label(&mut self, uuid: Uuid, column: &str) -> String {
        if uuid.is_nil() {
            return "zero".to_owned();
        }
        if let Some(name) = self.names.get(&uuid) {
            return name.clone();
        }
        let kind = kind(column);
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("{kind}{count}");
        self.names.insert(uuid, name.clone());
        self.uuids.insert(name.clone(), uuid);
        name
    }

    /// The text with every uuid in it replaced by its name.
    pub(super) fn relabel(&mut self, text: &str, column: &str) -> String {
        let mut rest = text;
        let mut labelled = String::new();
        while let Some(first) = rest.chars().next() {
            match rest.get(..TEXT_LENGTH).and_then(hyphenated) {
                Some(uuid) => {
                    labelled.push_str(&self.label(uuid, column));
                    rest = &rest[TEXT_LENGTH..];
                }
                None => {
                    labelled.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        labelled
    }

    /// The statement with `$h1` and the like replaced by the uuid's literal.
    pub(super) fn substitute(&self, statement: &str) -> String {
        let mut parts = statement.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
            match self.uuids.get(&part[..end]) {
                Some(uuid) => {
                    text.push_str(&format!("'{}'{}", uuid.to_string().to_uppercase(), &part[end..]))
                }
                None => text.push_str(&format!("${part}")),
            }
        }
        text
    }
}

/// The uuid of a text with hyphens at their places.
fn hyphenated(text: &str) -> Option<Uuid> {
    let hyphens = [8, 13, 18, 23].iter().all(|&at| text.as_bytes().get(at) == Some(&b'-'));
    hyphens.then(|| Uuid::try_parse(text).ok()).flatten()
}

fn kind(column: &str) -> char {
    match column.to_ascii_lowercase().as_str() {
        "conversation_handle" => 'h',
        "conversation_group_id" => 'g',
        "conversation_id" => 'c',
        _ => 'u',
    }
}
