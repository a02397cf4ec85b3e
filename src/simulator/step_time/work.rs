//! What one forward pass has to do.

/// The work of a forward pass: the sums over its sequences that every step-time model uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Sequences in the batch.
    pub sequences: u32,
    /// Tokens computed, prompts' and answers' together.
    pub new_tokens: u64,
    /// Of them, prompt tokens (and tokens recomputed after a preemption).
    pub prefill_tokens: u64,
    /// Pairs of a new token and a token that it attends to, itself included.
    pub attended_pairs: u64,
    /// Tokens whose KV is read: each sequence's context, once.
    pub kv_tokens_read: u64,
    /// Draft tokens proposed per decoding sequence.
    pub draft_tokens: u32,
}

impl StepWork {
    /// Adds a sequence that computes `new` tokens on top of `computed` ones.
    pub fn add(&mut self, computed: u32, new: u32) {
        let (computed, new) = (u64::from(computed), u64::from(new));
        self.sequences += 1;
        self.new_tokens += new;
        self.attended_pairs += new * computed + new * (new + 1) / 2;
        self.kv_tokens_read += computed + new;
    }

    /// The work of one decode step of `sequences` sequences with `context` tokens each.
    pub fn decode(sequences: u32, context: u32) -> Self {
        let tokens = u64::from(sequences) * u64::from(context.max(1));
        Self {
            sequences,
            new_tokens: u64::from(sequences),
            attended_pairs: tokens,
            kv_tokens_read: tokens,
            ..Self::default()
        }
    }
}
