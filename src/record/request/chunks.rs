//! Stores the arrival of every chunk of an answer compactly.

mod stored;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// A chunk of an answer with text: when its bytes arrived, and its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenChunk {
    /// Moment when the read that completed the chunk returned.
    pub at: Timestamp,
    /// Its tokens; 0 when its text is no whole token.
    pub tokens: u32,
    /// The choice whose text it carries, where an answer has several (`n`).
    pub choice: u8,
}

/// The silence before a chunk, in its own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkGap {
    /// Since the chunk before.
    pub since_chunk: Duration,
    /// Since the last chunk with a whole token, or the first of all.
    pub since_token: Duration,
}

/// Stamps of chunks that may be late. The kernel stamps a read of several packets with the time of the last, and a
/// client that is starved of CPU reads many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateStamps {
    /// How many there are.
    pub count: u32,
    /// Time by which the latest may be late.
    pub longest_ns: u64,
    /// Time by which that of the first chunk may be late.
    pub first_ns: u64,
}

impl LateStamps {
    /// Adds the stamp of the latest of so many `chunks`. It may have come so much earlier.
    pub fn add(&mut self, chunks: usize, late_by: Duration) {
        let late_ns = late_by.as_nanos() as u64;
        self.count += 1;
        self.longest_ns = self.longest_ns.max(late_ns);
        if chunks == 1 {
            self.first_ns = late_ns;
        }
    }
}

/// The chunks of one answer in order of arrival, delta-coded: about five bytes a chunk.
///
/// Each chunk is two LEB128 varints (DWARF 5, section 7.6): nanoseconds since the chunk before it (for the
/// first: since the run began), then its tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkTrain {
    bytes: ChunkBytes,
    len: u32,
    last: Timestamp,
    /// The choice of each chunk; absent where all are of the first. Few have it: boxed.
    #[allow(clippy::box_collection, reason = "a list inline would take three times the place in each of millions")]
    choices: Option<Box<Vec<u8>>>,
}

/// Bytes of a train.
#[derive(Clone, Debug)]
enum ChunkBytes {
    Own(Vec<u8>),
    OfPage(Box<PageBytes>),
}

/// The bytes of a train among those of its page. They are fetched once somebody asks for more than its ends.
#[derive(Clone, Debug)]
struct PageBytes {
    all: Arc<LazyLock<Vec<u8>, FetchBytes>>,
    own: Range<usize>,
    first: TokenChunk,
}

type FetchBytes = Box<dyn FnOnce() -> Vec<u8> + Send>;

impl Default for ChunkBytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl PartialEq for ChunkBytes {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl ChunkBytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::OfPage(page) => &page.all[page.own.clone()],
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match std::mem::take(self) {
            Self::Own(bytes) => bytes,
            of_page @ Self::OfPage(_) => of_page.get().to_vec(),
        }
    }
}

impl ChunkTrain {
    /// Adds a chunk. Chunks come in order of arrival; an earlier stamp counts as the last one.
    pub fn push(&mut self, chunk: TokenChunk) {
        let gap = chunk.at.as_nanos().saturating_sub(self.last.as_nanos());
        let mut bytes = self.bytes.take();
        write_varint(&mut bytes, gap);
        write_varint(&mut bytes, u64::from(chunk.tokens));
        self.bytes = ChunkBytes::Own(bytes);
        if chunk.choice > 0 || self.choices.is_some() {
            let place = self.len();
            let choices = self.choices.get_or_insert_default();
            choices.resize(place, 0);
            choices.push(chunk.choice);
        }
        self.last = Timestamp::from_nanos(self.last.as_nanos() + gap);
        self.len += 1;
    }

    /// Takes the last chunk away.
    pub fn pop(&mut self) -> Option<TokenChunk> {
        let popped = self.iter().last();
        *self = self.iter().take(self.len().saturating_sub(1)).collect();
        popped
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether no chunk came.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Arrival of the first chunk.
    pub fn first_at(&self) -> Option<Timestamp> {
        self.first().map(|chunk| chunk.at)
    }

    fn first(&self) -> Option<TokenChunk> {
        match &self.bytes {
            ChunkBytes::OfPage(page) => Some(page.first).filter(|_| self.len > 0),
            ChunkBytes::Own(_) => self.iter().next(),
        }
    }

    /// Arrival of the last chunk.
    pub fn last_at(&self) -> Option<Timestamp> {
        (self.len > 0).then_some(self.last)
    }

    /// Sum of the chunks' tokens.
    pub fn tokens(&self) -> u64 {
        self.iter().map(|chunk| u64::from(chunk.tokens)).sum()
    }

    /// The chunks in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = TokenChunk> + '_ {
        let mut rest = self.bytes.get();
        let mut choices = self.choices.iter().flat_map(|choices| choices.iter());
        let mut at = 0;
        std::iter::from_fn(move || {
            at += read_varint(&mut rest)?;
            let tokens = read_varint(&mut rest)? as u32;
            let choice = choices.next().copied().unwrap_or(0);
            Some(TokenChunk { at: Timestamp::from_nanos(at), tokens, choice })
        })
    }

