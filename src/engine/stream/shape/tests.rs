//! When a chunk is known by its surroundings.

use super::*;

/// A chunk around `inside` the quotes of its text.
fn chunk(inside: &str) -> Vec<u8> {
    format!(r#"{{"choices":[{{"index":1,"delta":{{"content":"{inside}"}},"finish_reason":null}}]}}"#)
        .into_bytes()
}

fn learned(json: &[u8]) -> Shape {
    let mut shape = Shape::default();
    shape.learn(json, &UsualChunk::read(json).unwrap());
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
        let found = shape.matches(&chunk(inside));
        assert_eq!(found.is_some(), same, "{inside}");
        assert!(found.is_none_or(|found| found == (shape.index, shape.said)));
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
