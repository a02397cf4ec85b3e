//! Templates: what they send, what they read, and what is refused in them.

use super::super::protocol::Protocol;
use super::super::recorded::read_body;
use crate::engine::answer::AnswerEvent;
use crate::engine::target::{AnswerForm, Target};
use crate::engine::transport::BodyEnd;
use crate::generator::PromptNeed;
use crate::record::{EngineKind, FailureKind, FinishReason};

/// An answer as TGI writes it.
const TGI: &str = "data: {\"index\":1,\"token\":{\"id\":5,\"text\":\" one\",\"logprob\":-0.1,\"special\":false},\
    \"generated_text\":null,\"details\":null}\n\n\
    data: {\"index\":2,\"token\":{\"id\":6,\"text\":\" tw\u{f6}\",\"logprob\":-0.2,\"special\":false},\
    \"generated_text\":\" one tw\u{f6}\",\"details\":{\"finish_reason\":\"length\",\"generated_tokens\":2,\
    \"input_length\":7,\"seed\":null}}\n\n";
/// An answer as Triton writes it.
const TRITON: &str = "data: {\"model_name\":\"ensemble\",\"text_output\":\" one\"}\n\n\
    data: {\"model_name\":\"ensemble\",\"text_output\":\" two\"}\n\n";
/// A template with all that there is, and an answer that it reads.
pub(in crate::engine) const OWN: &str = r#"
[body]
request = { text = "{prompt}", "a/b" = ["{model}", "{top_p}"] }
limit = { most = "{output_tokens}", whole = "{ignore_eos}" }
[stream]
path = "/own"
text = "/a~1b/1/said"
cumulative = true
reasoning = "/thought"
finish = "/why"
prompt_tokens = "/count/in"
completion_tokens = "/count/out"
cached_tokens = "/count/known"
end = "[FIN]"
"#;
const OWN_ANSWER: &str = r#"data: {"thought":"hm","a/b":[0,{"said":""}],"why":null,"count":{"in":9,"out":1}}

data: {"thought":"hm","a/b":[0,{"said":"two"}],"why":null,"count":{"in":9,"out":2}}

data: {"thought":"hm","a/b":[0,{"said":"two three"}],"why":"eos","count":{"in":9,"out":4,"known":8}}

data: [FIN]

"#;

fn named(name: &str) -> &'static Protocol {
    Protocol::named(name).unwrap()
}

/// The protocol of a template in a file.
pub(in crate::engine) fn of_file(name: &str, text: &str) -> Result<&'static Protocol, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    Protocol::from_template(&file)
}

#[test]
fn a_protocol_can_what_its_template_can() {
    let own = of_file("own.toml", OWN).unwrap();
    assert_eq!((own.name, own.path, own.within, own.limits), ("custom", "/own", Some("limit"), &["most"][..]));
    assert!(own.takes("top_p") && !own.takes("temperature") && !own.takes("n"));
    assert!(own.answering_in(AnswerForm::Whole).is_none() && !named("tgi").takes("model"));
    let (whole, form) = named("tgi").answering_in(AnswerForm::Whole).unwrap();
    assert_eq!((whole.path, form, whole.name), ("/generate", AnswerForm::Whole, "tgi"));
    let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Openai);
    target.endpoint = own;
    assert_eq!(target.length_words(target.length_fields()), "limit/most, forced by limit/whole");
}

#[test]
fn answers_are_read_at_their_places() {
    let own = of_file("own.toml", OWN).unwrap();
    for (protocol, answer, text, chunks, usage) in [
        (named("tgi"), TGI, " one tw\u{f6}", 2, Some((7, 2, None))),
        (named("triton"), TRITON, " one two", 2, None),
        (own, OWN_ANSWER, "two three", 3, Some((9, 4, Some(8)))),
    ] {
        for size in [1, 7, usize::MAX] {
            let (end, events) = read_body((protocol, AnswerForm::Streamed), answer.as_bytes(), size, BodyEnd::Clean);
            assert_eq!(end.result, Ok(()), "{protocol}");
            assert_eq!((end.captured.unwrap().read().content.as_str(), events.len()), (text, chunks), "{protocol}");
            let counts = end.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens));
            assert_eq!(counts, usage, "{protocol}");
        }
    }
    let (end, _) = read_body((own, AnswerForm::Streamed), OWN_ANSWER.as_bytes(), usize::MAX, BodyEnd::Clean);
    assert_eq!((end.finish_reason, end.captured.unwrap().read().reasoning.as_str()), (Some(FinishReason::Stop), "hm"));
    let (whole, form) = named("tgi").answering_in(AnswerForm::Whole).unwrap();
    let answer = r#"{"generated_text":"all","details":{"finish_reason":"eos_token","generated_tokens":3}}"#;
    let (end, _) = read_body((whole, form), answer.as_bytes(), 5, BodyEnd::Clean);
    assert_eq!((end.result, end.usage.unwrap().completion_tokens), (Ok(()), 3));
    assert_eq!(end.captured.unwrap().read().content, "all");
}

