//! Stores the arrival of every chunk of an answer compactly.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkTrain {
    bytes: Vec<u8>,
    len: u32,
    last: Timestamp,
    /// The choice of each chunk; absent where all are of the first. Few have it: boxed.
    #[allow(clippy::box_collection, reason = "a list inline would take three times the place in each of millions")]
    choices: Option<Box<Vec<u8>>>,
}

impl ChunkTrain {
    /// Adds a chunk. Chunks come in order of arrival; an earlier stamp counts as the last one.
    pub fn push(&mut self, chunk: TokenChunk) {
        let gap = chunk.at.as_nanos().saturating_sub(self.last.as_nanos());
        write_varint(&mut self.bytes, gap);
        write_varint(&mut self.bytes, u64::from(chunk.tokens));
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
        self.iter().next().map(|chunk| chunk.at)
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
        let mut rest = self.bytes.as_slice();
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
        let most = if self.choices.is_none() { 1 } else { self.len() };
        self.gaps().filter(|(_, gap)| gap.is_none()).map(|(chunk, _)| chunk).take(most)
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
        self.bytes.capacity() + self.choices.as_deref().map_or(0, |all| size_of_val(all) + all.capacity())
    }

    /// Writes it to the end of `bytes`.
    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        let parts = [&self.bytes[..], self.choices.as_deref().map_or(&[][..], Vec::as_slice)];
        for number in [u64::from(self.len), self.last.as_nanos()] {
            write_varint(bytes, number);
        }
        for part in parts {
            write_varint(bytes, part.len() as u64);
        }
        for part in parts {
            bytes.extend_from_slice(part);
        }
    }

    /// Reads what [`ChunkTrain::pack`] has written from the beginning of `bytes`.
    pub(super) fn unpack(bytes: &mut &[u8]) -> Option<Self> {
        let [len, last] = [read_varint(bytes)?, read_varint(bytes)?];
        let lengths = [read_varint(bytes)?, read_varint(bytes)?];
        let mut part = |length: u64| {
            let (own, rest) = bytes.split_at_checked(length as usize)?;
            *bytes = rest;
            Some(own.to_vec())
        };
        let (own, choices) = (part(lengths[0])?, part(lengths[1])?);
        Some(Self { bytes: own, len: len as u32, last: Timestamp::from_nanos(last), choices: boxed(choices) })
    }

    /// Frees reserved memory.
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.choices.iter_mut().for_each(|choices| choices.shrink_to_fit());
    }
}

#[expect(clippy::box_collection, reason = "few answers have several choices: a pointer is all that the others pay")]
fn boxed(choices: Vec<u8>) -> Option<Box<Vec<u8>>> {
    (!choices.is_empty()).then(|| Box::new(choices))
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

/// The form in files. Gaps are in nanoseconds, the first from the run's zero; `tokens` is omitted when every chunk has
/// one, `choices` when all are of the first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    gaps_ns: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<u8>,
}

impl Serialize for ChunkTrain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut gaps_ns = Vec::with_capacity(self.len());
        let mut tokens = Vec::with_capacity(self.len());
        let mut last = 0;
        for chunk in self.iter() {
            gaps_ns.push(chunk.at.as_nanos() - last);
            tokens.push(chunk.tokens);
            last = chunk.at.as_nanos();
        }
        let all_one = tokens.iter().all(|&count| count == 1);
        let choices = self.choices.as_deref().cloned().unwrap_or_default();
        Stored { gaps_ns, tokens: (!all_one).then_some(tokens), choices }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChunkTrain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { gaps_ns, tokens, choices } = Stored::deserialize(deserializer)?;
        if let Some(tokens) = &tokens
            && tokens.len() != gaps_ns.len()
        {
            return Err(serde::de::Error::custom(format!("{} gaps but {} token counts", gaps_ns.len(), tokens.len())));
        }
        let mut at = 0u64;
        let chunks = gaps_ns.iter().enumerate().map(|(i, gap)| {
            at = at.saturating_add(*gap);
            let choice = choices.get(i).copied().unwrap_or(0);
            TokenChunk { at: Timestamp::from_nanos(at), tokens: tokens.as_ref().map_or(1, |t| t[i]), choice }
        });
        let mut train: Self = chunks.collect();
        train.shrink_to_fit();
        Ok(train)
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

    #[test]
    fn each_choice_has_gaps_of_its_own() {
        let chunk = |(at, choice)| TokenChunk { at: Timestamp::from_nanos(at), tokens: 1, choice };
        let mut train: ChunkTrain = [(100, 0), (101, 2), (120, 0), (121, 2), (140, 0)].map(chunk).into_iter().collect();
        let gaps: Vec<_> = train.gaps().map(|(_, gap)| gap.map(|gap| gap.since_chunk.as_nanos())).collect();
        assert_eq!(gaps, [None, None, Some(20), Some(20), Some(20)]);
        assert_eq!((train.firsts().count(), train.decode_time()), (2, Some(Duration::from_nanos(60))));
        let json = serde_json::to_string(&train).unwrap();
        assert_eq!(json, r#"{"gaps_ns":[100,1,19,1,19],"choices":[0,2,0,2,0]}"#);
        let mut packed = Vec::new();
        train.pack(&mut packed);
        assert_eq!(ChunkTrain::unpack(&mut &packed[..]), Some(train.clone()));
        assert_eq!(serde_json::from_str::<ChunkTrain>(&json).unwrap(), train);
        assert_eq!((train.pop(), train.len()), (Some(chunk((140, 0))), 4));
        let first = serde_json::from_str::<ChunkTrain>(r#"{"gaps_ns":[100,30]}"#).unwrap();
        assert_eq!((first.firsts().count(), first.decode_time()), (1, Some(Duration::from_nanos(30))));
    }

    #[test]
    fn a_paced_stream_costs_five_bytes_a_token() {
        let chunks: Vec<_> = (1..=1000).map(|i| (i * 20_000_000, 1)).collect();
        let bytes = train(&chunks).bytes;
        assert!(bytes.len() <= 5 * 1000, "{}", bytes.len());
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
            prop_assert_eq!(serde_json::from_str::<ChunkTrain>(&json).unwrap(), train);
        }
    }
}
