//! The beginning of a request's prompt as a simulated prefix cache knows it.

use crate::generator::{Blocks, PlannedRequest};
use crate::record::Turn;
use crate::simulator::{BLOCK_SIZE, PrefixHashes};

/// The prefix that the prompt of `request`, which begins with `blocks`, shares with others. The rest is unique,
/// like the salted prompts of a run against a server, so that no prefix cache is warm by accident. Each model
/// has a cache of its own. A turn of a `conversation` shares its whole text, its answer too, with the turns
/// that follow.
pub(super) fn leading(request: &PlannedRequest, blocks: &Blocks, conversation: Option<Turn>) -> PrefixHashes {
    let begins = beginning(request, blocks);
    match conversation {
        Some(turn) => {
            let whole_blocks = request.input_tokens.saturating_add(request.output_tokens) / BLOCK_SIZE;
            begins.continued(whole_blocks, Turn::index_of(turn.session, turn.begun))
        }
        None => begins,
    }
}

/// What requests of other conversations may begin with too.
fn beginning(request: &PlannedRequest, blocks: &Blocks) -> PrefixHashes {
    let model = u64::from(request.model.unwrap_or(0));
    if let Some(prefix) = request.prefix {
        let class = u64::from(request.class);
        return PrefixHashes::of_group(
            model << 48 | class << 32 | u64::from(prefix.number),
            prefix.tokens / BLOCK_SIZE,
        );
    }
    let tokens = (blocks.ids.len() as u64).saturating_mul(u64::from(blocks.tokens));
    let whole = tokens.min(u64::from(request.input_tokens)) / u64::from(BLOCK_SIZE);
    PrefixHashes::of_blocks((0..whole).map(|place| model << 48 ^ content(blocks, place)))
}

/// The content of one cache block: the ids of the trace's blocks that overlap it. The offset in them is not needed,
/// because its hash covers everything before it.
fn content(blocks: &Blocks, place: u64) -> u64 {
    let (size, own) = (u64::from(BLOCK_SIZE), u64::from(blocks.tokens.max(1)));
    let (first, last) = (place * size / own, (place * size + size - 1) / own);
    let ids = blocks.ids.iter().skip(first as usize).take((last - first + 1) as usize);
    ids.fold(0, |all, id| all.rotate_left(7).wrapping_mul(31) ^ id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64], tokens: u32, input_tokens: u32, model: u16) -> PrefixHashes {
        let request = PlannedRequest { input_tokens, model: Some(model), ..PlannedRequest::default() };
        leading(&request, &Blocks { ids: ids.into(), tokens }, None)
    }

    /// Leading hashes that two prompts have in common.
    fn common(one: &PrefixHashes, other: &PrefixHashes) -> usize {
        one.hashes().iter().zip(other.hashes()).take_while(|(one, other)| one == other).count()
    }

    #[test]
    fn prompts_share_the_blocks_that_the_trace_says() {
        // Two of Mooncake's blocks are 64 of the cache's; the third differs.
        let (one, other) = (of(&[1, 2, 3], 512, 1_300, 0), of(&[1, 2, 4], 512, 1_536, 0));
        assert_eq!((one.hashes().len(), other.hashes().len(), common(&one, &other)), (81, 96, 64));
        assert_eq!(common(&of(&[1, 2], 16, 32, 0), &of(&[1, 3], 16, 40, 0)), 1);
        // Blocks of 24 tokens: 48 tokens alike are three whole blocks of the cache; of 8 tokens, four of six.
        assert_eq!(common(&of(&[1, 2, 3], 24, 72, 0), &of(&[1, 2, 4], 24, 72, 0)), 3);
        assert_eq!(common(&of(&[1, 2, 3, 4, 5, 6], 8, 48, 0), &of(&[1, 2, 3, 4, 9, 6], 8, 48, 0)), 2);
        assert_eq!(common(&of(&[1], 512, 512, 0), &of(&[1], 512, 512, 1)), 0, "another model, another cache");
        assert!(of(&[], 512, 900, 0).hashes().is_empty() && of(&[], 0, 900, 0).hashes().is_empty());
    }
}
