//! Finds the readable message in whatever a server sends when it fails.

use http::header::{HeaderMap, LOCATION};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::engine::bounded_json::bounded_value;
use crate::engine::http_url::{shown_path, without_secrets};
use crate::engine::intake::ServerText;
use crate::engine::secrets::Secrets;
use crate::record::{Failure, FailureKind};
use crate::units::cut;

/// Longest name of a field that is repeated.
const MOST_OF_NAME: usize = 64;
/// Longest excerpt of a body that is not JSON, in characters.
const EXCERPT: usize = 160;

/// Returns the message of an error body, without secrets. The body is `{"error": {"message": …}}`, `{"error": "…"}`,
/// `{"detail": …}`, plain text or HTML; otherwise the message is an excerpt.
pub(crate) fn words_of(body: &[u8], secrets: &Secrets) -> String {
    // An error may come as an event, whatever its status.
    let json = body.trim_ascii().strip_prefix(b"data:").unwrap_or(body);
    let value = bounded_value(json).ok();
    let words = value.as_ref().and_then(words_of_value);
    words.map_or_else(|| excerpt(body, secrets), |words| ServerText::Message.without(secrets, &words))
}

/// Names of the status codes of gRPC, by their numbers.
const GRPC_CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Failure that `grpc-status` and `grpc-message` name; none at status 0.
pub(crate) fn grpc_failure(field: impl Fn(&str) -> Option<String>, secrets: &Secrets) -> Option<Failure> {
    let code: usize = field("grpc-status")?.trim().parse().ok().filter(|code| *code != 0)?;
    let name = GRPC_CODES.get(code).map(|name| format!(" ({name})")).unwrap_or_default();
    let words = field("grpc-message").unwrap_or_default();
    let words = percent_decode_str(words.trim()).decode_utf8_lossy();
    let words = ServerText::Message.without(secrets, &words);
    let said = if words.is_empty() { words } else { format!(": {words}") };
    Some(Failure::new(FailureKind::StreamError, format!("grpc-status {code}{name}{said}")))
}

/// Where a redirect leads, without secrets, truncated.
pub(crate) fn location(headers: &HeaderMap, secrets: &Secrets) -> String {
    let location = headers.get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let shown = without_secrets(&secrets.hide(location.unwrap_or_default()));
    // One that is no whole address has its query masked alike.
    cut(if shown.contains("://") { shown } else { shown_path(&shown) }, EXCERPT)
}

/// Returns the field of the request that an error body blames. A field of the body names it, not its text: `param`, or
/// the last name in a `loc`.
pub(crate) fn blamed_field(body: &[u8]) -> Option<String> {
    let value = bounded_value(body).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    if error["code"] == "model_not_found" {
        return Some("model".to_owned());
    }
    let of_detail = || {
        let all = [&error["detail"], &value["detail"], error];
        let steps = all.into_iter().find_map(|detail| detail.get(0).unwrap_or(detail)["loc"].as_array())?;
        steps.iter().filter_map(Value::as_str).find(|step| *step != "body")
    };
    let name = error["param"].as_str().or_else(of_detail)?.trim();
    let name = name.split(['.', '[']).next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let known = (1..=MOST_OF_NAME).contains(&name.len()) && name.chars().all(is_name) && name != "None";
    known.then(|| name.to_owned())
}

