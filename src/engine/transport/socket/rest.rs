//! How long a reader rests before it asks the kernel for bytes again.

use std::cell::RefCell;
use std::time::Duration;

use tokio::time::Instant;

thread_local! {
    static REST: RefCell<ReaderRest> = RefCell::default();
}

/// Rests that are tried, shortest first.
const RESTS: [Duration; 4] =
    [Duration::from_micros(100), Duration::from_micros(200), Duration::from_micros(350), Duration::from_micros(500)];
/// Time after which the rest is chosen anew.
const EVERY: Duration = Duration::from_millis(50);
/// Gaps between reads of one stream that must be known before a reader rests.
const KNOWN: u32 = 200;
/// Gaps of which one may be shorter than the rest. A rest may merge the two chunks around it.
const ONE_IN: u32 = 200;
/// Reads that a rest must gather at least: fewer do not pay for it.
const GATHERED: f64 = 2.0;
/// Rest of a thread that only counts what readers have done.
const LULL: Duration = Duration::from_millis(5);
/// Gaps above which older ones count half.
const REMEMBERED: u32 = 16_384;

/// The rest of a thread that reads.
///
/// The kernel stamps every packet as it comes, so nobody need be awake then. A reader that rests between two looks
/// finds the packets of several streams at the second, and wakes once for all of them: where each packet wakes it, task
/// switches are the larger part of its cost. What a rest must not do is gather several packets of *one* stream, which
/// then have one stamp. So it is shorter than nearly all gaps between the chunks of a stream, of which those within one
/// read are none. Where few packets come there is no rest, nor where stamps come from this program.
#[derive(Debug, Default)]
pub(crate) struct ReaderRest {
    /// Gaps below each rest.
    below: [u32; RESTS.len()],
    gaps: u32,
    /// Reads since it was last chosen.
    reads: u32,
    chosen: Option<Instant>,
    rest: Option<Duration>,
    /// Connections that are being opened: nobody stamps when they are there.
    opening: u32,
    /// Whether this thread may rest.
    allowed: bool,
    /// Whether nothing waits for this thread, which reads no answers.
    lull: bool,
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
            std::thread::sleep(rest);
        }
    }

    fn note(&mut self, gap: Duration) {
        for (below, rest) in self.below.iter_mut().zip(RESTS) {
            *below += u32::from(gap < rest);
        }
        self.gaps += 1;
        if self.gaps >= REMEMBERED {
            self.below.iter_mut().chain([&mut self.gaps]).for_each(|count| *count /= 2);
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
        self.rest.filter(|_| self.allowed && self.opening == 0)
    }

    /// The longest rest that gathers enough reads, and hardly ever two of one stream.
    fn longest(&self, reads_per_s: f64) -> Option<Duration> {
        if self.gaps < KNOWN {
            return None;
        }
        let allowed = |(below, rest): &(u32, Duration)| {
            *below <= self.gaps / ONE_IN && reads_per_s * rest.as_secs_f64() >= GATHERED
        };
        self.below.into_iter().zip(RESTS).filter(allowed).map(|(_, rest)| rest).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(after(1_000, &[1_000]), Some(500));
        assert_eq!(after(1_000, &[1_000, 300]), Some(200));
        assert_eq!(after(1_000, &[40, 1_000]), None, "tokens in bursts");
        // 20,000 reads a second are two in 100 µs, 4,000 are two in 500 µs, fewer are not enough.
        assert_eq!([after(400, &[1_000]), after(199, &[1_000]), after(0, &[1])], [Some(500), None, None]);
        let mut mostly = vec![1_000; 399];
        mostly.push(10);
        assert_eq!(after(2_000, &mostly), Some(500), "few may be short");
    }

    #[test]
    fn whoever_opens_a_connection_does_not_rest_and_what_merged_ends_it() {
        let mut rest = ReaderRest { allowed: true, ..ReaderRest::default() };
        let begin = Instant::now();
        rest.now(begin);
        for _ in 0..1_000 {
            rest.reads += 1;
            rest.note(MS);
        }
        assert!(rest.now(begin + 50 * MS).is_some());
        rest.allowed = false;
        assert_eq!(rest.now(begin + 50 * MS), None, "somebody waits for what it reads");
        rest.allowed = true;
        rest.opening = 1;
        assert_eq!(rest.now(begin + 51 * MS), None);
        rest.opening = 0;
        assert!(rest.now(begin + 52 * MS).is_some());
        for _ in 0..10 {
            rest.note(Duration::ZERO);
        }
        rest.reads = 1_000;
        assert_eq!(rest.now(begin + 100 * MS), None);
        rest.reads = 0;
        assert_eq!(rest.now(begin + 200 * MS), None, "nothing comes");
    }
}
