//! The tree that every text format becomes first: values with their line numbers.

use std::fmt;

/// A value and its line, counted from 1. It has no line when it comes from a stored run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: Option<usize>,
    pub(crate) value: NodeValue,
}

/// The kind and content of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeValue {
    Null,
    Bool(bool),
    /// Digits as written, so that whole numbers keep all of them.
    Number(String),
    Text(String),
    /// A TOML date or time; no field accepts one.
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: Option<usize>,
    pub(crate) node: Node,
}

/// The value as messages quote it: `"abc", a text`, `12`, `a list`.
impl fmt::Display for NodeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Longest text quoted whole, characters.
        const QUOTED: usize = 40;
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(digits) => f.write_str(digits),
            Self::Text(text) if text.chars().count() > QUOTED => {
                write!(f, "{:?}…", text.chars().take(QUOTED).collect::<String>())
            }
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Date(text) => write!(f, "the date {text}"),
            Self::List(_) => f.write_str("a list"),
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

/// A value without lines, from a stored run.
impl From<serde_json::Value> for Node {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        let value = match value {
            Value::Null => NodeValue::Null,
            Value::Bool(value) => NodeValue::Bool(value),
            Value::Number(number) => NodeValue::Number(number.to_string()),
            Value::String(text) => NodeValue::Text(text),
            Value::Array(items) => NodeValue::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => NodeValue::Table(
                entries.into_iter().map(|(key, value)| Entry { key, line: None, node: Self::from(value) }).collect(),
            ),
        };
        Self { line: None, value }
    }
}

impl NodeValue {
    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The value as JSON; `None` where JSON has no equivalent.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        use serde_json::Value;
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(digits) => {
                let unsigned = digits.trim_start_matches('+');
                // A float would lose digits of a whole number beyond 64 bits.
                let is_whole = unsigned.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                let whole = unsigned.parse::<i64>().map(Value::from);
                match whole.or_else(|_| unsigned.parse::<u64>().map(Value::from)) {
                    Ok(whole) => whole,
                    Err(_) if is_whole => return None,
                    Err(_) => Value::Number(serde_json::Number::from_f64(digits.parse().ok()?)?),
                }
            }
            Self::Text(text) => Value::String(text.clone()),
            Self::Date(_) => return None,
            Self::List(items) => items.iter().map(|item| item.value.json()).collect::<Option<_>>()?,
            Self::Table(entries) => {
                let field = |entry: &Entry| Some((entry.key.clone(), entry.node.value.json()?));
                Value::Object(entries.iter().map(field).collect::<Option<_>>()?)
            }
        })
    }
}

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn from_text(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&newline| newline < offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_numbers_keep_their_digits_or_are_refused() {
        let json = |digits: &str| NodeValue::Number(digits.to_owned()).json().map(|value| value.to_string());
        for digits in ["0", "-7", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "0.25"] {
            assert_eq!(json(digits).as_deref(), Some(digits));
        }
        assert_eq!(json("+5").as_deref(), Some("5"));
        assert_eq!(json("1e3").as_deref(), Some("1000.0"));
        for digits in ["18446744073709551616", "-9223372036854775809", "inf", "nan"] {
            assert_eq!(json(digits), None, "{digits}");
        }
    }
}
