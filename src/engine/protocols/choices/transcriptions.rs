//! Transcriptions: a form with a file of audio, answered by its text.

use super::super::limits::MAX_COMPLETION_TOKENS;
use super::super::prompt::content;
use super::super::protocol::Protocol;
use super::super::typed::word;
use super::CHOICES;
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::generator::PromptNeed;
use crate::record::WorkKind;

/// `/v1/audio/transcriptions`.
pub static TRANSCRIPTIONS: Protocol = Protocol {
    name: "transcriptions",
    path: "/v1/audio/transcriptions",
    backend: "openai-audio",
    prompt_field: "file",
    write_prompt: content,
    carries: &[PromptNeed::Audio],
    only: Some(PromptNeed::Audio),
    is_form: true,
    inputs: None,
    limits: &[MAX_COMPLETION_TOKENS],
    within: None,
    usual_tokens: None,
    form: None,
    whole: None,
    template: None,
    asks_for_usage: true,
    forces: LengthForcing::None,
    lacks: &["n", "best_of", "priority"],
    headers: &[],
    key_header: None,
    shape: None,
    work: WorkKind::Tokens,
    answers: &TEXTS,
};

/// Type of OpenAI's events with a part of the text.
const DELTA: &str = "transcript.text.delta";
/// Type of the last of them, which has all of the text.
const DONE: &str = "transcript.text.done";

/// The grammar of these answers: vLLM's chunks have `choices`, OpenAI's events a type.
static TEXTS: AnswerGrammar = AnswerGrammar {
    member,
    events: &["", "message", DELTA, DONE, "transcript.text.segment"],
    text_member: "text",
    ..CHOICES
};

fn member<'a>(document: &mut ChunkJson<'a>, members: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    let kind = word(members, "type");
    match (name, kind.as_deref()) {
        ("type", Some(DONE)) => {
            document.marks.is_last = true;
            document.choices = Some(vec![Choice { finish: Some("stop".into()), ..Choice::default() }]);
        }
        ("delta", Some(DELTA)) | ("text", None) => {
            let is_whole = name == "text";
            let Some(text) = value.text() else {
                note(&mut document.unread, if is_whole { "text" } else { "delta" });
                return true;
            };
            document.choices = Some(vec![Choice { is_whole, text, ..Choice::default() }]);
        }
        // Some are billed by seconds, and count no tokens.
        ("usage", _) if value.members().is_some_and(|usage| word(&usage, "type").as_deref() == Some("duration")) => {}
        _ => return (CHOICES.member)(document, members, name, value),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocols::recorded::read_body;
    use crate::engine::target::AnswerForm;
    use crate::engine::transport::BodyEnd;
    use crate::record::{FailureKind, FinishReason};

    /// Text, answer tokens, chunks and finish reason of an answer, or why it is none.
    type Read = Result<(String, Option<u64>, usize, Option<FinishReason>), (FailureKind, String)>;

    fn read(form: AnswerForm, body: &str, close: BodyEnd) -> Read {
        let (end, events) = read_body((&TRANSCRIPTIONS, form), body.as_bytes(), 7, close);
        end.result.map_err(|failure| (failure.reason, failure.message))?;
        let tokens = end.usage.and_then(|usage| usage.completion());
        Ok((end.captured.unwrap().read().content, tokens, events.len(), end.finish_reason))
    }

    const VLLM: &str = r#"data: {"object":"transcription.chunk","id":"t","model":"w","choices":[{"delta":
data: {"content":" yes"},"finish_reason":null}]}

data: {"object":"transcription.chunk","id":"t","choices":[{"delta":{"content":" no"},"finish_reason":"stop"}]}

data: {"object":"transcription.chunk","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}

data: [DONE]

"#;
    const OPENAI: &str = r#"data: {"type":"transcript.text.delta","delta":" yes"}

event: transcript.text.delta
data: {"type":"transcript.text.delta","delta":" no"}

data: {"type":"transcript.text.done","text":" yes no","usage":{"type":"tokens","input_tokens":14,"output_tokens":2}}

"#;

    #[test]
    fn streams_of_both_kinds_have_one_text() {
        let expected = Ok((" yes no".to_owned(), Some(2), 2, Some(FinishReason::Stop)));
        assert_eq!(read(AnswerForm::Streamed, VLLM, BodyEnd::Clean), expected);
        assert_eq!(read(AnswerForm::Streamed, OPENAI, BodyEnd::Clean), expected);
        for body in [VLLM, OPENAI] {
            let whole = body.find("\"stop").or(body.find("transcript.text.done")).unwrap();
            for to in (0..whole).step_by(3) {
                for close in [BodyEnd::Clean, BodyEnd::Broken] {
                    let cut = read(AnswerForm::Streamed, &body[..to], close);
                    assert!(cut.is_err(), "{to} of {body}: {cut:?}");
                }
            }
        }
        let failed = "data: {\"error\":{\"message\":\"no ears\",\"code\":500}}\n\ndata: [DONE]\n\n";
        let (reason, says) = read(AnswerForm::Streamed, failed, BodyEnd::Clean).unwrap_err();
        assert!(reason == FailureKind::StreamError && says.contains("no ears"), "{says}");
    }

    #[test]
    fn a_whole_answer_has_a_text_and_may_count_seconds_alone() {
        let read = |body: &str| read(AnswerForm::Whole, body, BodyEnd::Clean);
        let text = |tokens| Ok(("so it is".to_owned(), tokens, 0, None));
        assert_eq!(read(r#"{"text":"so it is","usage":{"type":"duration","seconds":10}}"#), text(None));
        let counted = r#"{"text":"so it is","usage":{"type":"tokens","input_tokens":9,"output_tokens":3}}"#;
        assert_eq!(read(counted), text(Some(3)));
        let verbose = r#"{"task":"transcribe","duration":10.0,"text":"so it is","segments":[{"id":0,"text":"so"}]}"#;
        assert_eq!(read(verbose), text(None));
        for (body, says) in [
            (r#"{"words":"so it is"}"#, "the answer has no text"),
            (r#"{"text":""}"#, "ended without any text"),
            ("so it is", "wrong content type"),
            (r#"{"error":{"message":"no ears"}}"#, "no ears"),
        ] {
            let (_, message) = read(body).unwrap_err();
            assert!(message.contains(says), "{body}: {message}");
        }
    }
}
