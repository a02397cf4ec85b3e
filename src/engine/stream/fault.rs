//! Finds the words for people in whatever a server sends when it fails.

use serde_json::Value;

/// Longest excerpt of a body that is not JSON, in characters.
const EXCERPT: usize = 160;

/// The message inside an error body: `{"error": {"message": …}}`, `{"error": "…"}`, `{"detail": …}`, plain text
/// or HTML; failing all that, an excerpt.
pub(crate) fn words_of(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => words_of_value(&value).unwrap_or_else(|| excerpt(body)),
        Err(_) => excerpt(body),
    }
}

fn words_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(fields) => {
            let words = ["error", "message", "detail", "msg"].iter().find_map(|name| fields.get(*name));
            let words = words_of_value(words?)?;
            // FastAPI names the place of a mistake apart from its message.
            let place = fields.get("loc").and_then(Value::as_array).map(|steps| {
                steps
                    .iter()
                    .map(|s| s.as_str().map_or_else(|| s.to_string(), str::to_owned))
                    .collect::<Vec<_>>()
            });
            Some(place.map_or(words.clone(), |steps| format!("{}: {words}", steps.join("."))))
        }
        Value::Array(several) => {
            let all: Vec<String> = several.iter().filter_map(words_of_value).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        _ => None,
    }
}

/// The beginning of a body on one line: tags taken out, white space folded, cut at [`EXCERPT`] characters.
pub(crate) fn excerpt(body: &[u8]) -> String {
    // Four bytes a character at most, and room for tags that will go.
    let text = String::from_utf8_lossy(&body[..body.len().min(16 * EXCERPT)]);
    let plain = if text.trim_start().starts_with('<') { without_tags(&text) } else { text.into_owned() };
    let folded = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(EXCERPT) {
        Some((cut, _)) => format!("{}…", &folded[..cut]),
        None => folded,
    }
}

fn without_tags(html: &str) -> String {
    let mut plain = String::with_capacity(html.len());
    let mut inside_tag = false;
    for character in html.chars() {
        match character {
            '<' => inside_tag = true,
            '>' => {
                inside_tag = false;
                plain.push(' ');
            }
            _ if !inside_tag => plain.push(character),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_error_gives_its_words() {
        for (body, words) in [
            (r#"{"error":{"message":"no such model","type":"x","code":404}}"#, "no such model"),
            (r#"{"error":"Unauthorized"}"#, "Unauthorized"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["body",34],"msg":"JSON decode error"}]}"#, "body.34: JSON decode error"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"code":5}"#, r#"{"code":5}"#),
            ("Internal Server Error", "Internal Server Error"),
            ("<html>\r\n<head><title>502 Bad Gateway</title></head>\n</html>", "502 Bad Gateway"),
            ("", ""),
        ] {
            assert_eq!(words_of(body.as_bytes()), words);
        }
        assert_eq!(words_of("é".repeat(500).as_bytes()).chars().count(), EXCERPT + 1);
    }
}
