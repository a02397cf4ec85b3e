//! Results that an answer states: its number, its chosen letter, its boxed result.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Mark before the result, in answers as in the rows of GSM8K.
const MARK: &str = "####";

/// Digits with commas between thousands, and a fraction.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$?(?:\d[\d,]*(?:\.\d+)?|\.\d+)").ok());
/// A number that follows the mark of GSM8K's rows. A heading, `#### 1. Step`, is none.
static MARKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(?:^|[^#])####[ \t]*([-−]?[ \t]*\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+))(?:\.?\s*$|[ \t]+[^\s#])",
    )
    .ok()
});
/// LaTeX around a letter or a number.
static DRESSED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\\(?:text|textbf|mathbf|mathrm)\{([^{}]*)\}").ok());
/// A sentence that says which letter is the answer.
static STATED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?:(?i:answer|choice|option)\s*(?:(?i:is|are|would be|should be)\b|:))[\s:*_"'$(\[`“\\]*"#,
        r#"(?:(?i:option|choice)\s+)?(?:([A-Z])(?:[^A-Za-z0-9']|$)"#,
        r#"|([0-9])[*_"'$)\]`]*(?:[.,;:]|\s*$)|([a-z])[*_"'$)\].`”\\]*\s*$)"#
    ))
    .ok()
});
/// A letter beside the word for it.
static CHOSEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i:answer|choice|option)[\s*_"'$(\[`“\\]*([A-HJ-Z0-9])(?:[^A-Za-z0-9']|$)"#).ok());
/// An answer that begins with the chosen letter, or is nothing else.
static FIRST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^[\s*_"'$(\[`“\\]*(?:([A-Za-z0-9])[\s*_"'$)\].:,`”\\]*$|([A-Za-z])[*_`]*(?:[)\].:,]|[ \t]*\n))"#).ok()
});
/// A letter in brackets.
static IN_BRACKETS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\(([A-Z0-9])\)").ok());

/// The content of the last `\boxed{…}`, with balanced braces.
pub(super) fn boxed(text: &str) -> Option<&str> {
    const BOX: &str = "\\boxed{";
    let content = text.get(text.rfind(BOX)? + BOX.len()..)?;
    let mut depth = 1_u32;
    let end = content.char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    content.get(..end?.0)
}

/// Returns the number of an answer in its shortest decimal form. It is the one after the first `####`, else that of the
/// last `\boxed{…}`, else the last. Currency signs and commas between thousands are left out.
pub(super) fn last_number(answer: &str) -> Option<String> {
    let marked = first_group(MARKED.as_ref(), answer).and_then(|number| numbers(number).next());
    let of_box = || numbers(boxed(answer)?).last();
    marked.or_else(of_box).or_else(|| numbers(answer).last())
}

/// The number of an expected answer, alone in it or after its last `####`.
pub(super) fn number_alone(expected: &str) -> Option<String> {
    let text = expected.rfind(MARK).and_then(|at| expected.get(at + MARK.len()..)).unwrap_or(expected);
    let is_around = |c: char| c.is_whitespace() || matches!(c, '$' | '€' | '£' | '%' | '.' | '+');
    let text = text.trim_matches(|c: char| is_around(c) && c != '.').trim_end_matches(is_around);
    let digits = text.trim_start_matches(['-', '−']).trim_start_matches('$');
    let is_number = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.'));
    numbers(text).next().filter(|_| is_number && numbers(text).count() == 1)
}

/// The numbers of a text, in order.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    // Thousands as LaTeX has them.
    let text = text.replace("{,}", ",").replace("\\,", ",").replace("\\!", "");
    let found: Vec<String> = NUMBER
        .iter()
        .flat_map(|number| number.find_iter(&text))
        .map(|found| {
            let before = text.get(..found.start()).unwrap_or_default();
            // Between two operands it is no sign.
            let sign = before.strip_suffix(['-', '−']);
            let is_negative = sign.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == ')'));
            shortest(found.as_str(), is_negative)
        })
        .collect();
    found.into_iter()
}

/// The shortest decimal form of a number, so that equal ones are equal texts.
fn shortest(digits: &str, is_negative: bool) -> String {
    let digits = digits.trim_start_matches('$').replace(',', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let number = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
    if is_negative && number != "0" { format!("-{number}") } else { number }
}

/// Returns the letter, or digit, of the choice that an answer makes. It is that of the last `\boxed{…}`, else of the
/// last sentence such as *the answer is B*, else the one that the answer begins with. Else it is the last beside such a
/// word as *option*, or in brackets: those explain the others as often.
pub(super) fn choice(answer: &str) -> Option<String> {
    let plain = DRESSED.as_ref().map_or(answer.into(), |dressed| dressed.replace_all(answer, "$1"));
    let of_box = boxed(&plain).and_then(|content| first_group(FIRST.as_ref(), content));
    let found = of_box
        .or_else(|| last_group(STATED.as_ref(), &plain))
        .or_else(|| first_group(FIRST.as_ref(), &plain))
        .or_else(|| last_group(CHOSEN.as_ref(), &plain))
        .or_else(|| last_group(IN_BRACKETS.as_ref(), &plain));
    found.map(str::to_ascii_uppercase)
}

/// The first group that took part in the first match.
fn first_group<'t>(pattern: Option<&'static Regex>, text: &'t str) -> Option<&'t str> {
    group(&pattern?.captures(text)?)
}

fn last_group<'t>(pattern: Option<&'static Regex>, text: &'t str) -> Option<&'t str> {
    group(&pattern?.captures_iter(text).last()?)
}

fn group<'t>(captures: &Captures<'t>) -> Option<&'t str> {
    captures.iter().skip(1).flatten().next().map(|group| group.as_str())
}
