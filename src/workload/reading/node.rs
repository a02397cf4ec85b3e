//! The tree that every text format becomes before it is read: values with the lines they stand on.

use std::fmt;

/// A value and the line it begins on, counted from 1; no line when it comes from a stored run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: Option<usize>,
    pub(crate) value: NodeValue,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeValue {
    Null,
    Bool(bool),
    /// Digits as written, so that whole numbers keep every digit.
    Number(String),
    Text(String),
    /// A date or a time, which TOML has and no field wants.
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

/// The value as a mistake quotes it: `"abc", a text`, `12`, `a list`.
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

/// A value without lines, as it comes from a stored run.
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
                entries
                    .into_iter()
                    .map(|(key, value)| Entry { key, line: None, node: Self::from(value) })
                    .collect(),
            ),
        };
        Self { line: None, value }
    }
}

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&newline| newline < offset) + 1
    }
}
