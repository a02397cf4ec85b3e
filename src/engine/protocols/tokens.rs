//! vLLM's endpoint of token ids: `token_ids`, answered by token ids.

use std::borrow::Cow;

use super::choices::CHOICES;
use super::limits::MAX_TOKENS;
use super::prompt::content;
use super::protocol::Protocol;
use super::typed::found;
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList};
use crate::generator::PromptNeed;
use crate::record::WorkKind;

/// `/inference/v1/generate`.
pub static TOKENS: Protocol = Protocol {
    name: "tokens",
    path: "/inference/v1/generate",
    backend: "vllm-tokens",
    prompt_field: "token_ids",
    write_prompt: content,
    carries: &[PromptNeed::TokenIds],
    only: Some(PromptNeed::TokenIds),
    is_form: false,
    inputs: None,
    limits: &[MAX_TOKENS],
    within: Some("sampling_params"),
    usual_tokens: Some(16),
    form: None,
    whole: None,
    template: None,
    asks_for_usage: true,
    forces: LengthForcing::IgnoreEosAndMinTokens,
    lacks: &["n", "best_of"],
    headers: &[],
    key_header: None,
    shape: None,
    work: WorkKind::Tokens,
    answers: &IDS,
};

/// The grammar of these answers.
static IDS: AnswerGrammar = AnswerGrammar { member, common: |_| None, ..CHOICES };

fn member<'a>(document: &mut ChunkJson<'a>, members: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    let is_answer = (CHOICES.member)(document, members, name, value);
    if name == "choices" {
        let items = value.items().unwrap_or_default();
        let items = items.into_iter().filter_map(|item| LooseValue(item).members());
        for (choice, item) in document.choices.iter_mut().flatten().zip(items) {
            // Where no text was asked for, the ids stand for it as they came.
            if let Some(ids) = found(&item, "token_ids").filter(|_| choice.text.is_empty()) {
                choice.text = Cow::Borrowed(ids.0.get().trim_matches(['[', ']', ' ']));
            }
        }
    }
    is_answer
}
