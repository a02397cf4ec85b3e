//! The words that begin a prompt, different for every prompt.

use super::draft::Draft;
use super::vocabulary::{PromptVocabulary, TextPiece};
use crate::random::RandomStream;

/// A lead distinguishes at least this many requests, if the vocabulary allows.
const ENOUGH_LEADS: u64 = 1 << 36;
/// Most words of a lead.
const LONGEST: usize = 8;

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
        let mut digits = vec![shuffled(first, &mut stream)];
        let mut leads = first.len().max(1) as u64;
        while leads < ENOUGH_LEADS && digits.len() < LONGEST && !vocabulary.words.is_empty() {
            digits.push(shuffled(&vocabulary.words, &mut stream));
            leads = leads.saturating_mul(vocabulary.words.len() as u64);
        }
        Self { digits, offset: stream.below(leads) }
    }

    /// Begins `draft` with the lead of request `index`, as far as it fits.
    pub(super) fn write(&self, index: u64, draft: &mut Draft) {
        let mut number = self.offset.wrapping_add(index);
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

/// The pieces in random order (Fisher and Yates).
fn shuffled(pieces: &[TextPiece], stream: &mut RandomStream) -> Vec<TextPiece> {
    let mut pieces = pieces.to_vec();
    for last in (1..pieces.len()).rev() {
        pieces.swap(last, stream.below(last as u64 + 1) as usize);
    }
    pieces
}
