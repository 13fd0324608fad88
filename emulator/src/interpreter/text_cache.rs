//! What was made of a text, by that text, so that a batch or procedure used again is not parsed again.
//!
//! Bounded by number and by the size of a text; the oldest goes first. This file must not know what is made of texts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Most entries kept.
const MOST: usize = 512;

/// Longest text, in bytes, that is kept; longer ones seldom come twice.
const LONGEST: usize = 64 * 1024;

/// The cache. QUOTED_IDENTIFIER is part of the key since it changes what a text means.
#[derive(Debug)]
pub(crate) struct TextCache<T> {
    entries: HashMap<(Arc<str>, bool), Arc<T>>,
    oldest_first: VecDeque<(Arc<str>, bool)>,
}

impl<T> Default for TextCache<T> {
    fn default() -> TextCache<T> {
        TextCache { entries: HashMap::new(), oldest_first: VecDeque::new() }
    }
}

impl<T> TextCache<T> {
    /// What was made of that text.
    pub(crate) fn get(&self, text: &str, quoted_identifier: bool) -> Option<Arc<T>> {
        self.entries.get(&(Arc::from(text), quoted_identifier)).cloned()
    }

    /// Keeps what was made of a text, unless the text is very long.
    pub(crate) fn insert(&mut self, text: &str, quoted_identifier: bool, made: Arc<T>) {
        if text.len() > LONGEST {
            return;
        }
        let key = (Arc::<str>::from(text), quoted_identifier);
        if self.entries.insert(key.clone(), made).is_none() {
            self.oldest_first.push_back(key);
        }
        if self.oldest_first.len() > MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LONGEST, MOST, TextCache};

    #[test]
    fn the_oldest_entry_makes_room() {
        let mut cache = TextCache::default();
        for number in 0..=MOST {
            cache.insert(&number.to_string(), true, Arc::new(()));
        }
        assert!(cache.get("0", true).is_none());
        assert!(cache.get("1", true).is_some());
    }

    #[test]
    fn quoted_identifier_tells_entries_apart_and_long_texts_are_not_kept() {
        let mut cache = TextCache::default();
        let long = "-".repeat(LONGEST + 1);
        cache.insert("a", true, Arc::new(()));
        cache.insert(&long, true, Arc::new(()));
        assert!(cache.get("a", false).is_none());
        assert!(cache.get(&long, true).is_none());
    }
}
