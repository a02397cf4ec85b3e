//! Foreign text that stays text in Markdown, wherever it stands.

use std::fmt::Write as _;

use crate::report::render::printable::printable;

/// Returns a text for a line, at its start too, or for a table's cell. None of its signs means anything to Markdown,
/// HTML or `GitHub`, where `@name` calls a person, `#1` points to an issue, and a bare address is a link.
pub(crate) fn text(text: &str) -> String {
    let text = printable(text);
    let text = text.trim_start();
    let guarded = starts_a_block(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut place = 0;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let inside_a_word = before.is_alphanumeric() && signs.peek().is_some_and(|after| after.is_alphanumeric());
        match sign {
            _ if guarded == Some(place) => out.extend(['\\', sign]),
            ':' if text[place..].starts_with("://") => out.push_str(":<!-- -->"),
            '.' if ends_in_www(&text[..place]) => out.push_str("<!-- -->."),
            '_' if inside_a_word => out.push(sign),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A number stands for them even where a table is split at its bars before anything else is looked at.
            '|' | '\\' => _ = write!(out, "&#{};", u32::from(sign)),
            '`' | '*' | '_' | '[' | ']' | '~' | '$' => out.extend(['\\', sign]),
            '@' | '#' => _ = write!(out, "{sign}<!-- -->"),
            _ => out.push(sign),
        }
        before = sign;
        place += sign.len_utf8();
    }
    out
}

/// Returns where the sign is that makes the text begin a block, if any. The block is a list, a rule or the underline of
/// a heading.
fn starts_a_block(text: &str) -> Option<usize> {
    let ends = |after: Option<char>| after.is_none_or(char::is_whitespace);
    let first = text.chars().next()?;
    let after = text.chars().nth(1);
    if matches!(first, '-' | '+' | '=') {
        return (ends(after) || after == Some(first)).then_some(0);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    (digits > 0 && rest.starts_with(['.', ')']) && ends(rest.chars().nth(1))).then_some(digits)
}

fn ends_in_www(before: &str) -> bool {
    let start = before.len().checked_sub(3).and_then(|start| before.get(start..));
    start.is_some_and(|last| last.eq_ignore_ascii_case("www"))
}

/// Lines in a block of code of this language.
pub(crate) fn block(language: &str, text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_means_anything() {
        assert_eq!(text("short_chat, p95"), "short_chat, p95");
        assert_eq!(text("_a_ *b* a|b\\|"), "\\_a\\_ \\*b\\* a&#124;b&#92;&#124;");
        assert_eq!(text("<img src=x> & ![x](y)"), "&lt;img src=x&gt; &amp; !\\[x\\](y)");
        assert_eq!(text("@all #1 $x$"), "@<!-- -->all #<!-- -->1 \\$x\\$");
        // Line breaks are made visible.
        assert_eq!(text("a\nb"), "a&#92;nb");
        assert_eq!(text("see https://x.y, WWW.x.y"), "see https:<!-- -->//x.y, WWW<!-- -->.x.y");
    }

    #[test]
    fn a_line_begins_nothing() {
        for (said, shown) in [
            ("- a", "\\- a"),
            ("--- -", "\\--- -"),
            ("===", "\\==="),
            ("   12. a", "12\\. a"),
            ("1)", "1\\)"),
            ("-5 %, +3", "-5 %, +3"),
            ("1.5 ms", "1.5 ms"),
        ] {
            assert_eq!(text(said), shown);
        }
    }

    #[test]
    fn code_ends_where_it_is_meant_to() {
        assert_eq!(block("sh", "a\n```\nb"), "````sh\na\n```\nb\n````\n");
    }
}
