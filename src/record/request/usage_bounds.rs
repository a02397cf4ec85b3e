//! Which token counts a server can report of one answer.

use super::record::Usage;

/// The most tokens that a request and its answer can have. A server that reports more counts wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageBounds {
    /// Tokens of the prompt.
    prompt: u64,
    /// Tokens of each choice beside its text.
    without_text: u64,
}

impl UsageBounds {
    /// Tokens of a prompt beside the request's own bytes: a chat template, a system prompt that a gateway adds, images.
    const ADDED: u64 = 1 << 16;
    /// Tokens of a choice beside its text and the length requested: those that open and close it, tags of tools.
    const CLOSING: u64 = 64;

    /// The bounds of a request with a body of so many bytes, for so many tokens.
    ///
    /// A token has at least one byte of text: of the prompt, which is in the body, or of the answer, however many of
    /// them one chunk carries. An answer's tokens without text (hidden reasoning, markup) obey the length requested.
    pub fn new(body_bytes: u64, requested: u64) -> Self {
        Self {
            prompt: body_bytes.saturating_add(Self::ADDED),
            without_text: requested.saturating_add(Self::CLOSING),
        }
    }

    /// Whether an answer with so many bytes of text in so many choices can have these counts.
    pub fn allow(self, usage: &Usage, text_bytes: u64, choices: u32) -> bool {
        let without_text = self.without_text.saturating_mul(u64::from(choices.max(1)));
        let answer = text_bytes.saturating_add(without_text).min(Usage::MOST);
        let prompt = self.prompt.min(Usage::MOST);
        usage.prompt_tokens.max(usage.cached_tokens.unwrap_or(0)) <= prompt
            && usage.completion_tokens.max(usage.reasoning_tokens.unwrap_or(0)) <= answer
    }
}

impl Default for UsageBounds {
    /// Where nothing is known of the request.
    fn default() -> Self {
        Self { prompt: Usage::MOST, without_text: Usage::MOST }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_can_have_is_allowed_and_more_is_not() {
        let bounds = UsageBounds::new(400, 8);
        let allows = |prompt_tokens, completion_tokens, text_bytes, choices| {
            let usage = Usage { prompt_tokens, completion_tokens, ..Usage::default() };
            bounds.allow(&usage, text_bytes, choices)
        };
        for (prompt, answer, text, choices) in [
            (100, 8, 32, 1),
            // Hidden reasoning of the whole length; several choices of it.
            (100, 8, 0, 1),
            (100, 32, 0, 4),
            // Speculative decoding: many tokens in a chunk, each with its byte.
            (100, 4_000, 4_000, 1),
            // A gateway's own system prompt.
            (40_000, 8, 32, 1),
        ] {
            assert!(allows(prompt, answer, text, choices), "{prompt} {answer} {text} {choices}");
        }
        for (prompt, answer, text, choices) in
            [(100, 1 << 32, 32, 1), (100, 200, 32, 1), (100, u64::MAX, u64::MAX, 128), (66_000, 8, 32, 1)]
        {
            assert!(!allows(prompt, answer, text, choices), "{prompt} {answer} {text} {choices}");
        }
        let details = Usage { prompt_tokens: 9, completion_tokens: 9, ..Usage::default() };
        assert!(!bounds.allow(&Usage { cached_tokens: Some(1 << 40), ..details }, 9, 1));
        assert!(!bounds.allow(&Usage { reasoning_tokens: Some(1 << 40), ..details }, 9, 1));
    }

    #[test]
    fn no_bound_is_above_what_the_log_may_hold() {
        for bounds in [UsageBounds::default(), UsageBounds::new(u64::MAX, u64::MAX)] {
            let of = |tokens| Usage { prompt_tokens: tokens, completion_tokens: tokens, ..Usage::default() };
            assert!(bounds.allow(&of(Usage::MOST), 0, 1));
            assert!(!bounds.allow(&of(Usage::MOST + 1), u64::MAX, 128));
        }
    }
}
