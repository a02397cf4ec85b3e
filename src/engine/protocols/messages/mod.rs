//! Anthropic's Messages: `messages` and `system`, answered by blocks.

mod answers;
mod turns;

use super::limits::MAX_TOKENS;
use super::protocol::Protocol;
use crate::engine::dialect_traits::LengthForcing;
use crate::generator::PromptNeed;
use crate::record::WorkKind;

/// `/v1/messages`.
pub static MESSAGES: Protocol = Protocol {
    name: "messages",
    path: "/v1/messages",
    backend: "anthropic-messages",
    prompt_field: "messages",
    write_prompt: turns::write,
    carries: &[PromptNeed::Messages, PromptNeed::Images],
    only: None,
    is_form: false,
    inputs: None,
    limits: &[MAX_TOKENS],
    within: None,
    usual_tokens: None,
    form: None,
    whole: None,
    template: None,
    asks_for_usage: false,
    forces: LengthForcing::None,
    lacks: &["seed", "n", "best_of", "priority"],
    headers: &[("anthropic-version", "2023-06-01")],
    key_header: Some("x-api-key"),
    shape: Some(turns::shape),
    work: WorkKind::Tokens,
    answers: &answers::BLOCKS,
};