#[test]
fn ids_of_tokens_are_counted_and_stand_for_the_text() {
    let ids = "[body]\nq = \"{token_ids}\"\nn = \"{output_tokens}\"\n[stream]\npath = \"/p\"\ntext = \"/o/ids\"\n\
        end = \"[DONE]\"\n";
    let protocol = of_file("ids.toml", ids).unwrap();
    assert_eq!((protocol.only, protocol.prompt_field), (Some(PromptNeed::TokenIds), "q"));
    let event = |ids: &str| format!("data: {{\"o\":{{\"ids\":{ids}}}}}\n\n");
    let answer = event("[7, 8]") + &event("[]") + &event("[9]") + "data: [DONE]\n\n";
    let (end, events) = read_body((protocol, AnswerForm::Streamed), answer.as_bytes(), 7, BodyEnd::Clean);
    assert_eq!(end.result, Ok(()));
    assert_eq!(end.captured.unwrap().read().content, "7, 89", "as they came");
    let tokens = events.iter().map(|event| match event {
        AnswerEvent::Chunk { tokens, .. } => *tokens,
        other => panic!("{other:?}"),
    });
    assert_eq!(tokens.collect::<Vec<_>>(), [Some(2), Some(1)]);
}

#[test]
fn answers_that_are_cut_or_fail_are_not_complete() {
    let own = of_file("own.toml", OWN).unwrap();
    for (protocol, answer, left) in [(named("tgi"), TGI, 2), (own, OWN_ANSWER, 9)] {
        for to in 0..answer.len() - left {
            for close in [BodyEnd::Broken, BodyEnd::Clean] {
                let (end, _) = read_body((protocol, AnswerForm::Streamed), &answer.as_bytes()[..to], 64, close);
                // A finish reason says that all has come where an end of its own follows.
                let is_over = protocol == own && answer[..to].contains("\"why\":\"eos\"") && to > answer.len() - 16;
                assert!(is_over || end.result.is_err(), "{protocol} at {to}, {close:?}");
            }
        }
    }
    // Nothing but its body's end ends an answer of Triton.
    let (end, _) = read_body((named("triton"), AnswerForm::Streamed), TRITON.as_bytes(), 9, BodyEnd::Broken);
    assert_eq!(end.result.unwrap_err().reason, FailureKind::Reset);
    let begun = &TRITON.as_bytes()[..TRITON.len() - 9];
    let (end, events) = read_body((named("triton"), AnswerForm::Streamed), begun, 9, BodyEnd::Clean);
    assert_eq!((end.result.is_ok(), events.len()), (true, 1), "it cannot tell");
    for (name, failed) in [
        ("tgi", "data: {\"error\":\"Request failed during generation: oom\",\"error_type\":\"generation\"}\n\n"),
        ("triton", "data: {\"error\":\"Request failed during generation: oom\"}\n\n"),
    ] {
        let (end, _) = read_body((named(name), AnswerForm::Streamed), failed.as_bytes(), 9, BodyEnd::Clean);
        let failure = end.result.unwrap_err();
        assert_eq!((failure.reason, failure.message.contains("oom")), (FailureKind::StreamError, true), "{name}");
    }
    let nothing = "data: {\"text\":\"hi\",\"generated_text\":\"x\"}\n\n";
    let (end, _) = read_body((named("tgi"), AnswerForm::Streamed), nothing.as_bytes(), 9, BodyEnd::Clean);
    let message = end.result.unwrap_err().message;
    assert!(message.contains(r#"{"text":"hi","#), "the answer's own words: {message}");
}

#[test]
fn every_mistake_is_named_with_its_cure() {
    let body = "[body]\nq = \"{prompt}\"\nn = \"{output_tokens}\"\n";
    let stream = "[stream]\npath = \"/p\"\ntext = \"/t\"\n";
    for (text, says) in [
        (format!("[body]\nq = \"{{promt}}\"\nn = \"{{output_tokens}}\"\n{stream}"), "did you mean `{prompt}`?"),
        (
            format!("[body]\nq = \"Q: {{prompt}}\"\nn = \"{{output_tokens}}\"\n{stream}"),
            "`{prompt}` within a text at `q`",
        ),
        (format!("[body]\nq = 1\n{stream}"), "has no prompt; give the field of the prompt the value \"{prompt}\""),
        (format!("[body]\nq = \"{{prompt}}\"\n{stream}"), "has no limit of an answer's length"),
        (format!("body = '{{\"q\": }}'\n{stream}"), "`body` is not JSON: expected value at line 1 column 7"),
        (format!("body = '[1]'\n{stream}"), "it must be an object"),
        (body.to_owned(), "`stream` and `whole` are missing"),
        (format!("{body}[stream]\npath = \"p\"\ntext = \"/t\"\n"), "it must be a path"),
        (format!("{body}[stream]\npath = \"/p\"\ntext = \"$.t\"\n"), "it must be a JSON pointer"),
        (format!("{body}[stream]\npath = \"/p\"\n"), "`stream.text` is missing"),
        (format!("{body}{stream}last = \"/l\"\nend = \"x\"\n"), "both say what ends a stream"),
        (format!("{body}[whole]\npath = \"/p\"\ntext = \"/t\"\nend = \"x\"\n"), "which only `[stream]` has"),
        (format!("{body}{stream}finsh = \"/f\"\n"), "did you mean `finish`?"),
    ] {
        let error = of_file("t.toml", &text).unwrap_err();
        assert!(error.contains(says) && error.contains("t.toml"), "{text}: {error}");
    }
    let broken = of_file("t.json", "{\"body\": {\n").unwrap_err();
    assert!(broken.contains("not valid JSON"), "{broken}");
}
