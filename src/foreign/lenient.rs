//! The JSON of a file, as Python's `json` writes it: with the bare words `NaN`, `Infinity` and `-Infinity`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// Reads a value; the three words become strings.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&quoted(text)))
}

/// Texts, and the three words outside of them.
static TEXT_OR_WORD: LazyLock<Result<Regex, regex::Error>> =
    LazyLock::new(|| Regex::new(r#"(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN"#));

/// Quotes the three words outside of strings.
fn quoted(text: &str) -> Cow<'_, str> {
    let Ok(pattern) = &*TEXT_OR_WORD else { return text.into() };
    pattern.replace_all(text, |found: &Captures<'_>| match &found[0] {
        text if text.starts_with('"') => text.to_owned(),
        word => format!("\"{word}\""),
    })
}

/// Reason why a text is not JSON.
pub(super) enum NoJson {
    /// Truncated.
    BreaksOff { line: usize, column: usize },
    /// Message of the parser.
    Other(String),
}

/// The values of a file: one, a list of them, or one per line.
pub(super) fn values(text: &str) -> Result<Vec<Value>, NoJson> {
    let whole = match parse(text) {
        Ok(Value::Array(items)) => return Ok(items),
        Ok(value) => return Ok(vec![value]),
        Err(error) => error,
    };
    if whole.is_eof() {
        return Err(NoJson::BreaksOff { line: whole.line(), column: whole.column() });
    }
    let mut values = Vec::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        match parse(line) {
            Ok(value) => values.push(value),
            Err(error) if error.is_eof() && !values.is_empty() => {
                return Err(NoJson::BreaksOff { line: number, column: error.column() });
            }
            Err(_) => return Err(NoJson::Other(whole.to_string())),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_of_python_are_read_outside_of_texts() {
        let text = r#"{"rate": Infinity, "low": [-Infinity, NaN], "model": "a \"NaN\" Infinity"}"#;
        let value = json!({"rate": "Infinity", "low": ["-Infinity", "NaN"], "model": "a \"NaN\" Infinity"});
        assert_eq!(parse(text).unwrap(), value);
        assert!(parse("{\"a\": nan}").is_err());
    }
}
