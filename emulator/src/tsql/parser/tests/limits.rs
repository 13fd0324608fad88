//! Nesting: what is allowed fits a thread's stack, what is not is error 191.

use crate::tsql::parser::{ParseOptions, parse_batch};

fn number(text: &str) -> Option<i32> {
    parse_batch(text, ParseOptions::default()).err().map(|error| error.number)
}

fn nest(open: &str, inner: &str, close: &str, levels: usize) -> String {
    format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn reasonable_nesting_parses() {
    for text in [
        nest("BEGIN ", "SELECT 1", " END", 400),
        nest("IF 1 = 1 SELECT 1 ELSE ", "SELECT 1", "", 400),
        format!("PRINT {}", nest("(", "1", ")", 240)),
        format!("PRINT {}", nest("f(", "1", ")", 240)),
        format!("PRINT {}", nest("(SELECT ", "1", ")", 75)),
        format!("PRINT 1{}", "+1".repeat(450)),
        format!("SELECT 1 WHERE 1 = 1{}", " AND 1 = 1".repeat(5000)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(450)),
    ] {
        assert_eq!(number(&text), None, "{}", &text[..60]);
    }
}

#[test]
fn deeper_nesting_is_refused_without_running_out_of_stack() {
    for text in [
        nest("BEGIN ", "SELECT 1", " END", 50_000),
        nest("IF 1 = 1 ", "SELECT 1", "", 50_000),
        format!("PRINT {}", nest("(", "1", ")", 50_000)),
        format!("PRINT {}", nest("- ", "1", "", 50_000)),
        format!("SELECT 1 WHERE {}", nest("NOT ", "1 = 1", "", 50_000)),
        format!("PRINT {}", nest("CASE WHEN 1 = 1 THEN ", "1", " END", 50_000)),
        format!("SELECT * FROM {}", nest("(", "t", " CROSS JOIN u)", 50_000)),
        format!("PRINT {}", nest("(SELECT ", "1", ")", 50_000)),
        format!("PRINT 1{}", "+1".repeat(50_000)),
        format!("PRINT a{}", " COLLATE b".repeat(50_000)),
    ] {
        assert_eq!(number(&text), Some(191), "{}", &text[..60]);
    }
}
