//! TOML text to a tree.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::mistakes::{Mistakes, SpecMistake};
use super::node::{Entry, Lines, Node, NodeValue};

/// Reads TOML.
///
/// # Errors
///
/// The syntax errors, one a line: the first on a line is the cause, the rest usually its echo.
pub(crate) fn parse(text: &str) -> Result<Node, Mistakes> {
    let lines = Lines::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table_node(table.get_ref(), Some(1), &lines));
    }
    let mut by_line = BTreeMap::new();
    for error in errors {
        let line = error.span().map(|span| lines.at(span.start));
        // The words at fault: the parser's message often omits them.
        let at = error.span().and_then(|span| text.get(span)).map(str::trim).filter(|at| !at.is_empty());
        let at = at.map(|at| format!(", at `{}`", at.lines().next().unwrap_or(at))).unwrap_or_default();
        by_line.entry(line).or_insert_with(|| format!("not valid TOML: {}{at}", error.message()));
    }
    let mistakes = by_line.into_iter().map(|(line, message)| SpecMistake { line, message }).collect();
    Err(Mistakes::from_list(mistakes))
}

fn table_node(table: &DeTable<'_>, line: Option<usize>, lines: &Lines) -> Node {
    let mut entries: Vec<_> = table.iter().collect();
    // The parser sorts by key; mistakes are reported from the top down.
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries
        .into_iter()
        .map(|(key, value)| {
            let line = Some(lines.at(key.span().start));
            Entry { key: key.get_ref().to_string(), line, node: node(value, lines) }
        })
        .collect();
    Node { line, value: NodeValue::Table(entries) }
}

fn node(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let line = Some(lines.at(value.span().start));
    let value = match value.get_ref() {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Integer(integer) => NodeValue::Number(decimal(integer)),
        DeValue::Float(float) => NodeValue::Number(float.as_str().to_owned()),
        DeValue::Boolean(value) => NodeValue::Bool(*value),
        DeValue::Datetime(date) => NodeValue::Date(date.to_string()),
        DeValue::Array(items) => NodeValue::List(items.iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(table) => return table_node(table, line, lines),
    };
    Node { line, value }
}

/// The digits in base ten; as written when they are too many for 64 bits.
fn decimal(integer: &DeInteger<'_>) -> String {
    match integer.radix() {
        10 => integer.as_str().to_owned(),
        radix => u64::from_str_radix(integer.as_str(), radix)
            .map_or_else(|_| integer.to_string(), |value| value.to_string()),
    }
}
