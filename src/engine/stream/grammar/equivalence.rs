//! Compares the fast ways of reading a chunk with the full one: same steps, failures and judgements for any
//! input.

use std::borrow::Cow;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::engine::stream::sse::SseFramer;
use crate::engine::stream::transcripts::streamed_bodies;
use crate::engine::transport::BodyEnd;

/// Bytes with a meaning in JSON, and some without.
const BYTES: &[u8] = b"\"\\{}[],:0159-.eEnux \n\x01\x80\xc3\xff";

fn event(data: &[u8]) -> SseEvent<'_> {
    SseEvent { name: None, data: Cow::Borrowed(data), stray: false }
}

/// Reads `events` both ways and fails where they differ. Returns how many events the fast ways read.
fn compare<'a>(events: impl IntoIterator<Item = &'a [u8]>) -> usize {
    let mut quick = Grammar::default();
    let mut full = Grammar::default();
    let mut taken = 0;
    for data in events {
        let event = event(data);
        let expected = match full.without_document(&event) {
            Ok(None) => full.any_document(&event),
            Ok(Some(step)) => Ok(step),
            Err(failure) => Err(failure),
        };
        let is_document = data.first() == Some(&b'{') && !quick.done;
        let quickly = is_document.then(|| quick.usual_chunk(data)).flatten();
        taken += usize::from(quickly.is_some());
        let found = quickly.map_or_else(|| quick.event(&event), Ok);
        let data = String::from_utf8_lossy(data);
        assert_eq!(found, expected, "{data}");
        let state = |grammar: &Grammar| {
            let Grammar { seen, finished, early, done, usage, counting, .. } = *grammar;
            let judged = (grammar.close(BodyEnd::Clean), grammar.close(BodyEnd::Broken));
            (
                seen,
                finished,
                early,
                done,
                grammar.shown.chunks,
                grammar.given_up.clone(),
                usage,
                counting,
                grammar.finish_reason.clone(),
                judged,
            )
        };
        assert_eq!(state(&quick), state(&full), "{data}");
        if expected.is_err() {
            break;
        }
    }
    taken
}

/// The data of the events of a body.
fn events_of(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut framer = SseFramer::default();
    std::iter::from_fn(|| Some(framer.next_event(&mut body)?.data.into_owned())).collect()
}

/// The events of every stream captured.
fn streams() -> Vec<(String, Vec<Vec<u8>>)> {
    streamed_bodies().into_iter().map(|(name, body)| (name, events_of(&body))).collect()
}

/// Three chunks in mid-answer, from servers that write differently.
static MIDDLES: LazyLock<Vec<Vec<Vec<u8>>>> = LazyLock::new(|| {
    let names = [
        "vllm/chat_stream_n2.txt",
        "vllm/compl_stream_usage.txt",
        "vllm/chat_stream_continuous_usage.txt",
        "llamacpp_cpp/chat_stream_usage.txt",
        "llamacpp_py/chat_stream_usage.txt",
    ];
    let streams = streams();
    let middle = |name: &str| {
        let (_, events) = streams.iter().find(|(stream, _)| stream == name).unwrap();
        events[2..5].to_vec()
    };
    names.into_iter().map(middle).collect()
});

#[test]
fn every_transcript_is_read_alike_and_almost_all_of_it_quickly() {
    let (mut all, mut quick) = (0, 0);
    for (_, events) in streams() {
        all += events.iter().filter(|data| data.starts_with(b"{")).count();
        quick += compare(events.iter().map(Vec::as_slice));
    }
    assert!(all > 3000 && quick * 100 > all * 95, "{quick} of {all}");
}

/// Edits a byte at every `step`-th place of each chunk. It changes, inserts or deletes one there, and begins at another
/// place in each.
fn edit_a_byte_at_every(step: usize) {
    for (first, events) in MIDDLES.iter().enumerate() {
        let chunk = &events[1];
        let try_with = |edited: &[u8]| {
            compare([&events[0][..], edited, &events[2]]);
        };
        for at in (first % step..chunk.len()).step_by(step) {
            let (before, after) = (&chunk[..at], &chunk[at + 1..]);
            try_with(&[before, after].concat());
            for byte in BYTES {
                try_with(&[before, &[*byte], after].concat());
                try_with(&[before, &[*byte], &chunk[at..]].concat());
            }
        }
    }
}

#[test]
fn one_byte_changed_inserted_or_deleted_is_judged_alike() {
    edit_a_byte_at_every(7);
}

#[test]
#[ignore = "every place of every chunk; tests/interop/long_tests.sh runs it"]
fn one_byte_changed_inserted_or_deleted_anywhere_is_judged_alike() {
    edit_a_byte_at_every(1);
}

