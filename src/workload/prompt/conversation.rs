//! Conversations: requests that follow one another, each with everything said before.

use serde::Serialize;

use super::source::PromptSource;
use crate::units::count;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::distribution::Distribution;
use crate::workload::reading::value::SpecValue;

/// Most turns of a conversation.
const MOST_TURNS: u32 = 10_000;

/// How the requests of a class continue as conversations: each arrival is the first turn of one. Each later turn
/// leaves a think time after the end of the previous answer and repeats everything said so far, the server's own
/// answers included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversation {
    /// Turns of a conversation, each a user message with its answer; drawn once per conversation. A number in a file
    /// means a constant.
    pub turns: Distribution,
    /// Time from the end of an answer to the next turn; a number in a file means a constant.
    pub think_time_s: ThinkTime,
    /// Tokens of the opening turn; absent: drawn as every other turn's, from the class's `input_tokens`, which are the
    /// *new* tokens of a turn. Those of a shared prefix come on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_input_tokens: Option<Distribution>,
    /// A conversation ends before the turn whose prompt and answer together would exceed this many tokens; absent:
    /// the server decides. The opening turn is always sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<u32>,
}

impl Conversation {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a conversation", |fields| {
            let turns = fields.required("turns", Distribution::read_or_constant);
            let think_time_s = fields.need("think_time_s", ThinkTime::read);
            let first_input_tokens = fields.maybe("first_input_tokens", Distribution::read_or_constant);
            let max_context_tokens = fields.maybe("max_context_tokens", Distribution::tokens);
            let turns = turns?;
            if turns.most() > MOST_TURNS {
                let most = count(turns.most().into());
                let sentence = format!("may be {most}; give a `max` of 10,000 at most");
                fields.complain_of("turns", &sentence);
                return None;
            }
            Some(Self { turns, think_time_s, first_input_tokens, max_context_tokens })
        })
    }

    /// Why requests with such prompts cannot continue as conversations; `None` if they can.
    pub(crate) fn refusal(prompt: &PromptSource) -> Option<&'static str> {
        match prompt {
            PromptSource::Dataset(_) => Some(
                "is given beside a dataset, whose rows are whole requests; leave one of them out, or choose another \
                 `prompt`",
            ),
            PromptSource::RandomTokens { .. } => Some(
                "is given beside token ids, and answers come as text, which cannot be put between them; choose another \
                 `prompt`",
            ),
            PromptSource::Templates { .. } | PromptSource::Retrieval { .. } => None,
        }
    }
}
