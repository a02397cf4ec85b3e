//! Prompts as the token ids of their texts.

use super::builder::PromptBuilder;
use crate::generator::request::Prompt;

impl PromptBuilder {
    /// Returns the builder, whose texts are now sent as ids of its tokenizer.
    #[must_use]
    pub(crate) fn sending_ids(mut self) -> Self {
        self.sends_ids = true;
        self
    }

    /// The prompt as it is sent: a text, or its token ids.
    pub(crate) fn sent(&self, prompt: Prompt) -> Prompt {
        match (&self.tokenizer, prompt) {
            (Some(tokenizer), Prompt::Text(text)) if self.sends_ids => match tokenizer.encode_fast(&*text, false) {
                Ok(encoding) => Prompt::TokenIds(encoding.get_ids().to_vec()),
                Err(_) => Prompt::Text(text),
            },
            (_, prompt) => prompt,
        }
    }
}
