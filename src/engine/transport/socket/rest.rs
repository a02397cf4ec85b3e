//! How long a reader rests before it asks the kernel for bytes again.

use std::cell::RefCell;
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::Timestamp;
use crate::record::ChunkTrain;

thread_local! {
    static REST: RefCell<ReaderRest> = RefCell::default();
}

/// Rests that are tried, shortest first.
const RESTS: [Duration; 6] = [
    Duration::from_micros(100),
    Duration::from_micros(200),
    Duration::from_micros(350),
    Duration::from_micros(500),
    Duration::from_micros(700),
    Duration::from_millis(1),
];
/// Time after which the rest is chosen anew.
const EVERY: Duration = Duration::from_millis(20);
/// Gaps of streams that must be known before a reader rests, at first.
const KNOWN: u64 = 1_000;
/// Gaps by which a rest is judged.
const JUDGED: u64 = 2_000;
/// Most doublings of the known gaps, after rests that have merged more than was expected.
const DOUBLINGS: u32 = 6;
/// Share of the chunks that a rest may be expected to merge. By as much it may be wrong.
const MERGED: f64 = 0.01;
/// Gaps that are merged by a reader that does not rest as well.
const TOGETHER: Duration = Duration::from_micros(20);
/// Least chunks of an answer whose mean gap counts.
const LONG: usize = 16;
/// Time by which a rest ends late, with the reads that follow.
const LATE: Duration = Duration::from_micros(100);
/// Reads that a rest must gather at least: fewer do not pay for it.
const GATHERED: f64 = 2.0;
/// Rest of a thread that only counts what readers have done.
const LULL: Duration = Duration::from_millis(10);

/// The rest of a thread that reads.
///
/// The kernel stamps every packet as it comes, so nobody need be awake then. A reader that rests between two looks
/// finds the packets of several streams at the second, and wakes once for all of them: where each packet wakes it, task
/// switches are the larger part of its cost. What a rest must not do is gather several packets of *one* stream, which
/// then have one stamp. A gap that is shorter than the rest lies within one as often as the rest is longer, which tells
/// what each rest would merge of the gaps that were seen without. What it does merge is watched: where that is more,
/// the gaps have changed, and are learned anew, each time for longer. All streams share that bound, so no rest is
/// longer than the mean gap of any answer so far: a few quick ones would lose all of theirs. Where few packets come
/// there is no rest, nor where stamps come from this program.
#[derive(Debug, Default)]
pub(crate) struct ReaderRest {
    /// Gaps while it did not rest.
    awake: SeenGaps,
    /// Gaps of these that each rest is expected to merge.
    merged: [f64; RESTS.len()],
    /// Gaps while it rested, since it was last judged.
    rested: SeenGaps,
    /// Share of the chunks that it is expected to merge.
    expected: f64,
    /// Shortest mean gap of an answer so far, unless it came at once.
    quickest: Option<Duration>,
    /// Doublings of the gaps that must be known before this thread rests.
    doublings: u32,
    /// Reads since it was last chosen.
    reads: u32,
    chosen: Option<Instant>,
    rest: Option<Duration>,
    /// Connections that are being opened: nobody stamps when they are there.
    opening: u32,
    /// Whether this thread may rest.
    allowed: bool,
    /// Mark of a thread with a connection whose bytes must be read as they come.
    is_bound: bool,
    /// Whether nothing waits for this thread, which reads no answers.
    lull: bool,
}

/// The gaps between the chunks of a stream, and those without any time.
#[derive(Clone, Copy, Debug, Default)]
struct SeenGaps {
    all: u64,
    together: u64,
}

impl SeenGaps {
    fn share(self) -> f64 {
        self.together as f64 / self.all.max(1) as f64
    }
}

/// A connection that is being opened; its reader does not rest.
pub(crate) struct Opening(());

impl Opening {
    pub(crate) fn begin() -> Self {
        REST.with_borrow_mut(|rest| rest.opening += 1);
        Self(())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        REST.with_borrow_mut(|rest| rest.opening = rest.opening.saturating_sub(1));
    }
}

impl ReaderRest {
    /// Notes a read that the kernel stamped.
    pub(crate) fn read() {
        REST.with_borrow_mut(|rest| rest.reads += 1);
    }

    /// Notes the gap between two chunks of a stream. It is zero between two that came in one read.
    pub(crate) fn gap(gap: Duration) {
        REST.with_borrow_mut(|rest| rest.note(gap));
    }

