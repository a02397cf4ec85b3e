//! The text of a spec, TOML or JSON, to a tree.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::mistakes::{Mistakes, SpecMistake};
use super::node::{Entry, Lines, Node, NodeValue};

/// Strict JSON: no comments, no trailing commas, no bare words.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads JSON.
///
/// # Errors
///
/// The first syntax error, with its line.
pub(crate) fn parse_json(text: &str) -> Result<Node, Mistakes> {
    let bad = |line, cause: String| {
        Mistakes::from_list(vec![SpecMistake { line: Some(line), message: format!("not valid JSON: {cause}") }])
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT)
        .map_err(|error| bad(error.line_display(), error.kind().to_string()))?;
    let value = parsed.value.ok_or_else(|| bad(1, "the file is empty".to_owned()))?;
    Ok(json_node(&value, &Lines::from_text(text)))
}

/// Reads JSON that is passed on as it is.
///
/// # Errors
///
/// That it is not JSON, or has a whole number that would lose digits; the sentence begins with its verb.
pub(crate) fn exact_json(text: &str) -> Result<serde_json::Value, String> {
    let value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    match parse_json(text) {
        Ok(node) if node.value.json().is_none() => {
            Err("has a whole number of more than 64 bits, which would lose digits; write it as a text".to_owned())
        }
        _ => Ok(value),
    }
}

fn json_node(value: &Value<'_>, lines: &Lines) -> Node {
    let line = Some(lines.at(value.start()));
    let value = match value {
        Value::StringLit(text) => NodeValue::Text(text.value.to_string()),
        Value::NumberLit(number) => NodeValue::Number(number.value.to_owned()),
        Value::BooleanLit(boolean) => NodeValue::Bool(boolean.value),
        Value::NullKeyword(_) => NodeValue::Null,
        Value::Array(array) => NodeValue::List(array.elements.iter().map(|item| json_node(item, lines)).collect()),
        Value::Object(object) => NodeValue::Table(
            object
                .properties
                .iter()
                .map(|property| Entry {
                    key: property.name.as_str().to_owned(),
                    line: Some(lines.at(property.range.start)),
                    node: json_node(&property.value, lines),
                })
                .collect(),
        ),
    };
    Node { line, value }
}

/// Reads TOML.
///
/// # Errors
///
/// The syntax errors, one a line: the first on a line is the cause, the rest usually its echo.
pub(crate) fn parse_toml(text: &str) -> Result<Node, Mistakes> {
    let lines = Lines::from_text(text);
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
            Entry { key: key.get_ref().to_string(), line, node: toml_node(value, lines) }
        })
        .collect();
    Node { line, value: NodeValue::Table(entries) }
}

fn toml_node(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let line = Some(lines.at(value.span().start));
    let value = match value.get_ref() {
        DeValue::String(text) => NodeValue::Text(text.to_string()),
        DeValue::Integer(integer) => NodeValue::Number(decimal(integer)),
        DeValue::Float(float) => NodeValue::Number(float.as_str().to_owned()),
        DeValue::Boolean(value) => NodeValue::Bool(*value),
        DeValue::Datetime(date) => NodeValue::Date(date.to_string()),
        DeValue::Array(items) => NodeValue::List(items.iter().map(|item| toml_node(item, lines)).collect()),
        DeValue::Table(table) => return table_node(table, line, lines),
    };
    Node { line, value }
}

/// The digits in base ten; as written when they are too many for 64 bits.
fn decimal(integer: &DeInteger<'_>) -> String {
    match integer.radix() {
        10 => integer.as_str().to_owned(),
        radix => {
            u64::from_str_radix(integer.as_str(), radix).map_or_else(|_| integer.to_string(), |value| value.to_string())
        }
    }
}
