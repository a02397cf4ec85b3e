//! Completions: `prompt`, a text or token ids, answered by a text.

use super::choices::CHOICES;
use super::limits::MAX_TOKENS;
use super::prompt::content;
use super::protocol::Protocol;
use crate::engine::dialect_traits::LengthForcing;
use crate::generator::PromptNeed;
use crate::record::WorkKind;

/// `/v1/completions`.
pub static COMPLETIONS: Protocol = Protocol {
    name: "completions",
    path: "/v1/completions",
    backend: "openai",
    prompt_field: "prompt",
    write_prompt: content,
    carries: &[PromptNeed::TokenIds],
    only: None,
    is_form: false,
    inputs: None,
    limits: &[MAX_TOKENS],
    within: None,
    usual_tokens: Some(16),
    form: None,
    whole: None,
    template: None,
    asks_for_usage: true,
    forces: LengthForcing::IgnoreEosAndMinTokens,
    lacks: &[],
    headers: &[],
    key_header: None,
    shape: None,
    work: WorkKind::Tokens,
    answers: &CHOICES,
};
