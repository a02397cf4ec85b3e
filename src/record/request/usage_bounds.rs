//! Which token counts a server can report of one answer, by what it sent.

use super::usage::Usage;

/// The most tokens that a request and its answer can have. A server that reports more counts wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageBounds {
    /// Tokens of the prompt.
    prompt: u64,
    /// Tokens of each choice beside its text.
    without_text: u64,
}

impl UsageBounds {
    /// Tokens of a prompt beside the request's own bytes. They are a chat template, a system prompt that a gateway
    /// adds, images.
    const ADDED: u64 = 1 << 16;
    /// Tokens of a choice beside its text and the length requested. They are those that open and close it, and tags of
    /// tools.
    const CLOSING: u64 = 64;
    /// Most tokens of reasoning beside the length requested. They are for a provider that does not count them in it.
    const REASONING: u64 = 1 << 20;

    /// Returns the bounds of a request with a body of so many bytes. So many tokens are requested.
    ///
    /// A token has at least one byte of text: of the prompt, which is in the body, or of the answer, however many of
    /// them one chunk carries. An answer's tokens without text (markup) obey the length requested, but for
    /// those that the server counts as reasoning.
    pub fn new(body_bytes: u64, requested: u64) -> Self {
        Self { prompt: body_bytes.saturating_add(Self::ADDED), without_text: requested.saturating_add(Self::CLOSING) }
    }

    /// Returns whether an answer can have these counts. It has so many bytes of text in so many choices.
    pub fn allow(self, usage: &Usage, text_bytes: u64, choices: u32) -> bool {
        let without_text = self.without_text.saturating_mul(u64::from(choices.max(1)));
        let answer = text_bytes.saturating_add(without_text).min(Usage::MOST);
        let prompt = self.prompt.min(Usage::MOST);
        let reasoning = usage.reasoning().unwrap_or(0);
        usage.prompt_tokens.max(usage.cached_tokens.unwrap_or(0)) <= prompt
            && usage.completion_tokens.saturating_sub(reasoning.min(Self::REASONING)) <= answer
            && usage.completion_tokens.max(usage.reasoning_tokens.unwrap_or(0)) <= Usage::MOST
    }

    /// Returns whether a count is above the length requested and nothing that came is. There came as many chunks as
    /// tokens were requested, or a text in one piece that is too short.
    pub fn are_exceeded_unseen(self, usage: &Usage, shown: ShownText, choices: u32) -> bool {
        let requested =
            (self.without_text - Self::CLOSING.min(self.without_text)).saturating_mul(u64::from(choices.max(1)));
        let tokens = usage.completion_tokens - usage.reasoning().unwrap_or(0);
        let is_seen = if shown.chunks > u64::from(choices.max(1)) {
            shown.chunks > requested
        } else {
            shown.bytes >= tokens.saturating_mul(3) / 2
        };
        tokens > requested.saturating_add((requested / 4).max(2)) && !is_seen
    }
}

/// The text of one answer that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownText {
    /// Chunks with text.
    pub chunks: u64,
    /// Chunks that came in the same read as the one before.
    pub merged: u64,
    /// Bytes of all of it.
    pub bytes: u64,
    /// Bytes of chunks with reasoning alone.
    pub reasoning_bytes: u64,
}

impl ShownText {
    /// Tokens without text that any answer may have: those that open and close it, tags.
    const MARKUP: u64 = 16;

    /// Returns whether so many `tokens` can be all of them. No read with text brings less than one, and a chunk that a
    /// server sends twice comes with itself.
    pub fn is_counted_by(&self, tokens: u64) -> bool {
        tokens >= self.chunks - self.merged && tokens.saturating_mul(2) >= self.chunks
    }

    /// Returns the counts of `usage` that are believed. One of the answer's tokens that is too small for it is left
    /// out.
    #[must_use]
    pub fn believed(&self, usage: Usage) -> Usage {
        let counts = self.is_counted_by(usage.completion_tokens);
        Usage { completion_tokens: if counts { usage.completion_tokens } else { 0 }, ..usage }
    }

    /// Tokens that `usage` counts and whose text did not come.
    ///
    /// Reasoning has about as many bytes a token as the answer beside it: where its tokens are worth more
    /// than twice its text, only what came is counted as shown. Without any count of reasoning, more tokens
    /// than bytes are not shown either.
    pub fn hidden_of(&self, usage: &Usage) -> u64 {
        let (all, reasoning) = (usage.completion_tokens, usage.reasoning().unwrap_or(0));
        let (answer, answer_bytes) = (all - reasoning, self.bytes.saturating_sub(self.reasoning_bytes));
        let shown = match answer_bytes {
            0 => self.reasoning_bytes,
            bytes => self.reasoning_bytes.saturating_mul(answer.max(1)) / bytes,
        };
        let unseen = if reasoning > shown.saturating_mul(2) { reasoning - shown } else { 0 };
        let seen = (all - unseen).max(self.chunks.min(all));
        if self.chunks == 0 {
            0
        } else if seen > self.bytes + Self::MARKUP {
            all.saturating_sub(self.chunks)
        } else {
            all - seen
        }
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
        // Reasoning beside the length requested is explained; more than any model reasons is not.
        let reasoned = |reasoning| Usage {
            prompt_tokens: 100,
            completion_tokens: 8 + reasoning,
            reasoning_tokens: Some(reasoning),
            ..Usage::default()
        };
        assert!(bounds.allow(&reasoned(400), 32, 1) && !bounds.allow(&reasoned(1 << 21), 32, 1));
        let details = Usage { prompt_tokens: 9, completion_tokens: 9, ..Usage::default() };
        assert!(!bounds.allow(&Usage { cached_tokens: Some(1 << 40), ..details }, 9, 1));
        assert!(!bounds.allow(&Usage { reasoning_tokens: Some(1 << 40), ..details }, 9, 1));
    }