fn words_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(fields) => {
            let words = ["error", "message", "detail", "msg"].iter().find_map(|name| fields.get(*name));
            let words = words_of_value(words?)?;
            // FastAPI gives the place of a mistake apart from its message.
            let place = fields.get("loc").and_then(Value::as_array).map(|steps| {
                steps.iter().map(|s| s.as_str().map_or_else(|| s.to_string(), str::to_owned)).collect::<Vec<_>>()
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

/// Returns the beginning of a body on one line, without secrets and tags. White space is folded, and the text is
/// truncated at [`EXCERPT`] characters.
pub(crate) fn excerpt(body: &[u8], secrets: &Secrets) -> String {
    // A secret may cross the end of the excerpt, and so may a character.
    let margin = secrets.longest() + char::MAX.len_utf8();
    // At most four bytes a character, and room for tags that are removed.
    let taken = &body[..body.len().min(16 * EXCERPT + margin)];
    let mut text = secrets.hide(String::from_utf8_lossy(taken).into_owned());
    if taken.len() < body.len() {
        let whole = text.len().saturating_sub(margin);
        let boundary = (0..=whole).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(boundary.unwrap_or(0));
    }
    let plain = if text.trim_start().starts_with('<') { without_tags(&text) } else { text };
    cut(plain.split_whitespace().collect::<Vec<_>>().join(" "), EXCERPT)
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
    use crate::engine::target::{Secret, Target};
    use crate::record::EngineKind;

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
            ("data: {\"error\":{\"message\":\"busy\"}}\n\n", "busy"),
            ("<html>\r\n<head><title>502 Bad Gateway</title></head>\n</html>", "502 Bad Gateway"),
            ("", ""),
        ] {
            assert_eq!(words_of(body.as_bytes(), &Secrets::default()), words);
        }
        let long = words_of("é".repeat(500).as_bytes(), &Secrets::default());
        assert_eq!(long.chars().count(), EXCERPT + 1);
    }

    #[test]
    fn a_secret_across_a_cut_is_hidden_whole() {
        let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Vllm);
        target.api_key = Some(Secret::new("hunter2hunter2"));
        let secrets = Secrets::from_target(&target);
        // Across the end in characters, and across the end in bytes after tags.
        let folded = "x".repeat(EXCERPT - 3) + "hunter2hunter2";
        for before in 16 * EXCERPT - 20..16 * EXCERPT + 40 {
            let tags = format!("<{}>{}", "t".repeat(before - 2), "hunter2hunter2".repeat(20));
            for body in [&folded, &tags] {
                let said = excerpt(body.as_bytes(), &secrets);
                assert!(!said.contains("hu") && !said.contains('\u{fffd}'), "{said}");
            }
        }
        assert!(excerpt(folded.as_bytes(), &secrets).ends_with("x***"));
    }

    #[test]
    fn a_character_across_the_cut_is_left_out() {
        for before in 16 * EXCERPT - 9..16 * EXCERPT {
            let body = format!("<{}>{}", "t".repeat(before - 2), "🚀".repeat(100));
            let said = excerpt(body.as_bytes(), &Secrets::default());
            assert!(!said.contains('\u{fffd}'), "{said}");
        }
    }

    #[test]
    fn a_field_is_blamed_by_fields_and_not_by_words() {
        for (body, blamed) in [
            (r#"{"error":{"message":"?","param":"model","code":404}}"#, Some("model")),
            (r#"{"error":{"message":"?","code":"model_not_found"}}"#, Some("model")),
            (r#"{"message":"?","param":"model"}"#, Some("model")),
            (r#"{"error":{"message":"no","param":"temperature"}}"#, Some("temperature")),
            (r#"{"error":{"message":"no","param":"messages[0].content"}}"#, Some("messages")),
            (r#"{"detail":[{"loc":["body","min_tokens"],"msg":"extra fields not permitted"}]}"#, Some("min_tokens")),
            (r#"{"detail":[{"loc":["body",34],"msg":"JSON decode error"}]}"#, None),
            (r#"{"error":{"message":"no","param":"None"}}"#, None),
            (r#"{"error":{"message":"no","param":"'; drop it"}}"#, None),
            (r#"{"error":{"message":"no such model","param":null,"code":404}}"#, None),
            (r#"{"error":"no such model"}"#, None),
            ("model", None),
        ] {
            assert_eq!(blamed_field(body.as_bytes()).as_deref(), blamed, "{body}");
        }
    }
}
