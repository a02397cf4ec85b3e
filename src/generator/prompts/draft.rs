//! A prompt in the making: the words that begin it, different for every prompt, and text that grows piece by piece to
//! its token count.

use std::slice;

use super::vocabulary::{PromptVocabulary, TextPiece};
use crate::generator::traces::requests::Blocks;
use crate::random::RandomStream;
use crate::record::Turn;

/// Tokens that must be left for a new paragraph to begin.
const ROOM_FOR_PARAGRAPH: u32 = 8;
/// A lead distinguishes at least this many requests, if the vocabulary allows.
const ENOUGH_LEADS: u64 = 1 << 36;
/// Most words of a lead.
const LONGEST: usize = 8;
/// Distance of the leads of a session's requests. Several may follow the same text. The first word tells them apart, so
/// that no cache finds more than was said before.
const OF_A_SESSION: u64 = 97;

/// Text, and the tokens it may still take.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    text: String,
    left: u32,
}

impl Draft {
    /// An empty draft for `tokens` tokens.
    pub(super) fn new(tokens: u32) -> Self {
        Self { text: String::with_capacity(tokens as usize * 6), left: tokens }
    }

    /// Adds a piece if it fits, and says whether it did.
    pub(super) fn push(&mut self, piece: &TextPiece) -> bool {
        let fits = piece.tokens <= self.left;
        if fits {
            self.text.push_str(&piece.text);
            self.left -= piece.tokens;
        }
        fits
    }

    /// Adds pieces up to the first that does not fit.
    pub(super) fn push_all(&mut self, pieces: &[TextPiece]) {
        for piece in pieces {
            if !self.push(piece) {
                return;
            }
        }
    }

    /// Fills up with sentences and paragraphs of random words, leaving `reserved` tokens.
    pub(super) fn fill(&mut self, vocabulary: &PromptVocabulary, reserved: u32, stream: &mut RandomStream) {
        let reserved = reserved.min(self.left);
        self.left -= reserved;
        let mut sentence = if self.text.ends_with(char::is_alphanumeric) {
            Sentence::Open { words: words_of_sentence(stream) }
        } else {
            Sentence::Closed
        };
        let mut sentences_left = sentences_of_paragraph(stream);
        while self.left > 0 {
            // The reserved text begins by closing a sentence, so one must be open.
            let may_stop = reserved == 0 || self.left > vocabulary.stop.tokens;
            let at_the_end = reserved == 0 && self.left == vocabulary.stop.tokens;
            let (pieces, next) = match sentence {
                Sentence::Closed => (&*vocabulary.openers, Sentence::Open { words: words_of_sentence(stream) }),
                Sentence::Open { words: 0 } if sentences_left == 0 && self.left > ROOM_FOR_PARAGRAPH => {
                    sentences_left = sentences_of_paragraph(stream);
                    (&*vocabulary.turns, Sentence::Open { words: words_of_sentence(stream) })
                }
                Sentence::Open { words } if at_the_end || (words == 0 && may_stop) => {
                    sentences_left = sentences_left.saturating_sub(1);
                    (slice::from_ref(&vocabulary.stop), Sentence::Closed)
                }
                Sentence::Open { words } => (&*vocabulary.words, Sentence::Open { words: words.saturating_sub(1) }),
            };
            if self.push_any(pieces, stream) {
                sentence = next;
            } else if !self.push_any(&vocabulary.words, stream) {
                break;
            }
        }
        self.left += reserved;
    }

    /// Adds random words worth `tokens` tokens, as far as they fit. The first word of a draft is one that can begin a
    /// prompt.
    pub(super) fn words(&mut self, vocabulary: &PromptVocabulary, tokens: u32, stream: &mut RandomStream) {
        let room = self.left.min(tokens);
        self.left -= room;
        let reserved = std::mem::replace(&mut self.left, room);
        if self.text.is_empty() {
            self.push_any(&vocabulary.starts, stream);
        }
        while self.left > 0 && self.push_any(&vocabulary.words, stream) {}
        self.left += reserved;
    }

    /// Begins with the blocks, as far as they fit. The words of each come from the branch of `stream` with its id.
    ///
    /// A block consists of words only, so that it reads the same anywhere and its tokens are those of its words. The
    /// first block of a prompt begins with a capital like every prompt; in a trace an id also stands for everything
    /// before its block, so the same id always has the same position.
    pub(super) fn blocks(&mut self, blocks: &Blocks, vocabulary: &PromptVocabulary, stream: &RandomStream) {
        for id in &blocks.ids {
            self.words(vocabulary, blocks.tokens, &mut stream.branch(*id));
            if self.left == 0 {
                return;
            }
        }
    }

