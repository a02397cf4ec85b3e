//! The gaps between tokens, counted into bars whose widths grow with them.

use hdrhistogram::Histogram;

use super::curve::token_gaps;
use crate::record::RunLog;

/// Digits to which a gap is kept: a picture shows no more, and a run may have a hundred million of them.
const DIGITS: u8 = 3;
/// The shortest gap told apart from none, nanoseconds: those of tokens that shared a read are shorter.
const SHORTEST_NS: u64 = 10_000;
/// Bars that a power of ten may be cut into, the finest first.
const BARS_OF_A_DECADE: [u32; 4] = [40, 20, 10, 5];
/// Most bars.
const MOST_BARS: f64 = 60.0;

/// The gaps between the tokens of the measured answers, token-weighted as inter-token latency is: to three digits. A
/// silence in which an answer was cut off counts with the length that it had reached.
#[derive(Clone, Debug)]
pub struct GapHistogram {
    gaps: Histogram<u64>,
}

/// Gaps of about a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapBar {
    /// The shortest, milliseconds.
    pub from_ms: f64,
    /// Up to this, milliseconds.
    pub to_ms: f64,
    /// How many.
    pub count: u64,
}

impl GapHistogram {
    /// Counts the gaps of a run; `None` where there are none.
    #[must_use]
    pub fn of(log: &RunLog) -> Option<Self> {
        let mut gaps = Histogram::new(DIGITS).ok()?;
        for (ms, tokens) in token_gaps(log) {
            let nanos = ((ms * 1e6).round() as u64).max(SHORTEST_NS);
            // It grows as it must, so that no gap is out of its range.
            gaps.record_n(nanos, u64::from(tokens)).ok()?;
        }
        (!gaps.is_empty()).then_some(Self { gaps })
    }

    /// Number of gaps.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.gaps.len()
    }

    /// The milliseconds that a share of the gaps, between 0 and 1, are at most; to three digits.
    #[must_use]
    pub fn at_share(&self, share: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.gaps.value_at_quantile(share) as f64 / 1e6)
    }

    /// The bars from the shortest gap to the longest, those without a gap left out; each a like share of a power of ten
    /// wide.
    #[must_use]
    pub fn bars(&self) -> Vec<GapBar> {
        let decades = (self.gaps.max() as f64 / self.gaps.min() as f64).log10();
        let per_decade = BARS_OF_A_DECADE.into_iter().find(|bars| f64::from(*bars) * decades <= MOST_BARS);
        let per_decade = f64::from(per_decade.unwrap_or(BARS_OF_A_DECADE[3]));
        let edge = |bar: i64| 10_f64.powf(bar as f64 / per_decade) / 1e6;
        let mut bars: Vec<(i64, u64)> = Vec::new();
        for step in self.gaps.iter_recorded() {
            let bar = ((step.value_iterated_to() as f64).log10() * per_decade).floor() as i64;
            let count = step.count_since_last_iteration();
            match bars.last_mut() {
                Some((last, sum)) if *last == bar => *sum += count,
                _ => bars.push((bar, count)),
            }
        }
        bars.into_iter()
            .map(|(bar, count)| GapBar { from_ms: edge(bar), to_ms: edge(bar + 1), count })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn every_gap_is_in_one_bar_that_holds_it() {
        // 2,000 gaps: of 20 ms, and of 31 ms for three tokens at once; one of 900 ms.
        let mut chunks = vec![(0, 1)];
        for i in 0..500 {
            let last = chunks[chunks.len() - 1].0;
            chunks.extend([(last + 20, 1), (last + 20 + 93, 3)]);
            if i == 250 {
                let last = chunks[chunks.len() - 1].0;
                chunks.push((last + 900, 1));
            }
        }
        let log = run(100_000, vec![record(0).sent_at(0, 0, 0).chunks(&chunks).build()]);
        let histogram = GapHistogram::of(&log).unwrap();
        let bars = histogram.bars();
        assert_eq!((histogram.count(), bars.iter().map(|bar| bar.count).sum::<u64>()), (2_001, 2_001));
        assert_eq!(bars.iter().map(|bar| bar.count).collect::<Vec<_>>(), [500, 1_500, 1]);
        for (bar, gap) in bars.iter().zip([20.0, 31.0, 900.0]) {
            assert!(bar.from_ms <= gap * 1.001 && gap * 0.999 < bar.to_ms, "{bar:?}");
        }
        assert!((histogram.at_share(0.5).unwrap() - 31.0).abs() < 0.1);
    }

    #[test]
    fn gaps_far_apart_have_wide_bars_and_no_gaps_have_none() {
        let log =
            run(100_000, vec![record(0).sent_at(0, 0, 0).chunks(&[(1, 1), (1, 1), (90_000, 1)]).build()]);
        let bars = GapHistogram::of(&log).unwrap().bars();
        assert_eq!(bars.len(), 2);
        assert!((bars[0].to_ms / bars[0].from_ms).log10() > 0.09);
        assert!(GapHistogram::of(&run(1_000, vec![record(0).whole_answer(5, 1).build()])).is_none());
    }
}
