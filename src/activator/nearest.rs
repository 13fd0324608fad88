//! Finds the known name that is closest to a mistyped one.
//!
//! Pure; knows nothing of configuration or queues.

/// The candidate with the smallest edit distance to `wanted`, compared without case.
///
/// `None` when nothing is near: a suggestion that shares less than half of the name misleads more than it helps.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| 2 * distance <= wanted.chars().count().max(candidate.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance in characters, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn the_closest_name_wins_whatever_its_case() {
        let known = ["work_dir", "command", "args"];
        assert_eq!(nearest("WorkDir", known), Some("work_dir"));
        assert_eq!(nearest("comand", known), Some("command"));
    }

    #[test]
    fn a_name_unlike_all_others_gets_no_suggestion() {
        assert_eq!(nearest("xyzzy", ["command", "args"]), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
