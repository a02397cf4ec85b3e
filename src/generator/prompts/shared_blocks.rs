//! The blocks that prompts of a trace share: texts that depend only on their ids.

use super::draft::Draft;
use super::vocabulary::PromptVocabulary;
use crate::generator::traces::blocks::Blocks;
use crate::random::RandomStream;

/// Writes the blocks of prompts.
///
/// A block consists of words only, so that it reads the same anywhere and its tokens are those of its words. The
/// first block of a prompt begins with a capital like every prompt; in a trace an id also stands for everything
/// before its block, so the same id always has the same position.
#[derive(Clone, Debug)]
pub(super) struct SharedBlocks {
    stream: RandomStream,
}

impl SharedBlocks {
    pub(super) fn new(salt: u64) -> Self {
        Self { stream: RandomStream::named(salt, "shared blocks") }
    }

    /// Begins `draft` with the blocks, as far as they fit.
    pub(super) fn write(&self, blocks: &Blocks, vocabulary: &PromptVocabulary, draft: &mut Draft) {
        for (place, id) in blocks.ids.iter().enumerate() {
            let mut stream = self.stream.branch(*id);
            let mut tokens = blocks.tokens;
            if place == 0 {
                tokens -= draft.start(vocabulary, tokens, &mut stream);
            }
            draft.words(vocabulary, tokens, &mut stream);
            if draft.left() == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::prompts::costs::TokenCosts;

    fn text(salt: u64, ids: &[u64], tokens: u32, block: u32) -> String {
        let vocabulary = PromptVocabulary::new(&TokenCosts::Estimated);
        let mut draft = Draft::new(tokens);
        let blocks = Blocks { ids: ids.into(), tokens: block };
        SharedBlocks::new(salt).write(&blocks, &vocabulary, &mut draft);
        draft.finish()
    }

    #[test]
    fn equal_ids_are_equal_texts_and_others_are_not() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (one, other) = (words(&text(1, &[7, 8, 9], 48, 16)), words(&text(1, &[7, 8, 10], 48, 16)));
        assert_eq!((one.len(), other.len()), (48, 48));
        assert_eq!(one[..32], other[..32], "two blocks are the same");
        assert_ne!(one[32..], other[32..], "the third is not");
        assert_ne!(text(2, &[7], 16, 16), text(1, &[7], 16, 16), "another salt, another text");
    }

    #[test]
    fn the_last_block_ends_where_the_prompt_does() {
        let (cut, whole) = (text(1, &[7, 8], 20, 16), text(1, &[7, 8], 32, 16));
        assert_eq!(cut.split(' ').count(), 20);
        assert!(whole.starts_with(&cut));
    }
}
