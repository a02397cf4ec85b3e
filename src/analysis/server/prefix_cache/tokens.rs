//! Tokens of prompts, as a server counts them and as its cache finds them.

use crate::record::{Failure, FailureKind, Outcome, RecordRef, RequestRecord, RunLog, Turn};

/// Tokens of the blocks that servers find again where nobody tells. They run from one token to the longest in use.
pub(super) const USUAL_BLOCKS: (u64, u64) = (1, 64);

/// Whether the server took its prompt in.
pub(super) fn was_looked_up(record: &RequestRecord) -> bool {
    let refused = |failure: &Failure| matches!(failure.reason, FailureKind::HttpStatus(_));
    record.sent.is_some() && !matches!(&record.outcome, Outcome::Failed(failure) if refused(failure))
}

/// Tokens of a prompt in those of the server. It counts fewer than were asked for where texts were estimated.
pub(super) fn as_counted(record: &RequestRecord, tokens: u64) -> u64 {
    let asked = u64::from(record.input_tokens_asked);
    let fewer = record.counted_prompt().filter(|counted| *counted < asked);
    fewer.map_or(tokens, |counted| tokens * counted / asked)
}

/// Tokens of a history that have no keys and values. The last of an answer has none, and all of a prompt have some.
pub(super) fn without_keys(turn: &Turn) -> u64 {
    u64::from(turn.carried().is_some())
}

/// Tokens said before a turn whose keys and values are there, in whole blocks.
pub(in crate::analysis) fn history(record: &RequestRecord, turn: &Turn, block: u64) -> u64 {
    whole(as_counted(record, u64::from(turn.history_tokens).saturating_sub(without_keys(turn))), block)
}

/// Tokens in whole blocks.
pub(super) fn whole(tokens: u64, block: u64) -> u64 {
    tokens - tokens % block
}

/// Tokens that the server counted of this prompt, or else is likely to.
pub(super) fn prompt_tokens(record: &RequestRecord, template: u64) -> u64 {
    let asked = u64::from(record.input_tokens_asked) + template;
    record.counted_prompt().unwrap_or(asked)
}

/// Tokens that a server adds to a prompt: the least that any answer reported.
pub(super) fn template_tokens<'r>(records: impl Iterator<Item = RecordRef<'r>>) -> u64 {
    let added = |record: RecordRef<'_>| {
        let counted = record.counted_prompt()?;
        Some(counted.saturating_sub(u64::from(record.input_tokens_asked)))
    };
    records.filter_map(added).min().unwrap_or(0)
}

/// Returns the tokens of a block of the prefix caches. Of several servers it is the smallest.
pub(in crate::analysis) fn block_tokens(log: &RunLog) -> Option<u32> {
    log.header.engines.iter().filter_map(|engine| engine.cache_block_tokens).filter(|&tokens| tokens > 0).min()
}
