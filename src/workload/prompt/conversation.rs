//! Conversations: requests that follow one another, each with all that was said before.

use serde::Serialize;

use super::source::PromptSource;
use crate::units::count;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::distribution::Distribution;
use crate::workload::reading::place::SpecValue;

/// Most turns of a conversation.
const MOST_TURNS: u32 = 10_000;

/// How the requests of a class go on as conversations: what arrives is then the first turn of one. Each later turn is
/// sent a think time after the end of the answer before it, and says all that was said so far, the server's own answers
/// among it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conversation {
    /// How many turns a conversation has, each a message of the user with its answer; drawn once for each. A number in
    /// a file means that all have as many.
    pub turns: Distribution,
    /// From the end of an answer to the next turn; a number in a file means that it is always as long.
    pub think_time_s: ThinkTime,
    /// Tokens of the opening turn; absent: drawn as every other turn's, from the class's `input_tokens`, which are the
    /// *new* tokens of a turn. Those of a shared prefix come on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_input_tokens: Option<Distribution>,
    /// A conversation ends before the turn whose prompt and answer would have more tokens than this together; absent:
    /// the server decides what is too long. The opening turn is sent whatever it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<u32>,
}

impl Conversation {
    pub(crate) fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a conversation", |fields| {
            let turns = fields.required("turns", Distribution::read_or_constant);
            let think_time_s = fields.required("think_time_s", ThinkTime::read);
            let first_input_tokens = fields.optional("first_input_tokens", None, |place| {
                Distribution::read_or_constant(place).map(Some)
            });
            let max_context_tokens =
                fields.optional("max_context_tokens", None, |place| Distribution::tokens(place).map(Some));
            let turns = turns?;
            if turns.most() > MOST_TURNS {
                let most = count(turns.most().into());
                let sentence = format!("may be {most}; give a `max` of 10,000 at most");
                fields.complain_of("turns", &sentence);
                return None;
            }
            Some(Self {
                turns,
                think_time_s: think_time_s?,
                first_input_tokens: first_input_tokens?,
                max_context_tokens: max_context_tokens?,
            })
        })
    }

    /// Says why requests with such prompts cannot go on as conversations; `None` if they can.
    pub(crate) fn refusal(prompt: &PromptSource) -> Option<&'static str> {
        match prompt {
            PromptSource::Dataset(_) => Some(
                "stands beside a dataset, whose rows are whole requests; leave one of them out, or choose another \
                 `prompt`",
            ),
            PromptSource::RandomTokens { .. } => Some(
                "stands beside token ids, and answers come as text, which cannot be put between them; choose another \
                 `prompt`",
            ),
            PromptSource::Templates { .. } | PromptSource::Retrieval { .. } => None,
        }
    }
}
