//! LIKE and PATINDEX: patterns with `%`, `_`, `[set]` and `[^set]`.
//!
//! Letters compare as the collation says; in sets the case-insensitive one takes both cases of a range. Must not know
//! NULL or types.

use crate::value::Collation;

/// A pattern ready to be matched often.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    collation: Collation,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Any,
    One,
    Letter(char),
    Set { ranges: Vec<(char, char)>, negated: bool },
}

impl Pattern {
    /// Reads a pattern; after `escape` a character stands for itself. `None` if it can match nothing (an open set).
    pub(crate) fn parse(pattern: &str, escape: Option<char>, collation: Collation) -> Option<Pattern> {
        let letters: Vec<char> = pattern.chars().collect();
        let (mut parts, mut place) = (Vec::new(), 0);
        while place < letters.len() {
            let letter = letters[place];
            place += 1;
            if Some(letter) == escape {
                parts.push(Part::Letter(*letters.get(place)?));
                place += 1;
                continue;
            }
            match letter {
                '%' if parts.last() == Some(&Part::Any) => {}
                '%' => parts.push(Part::Any),
                '_' => parts.push(Part::One),
                '[' => {
                    let (set, next) = parse_set(&letters, place, escape)?;
                    parts.push(set);
                    place = next;
                }
                other => parts.push(Part::Letter(other)),
            }
        }
        Some(Pattern { parts, collation })
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let letters: Vec<char> = text.chars().collect();
        self.matches_at(&letters, 0)
    }

    /// Where the first match begins when the pattern may start anywhere, 0-based: PATINDEX.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        let letters: Vec<char> = text.chars().collect();
        let floating = self.parts.first() == Some(&Part::Any);
        if !floating {
            return self.matches_at(&letters, 0).then_some(0);
        }
        let rest = Pattern { parts: self.parts[1..].to_vec(), collation: self.collation };
        (0..=letters.len()).find(|start| rest.matches_at(&letters[*start..], 0))
    }

    /// Matching with one place to come back to: the last `%`.
    fn matches_at(&self, letters: &[char], start: usize) -> bool {
        let (mut part, mut place) = (start, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    retry = Some((part + 1, place));
                    part += 1;
                    continue;
                }
                Some(one) if letters.get(place).is_some_and(|letter| self.accepts(one, *letter)) => {
                    part += 1;
                    place += 1;
                    continue;
                }
                None if letters[place..].iter().all(|letter| *letter == ' ') => return true,
                _ => {}
            }
            let Some((after, from)) = retry.filter(|(_, from)| *from < letters.len()) else { return false };
            retry = Some((after, from + 1));
            part = after;
            place = from + 1;
        }
    }

    fn accepts(&self, part: &Part, letter: char) -> bool {
        match part {
            Part::Any => false,
            Part::One => true,
            Part::Letter(wanted) => *wanted == letter || (self.folds() && fold(*wanted) == fold(letter)),
            Part::Set { ranges, negated } => self.in_ranges(ranges, letter) != *negated,
        }
    }

    fn in_ranges(&self, ranges: &[(char, char)], letter: char) -> bool {
        let within = |letter: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter));
        within(letter) || (self.folds() && letter.to_lowercase().chain(letter.to_uppercase()).any(within))
    }

    fn folds(&self) -> bool {
        self.collation == Collation::CaseInsensitive
    }
}

/// Reads `a-z]` or `^..]`; answers the set and the place after it.
fn parse_set(letters: &[char], start: usize, escape: Option<char>) -> Option<(Part, usize)> {
    let negated = letters.get(start) == Some(&'^');
    let (mut place, mut ranges) = (start + usize::from(negated), Vec::new());
    let first = place;
    loop {
        let mut low = *letters.get(place)?;
        if low == ']' && place > first {
            return Some((Part::Set { ranges, negated }, place + 1));
        }
        if Some(low) == escape {
            place += 1;
            low = *letters.get(place)?;
        }
        let range =
            letters.get(place + 1) == Some(&'-') && letters.get(place + 2).is_some_and(|high| *high != ']');
        let high = if range { letters[place + 2] } else { low };
        place += if range { 3 } else { 1 };
        ranges.push((low, high));
    }
}

fn fold(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::Pattern;
    use crate::value::Collation;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::parse(pattern, None, Collation::DEFAULT).is_some_and(|pattern| pattern.matches(text))
    }

    #[test]
    fn wildcards_and_sets_match() {
        let yes = [
            ("abc", "a%"),
            ("abc", "%C"),
            ("abc", "a_c"),
            ("abc", "[a-c]bc"),
            ("ABC", "[a-c]bc"),
            ("xbc", "[^a-c]bc"),
            ("", "%"),
            ("a%c", "a[%]c"),
            ("aXbXc", "a%b%c"),
            ("abc  ", "abc"),
            ("mississippi", "%iss%ppi"),
            ("a]", "a[]]"),
            ("a-c", "a[-x]c"),
        ];
        for (text, pattern) in yes {
            assert!(like(text, pattern), "{text} LIKE {pattern}");
        }
        let no =
            [("abc", "b%"), ("abc", "ab"), ("abc", "[^a]bc"), ("abc", "abc_"), ("abc", "[ab"), ("", "_")];
        for (text, pattern) in no {
            assert!(!like(text, pattern), "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn escaped_wildcards_are_letters() {
        let pattern = Pattern::parse("10!%", Some('!'), Collation::DEFAULT).unwrap();
        assert!(pattern.matches("10%"));
        assert!(!pattern.matches("100"));
    }

    #[test]
    fn a_binary_collation_tells_cases_apart() {
        let pattern = Pattern::parse("a%", None, Collation::Binary).unwrap();
        assert!(pattern.matches("ab") && !pattern.matches("Ab"));
    }

    #[test]
    fn the_first_match_is_found() {
        let find =
            |pattern: &str, text| Pattern::parse(pattern, None, Collation::DEFAULT).unwrap().find(text);
        assert_eq!(find("%b_d%", "abcd"), Some(1));
        assert_eq!(find("%x%", "abcd"), None);
        assert_eq!(find("ab%", "abcd"), Some(0));
        assert_eq!(find("%[0-9]%", "ab3"), Some(2));
    }
}