/// One edit: where, and what is put there instead of how many bytes.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let byte = prop_oneof![prop::sample::select(BYTES), any::<u8>()];
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, prop::collection::vec(byte, 0..3)), 0..4)
}

fn edited(mut data: Vec<u8>, edits: &[(prop::sample::Index, usize, Vec<u8>)]) -> Vec<u8> {
    for (at, gone, put) in edits {
        let at = at.index(data.len() + 1);
        let end = data.len().min(at + gone);
        data.splice(at..end, put.iter().copied());
    }
    data
}

/// JSON of the members that chunks have, in any order, twice or misplaced.
fn chunk_like() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null",
        "true",
        "0",
        "1",
        "127",
        "4294967296",
        "-1",
        "1.5",
        "1e2",
        "01",
        r#""""#,
        r#""a""#,
        r#""\n""#,
        r#""stop""#,
        r#""\u0061bort""#,
        r#""\ud83d\ude00""#,
        r#""\ud83d""#,
        "\"é\"",
        r#""error""#,
        r#""null""#,
        r#""chat.completion.chunk""#,
        "500",
        "NaN",
    ]);
    let name = prop::sample::select(vec![
        "choices",
        "usage",
        "error",
        "errors",
        "object",
        "type",
        "status",
        "code",
        "detail",
        "message",
        "index",
        "delta",
        "text",
        "finish_reason",
        "token_ids",
        "content",
        "reasoning",
        "reasoning_content",
        "thinking",
        "function_call",
        "x_groq",
        "input_tokens",
        "refusal",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "completion_tokens_details",
        "reasoning_tokens",
        "id",
        r"cont\u0065nt",
        "é",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(5, 24, 4, move |inner| {
        let member = (name.clone(), inner.clone()).prop_map(|(name, value)| format!(r#""{name}":{value}"#));
        prop_oneof![
            prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
        ]
    })
}

/// A chunk with the right members in the right places, and anything as their values.
fn almost_chunk() -> impl Strategy<Value = String> {
    let places = prop::sample::select(vec![
        r#"{"choices":[{"index":@,"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"delta":{"content":@}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","reasoning":@}}]}"#,
        r#"{"choices":[{"delta":@}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":@}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":@}]}}]}"#,
        r#"{"choices":[{"text":@,"finish_reason":null}]}"#,
        r#"{"choices":[{"text":"a","finish_reason":@}]}"#,
        r#"{"choices":[{"text":"a","token_ids":@}]}"#,
        r#"{"choices":[{"text":"a"}],"usage":@}"#,
        r#"{"choices":[{"text":"a"}],"usage":{"completion_tokens":@}}"#,
        r#"{"choices":[{"text":"a"}],"usage":{"prompt_tokens":1,"prompt_tokens_details":@}}"#,
        r#"{"choices":[{"delta":{"content":"","thinking":@}}]}"#,
        r#"{"choices":[{"text":"a"}],"usage":{"completion_tokens":2,"cached_tokens":@,"reasoning_tokens":1}}"#,
        r#"{"choices":[{"text":"a","usage":@}],"usage":null}"#,
        r#"{"choices":[{"text":"a"}],"error":@}"#,
        r#"{"choices":[{"text":"a","message":@}]}"#,
        r#"{"choices":[{"text":"a","other":@}]}"#,
        r#"{"choices":[@]}"#,
        r#"{"choices":@}"#,
        "@",
    ]);
    (places, chunk_like()).prop_map(|(place, value)| place.replace('@', &value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn chunks_edited_and_mixed_are_judged_alike(
        picked in prop::collection::vec((any::<prop::sample::Index>(), edits()), 1..8),
    ) {
        let chunks = MIDDLES.concat();
        let events: Vec<_> = picked.iter().map(|(which, edits)| edited(which.get(&chunks).clone(), edits)).collect();
        compare(events.iter().map(Vec::as_slice));
    }

    #[test]
    fn a_text_of_any_bytes_is_judged_alike(texts in prop::collection::vec(edits(), 1..6)) {
        let chunk = |inside: &[u8]| {
            [br#"{"choices":[{"index":0,"delta":{"content":""#, inside, br#""},"finish_reason":null}]}"#].concat()
        };
        let events: Vec<_> = texts.iter().map(|edits| chunk(&edited(b"text".to_vec(), edits))).collect();
        compare(events.iter().map(Vec::as_slice));
    }

    #[test]
    fn any_json_of_the_members_of_chunks_is_judged_alike(
        chunks in prop::collection::vec(almost_chunk(), 1..5),
    ) {
        // Each twice: the second time the template is known.
        compare(chunks.iter().flat_map(|json| [json.as_bytes(); 2]));
    }
}
