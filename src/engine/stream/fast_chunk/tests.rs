//! Common chunks against the full reader.

use super::*;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::chunk::ChunkText::{Content, Reasoning, ToolCall};

fn choice(delta: &str) -> String {
    format!(r#"{{"id":"x","choices":[{{"index":2,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

#[test]
fn the_shapes_of_servers_are_usual() {
    for (json, index, text, at) in [
        (choice(r#"{"content":"a\n"}"#), 2, Some(Content), r"a\n"),
        (choice(r#"{"role":"assistant","content":""}"#), 2, None, ""),
        (choice(r#"{"role":null,"content":null,"reasoning_content":"b","tool_calls":null}"#), 2, Some(Reasoning), "b"),
        (choice(r#"{"reasoning":"b","content":"c"}"#), 2, Some(Content), "c"),
        (choice(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}"#), 2, Some(ToolCall), "{"),
        (r#"{"choices":[{"text":" é","logprobs":{"tokens":[1.5e-3,-2]}}]}"#.to_owned(), 0, Some(Content), " é"),
    ] {
        let chunk = FastChunk::read(json.as_bytes()).unwrap();
        assert_eq!((chunk.index, chunk.said.text), (Some(index), text), "{json}");
        assert_eq!(&json[chunk.text_at], at, "{json}");
    }
}

#[test]
fn counts_ids_and_reasons_are_read() {
    let json = br#"{"choices":[{"index":0,"delta":{},"token_ids":[7, 8],"finish_reason":"stop"}],
        "usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,
            "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    let chunk = FastChunk::read(json).unwrap();
    let usage = Usage { prompt_tokens: 12, completion_tokens: 3, cached_tokens: Some(8), reasoning_tokens: Some(2) };
    assert_eq!(chunk.said, ChunkContents { text: None, token_ids: Some(2), usage: Some(usage) });
    assert_eq!(chunk.finish, Some("stop"));
    let alone = br#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
    let usage = Usage { cached_tokens: None, reasoning_tokens: None, ..usage };
    let said = ChunkContents { usage: Some(usage), ..ChunkContents::default() };
    assert_eq!(FastChunk::read(alone), Some(FastChunk { said, ..FastChunk::default() }));
}

#[test]
fn what_is_not_usual_is_left_to_the_full_reader() {
    for (json, valid) in [
        (r#"{"usage":{"prompt_tokens":1}}"#, true),
        (r#"{"choices":[],"error":"x"}"#, true),
        (r#"{"choices":[{},{}]}"#, true),
        (r#"{"choices":[{}],"error":"x"}"#, true),
        (r#"{"choices":[{"\u0069ndex":1}]}"#, true),
        (r#"{"choices":[{"message":{"content":"x"}}]}"#, true),
        (r#"{"choices":[{"finish_reason":"\u0061bort"}]}"#, true),
        (r#"{"choices":[{"delta":{"content":"\ud83d\ude00"}}]}"#, true),
        (r#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#, true),
        (r#"{"choices":[{"index":1.0}]}"#, true),
        (r#"{"choices":[{"index":-1}]}"#, true),
        (r#"{"choices":[{"index":4294967296}]}"#, true),
        (r#"{"choices":[{"index":0,"index":0}]}"#, true),
        (r#"{"choices":[{}],"choices":null}"#, true),
        (r#"{"choices":[{"delta":{"content":5}}]}"#, true),
        (r#"{"choices":[{"delta":"x"}]}"#, true),
        (r#"{"choices":[{"delta":{"content":"","inner_voice":"x"}}]}"#, true),
        (r#"{"choices":[{"delta":{"error":"x"}}]}"#, true),
        (r#"{"choices":[{}],"success":false}"#, true),
        (r#"{"choices":[{}]} x"#, false),
        (r#"{"choices":[{},]}"#, false),
    ] {
        assert_eq!(FastChunk::read(json.as_bytes()), None, "{json}");
        assert_eq!(ChunkJson::parse(json.as_bytes()).is_ok(), valid, "{json}");
    }
}

#[test]
fn a_member_that_comes_twice_is_left_to_the_full_reader_which_takes_the_last() {
    for (around, members) in [
        ("{@}", &[r#""choices":[{}]"#, r#""usage":null"#, r#""object":null"#][..]),
        (
            r#"{"choices":[{@}]}"#,
            &[r#""index":0"#, r#""delta":null"#, r#""text":null"#, r#""finish_reason":null"#, r#""token_ids":null"#],
        ),
        (
            r#"{"choices":[{"delta":{@}}]}"#,
            &[
                r#""content":null"#,
                r#""reasoning":null"#,
                r#""reasoning_content":null"#,
                r#""refusal":null"#,
                r#""tool_calls":null"#,
            ],
        ),
        (r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#, &[r#""function":null"#]),
        (r#"{"choices":[{"delta":{"tool_calls":[{"function":{@}}]}}]}"#, &[r#""name":null"#, r#""arguments":null"#]),
        (
            r#"{"choices":[{}],"usage":{@}}"#,
            &[
                r#""prompt_tokens":1"#,
                r#""completion_tokens":1"#,
                r#""prompt_tokens_details":null"#,
                r#""completion_tokens_details":null"#,
            ],
        ),
        (r#"{"choices":[{}],"usage":{"prompt_tokens_details":{@}}}"#, &[r#""cached_tokens":1"#]),
        (r#"{"choices":[{}],"usage":{"completion_tokens_details":{@}}}"#, &[r#""reasoning_tokens":1"#]),
    ] {
        for member in members {
            let twice = around.replace('@', &format!("{member},{member}"));
            assert_eq!(FastChunk::read(twice.as_bytes()), None, "{twice}");
            assert!(ChunkJson::parse(twice.as_bytes()).is_ok(), "{twice}");
            let other = around.replace('@', &format!(r#"{member},"x":null,"x":null"#));
            assert_eq!(FastChunk::read(other.as_bytes()).is_some(), other.contains(r#""choices""#), "{other}");
        }
    }
}

/// A chunk around `inside` the quotes of its text.
fn chunk(inside: &str) -> Vec<u8> {
    format!(r#"{{"choices":[{{"index":1,"delta":{{"content":"{inside}"}},"finish_reason":null}}]}}"#).into_bytes()
}

fn learned(json: &[u8]) -> TemplateMatch {
    let mut shape = TemplateMatch::default();
    shape.learn(json, &FastChunk::read(json).unwrap());
    shape
}

#[test]
fn another_text_has_the_same_shape_and_what_is_no_text_has_not() {
    let shape = learned(&chunk("a"));
    for (inside, same) in [
        ("b", true),
        (r#"\"\\ \u00e9 é漢"#, true),
        ("", false),
        (r#"b","role":"x"#, false),
        (r"b\", false),
        (r"\x", false),
        ("\u{1}", false),
    ] {
        let json = chunk(inside);
        let found = shape.matches(&json);
        assert_eq!(found.is_some(), same, "{inside}");
        assert!(found.is_none_or(|found| found == (shape.index, inside.as_bytes(), inside.len(), shape.said)));
    }
    assert_eq!(shape.matches(&chunk("b")[1..]), None);
    assert_eq!(shape.matches(&[chunk("b"), b" ".to_vec()].concat()), None);
}

#[test]
fn nothing_is_learned_from_a_chunk_without_text_or_with_an_end_or_too_long() {
    let long = format!(r#"{{"id":"{}","choices":[{{"text":"a"}}]}}"#, "x".repeat(LENGTH_LIMIT));
    for json in [&chunk("")[..], br#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#, long.as_bytes()] {
        assert_eq!(learned(json).matches(json), None);
    }
    let long_text = chunk(&"x".repeat(LENGTH_LIMIT));
    assert!(learned(&long_text).matches(&chunk("a")).is_some());
}
