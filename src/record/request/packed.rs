//! Records in a quarter of the bytes that they take in a log, read in a fraction of the time.

use super::chunks::{ChunkTrain, read_varint, write_varint};
use super::record::RequestRecord;
use crate::clock::Timestamp;

/// Records in order. What differs from one to the next is numbers, moments and chunks: they are written one after the
/// other as LEB128 varints, a moment as its distance from the one before it. What is left of a record then
/// has few forms, which are written once. Most of the bytes are those of chunks, which few figures ask for: they come
/// last, and are read apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedRecords {
    forms: Vec<RequestRecord>,
    bytes: Vec<u8>,
    chunks: Vec<u8>,
    len: usize,
}

impl PackedRecords {
    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of their numbers and chunks.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes.len() + self.chunks.len()
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, mut record: RequestRecord) {
        let mut packer = Packer { bytes: Vec::new(), last: 0 };
        record.chunks.pack(&mut packer.bytes, &mut self.chunks);
        record.chunks = ChunkTrain::default();
        let _always = record.exchange(&mut packer);
        let form = self.forms.iter().position(|form| *form == record).unwrap_or_else(|| {
            self.forms.push(record);
            self.forms.len() - 1
        });
        write_varint(&mut self.bytes, form as u64);
        self.bytes.append(&mut packer.bytes);
        self.len += 1;
    }

    /// Returns the records as bytes. It also returns the place from which on these are those of chunks.
    pub(crate) fn to_bytes(&self) -> (Vec<u8>, usize) {
        let forms = serde_json::to_vec(&self.forms).unwrap_or_default();
        let mut all = Vec::with_capacity(forms.len() + self.bytes() + 8);
        write_varint(&mut all, forms.len() as u64);
        all.extend_from_slice(&forms);
        all.extend_from_slice(&self.bytes);
        let place = all.len();
        all.extend_from_slice(&self.chunks);
        (all, place)
    }

    /// The records themselves.
    pub(crate) fn to_records(&self) -> Vec<RequestRecord> {
        let chunks = self.chunks.clone();
        unpack(&self.forms, &self.bytes, || chunks).unwrap_or_default()
    }

    /// The records of [`PackedRecords::to_bytes`], those of `chunks` apart; `None` of other bytes.
    pub(crate) fn unpack(
        mut all: &[u8],
        chunks: impl FnOnce() -> Vec<u8> + Send + 'static,
    ) -> Option<Vec<RequestRecord>> {
        let length = read_varint(&mut all)?;
        let (forms, bytes) = all.split_at_checked(length as usize)?;
        unpack(&serde_json::from_slice::<Vec<RequestRecord>>(forms).ok()?, bytes, chunks)
    }
}

fn unpack(
    forms: &[RequestRecord],
    mut bytes: &[u8],
    chunks: impl FnOnce() -> Vec<u8> + Send + 'static,
) -> Option<Vec<RequestRecord>> {
    let (mut records, mut train) = (Vec::new(), ChunkTrain::unpacker(chunks));
    while !bytes.is_empty() {
        let mut record = forms.get(read_varint(&mut bytes)? as usize)?.clone();
        record.chunks = train(&mut bytes)?;
        record.exchange(&mut Unpacker { bytes: &mut bytes, last: 0 })?;
        records.push(record);
    }
    Some(records)
}

/// Takes the numbers of a record, or puts them back.
trait Exchange {
    /// A number; `None` where there is none to put back.
    fn number(&mut self, number: &mut u64) -> Option<()>;

    /// A moment, in nanoseconds.
    fn moment(&mut self, nanos: &mut u64) -> Option<()>;
}

struct Packer {
    bytes: Vec<u8>,
    /// The moment before.
    last: u64,
}

impl Exchange for Packer {
    fn number(&mut self, number: &mut u64) -> Option<()> {
        write_varint(&mut self.bytes, std::mem::take(number));
        Some(())
    }

    fn moment(&mut self, nanos: &mut u64) -> Option<()> {
        // ZigZag: small distances in both directions are small numbers.
        let distance = nanos.wrapping_sub(self.last).cast_signed();
        let mut folded = (distance << 1 ^ distance >> 63).cast_unsigned();
        self.last = std::mem::take(nanos);
        self.number(&mut folded)
    }
}