    /// Notes the end of an answer of these chunks, and what that says of streams.
    pub(crate) fn ended(chunks: &ChunkTrain, at: Timestamp) {
        let (Some(first), Some(last)) = (chunks.first_at(), chunks.last_at()) else { return };
        Self::gap(at.since(last));
        let mean = last.since(first) / chunks.len() as u32;
        if chunks.len() >= LONG && mean >= TOGETHER {
            REST.with_borrow_mut(|rest| {
                rest.quickest = Some(rest.quickest.map_or(mean, |quickest| quickest.min(mean)));
            });
        }
    }

    /// Keeps this thread awake for good. A connection of it gets no stamp for each packet.
    pub(crate) fn bind() {
        REST.with_borrow_mut(|rest| rest.is_bound = true);
    }

    /// Forgets what other tests of this thread have done.
    #[cfg(test)]
    pub(crate) fn renew() {
        REST.take();
    }

    /// Whether this thread never rests.
    #[cfg(test)]
    pub(crate) fn is_bound() -> bool {
        REST.with_borrow(|rest| rest.is_bound)
    }

    /// Says whether this thread may rest, since nobody waits for what it reads.
    pub(crate) fn allow(may: bool) {
        REST.with_borrow_mut(|rest| rest.allowed = may);
    }

    /// Says whether this thread always rests, since nothing waits for it.
    pub(crate) fn lull(begins: bool) {
        REST.with_borrow_mut(|rest| rest.lull = begins);
    }

    /// Rests, where this thread may, before it asks for bytes.
    pub(crate) fn take() {
        if let Some(rest) = REST.with_borrow_mut(|rest| rest.now(Instant::now())) {
            // Whoever has something to send ends it.
            std::thread::park_timeout(rest);
        }
    }

    fn note(&mut self, gap: Duration) {
        let (rests, is_together) = (self.rest.is_some() && self.may(), gap < TOGETHER);
        let seen = if rests { &mut self.rested } else { &mut self.awake };
        seen.all += 1;
        seen.together += u64::from(is_together);
        if !rests && !is_together {
            for (merged, rest) in self.merged.iter_mut().zip(RESTS) {
                *merged += (1.0 - gap.div_duration_f64(rest + LATE)).max(0.0);
            }
        }
    }

    fn now(&mut self, now: Instant) -> Option<Duration> {
        if self.lull {
            return Some(LULL);
        }
        let chosen = *self.chosen.get_or_insert(now);
        let since = now.saturating_duration_since(chosen);
        if since >= EVERY {
            let reads = std::mem::take(&mut self.reads);
            self.rest = self.longest(f64::from(reads) / since.as_secs_f64());
            self.chosen = Some(now);
        }
        self.rest.filter(|_| self.may() && self.opening == 0)
    }

    fn may(&self) -> bool {
        self.allowed && !self.is_bound
    }

