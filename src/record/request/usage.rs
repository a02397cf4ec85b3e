//! Token counts that a server reports of one answer.

use serde::{Deserialize, Serialize};

/// Token counts reported by the server. One of zero counts nothing, and none is above its whole:
/// [`Usage::prompt`] and the functions beside it read them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt, chat template included.
    pub prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// Prompt tokens from a prefix cache, if reported.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens of the answer, if reported.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Prompt tokens, where they are counted.
    pub fn prompt(&self) -> Option<u64> {
        Some(self.prompt_tokens).filter(|&tokens| tokens > 0)
    }

    /// Answer tokens, where they are counted.
    pub fn completion(&self) -> Option<u64> {
        Some(self.completion_tokens).filter(|&tokens| tokens > 0)
    }

    /// Prompt tokens from a prefix cache, where they can be a part of the prompt.
    pub fn cached(&self) -> Option<u64> {
        self.cached_tokens.filter(|&tokens| self.prompt().is_some_and(|all| tokens <= all))
    }

    /// Reasoning tokens, where they can be a part of the answer.
    pub fn reasoning(&self) -> Option<u64> {
        self.reasoning_tokens.filter(|&tokens| tokens <= self.completion_tokens)
    }

    /// Returns the counts, with those of an `earlier` usage where they have none. Both are of the same answer.
    #[must_use]
    pub fn or(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        Self {
            prompt_tokens: self.prompt().unwrap_or(earlier.prompt_tokens),
            completion_tokens: self.completion().unwrap_or(earlier.completion_tokens),
            cached_tokens: self.cached_tokens.or(earlier.cached_tokens),
            reasoning_tokens: self.reasoning_tokens.or(earlier.reasoning_tokens),
        }
    }

    /// Largest token count that a log holds, 68 thousand million. Sums over the records of a run stay below overflow.
    pub const MOST: u64 = 1 << 36;

    /// The first count over [`Usage::MOST`], with its name: a log does not hold it.
    pub fn impossible(&self) -> Option<(&'static str, u64)> {
        let counts = [
            ("prompt_tokens", self.prompt_tokens),
            ("completion_tokens", self.completion_tokens),
            ("cached_tokens", self.cached_tokens.unwrap_or(0)),
            ("reasoning_tokens", self.reasoning_tokens.unwrap_or(0)),
        ];
        counts.into_iter().find(|(_, tokens)| *tokens > Self::MOST)
    }
}
