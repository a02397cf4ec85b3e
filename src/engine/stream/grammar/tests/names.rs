//! Reasoning and usage by the names that servers give them.

use super::*;

#[test]
fn reasoning_is_text_by_whichever_name() {
    let kind =
        |member: &str| match Grammar::default().event(&delta(&format!(r#"{{"content":"",{member}}}"#), "")) {
            Ok(Step::Text { kind, .. }) => Some(kind),
            _ => None,
        };
    for member in [
        r#""thinking":" hm""#,
        r#""thoughts":" hm""#,
        r#""reasoning_text":" hm""#,
        r#""reasoning":"","reasoning_content":" hm""#,
        r#""reasoning_details":[{"type":"reasoning.text","text":" hm"}]"#,
        r#""thinking_blocks":[{"type":"thinking","thinking":" hm","signature":""}]"#,
    ] {
        assert_eq!(kind(member), Some(Reasoning), "{member}");
    }
    assert_eq!(kind(r#""function_call":{"name":"f","arguments":""}"#), Some(ToolCall));
    for member in [
        r#""role":"assistant""#,
        r#""thinking":null"#,
        r#""reasoning_details":[{"type":"reasoning.encrypted","data":"AAAA"}]"#,
        r#""reasoning_effort":"low""#,
        r#""thinking_signature":"AAAA""#,
        r#""finish_reason":"x""#,
    ] {
        assert_eq!(kind(member), None, "{member}");
    }
}

#[test]
fn usage_is_read_wherever_servers_put_it() {
    let choice =
        |usage: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{}},"usage":{usage}}}],"usage":null}}"#);
    for (document, cached) in [
        (choice(r#"{"prompt_tokens":20,"completion_tokens":8,"cached_tokens":16}"#), Some(16)),
        (r#"{"choices":[],"usage":{"input_tokens":20,"output_tokens":8}}"#.to_owned(), None),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":8,"prompt_cache_hit_tokens":4}}"#.to_owned(),
            Some(4),
        ),
        (r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":20,"completion_tokens":8}}}"#.to_owned(), None),
    ] {
        let usage = read(&[event(&document)]).usage().unwrap();
        assert_eq!((usage.prompt(), usage.completion(), usage.cached()), (Some(20), Some(8), cached), "{document}");
    }
}
