//! JSON as Python's `json` writes it: with the bare words `NaN`, `Infinity` and `-Infinity`, which JSON lacks.

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