struct Unpacker<'a, 'b> {
    bytes: &'a mut &'b [u8],
    last: u64,
}

impl Exchange for Unpacker<'_, '_> {
    fn number(&mut self, number: &mut u64) -> Option<()> {
        *number = read_varint(self.bytes)?;
        Some(())
    }

    fn moment(&mut self, nanos: &mut u64) -> Option<()> {
        let folded = read_varint(self.bytes)?;
        let distance = folded >> 1 ^ (folded & 1).wrapping_neg();
        *nanos = self.last.wrapping_add(distance);
        self.last = *nanos;
        Some(())
    }
}

impl RequestRecord {
    /// Shows all its numbers and moments, without those of its chunks. A field that is not shown stays in its form.
    fn exchange(&mut self, with: &mut impl Exchange) -> Option<()> {
        with.number(&mut self.index)?;
        if let Some(prefix) = &mut self.prefix {
            small(with, &mut prefix.number)?;
            small(with, &mut prefix.tokens)?;
        }
        if let Some(turn) = &mut self.turn {
            with.number(&mut turn.session)?;
            for number in [&mut turn.number, &mut turn.begun, &mut turn.history_tokens] {
                small(with, number)?;
            }
            turn.of.as_mut().map_or(Some(()), |of| small(with, of))?;
            if let Some(graph) = &mut turn.graph {
                let mut agent = u32::from(graph.agent);
                small(with, &mut agent)?;
                graph.agent = agent as u16;
                small(with, &mut graph.depth)?;
                small(with, &mut graph.left_out)?;
                with.number(&mut graph.ahead_ns)?;
                let places = [graph.carries.as_mut(), graph.recorded.as_mut()];
                places.into_iter().flatten().try_for_each(|place| small(with, place))?;
            }
        }
        self.release.iter_mut().flat_map(|release| release.numbers()).try_for_each(|n| with.number(n))?;
        self.release.iter_mut().filter_map(|release| release.planned()).try_for_each(|at| moment(with, at))?;
        if let Some(tags) = &mut self.tags {
            let mut wide = u64::from(*tags);
            with.number(&mut wide)?;
            *tags = wide as u16;
        }
        self.score.as_mut().map_or(Some(()), |score| small(with, &mut score.row))?;
        small(with, &mut self.input_tokens_asked)?;
        small(with, &mut self.output_tokens_asked)?;
        let sending = [Some(&mut self.scheduled), Some(&mut self.dispatched), self.admitted.as_mut()];
        let answering = [self.sent.as_mut(), self.headers.as_mut(), self.first_answer.as_mut()];
        let ending = [self.whole_answer.as_mut(), Some(&mut self.ended)];
        let mut moments = sending.into_iter().chain(answering).chain(ending).flatten();
        moments.try_for_each(|at| moment(with, at))?;
        if let Some(usage) = &mut self.usage {
            let parts = [usage.cached_tokens.as_mut(), usage.reasoning_tokens.as_mut()];
            let all = [Some(&mut usage.prompt_tokens), Some(&mut usage.completion_tokens)];
            all.into_iter().chain(parts).flatten().try_for_each(|count| with.number(count))?;
        }
        with.number(&mut self.output_tokens)?;
        small(with, &mut self.hidden_tokens)?;
        small(with, &mut self.merged_reads)?;
        if let Some(late) = &mut self.late_stamps {
            small(with, &mut late.count)?;
            with.number(&mut late.longest_ns)?;
            with.number(&mut late.first_ns)?;
        }
        for odd in self.oddities.iter_mut().flat_map(|oddities| oddities.iter_mut()) {
            small(with, &mut odd.count)?;
        }
        for attempt in self.attempts.iter_mut().flat_map(|attempts| attempts.iter_mut()) {
            attempt.moments().try_for_each(|at| moment(with, at))?;
            small(with, &mut attempt.discarded_tokens)?;
        }
        Some(())
    }
}

/// A moment.
fn moment(with: &mut impl Exchange, at: &mut Timestamp) -> Option<()> {
    let mut nanos = at.as_nanos();
    with.moment(&mut nanos)?;
    *at = Timestamp::from_nanos(nanos);
    Some(())
}