    /// Returns the chunks, each with the silence before it in its choice. The first of a choice has none.
    pub fn gaps(&self) -> impl Iterator<Item = (TokenChunk, Option<ChunkGap>)> + '_ {
        let (mut first, mut others) = (None, BTreeMap::new());
        self.iter().map(move |chunk| {
            let last: &mut Option<[Timestamp; 2]> =
                if chunk.choice == 0 { &mut first } else { others.entry(chunk.choice).or_default() };
            let gap = last.map(|[before, token]| ChunkGap {
                since_chunk: chunk.at.since(before),
                since_token: chunk.at.since(token),
            });
            let token = last.filter(|_| chunk.tokens == 0).map_or(chunk.at, |[_, token]| token);
            *last = Some([chunk.at, token]);
            (chunk, gap)
        })
    }

    /// The first chunk of each choice.
    pub fn firsts(&self) -> impl Iterator<Item = TokenChunk> + '_ {
        let several = self.choices.iter().flat_map(|_| self.gaps()).filter(|(_, gap)| gap.is_none());
        several.map(|(chunk, _)| chunk).chain(self.first().filter(|_| self.choices.is_none()))
    }

    /// Time from the first chunk of each choice to its last, together.
    pub fn decode_time(&self) -> Option<Duration> {
        if self.choices.is_none() {
            return Some(self.last_at()?.since(self.first_at()?));
        }
        Some(self.gaps().filter_map(|(_, gap)| Some(gap?.since_chunk)).sum())
    }

    /// Bytes that it takes beside itself.
    pub(super) fn bytes(&self) -> usize {
        let bytes = match &self.bytes {
            ChunkBytes::Own(bytes) => bytes.capacity(),
            ChunkBytes::OfPage(page) => page.own.len(),
        };
        bytes + self.choices.as_deref().map_or(0, |all| size_of_val(all) + all.capacity())
    }

    /// Appends the ends of the train to `ends`, and its bytes to `bytes`.
    pub(super) fn pack(&self, ends: &mut Vec<u8>, bytes: &mut Vec<u8>) {
        let own = self.bytes.get();
        let choices = self.choices.as_deref().map_or(&[][..], Vec::as_slice);
        let (first, tokens) = self.first().map_or((0, 0), |first| (first.at.as_nanos(), first.tokens.into()));
        let lengths = [self.len.into(), own.len() as u64, choices.len() as u64];
        for number in lengths.into_iter().chain([first, tokens, self.last.as_nanos()]) {
            write_varint(ends, number);
        }
        ends.extend_from_slice(choices);
        bytes.extend_from_slice(own);
    }

    /// Reads trains one after the other from the ends that `pack` has written. `fetch` gets the bytes of all.
    pub(super) fn unpacker(fetch: impl FnOnce() -> Vec<u8> + Send + 'static) -> impl FnMut(&mut &[u8]) -> Option<Self> {
        let all = Arc::new(LazyLock::new(Box::new(fetch) as FetchBytes));
        let mut from = 0;
        move |ends| {
            let mut number = || read_varint(ends);
            let [len, length, choices] = [number()?, number()?, number()?];
            let [first, tokens, last] = [number()?, number()?, number()?];
            let (choices, rest) = ends.split_at_checked(choices as usize)?;
            *ends = rest;
            let at = Timestamp::from_nanos(first);
            let first = TokenChunk { at, tokens: tokens as u32, choice: choices.first().copied().unwrap_or(0) };
            let own = from..from + length as usize;
            from = own.end;
            let bytes = ChunkBytes::OfPage(Box::new(PageBytes { all: Arc::clone(&all), own, first }));
            let last = Timestamp::from_nanos(last);
            let choices = (!choices.is_empty()).then(|| Box::new(choices.to_vec()));
            Some(Self { bytes, len: len as u32, last, choices })
        }
    }

    /// Frees reserved memory, and that of a page.
    pub fn shrink_to_fit(&mut self) {
        let mut bytes = self.bytes.take();
        bytes.shrink_to_fit();
        self.bytes = ChunkBytes::Own(bytes);
        self.choices.iter_mut().for_each(|choices| choices.shrink_to_fit());
    }
}

impl FromIterator<TokenChunk> for ChunkTrain {
    fn from_iter<I: IntoIterator<Item = TokenChunk>>(chunks: I) -> Self {
        let mut train = Self::default();
        for chunk in chunks {
            train.push(chunk);
        }
        train
    }
}

pub(super) fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

