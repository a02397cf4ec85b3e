//! JSON text to a tree.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

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
pub(crate) fn parse(text: &str) -> Result<Node, Mistakes> {
    let bad = |line, cause: String| {
        Mistakes::from_list(vec![SpecMistake {
            line: Some(line),
            message: format!("not valid JSON: {cause}"),
        }])
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT)
        .map_err(|error| bad(error.line_display(), error.kind().to_string()))?;
    let value = parsed.value.ok_or_else(|| bad(1, "the file is empty".to_owned()))?;
    Ok(node(&value, &Lines::of(text)))
}

fn node(value: &Value<'_>, lines: &Lines) -> Node {
    let line = Some(lines.at(value.start()));
    let value = match value {
        Value::StringLit(text) => NodeValue::Text(text.value.to_string()),
        Value::NumberLit(number) => NodeValue::Number(number.value.to_owned()),
        Value::BooleanLit(boolean) => NodeValue::Bool(boolean.value),
        Value::NullKeyword(_) => NodeValue::Null,
        Value::Array(array) => NodeValue::List(array.elements.iter().map(|item| node(item, lines)).collect()),
        Value::Object(object) => NodeValue::Table(
            object
                .properties
                .iter()
                .map(|property| Entry {
                    key: property.name.as_str().to_owned(),
                    line: Some(lines.at(property.range.start)),
                    node: node(&property.value, lines),
                })
                .collect(),
        ),
    };
    Node { line, value }
}
