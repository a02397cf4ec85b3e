//! OpenAI's Responses: `input`, answered by items.

mod answers;
mod input;

use super::limits::MAX_OUTPUT_TOKENS;
use super::protocol::Protocol;
use crate::engine::dialect_traits::LengthForcing;
use crate::generator::PromptNeed;
use crate::record::WorkKind;

/// `/v1/responses`.
pub static RESPONSES: Protocol = Protocol {
    name: "responses",
    path: "/v1/responses",
    backend: "openai-responses",
    prompt_field: "input",
    write_prompt: input::write,
    carries: &[PromptNeed::Messages, PromptNeed::Images],
    only: None,
    is_form: false,
    inputs: None,
    limits: &[MAX_OUTPUT_TOKENS],
    within: None,
    usual_tokens: None,
    form: None,
    whole: None,
    template: None,
    asks_for_usage: false,
    forces: LengthForcing::IgnoreEos,
    lacks: &["seed", "n", "best_of"],
    headers: &[],
    key_header: None,
    shape: Some(input::shape),
    work: WorkKind::Tokens,
    answers: &answers::ITEMS,
};
