//! Reasoning and usage by the names that servers give them.

use super::*;

#[test]
fn reasoning_is_text_by_whichever_name() {
    let kind = |member: &str| match Grammar::default().event(&delta(&format!(r#"{{"content":"",{member}}}"#), "")) {
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
    let choice = |usage: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{}},"usage":{usage}}}],"usage":null}}"#);
    for (document, cached) in [
        (choice(r#"{"prompt_tokens":20,"completion_tokens":8,"cached_tokens":16}"#), Some(16)),
        (r#"{"choices":[],"usage":{"input_tokens":20,"output_tokens":8}}"#.to_owned(), None),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":8,"prompt_cache_hit_tokens":4}}"#
                .to_owned(),
            Some(4),
        ),
        (r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":20,"completion_tokens":8}}}"#.to_owned(), None),
    ] {
        let usage = read(&[event(&document)]).usage().unwrap();
        assert_eq!((usage.prompt(), usage.completion(), usage.cached()), (Some(20), Some(8), cached), "{document}");
    }
}

#[test]
fn text_under_a_name_that_is_not_read_is_noted_where_no_other_came() {
    let noted = |member: &str| {
        let mut grammar = Grammar::default();
        grammar.event(&delta(&format!("{{{member}}}"), "")).unwrap();
        grammar.oddities.0.first().map(|odd| (odd.kind, odd.what.clone()))
    };
    for member in [r#""inner_voice":" hm""#, r#""content":"","inner_voice":[{"text":" hm"}]"#] {
        assert_eq!(noted(member), Some((OddityKind::Elsewhere, "inner_voice".to_owned())), "{member}");
    }
    for member in [
        r#""content":" w","inner_voice":" hm""#,
        r#""inner_voice":null"#,
        r#""inner_voice":"""#,
        r#""inner_voice":{"score":4}"#,
        r#""role":"assistant","name":"a","id":"b""#,
    ] {
        assert_eq!(noted(member), None, "{member}");
    }
    let mut grammar = Grammar::default();
    for event in [delta(r#"{"inner_voice":" hm"}"#, ""), delta("{}", FINISH), event("[DONE]")] {
        grammar.event(&event).unwrap();
    }
    let failure = grammar.close(BodyEnd::Clean).unwrap_err();
    assert_eq!(failure.message, "the answer ended without any text; what came in `inner_voice` is not read");
}

#[test]
fn counts_that_are_none_are_kept_as_they_came() {
    for (usage, what) in [
        (r#"{"prompt_tokens":20,"completion_tokens":-35}"#, "usage.completion_tokens: -35"),
        (r#"{"prompt_tokens":20,"completion_tokens":[8]}"#, "usage.completion_tokens: [8]"),
        (r#""8 tokens""#, r#"usage: "8 tokens""#),
    ] {
        let read = read(&[event(&format!(r#"{{"choices":[],"usage":{usage}}}"#))]);
        assert_eq!(read.oddities.0.first().map(|odd| &*odd.what), Some(what));
        assert!(read.impossible_usage.is_some() && read.usage().is_none(), "{usage}");
    }
}

#[test]
fn failures_may_stand_anywhere_and_success_is_none() {
    for (document, failed) in [
        (r#"{"choices":[{"index":0,"delta":{"content":"","error":"full"}}]}"#, true),
        (r#"{"choices":[{"index":0,"delta":{"content":"","error":{"code":0}}}]}"#, false),
        (r#"{"success":false,"result":"full"}"#, true),
        (r#"{"success":true,"result":"full"}"#, false),
        (r#"{"code":0,"message":"success"}"#, false),
        (r#"{"code":200,"msg":"ok"}"#, false),
        (r#"{"code":7,"msg":"full"}"#, true),
        (r#"{"choices":[{"index":0,"delta":{},"error_message":"full"}]}"#, true),
        (r#"{"choices":[{"index":0,"delta":{},"native_finish_reason":"error"}]}"#, true),
        (r#"{"choices":[],"code":"internal_error","message":"oom"}"#, true),
        (r#"{"error_code":336100,"error_msg":"try again"}"#, true),
        (r#"{"data":{"error":{"message":"full"}}}"#, true),
        (r#"{"exception":"KeyError"}"#, true),
        (r#"{"base_resp":{"status_code":1002,"status_msg":"limit"}}"#, true),
        (r#"{"code":"DataInspectionFailed"}"#, true),
        (r#"[{"error":{"code":503}}]"#, true),
        (r#"{"status":200,"success":true,"message":"ok"}"#, false),
        (r#"{"type":"status","message":"Loading model"}"#, false),
        (r#"{"event":"queue","msg":"position 2"}"#, false),
        (r#"{"detail":"queued at position 3"}"#, false),
        (r#"{"choices":[],"error":{"code":0,"message":"success"}}"#, false),
        (r#"{"choices":[],"error":"false"}"#, false),
        (r#"{"base_resp":{"status_code":0,"status_msg":"success"}}"#, false),
        (r#"{"code":"no_error"}"#, false),
    ] {
        assert_eq!(Grammar::default().event(&event(document)).is_err(), failed, "{document}");
    }
}