    /// Adds a random piece among those that fit, and returns whether any did. The cheapest pieces are listed first.
    fn push_any(&mut self, pieces: &[TextPiece], stream: &mut RandomStream) -> bool {
        let dearest_fits = pieces.last().is_some_and(|piece| piece.tokens <= self.left);
        let fitting =
            if dearest_fits { pieces.len() } else { pieces.partition_point(|piece| piece.tokens <= self.left) };
        pieces.get(stream.below(fitting as u64) as usize).is_some_and(|piece| self.push(piece))
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn left(&self) -> u32 {
        self.left
    }
}

/// Position in a sentence.
#[derive(Clone, Copy)]
enum Sentence {
    /// Inside a sentence, this many words before its end.
    Open { words: u64 },
    /// After a full stop.
    Closed,
}

/// Words after a sentence's first.
fn words_of_sentence(stream: &mut RandomStream) -> u64 {
    6 + stream.below(10)
}

/// Sentences of a paragraph before its last.
fn sentences_of_paragraph(stream: &mut RandomStream) -> u64 {
    3 + stream.below(4)
}

/// Gives every index its own lead.
///
/// The words are the digits of a number: the request's index plus a salted offset, lowest digit first, so that
/// consecutive requests differ in their first word. The salt also shuffles the words. Two requests of a run never
/// share a lead; two runs of a million requests share one with a probability of 3 in 100,000.
#[derive(Clone, Debug)]
pub(super) struct Leads {
    /// The words for each digit.
    digits: Vec<Vec<TextPiece>>,
    offset: u64,
}

impl Leads {
    /// Leads at the start of prompts.
    pub(super) fn opening(vocabulary: &PromptVocabulary, salt: u64) -> Self {
        Self::new(&vocabulary.starts, vocabulary, RandomStream::named(salt, "leads"))
    }

    /// Leads that follow a shared text.
    pub(super) fn following(vocabulary: &PromptVocabulary, salt: u64) -> Self {
        Self::new(&vocabulary.words, vocabulary, RandomStream::named(salt, "following leads"))
    }

    fn new(first: &[TextPiece], vocabulary: &PromptVocabulary, mut stream: RandomStream) -> Self {
        let mut shuffled = |pieces: &[TextPiece]| {
            let mut pieces = pieces.to_vec();
            stream.shuffle(&mut pieces);
            pieces
        };
        let mut digits = vec![shuffled(first)];
        let mut leads = first.len().max(1) as u64;
        while leads < ENOUGH_LEADS && digits.len() < LONGEST && !vocabulary.words.is_empty() {
            digits.push(shuffled(&vocabulary.words));
            leads = leads.saturating_mul(vocabulary.words.len() as u64);
        }
        Self { digits, offset: stream.below(leads) }
    }

    /// Begins `draft` with the lead of request `index`, as far as it fits.
    pub(super) fn write(&self, index: u64, draft: &mut Draft) {
        let apart = Turn::number_of(index).wrapping_mul(OF_A_SESSION);
        let mut number = self.offset.wrapping_add(index).wrapping_add(apart);
        for words in &self.digits {
            let base = words.len().max(1) as u64;
            let place = (number % base) as usize;
            number /= base;
            // In a very short prompt the next word that fits replaces one that does not.
            let mut from_place = words.iter().cycle().skip(place).take(words.len());
            if !from_place.any(|word| draft.push(word)) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tokens::costs::TokenCosts;

    fn text(salt: u64, ids: &[u64], tokens: u32, block: u32) -> String {
        let vocabulary = PromptVocabulary::new(&TokenCosts::Estimated);
        let mut draft = Draft::new(tokens);
        let blocks = Blocks { ids: ids.into(), tokens: block };
        draft.blocks(&blocks, &vocabulary, &RandomStream::named(salt, "shared blocks"));
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
    fn requests_of_a_session_begin_with_different_words() {
        let leads = Leads::following(&PromptVocabulary::new(&TokenCosts::Estimated), 3);
        let first = |place: u32| {
            let mut draft = Draft::new(40);
            leads.write(Turn::index_of(7, place), &mut draft);
            draft.finish().split_whitespace().next().unwrap().to_owned()
        };
        let words: std::collections::HashSet<String> = (0..20).map(first).collect();
        assert_eq!(words.len(), 20, "{words:?}");
    }

    #[test]
    fn the_last_block_ends_where_the_prompt_does() {
        let (cut, whole) = (text(1, &[7, 8], 20, 16), text(1, &[7, 8], 32, 16));
        assert_eq!(cut.split(' ').count(), 20);
        assert!(whole.starts_with(&cut));
    }
}