pub(super) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn train(chunks: &[(u64, u32)]) -> ChunkTrain {
        let chunk = |&(at, tokens)| TokenChunk { at: Timestamp::from_nanos(at), tokens, choice: 0 };
        chunks.iter().map(chunk).collect()
    }

    /// The train as it comes out of a page, behind another one's bytes.
    fn repacked(train: &ChunkTrain) -> Option<ChunkTrain> {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        train.pack(&mut ends, &mut bytes);
        train.pack(&mut Vec::new(), &mut bytes);
        let mut unpacker = ChunkTrain::unpacker(|| bytes);
        unpacker(&mut &ends[..])?;
        unpacker(&mut &ends[..])
    }

    #[test]
    fn the_ends_of_a_packed_train_are_known_without_its_bytes() {
        let mut ends = Vec::new();
        train(&[(100, 2), (130, 1)]).pack(&mut ends, &mut Vec::new());
        let train = ChunkTrain::unpacker(|| panic!("nobody asks for them"))(&mut &ends[..]).unwrap();
        let at = Timestamp::from_nanos;
        assert_eq!((train.first_at(), train.last_at(), train.len()), (Some(at(100)), Some(at(130)), 2));
        assert_eq!(train.firsts().collect::<Vec<_>>(), [TokenChunk { at: at(100), tokens: 2, choice: 0 }]);
        assert_eq!(train.decode_time(), Some(Duration::from_nanos(30)));
    }

    #[test]
    fn each_choice_has_gaps_of_its_own() {
        let chunk = |(at, choice)| TokenChunk { at: Timestamp::from_nanos(at), tokens: 1, choice };
        let mut train: ChunkTrain = [(100, 0), (101, 2), (120, 0), (121, 2), (140, 0)].map(chunk).into_iter().collect();
        let gaps: Vec<_> = train.gaps().map(|(_, gap)| gap.map(|gap| gap.since_chunk.as_nanos())).collect();
        assert_eq!(gaps, [None, None, Some(20), Some(20), Some(20)]);
        assert_eq!((train.firsts().count(), train.decode_time()), (2, Some(Duration::from_nanos(60))));
        let json = serde_json::to_string(&train).unwrap();
        assert_eq!(json, r#"{"gaps_ns":[100,1,19,1,19],"choices":[0,2,0,2,0]}"#);
        assert_eq!(repacked(&train), Some(train.clone()));
        assert_eq!(serde_json::from_str::<ChunkTrain>(&json).unwrap(), train);
        assert_eq!((train.pop(), train.len()), (Some(chunk((140, 0))), 4));
        let first = serde_json::from_str::<ChunkTrain>(r#"{"gaps_ns":[100,30]}"#).unwrap();
        assert_eq!((first.firsts().count(), first.decode_time()), (1, Some(Duration::from_nanos(30))));
    }

    #[test]
    fn a_paced_stream_costs_five_bytes_a_token() {
        let chunks: Vec<_> = (1..=1000).map(|i| (i * 20_000_000, 1)).collect();
        let bytes = train(&chunks).bytes;
        assert!(bytes.get().len() <= 5 * 1000, "{bytes:?}");
    }

    #[test]
    fn single_token_chunks_are_stored_as_gaps_alone() {
        let json = serde_json::to_string(&train(&[(100, 1), (130, 1)])).unwrap();
        assert_eq!(json, r#"{"gaps_ns":[100,30]}"#);
        let json = serde_json::to_string(&train(&[(100, 2), (130, 1)])).unwrap();
        assert_eq!(json, r#"{"gaps_ns":[100,30],"tokens":[2,1]}"#);
    }

    #[test]
    fn mismatched_counts_are_refused() {
        let error = serde_json::from_str::<ChunkTrain>(r#"{"gaps_ns":[1,2],"tokens":[1]}"#).unwrap_err();
        assert!(error.to_string().contains("2 gaps but 1 token counts"), "{error}");
    }

    proptest! {
        #[test]
        fn trains_survive_memory_and_json(mut ats in prop::collection::vec(any::<u64>(), 0..50), seed in any::<u32>()) {
            ats.sort_unstable();
            let chunks: Vec<(u64, u32)> =
                ats.iter().enumerate().map(|(i, &at)| (at, seed.rotate_left(i as u32))).collect();
            let train = train(&chunks);
            prop_assert_eq!(train.len(), chunks.len());
            prop_assert_eq!(train.last_at().map(Timestamp::as_nanos), ats.last().copied());
            let back: Vec<(u64, u32)> = train.iter().map(|c| (c.at.as_nanos(), c.tokens)).collect();
            prop_assert_eq!(&back, &chunks);
            let json = serde_json::to_string(&train).unwrap();
            prop_assert_eq!(&serde_json::from_str::<ChunkTrain>(&json).unwrap(), &train);
            let mut packed = repacked(&train).unwrap();
            prop_assert_eq!(&packed, &train);
            packed.shrink_to_fit();
            prop_assert_eq!(packed, train);
        }
    }
}
