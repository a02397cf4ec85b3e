//! The JSON of a file, as Python's `json` writes it: with the bare words `NaN`, `Infinity` and `-Infinity`.

use serde_json::Value;

const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Reads a value; the three words become strings.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| {
        if WORDS.iter().any(|word| text.contains(word)) {
            serde_json::from_str(&quoted(text))
        } else {
            Err(error)
        }
    })
}

/// Quotes the three words outside of strings.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !inside && let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            out.extend(["\"", word, "\""]);
            rest = &rest[word.len()..];
            continue;
        }
        if escaped {
            escaped = false;
        } else if c == '\\' && inside {
            escaped = true;
        } else if c == '"' {
            inside = !inside;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Why a text is not JSON.
pub(super) enum NoJson {
    /// It is truncated.
    BreaksOff { line: usize, column: usize },
    /// What the parser said.
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
