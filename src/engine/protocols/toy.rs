//! A toy protocol for tests: one that is not OpenAI's in anything.

use super::protocol::Protocol;
use crate::engine::captured_text::CapturedText;
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::generator::Prompt;
use crate::record::WorkKind;

/// `/v1/echo`: `{"say": "…"}` is answered by `{"word": "…"}` for each word, and by `bye`.
pub(crate) static ECHO: Protocol = Protocol {
    name: "echo",
    path: "/v1/echo",
    backend: "echo",
    prompt_field: "say",
    write_prompt: |body, prompt| {
        let Prompt::Text(text) = prompt else { return };
        body.extend_from_slice(serde_json::json!(text).to_string().as_bytes());
    },
    carries: &[],
    only: None,
    is_form: false,
    inputs: None,
    limits: &["most_words"],
    within: None,
    usual_tokens: None,
    form: None,
    whole: None,
    template: None,
    asks_for_usage: false,
    forces: LengthForcing::None,
    lacks: &[],
    headers: &[],
    key_header: None,
    shape: None,
    work: WorkKind::None,
    answers: &WORDS,
};

static WORDS: AnswerGrammar = AnswerGrammar {
    member: word,
    common: |_| None,
    events: &["", "word"],
    ends: &["bye"],
    end_name: "bye",
    text_member: "word",
    lists: false,
    pointers: None,
};

fn word<'a>(document: &mut ChunkJson<'a>, _: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    let text = value.string().filter(|_| name == "word");
    let choice = text.map(|text| Choice { text, ..Choice::default() });
    document.choices.get_or_insert_default().extend(choice);
    name == "word"
}

#[test]
fn its_text_is_read_by_its_own_grammar() {
    let mut captured = CapturedText::new(ECHO.answers);
    for word in [r#"{"word":"one "}"#, r#"{"choices":[{"text":"and"}]}"#, r#"{"word":"two"}"#] {
        captured.push(word.as_bytes());
    }
    assert_eq!(captured.read().content, "one two");
}
