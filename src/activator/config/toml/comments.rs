//! Finds out whether a TOML file has comments: the reader passes over them, and a conversion loses them.

/// The quotes that begin a string, longest first.
const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

/// Whether `text`, which is valid TOML, holds a comment.
pub(super) fn has_comments(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['#', '"', '\'']) {
        rest = &rest[at..];
        match QUOTES.iter().find(|quote| rest.starts_with(**quote)) {
            None => return true,
            Some(quote) => rest = after_string(&rest[quote.len()..], quote),
        }
    }
    false
}

/// What follows the string that ends with `quote`.
fn after_string<'t>(text: &'t str, quote: &str) -> &'t str {
    let has_escapes = quote.starts_with('"');
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if has_escapes && c == '\\' {
            escaped = true;
        } else if text[at..].starts_with(quote) {
            let after = &text[at + quote.len()..];
            // A string in three quotes may end with quotes of its own.
            return if quote.len() == 3 { after.trim_start_matches(&quote[..1]) } else { after };
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::has_comments;

    #[test]
    fn a_hash_in_a_string_is_no_comment() {
        for text in [
            "a = 1",
            "a = \"#\"",
            "a = '#'",
            r##"a = "x\"#""##,
            "a = '\\' \nb = '#'",
            "a = \"\"\"\n#\"\"\"\"\nb = ''",
        ] {
            assert!(!has_comments(text), "{text}");
        }
        for text in
            ["# a", "a = 1 # b", "a = '\\' # b", "a = \"\" # b", "a = \"\"\"x\"\"\"\"\" # b", "a = 'it' #'"]
        {
            assert!(has_comments(text), "{text}");
        }
    }
}