/// A number of 32 bits.
fn small(with: &mut impl Exchange, number: &mut u32) -> Option<()> {
    let mut wide = u64::from(*number);
    with.number(&mut wide)?;
    *number = wide as u32;
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{
        Attempt, AttemptEnd, AttemptKind, Failure, FailureKind, FinishReason, GraphPlace, LateStamps, Outcome,
        Predecessor, Release, SharedPrefix, TokenChunk, Turn, Usage,
    };

    /// Records of several forms.
    fn forms() -> Vec<RequestRecord> {
        let plain = RequestRecord { outcome: Outcome::Completed, ..RequestRecord::default() };
        let at = Some(Timestamp::default());
        let graph = Some(GraphPlace { carries: Some(0), ..GraphPlace::default() });
        let turn = Turn { of: Some(0), graph, ..Turn::default() };
        let failure = Failure::new(FailureKind::HttpStatus(503), "busy");
        let cached = Some(0);
        let unsent = Attempt {
            kind: AttemptKind::First,
            begun: Timestamp::default(),
            sent: None,
            ended: Timestamp::default(),
            end: AttemptEnd::Failed(FailureKind::Connect),
            discarded_tokens: 0,
        };
        let sent =
            Attempt { kind: AttemptKind::Hedge, sent: Some(Timestamp::default()), end: AttemptEnd::Answered, ..unsent };
        let rich = RequestRecord {
            prefix: Some(SharedPrefix { number: 0, tokens: 0 }),
            tenant: Some(2),
            tags: Some(0),
            turn: Some(Box::new(turn)),
            admitted: at,
            sent: at,
            headers: at,
            first_answer: at,
            whole_answer: at,
            finish_reason: Some(FinishReason::Other("eos".to_owned())),
            usage: Some(Usage { cached_tokens: cached, reasoning_tokens: cached, ..Usage::default() }),
            impossible_usage: Some(Box::new(Usage { prompt_tokens: u64::MAX, ..Usage::default() })),
            late_stamps: Some(Box::new(LateStamps::default())),
            release: Some(Box::new(Release::Any(vec![Predecessor { index: 0, delay_ns: 0 }; 2]))),
            attempts: Some(Box::new(vec![unsent, sent])),
            ..plain.clone()
        };
        let failed = RequestRecord { outcome: Outcome::Failed(Box::new(failure)), sent: at, ..plain.clone() };
        vec![plain, rich, failed]
    }

    /// Puts any numbers into a form.
    struct Any<'a>(&'a mut dyn Iterator<Item = u64>);

    impl Exchange for Any<'_> {
        fn number(&mut self, number: &mut u64) -> Option<()> {
            *number = self.0.next()?;
            Some(())
        }

        fn moment(&mut self, nanos: &mut u64) -> Option<()> {
            self.number(nanos)
        }
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(
            numbers in prop::collection::vec(any::<u64>(), 40), gaps in prop::collection::vec(any::<u32>(), 0..9),
            order in prop::collection::vec(0..3_usize, 0..20),
        ) {
            let mut packed = PackedRecords::default();
            let mut all = Vec::new();
            for (turned, form) in order.into_iter().enumerate() {
                let mut record = forms()[form].clone();
                record.exchange(&mut Any(&mut numbers.iter().cycle().skip(turned).copied())).unwrap();
                let chunks = gaps.iter().scan(0, |at, gap| {
                    *at += u64::from(*gap);
                    Some(TokenChunk { at: Timestamp::from_nanos(*at), tokens: gap % 4, choice: (gap % 3) as u8 })
                });
                record.chunks = chunks.collect();
                packed.add(record.clone());
                all.push(record);
            }
            prop_assert!(packed.forms.len() <= 3, "numbers are no part of a form");
            prop_assert_eq!(&packed.to_records(), &all);
            let (mut bytes, place) = packed.to_bytes();
            let chunks = bytes.split_off(place);
            prop_assert_eq!(&PackedRecords::unpack(&bytes, || chunks).unwrap(), &all);
        }
    }

    #[test]
    fn bytes_that_end_too_early_are_no_records() {
        let mut packed = PackedRecords::default();
        packed.add(forms()[1].clone());
        let (bytes, end) = packed.to_bytes();
        let unpacked = |bytes| PackedRecords::unpack(bytes, Vec::new);
        assert_eq!((unpacked(&bytes), end), (Some(packed.to_records()), bytes.len()));
        assert!((0..end).all(|end| unpacked(&bytes[..end]).is_none_or(|all| all.is_empty())));
    }
}
