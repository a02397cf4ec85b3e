//! How answers end, case by case.

mod names;

use std::borrow::Cow;

use super::*;
use crate::engine::stream::fast_chunk::ChunkText::{Content, Reasoning, ToolCall};
use crate::engine::transport::BodyEnd;

fn event(data: &str) -> SseEvent<'static> {
    SseEvent { name: None, data: Cow::Owned(data.as_bytes().to_vec()), stray: false }
}

/// A chat chunk with `delta`, and `rest` inside its choice.
fn delta(delta: &str, rest: &str) -> SseEvent<'static> {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{delta}{rest}}}]}}"#))
}

/// The steps of `events`, up to a failure, and the judgement of a clean close.
fn judge(events: &[SseEvent<'_>]) -> (Vec<Step>, Result<(), FailureKind>) {
    let mut grammar = Grammar::default();
    let mut steps = Vec::new();
    for event in events {
        match grammar.event(event) {
            Ok(step) => steps.push(step),
            Err(failure) => return (steps, Err(failure.reason)),
        }
    }
    (steps, grammar.close(BodyEnd::Clean).map_err(|failure| failure.reason))
}

const FINISH: &str = r#","finish_reason":"length""#;

#[test]
fn roles_and_empty_deltas_are_not_tokens() {
    let (steps, end) = judge(&[
        delta(r#"{"role":"assistant","content":""}"#, ""),
        delta(r#"{"role":"assistant"}"#, ""),
        delta(r#"{"content":null}"#, ""),
        delta(r#"{"content":"a"}"#, ""),
        delta(r#"{"reasoning":"b"}"#, ""),
        delta(r#"{"reasoning_content":"c"}"#, ""),
        delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}"#, ""),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#, ""),
        delta(r#"{"reasoning":"d","content":"e\u00e9"}"#, ""),
        delta("{}", FINISH),
        event("[DONE]"),
    ]);
    let kinds: Vec<_> =
        steps.iter().filter_map(|s| if let Step::Text { kind, .. } = s { Some(*kind) } else { None }).collect();
    assert_eq!(kinds, [Content, Reasoning, Reasoning, ToolCall, ToolCall, Content]);
    assert_eq!(steps.last(), Some(&Step::Complete));
    assert_eq!(end, Ok(()));
}

#[test]
fn ends_are_distinguished() {
    let content = || delta(r#"{"content":"a"}"#, "");
    let finish = || delta("{}", FINISH);
    for (events, end) in [
        (vec![content(), finish()], Ok(())),
        (vec![content(), event("[DONE]")], Ok(())),
        (vec![content()], Err(FailureKind::Truncated)),
        (vec![], Err(FailureKind::Truncated)),
        (vec![finish(), event("[DONE]")], Err(FailureKind::Empty)),
        (vec![event("[DONE]")], Err(FailureKind::Empty)),
        (vec![content(), delta("{}", r#","finish_reason":"abort""#)], Err(FailureKind::Aborted)),
        (vec![content(), delta("{}", r#","finish_reason":"error""#)], Err(FailureKind::Aborted)),
        (vec![content(), event(r#"{"error":{"message":"x"}}"#), event("[DONE]")], Err(FailureKind::StreamError)),
        (vec![event(r#"{"error":"x"}"#)], Err(FailureKind::StreamError)),
        (vec![event(r#"{"detail":"Internal Server Error"}"#)], Err(FailureKind::StreamError)),
        // It may be in a queue: what comes then decides.
        (vec![event(r#"{"detail":"x"}"#)], Err(FailureKind::Truncated)),
        (vec![event(r#"{"object":"error","message":"x"}"#)], Err(FailureKind::StreamError)),
        (vec![content(), event(r#"{"choices":[{"#)], Err(FailureKind::Malformed)),
        (vec![event(r#"{"id":"x"}"#)], Err(FailureKind::Truncated)),
        (vec![event("hello")], Err(FailureKind::Malformed)),
    ] {
        assert_eq!(judge(&events).1, end, "{events:?}");
    }
}

#[test]
fn done_is_believed_only_with_a_finish_reason_or_a_clean_end() {
    let mut grammar = Grammar::default();
    grammar.event(&delta(r#"{"content":"a"}"#, "")).unwrap();
    assert_eq!(grammar.event(&event("[DONE]")).unwrap(), Step::Quiet);
    assert_eq!(grammar.close(BodyEnd::Clean), Ok(()));
    assert_eq!(grammar.close(BodyEnd::Broken).unwrap_err().reason, FailureKind::Truncated);
}

#[test]
fn every_choice_must_finish() {
    let choice = |index: u32, rest: &str| {
        event(&format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"a"}}{rest}}}]}}"#))
    };
    let (_, end) = judge(&[choice(0, ""), choice(1, ""), choice(0, FINISH)]);
    assert_eq!(end, Err(FailureKind::Truncated));
    let (_, end) = judge(&[choice(0, ""), choice(1, ""), choice(0, FINISH), choice(1, FINISH)]);
    assert_eq!(end, Ok(()));
}

fn counted(events: &[SseEvent<'_>]) -> Vec<Option<u32>> {
    let steps = judge(events).0;
    steps.iter().filter_map(|s| if let Step::Text { tokens, .. } = s { Some(*tokens) } else { None }).collect()
}

fn with_usage(content: &str, tokens: u64) -> SseEvent<'static> {
    event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"{content}"}}}}],
            "usage":{{"prompt_tokens":12,"completion_tokens":{tokens}}}}}"#
    ))
}

#[test]
fn growth_of_usage_counts_tokens_and_carries_those_without_text() {
    let events = [with_usage("", 0), with_usage("a", 1), with_usage("", 2), with_usage("bc", 4), with_usage("", 5)];
    assert_eq!(counted(&events), [Some(1), Some(3)]);
}

#[test]
fn token_ids_count_tokens_and_carry_those_without_text() {
    let ids =
        |content: &str, ids: &str| delta(&format!(r#"{{"content":"{content}"}}"#), &format!(r#","token_ids":[{ids}]"#));
    assert_eq!(counted(&[ids("a", "7"), ids("", "8, 9"), ids("b", "10"), ids("", "11")]), [Some(1), Some(3)]);
}

#[test]
fn a_usage_that_comes_last_says_nothing_about_one_chunk() {
    let blind = delta(r#"{"content":"a"}"#, "");
    assert_eq!(counted(&[blind.clone(), blind, with_usage("b", 3)]), [None, None, None]);
}

#[test]
fn usage_is_kept_with_its_details_and_zeros_are_no_usage() {
    let mut grammar = Grammar::default();
    grammar
        .event(&event(
            r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,
                "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
        ))
        .unwrap();
    let usage = Usage { prompt_tokens: 12, completion_tokens: 3, cached_tokens: Some(8), reasoning_tokens: Some(2) };
    assert_eq!(grammar.usage, Some(usage));
    grammar.event(&event(r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#)).unwrap();
    grammar.event(&event(r#"{"choices":[],"usage":null}"#)).unwrap();
    assert_eq!(grammar.usage, Some(usage));
    // A server that counts only the answer has counted.
    grammar.event(&event(r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":4}}"#)).unwrap();
    assert_eq!(grammar.usage.map(|usage| usage.completion_tokens), Some(4));
}

/// A usage chunk with these counts.
fn usage_of(prompt: u64, answer: u64) -> SseEvent<'static> {
    event(&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{answer}}}}}"#))
}

/// Reading of `events` by a grammar, each in a read of its own.
fn read(events: &[SseEvent<'_>]) -> Grammar {
    let mut grammar = Grammar::default();
    for event in events {
        drop(grammar.event(event));
    }
    grammar
}

fn words(count: usize) -> Vec<SseEvent<'static>> {
    vec![delta(r#"{"content":" word"}"#, ""); count]
}

#[test]
fn a_usage_without_a_count_keeps_the_count_before_it() {
    let events = [words(3), vec![usage_of(20, 3), usage_of(20, 0)]].concat();
    let usage = read(&events).usage().unwrap();
    assert_eq!((usage.prompt(), usage.completion()), (Some(20), Some(3)));
}

#[test]
fn a_count_below_the_chunks_with_text_is_none() {
    for (answer, believed) in [(8, Some(8)), (9, Some(9)), (7, None), (1, None)] {
        let grammar = read(&[words(8), vec![usage_of(20, answer)]].concat());
        assert_eq!(grammar.usage().unwrap().completion(), believed, "{answer}");
    }
    // A usage of zero beside text counts no chunk, whatever comes later.
    assert_eq!(counted(&[with_usage("a", 0), with_usage("b", 0), usage_of(12, 2)]), [None, None]);
}

#[test]
fn tokens_that_never_came_are_hidden() {
    let reasoned = |reasoning: u64| {
        let details = format!(r#""completion_tokens_details":{{"reasoning_tokens":{reasoning}}}"#);
        event(&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":20,"completion_tokens":128,{details}}}}}"#))
    };
    assert_eq!(read(&[words(28), vec![reasoned(100)]].concat()).hidden_tokens(), 100);
    let shown = vec![delta(r#"{"reasoning_content":" hmm,"}"#, ""); 100];
    assert_eq!(read(&[shown, words(28), vec![reasoned(100)]].concat()).hidden_tokens(), 0);
}

#[test]
fn a_last_chunk_with_the_whole_text_is_no_token() {
    let last = |text: &str| delta(&format!(r#"{{"content":"{text}"}}"#), FINISH);
    let grammar = read(&[words(3), vec![last(" word word word"), usage_of(20, 3)]].concat());
    assert!(grammar.last_repeats());
    assert_eq!((grammar.usage().unwrap().completion(), grammar.hidden_tokens()), (Some(3), 0));
    let grammar = read(&[words(3), vec![last(" and another one"), usage_of(20, 4)]].concat());
    assert!(!grammar.last_repeats());
}

#[test]
fn a_chunk_with_text_of_several_choices_is_one_of_each() {
    let both = event(r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":2,"delta":{"content":"b"}}]}"#);
    let grammar = &mut Grammar::default();
    let kind = Content;
    assert_eq!(grammar.event(&both).unwrap(), Step::Text { tokens: None, kind, choices: 0b101 });
    assert_eq!(grammar.shown.chunks, 2);
}

fn named(name: &'static str, data: &str) -> SseEvent<'static> {
    SseEvent { name: Some(Cow::Borrowed(name.as_bytes())), ..event(data) }
}

/// Returns the end of an answer with some text and these events. Its server has these habits. Returns also what was
/// odd.
fn end_of(habits: &Arc<Habits>, events: &[SseEvent<'_>], close: BodyEnd) -> (Result<(), Failure>, Vec<String>) {
    let mut grammar = Grammar { habits: Arc::clone(habits), ..Grammar::default() };
    let text = [delta(r#"{"content":"a"}"#, ""), delta(r#"{"content":"b"}"#, "")];
    let read = text.iter().chain(events).try_for_each(|event| grammar.event(event).map(drop));
    let odd = grammar.oddities.0.iter().map(|odd| odd.what.clone()).collect();
    (read.and_then(|()| grammar.close(close)), odd)
}

#[test]
fn a_failure_in_any_form_fails_the_answer_with_the_words_of_the_server() {
    let finish = || delta("{}", FINISH);
    let full = r#"{"message":"KV cache is full","code":500}"#;
    for (events, words) in [
        (vec![named("error", full)], "KV cache is full"),
        (vec![named("error", "KV cache is full"), event("[DONE]")], "KV cache is full"),
        (vec![named("error", ""), finish(), event("[DONE]")], "an event `error` without a word"),
        (vec![named("exception", full), finish()], "KV cache is full"),
        (vec![SseEvent { stray: true, ..event(r#"{"error":{"message":"KV cache is full"}}"#) }], "KV cache is full"),
        (vec![event("Internal Server Error"), finish()], "Internal Server Error"),
        (vec![finish(), event("[DONE]"), event(r#"{"error":{"message":"late"}}"#)], "late"),
        (vec![event(r#"{"errors":[{"message":"KV cache is full"}]}"#), finish()], "KV cache is full"),
        (vec![event(r#"{"status":500,"choices":[]}"#), finish()], "500"),
        (vec![event(r#"{"code":"500","msg":"KV cache is full"}"#), finish()], "KV cache is full"),
        (vec![event(r#"{"object":"error","message":"full","choices":[]}"#), finish()], "full"),
        (vec![event(r#"{"type":"server_error","message":"full"}"#), finish()], "full"),
        (vec![event(r#"{"choices":[],"usage":{"completion_tokens":3,"error":"oom"}}"#), finish()], "oom"),
        (vec![delta("{}", r#","error":{"message":"boom"}"#), finish()], "boom"),
        (vec![delta("{}", r#","finish_reason":"network_error""#), event("[DONE]")], "network_error"),
    ] {
        let failure = end_of(&Arc::default(), &events, BodyEnd::Clean).0.unwrap_err();
        assert!(failure.message.contains(words), "{events:?}: {failure}");
        let kinds = [FailureKind::StreamError, FailureKind::Malformed, FailureKind::Aborted];
        assert!(kinds.contains(&failure.reason), "{failure}");
    }
}

#[test]
fn what_is_no_chunk_is_passed_over_and_counted() {
    for (odd, what) in [
        (event("{}"), "{}"),
        (event("null"), "no object"),
        (event(r#""""#), "no object"),
        (event(r#"{"type":"ping","message":"still here"}"#), "{type, message}"),
        (event(r#"{"id":"x"}"#), "{id}"),
        (event("keep-alive"), "no object"),
        (named("tool_call_dispatch", r#"{"tool_call":{"index":0},"message":"x"}"#), "tool_call_dispatch"),
        (named("formatted_prompt", ""), "formatted_prompt"),
    ] {
        let events = [odd, delta("{}", FINISH), event(" [DONE] ")];
        let (end, oddities) = end_of(&Arc::default(), &events, BodyEnd::Clean);
        assert_eq!((end, oddities), (Ok(()), vec![what.to_owned()]), "{events:?}");
    }
    for good in
        [event(r#"{"error":"","choices":[]}"#), event(r#"{"usage":{"prompt_tokens":1},"message":"x"}"#), event("")]
    {
        let events = [good, delta("{}", FINISH)];
        assert_eq!(end_of(&Arc::default(), &events, BodyEnd::Clean), (Ok(()), Vec::new()), "{events:?}");
    }
}

#[test]
fn one_field_that_nobody_needs_fails_no_answer() {
    for (rest, unread) in [
        (r#"{"content":"c"},"index":"0""#, None),
        (r#"{"content":"c"},"index":-1"#, Some("index")),
        (r#"{"content":[{"type":"text","text":"c"}]}"#, None),
        (r#"{"content":5}"#, Some("content")),
        (r#"{"content":"\ud83d"}"#, None),
        (r#"{"content":"c","tool_calls":5}"#, Some("tool_calls")),
        (r#"{"tool_calls":{"function":{"name":"f","arguments":{"a":1}}}}"#, None),
        (r"[]", None),
        (r#"{"content":"c"},"logprobs":{"x":NaN}"#, None),
        (r#"{"content":"c","content":"d"}"#, None),
        ("{\"content\":\"\t\"}", None),
    ] {
        let events = [event(&format!(r#"{{"choices":[{{"delta":{rest}}}]}}"#)), delta("{}", FINISH)];
        let (end, odd) = end_of(&Arc::default(), &events, BodyEnd::Clean);
        assert_eq!((end, odd), (Ok(()), unread.map(str::to_owned).into_iter().collect()), "{rest}");
    }
    for usage in ["-1", "8.5", r#""many""#, "[8]"] {
        let mut grammar = Grammar::default();
        let chunk = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":20,"completion_tokens":{usage}}}}}"#);
        grammar.event(&event(&chunk)).unwrap();
        assert!(grammar.usage().is_none() && grammar.impossible_usage.is_some(), "{usage}");
    }
}

#[test]
fn text_takes_a_reason_back_until_done() {
    let stop = || delta(r#"{"content":"c"}"#, r#","finish_reason":"stop""#);
    let (cut, habits) = (BodyEnd::Broken, Arc::<Habits>::default());
    assert_eq!(end_of(&habits, &[delta("{}", FINISH)], cut).0, Ok(()));
    assert!(end_of(&habits, &[stop(), stop()], cut).0.is_err());
    assert_eq!(end_of(&habits, &[stop(), stop(), event("[DONE]")], BodyEnd::Clean).0, Ok(()));
    // From now on no reason of this server says that an answer is over.
    assert!(end_of(&habits, &[stop()], cut).0.is_err());
    let null = || delta(r#"{"content":"c"}"#, r#","finish_reason":"null""#);
    assert!(end_of(&Arc::default(), &[null()], cut).0.is_err());
}

#[test]
fn done_alone_ends_an_answer_only_where_others_end_so() {
    let (habits, done) = (Arc::<Habits>::default(), [event("[DONE]")]);
    assert_eq!(end_of(&habits, &done, BodyEnd::Clean).0, Ok(()));
    assert_eq!(end_of(&habits, &[delta("{}", FINISH)], BodyEnd::Clean).0, Ok(()));
    let failure = end_of(&habits, &done, BodyEnd::Clean).0.unwrap_err();
    assert_eq!(failure.reason, FailureKind::Truncated);
    assert!(failure.message.contains("which this server's other answers have, after 2 chunks"), "{failure}");
    // All of the requested tokens came.
    let budget = crate::engine::AnswerLimits::default().of(Some(1));
    let mut grammar = Grammar { habits, budget, ..Grammar::default() };
    grammar.event(&delta(r#"{"content":"a"}"#, "")).unwrap();
    grammar.event(&done[0]).unwrap();
    assert_eq!(grammar.close(BodyEnd::Clean), Ok(()));
}

#[test]
fn a_forced_length_that_is_missed_by_far_is_no_success() {
    let end = |reason: &str, tokens: u64| {
        let budget = crate::engine::AnswerLimits::default().of(Some(8)).forcing(Some(8));
        let mut grammar = Grammar { budget, ..Grammar::default() };
        grammar.event(&with_usage("a", tokens)).unwrap();
        grammar.event(&delta("{}", &format!(r#","finish_reason":"{reason}""#))).unwrap();
        grammar.close(BodyEnd::Clean).map_err(|failure| failure.message)
    };
    let message = "the answer ended after 3 of 8 tokens (finish_reason \"length\"), although its length is forced";
    assert_eq!(end("length", 3), Err(message.to_owned()));
    for (reason, tokens) in [("stop", 3), ("tool_calls", 3), ("length", 4), ("length", 8)] {
        assert_eq!(end(reason, tokens), Ok(()), "{reason} {tokens}");
    }
    assert!(end("weary", 3).is_err());
}