    /// The longest rest that gathers enough reads, and hardly ever two of one stream.
    fn longest(&mut self, reads_per_s: f64) -> Option<Duration> {
        if self.rested.all >= JUDGED {
            let seen = std::mem::take(&mut self.rested).share() - self.awake.share();
            if seen > self.expected + MERGED {
                (self.awake, self.merged) = Default::default();
                self.doublings = (self.doublings + 1).min(DOUBLINGS);
            } else {
                self.doublings = self.doublings.saturating_sub(1);
            }
        }
        if self.awake.all < KNOWN << self.doublings {
            return None;
        }
        let allowed = |(merged, rest): &(f64, Duration)| {
            *merged <= MERGED * self.awake.all as f64
                && reads_per_s * rest.as_secs_f64() >= GATHERED
                && self.quickest.is_none_or(|quickest| *rest + LATE <= quickest)
        };
        let (merged, rest) = self.merged.into_iter().zip(RESTS).rfind(allowed)?;
        self.expected = merged / self.awake.all as f64;
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TokenChunk;

    const MS: Duration = Duration::from_millis(1);

    /// The rest after so many reads in 50 ms. Their gaps are these in turn, µs.
    fn after(reads: u32, gaps_us: &[u64]) -> Option<u128> {
        let mut rest = ReaderRest { allowed: true, ..ReaderRest::default() };
        let begin = Instant::now();
        assert_eq!(rest.now(begin), None);
        for gap in gaps_us.iter().cycle().take(reads as usize) {
            rest.reads += 1;
            rest.note(Duration::from_micros(*gap));
        }
        rest.now(begin + 50 * MS).map(|rest| rest.as_micros())
    }

    #[test]
    fn a_rest_is_shorter_than_the_gaps_of_a_stream_and_gathers_several_reads() {
        assert_eq!([1_000, 2_000].map(|gap| after(1_000, &[gap])), [Some(700), Some(1_000)]);
        assert_eq!(after(1_000, &[1_000, 300]), Some(200));
        assert_eq!(after(1_000, &[40, 1_000]), None, "tokens in bursts");
        assert_eq!([1_000, 999, 0].map(|reads| after(reads, &[1_000])), [Some(700), None, None], "too few");
        // One in fifty is short. Of gaps of 350 µs four in ten are merged by 500 µs, of gaps of 30 µs nearly all by any
        // rest; no gap at all is a packet that the server filled.
        assert_eq!([350, 30, 0].map(|short| after(2_000, &mostly(short, 50))), [Some(500), None, Some(700)]);
    }

    /// Returns whether the thread rests after 2,000 gaps more, these in turn, µs.
    fn goes_on(rest: &mut ReaderRest, gaps_us: &[u64]) -> bool {
        for gap in gaps_us.iter().cycle().take(2_000) {
            rest.reads += 1;
            rest.note(Duration::from_micros(*gap));
        }
        let chosen = *rest.chosen.get_or_insert_with(Instant::now);
        rest.now(chosen + 50 * MS).is_some()
    }

    /// Gaps of 1 ms, but for this one in so many.
    fn mostly(short_us: u64, one_in: usize) -> Vec<u64> {
        [vec![1_000; one_in - 1], vec![short_us]].concat()
    }

    #[test]
    fn whoever_opens_a_connection_does_not_rest() {
        let mut rest = ReaderRest { allowed: true, ..ReaderRest::default() };
        assert!(goes_on(&mut rest, &[1_000]));
        rest.allowed = false;
        assert!(!goes_on(&mut rest, &[1_000]), "somebody waits for what it reads");
        (rest.allowed, rest.opening) = (true, 1);
        assert!(!goes_on(&mut rest, &[1_000]));
        (rest.opening, rest.is_bound) = (0, true);
        assert!(!goes_on(&mut rest, &[1_000]), "one of its connections has no stamps");
        rest.is_bound = false;
        assert!(goes_on(&mut rest, &[1_000]));
        rest.reads = 0;
        assert_eq!(rest.now(rest.chosen.unwrap() + 50 * MS), None, "nothing comes");
    }

    /// The rest of a thread after an answer of so many chunks. Those of others come 1 ms apart.
    fn after_answer(chunks: u64, apart_us: u64) -> Option<u128> {
        let at = move |number| Timestamp::from_nanos(number * apart_us * 1_000);
        let chunks = (0..chunks).map(|number| TokenChunk { at: at(number), tokens: 1, choice: 0 });
        let answer: ChunkTrain = chunks.collect();
        std::thread::spawn(move || {
            ReaderRest::ended(&answer, at(answer.len() as u64));
            let mut rest = ReaderRest { allowed: true, ..REST.take() };
            goes_on(&mut rest, &[1_000]).then(|| rest.rest.unwrap().as_micros())
        })
        .join()
        .unwrap()
    }

    #[test]
    fn no_answer_loses_its_gaps_to_a_rest_that_others_pay_for() {
        let rests = [50, 500, 640, 1_000].map(|apart| after_answer(21, apart));
        assert_eq!(rests, [None, Some(350), Some(500), Some(700)]);
        assert_eq!(after_answer(21, 10), Some(700), "it came at once, whoever reads it");
        assert_eq!(after_answer(15, 50), Some(700), "too few to tell");
    }

    #[test]
    fn a_rest_that_merges_more_than_was_expected_ends_and_gaps_are_learned_anew() {
        let mut rest = ReaderRest { allowed: true, ..ReaderRest::default() };
        assert!(goes_on(&mut rest, &[1_000]));
        assert!(!goes_on(&mut rest, &mostly(0, 50)));
        assert_eq!((rest.awake.all, rest.doublings), (0, 1));
        assert!(goes_on(&mut rest, &mostly(0, 50)), "so it is without a rest");
        assert!(goes_on(&mut rest, &mostly(0, 50)));
        assert_eq!(rest.doublings, 0);
        // Of one gap in fifty a rest of 200 µs is expected to merge a half, and may be wrong by as much.
        let mut rest = ReaderRest { allowed: true, ..ReaderRest::default() };
        assert!(goes_on(&mut rest, &mostly(150, 50)));
        assert_eq!((rest.rest, rest.expected), (Some(MS / 5), 0.01));
        assert!(goes_on(&mut rest, &mostly(0, 60)));
        assert!(!goes_on(&mut rest, &mostly(0, 40)));
    }
}