    #[test]
    fn more_than_was_requested_shows_in_the_text() {
        let bounds = UsageBounds::new(400, 8);
        let exceeded = |completion_tokens, chunks, bytes| {
            let shown = ShownText { chunks, bytes, ..ShownText::default() };
            bounds.are_exceeded_unseen(&Usage { completion_tokens, ..Usage::default() }, shown, 1)
        };
        // Twice the tokens; the prompt added; a first chunk that claims 21; a whole answer of 16 bytes.
        assert!(exceeded(16, 8, 16) && exceeded(28, 8, 40) && exceeded(21, 1, 2) && exceeded(16, 0, 16));
        // One or two more are the end of the answer; a server that ignores the limit sends more.
        assert!(!exceeded(10, 8, 40) && !exceeded(40, 40, 160) && !exceeded(40, 0, 160) && !exceeded(8, 3, 40));
        assert!(!UsageBounds::default().are_exceeded_unseen(
            &Usage { completion_tokens: 9_000, ..Usage::default() },
            ShownText::default(),
            1
        ));
    }

    #[test]
    fn tokens_whose_text_did_not_come_are_hidden_and_no_others() {
        let hidden = |completion_tokens, reasoning_tokens, chunks, bytes, reasoning_bytes| {
            let usage = Usage { completion_tokens, reasoning_tokens, ..Usage::default() };
            ShownText { chunks, bytes, reasoning_bytes, merged: 0 }.hidden_of(&usage)
        };
        // Nothing of the reasoning came; a summary of it; all; all, of an answer that was cut in it.
        assert_eq!(hidden(128, Some(100), 28, 28 * 4, 0), 100);
        assert_eq!(hidden(128, Some(100), 38, 38 * 4, 10 * 4), 90);
        assert_eq!(hidden(128, Some(100), 128, 128 * 4, 100 * 4), 0);
        assert_eq!(hidden(100, Some(100), 25, 400, 400), 0);
        // Several tokens a chunk; reasoning that goes on after the answer began.
        assert_eq!(hidden(128, Some(64), 16, 512, 256), 0);
        assert_eq!(hidden(100, Some(50), 100, 400, 40), 0);
        // The server does not say that it reasoned: more tokens than bytes were not sent.
        assert_eq!(hidden(128, None, 28, 56, 0), 100);
        assert_eq!(hidden(40, None, 28, 28, 0), 0);
        assert_eq!(hidden(8, None, 0, 0, 0), 0);
        // More reasoning than tokens is no count.
        assert_eq!(hidden(8, Some(400), 8, 16, 0), 0);
    }

    #[test]
    fn a_count_below_the_chunks_with_text_is_none() {
        let shown = |chunks, merged| ShownText { chunks, merged, ..ShownText::default() };
        assert!(!shown(8, 0).is_counted_by(1) && !shown(8, 7).is_counted_by(1) && !shown(8, 0).is_counted_by(0));
        assert!(shown(8, 0).is_counted_by(8) && !shown(8, 0).is_counted_by(7));
        // Each chunk came twice.
        assert!(shown(16, 8).is_counted_by(8) && !shown(16, 0).is_counted_by(8));
        assert!(shown(0, 0).is_counted_by(0));
        let usage = Usage { prompt_tokens: 20, completion_tokens: 1, ..Usage::default() };
        assert_eq!(shown(8, 0).believed(usage), Usage { prompt_tokens: 20, ..Usage::default() });
    }

    #[test]
    fn a_count_of_nothing_or_above_its_whole_is_none() {
        let usage =
            Usage { prompt_tokens: 20, completion_tokens: 8, cached_tokens: Some(400), reasoning_tokens: Some(9) };
        assert_eq!(
            (usage.prompt(), usage.completion(), usage.cached(), usage.reasoning()),
            (Some(20), Some(8), None, None)
        );
        let partly =
            Usage { prompt_tokens: 0, completion_tokens: 0, cached_tokens: Some(0), reasoning_tokens: Some(0) };
        assert_eq!((partly.prompt(), partly.completion(), partly.cached()), (None, None, None));
        assert_eq!(Usage { prompt_tokens: 20, ..partly }.cached(), Some(0));
        let merged = Usage { cached_tokens: None, ..partly }.or(Some(usage));
        assert_eq!(merged, Usage { reasoning_tokens: Some(0), ..usage });
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
