//! Distributions of the latencies and of the gaps between tokens, as curves and bars.

use super::gaps::{Gaps, Received};
use crate::analysis::figures::{Figure, Metric, Sample};
use crate::analysis::requests::latency_of;
use crate::record::{Phase, RunLog};

/// Points that lie evenly apart.
const EVEN: u32 = 180;
/// Further points where the tail is.
const TAIL: [f64; 8] = [0.99, 0.995, 0.997, 0.998, 0.999, 0.999_5, 0.999_9, 1.0];

/// The cumulative distribution of a latency over the measured requests.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyCurve {
    /// Samples; tokens for `itl`.
    pub n: u64,
    /// Shares of the samples with the milliseconds that they are at most, ascending. A share lies between 0 and 1.
    /// Requests that were cut off count with the most that they can have taken; where there is no such most, it ends.
    pub points: Vec<(f64, f64)>,
}

impl LatencyCurve {
    /// Returns the curve of a latency of which each request has one. `None` without a sample of which anything is
    /// known.
    pub fn new(log: &RunLog, metric: Metric) -> Option<Self> {
        let measured = log.records.iter().filter(|record| record.phase == Phase::Measured);
        let figures = measured.filter_map(|record| latency_of(log, &record).get(metric));
        let sample: Sample = figures.collect();
        let at_most = |share| Some((share, sample.quantile(share).and_then(Figure::at_most)?));
        Self::through(sample.len(), at_most)
    }

    /// Returns the curve of the gaps between tokens. It ends where the gaps in which answers were cut off may lie.
    pub fn of_gaps(gaps: &TokenGaps) -> Option<Self> {
        Self::through(gaps.count(), |share| Some((share, gaps.at_share(share)?)))
    }

    fn through(n: u64, point: impl Fn(f64) -> Option<(f64, f64)>) -> Option<Self> {
        let mut shares: Vec<f64> = (0..EVEN).map(|step| f64::from(step) / f64::from(EVEN)).chain(TAIL).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let points: Vec<_> = shares.into_iter().map_while(point).collect();
        (!points.is_empty()).then_some(Self { n, points })
    }
}

/// The shortest gap that counts as one, milliseconds. Those of tokens that shared a read are shorter.
const SHORTEST_MS: f64 = 0.01;
/// Bars that a power of ten may be cut into, the finest first.
const BARS_OF_A_DECADE: [u32; 4] = [40, 20, 10, 5];
/// Most bars.
const MOST_BARS: f64 = 60.0;

/// The gaps between the tokens of the measured answers, token-weighted as inter-token latency is.
#[derive(Clone, Debug)]
pub struct TokenGaps(Sample);

/// Gaps of about a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapBar {
    /// The shortest, milliseconds; 0 where they are too short to be measured.
    pub from_ms: f64,
    /// Upper end of the bar, milliseconds.
    pub to_ms: f64,
    /// How many.
    pub count: u64,
}

impl TokenGaps {
    /// Gaps of a run; `None` where there are none.
    pub fn from_log(log: &RunLog) -> Option<Self> {
        let mut gaps = Gaps::default();
        for record in log.records.iter().filter(|record| record.phase == Phase::Measured) {
            if let Some(answer) = Received::from_record(&record) {
                gaps.add(answer);
            }
        }
        let (_, of_tokens, _) = gaps.finish();
        (!of_tokens.is_empty()).then_some(Self(of_tokens))
    }

    /// Number of gaps.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Number of gaps that are silences in which answers were cut off. Nobody knows how much longer they would have
    /// been.
    pub fn open(&self) -> u64 {
        self.0.censored()
    }

    /// Returns the milliseconds that a share of the gaps are at most. The share lies between 0 and 1. 0 where these
    /// gaps are too short to be measured. `None` where some of them were cut off, or may be longer than one that was.
    pub fn at_share(&self, share: f64) -> Option<f64> {
        let known = self.0.quantile(share)?.exact()?;
        Some(if known < SHORTEST_MS { 0.0 } else { known })
    }

    /// Returns the bars from the shortest gap to the longest, without empty ones. Each is a like share of a power of
    /// ten wide, but for the first where it holds all that are too short. A gap that was cut off is in the bar of the
    /// length that it had reached.
    pub fn bars(&self) -> Vec<GapBar> {
        let tiny = GapBar { from_ms: 0.0, to_ms: SHORTEST_MS, count: self.shorter_than(SHORTEST_MS) };
        let mut bars: Vec<GapBar> = (tiny.count > 0).then_some(tiny).into_iter().collect();
        let ends = self.0.order_statistic(tiny.count).zip(self.0.max());
        let Some((least, most)) = ends.map(|(least, most)| (least.at_least(), most.at_least())) else { return bars };
        let decades = (most / least).log10();
        let per_decade = BARS_OF_A_DECADE.into_iter().find(|bars| f64::from(*bars) * decades <= MOST_BARS);
        let per_decade = f64::from(per_decade.unwrap_or(BARS_OF_A_DECADE[3]));
        let place = |ms: f64| (ms.log10() * per_decade).floor() as i64;
        let edge = |bar: i64| 10_f64.powf(bar as f64 / per_decade);
        // What rounding keeps a hair from its edge is in the bar beside it.
        let all = (place(least) - 1..=place(most) + 1).map(|bar| {
            let (from_ms, to_ms) = (edge(bar), edge(bar + 1));
            let before = self.shorter_than(from_ms.max(SHORTEST_MS));
            GapBar { from_ms, to_ms, count: self.shorter_than(to_ms).saturating_sub(before) }
        });
        bars.extend(all.filter(|bar| bar.count > 0));
        bars
    }

    fn shorter_than(&self, ms: f64) -> u64 {
        self.0.count_at_most(ms.next_down())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{Failure, FailureKind};

    #[test]
    fn a_curve_goes_through_the_order_statistics() {
        // TTFT 1 … 181 ms: the share i/180 lies exactly at 1 + i.
        let records = (0..181).map(|i| record(i).sent_at(i, i, i).paced(2 * i + 1, 10, 2).build()).collect();
        let curve = LatencyCurve::new(&run(1_000, records), Metric::Ttft).unwrap();
        assert_eq!((curve.n, curve.points.len()), (181, 188));
        for (share, ms) in &curve.points {
            // By hand: rank 180 × share, counted from the first, which is 1 ms.
            assert!((ms - (180.0 * share + 1.0)).abs() < 1e-9, "{share}: {ms}");
        }
        assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0) && curve.points.iter().any(|(share, _)| *share == 0.99));
        assert_eq!(curve.points.last(), Some(&(1.0, 181.0)));
    }

    #[test]
    fn it_ends_where_nothing_more_is_known() {
        let mut records: Vec<_> = (0..90).map(|i| record(i).sent_at(i, i, i).paced(i + 50, 10, 2).build()).collect();
        records.extend((90..100).map(|i| record(i).sent_at(i, i, i).censored(900).build()));
        let curve = LatencyCurve::new(&run(1_000, records), Metric::Ttft).unwrap();
        let (last, _) = curve.points.last().unwrap();
        assert!((0.88..0.91).contains(last), "{last}");
        assert_eq!(LatencyCurve::new(&run(1_000, Vec::new()), Metric::Ttft), None);
    }

    /// Nine gaps of 10 ms and a silence of 2 s. A time limit ended the silence: of the tenth nothing is known but that
    /// it is longer.
    #[test]
    fn that_of_gaps_ends_before_those_that_were_cut_off() {
        let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s");
        let cut = record(0).sent_at(0, 0, 0).paced(100, 10, 10).asked(100).failed(2_190, silent);
        let curve = LatencyCurve::of_gaps(&TokenGaps::from_log(&run(3_000, vec![cut.build()])).unwrap()).unwrap();
        let (last, ms) = *curve.points.last().unwrap();
        assert_eq!(curve.n, 10);
        // By hand: the ninth of ten is the share 8/9.
        assert!((last - 8.0 / 9.0).abs() < 1e-9 && (ms - 10.0).abs() < 0.1, "{last} {ms}");
    }

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
        let gaps = TokenGaps::from_log(&log).unwrap();
        let bars = gaps.bars();
        assert_eq!((gaps.count(), bars.iter().map(|bar| bar.count).sum::<u64>()), (2_001, 2_001));
        assert_eq!(bars.iter().map(|bar| bar.count).collect::<Vec<_>>(), [500, 1_500, 1]);
        for (bar, gap) in bars.iter().zip([20.0, 31.0, 900.0]) {
            assert!(bar.from_ms <= gap * 1.001 && gap * 0.999 < bar.to_ms, "{bar:?}");
            // From 20 to 900 ms is a ratio of 45 or 1.65 powers of ten: with 20 bars each that is 33 bars,
            // with 40 too many.
            assert!(((bar.to_ms / bar.from_ms).log10() - 0.05).abs() < 1e-9, "{bar:?}");
        }
        assert!((gaps.at_share(0.5).unwrap() - 31.0).abs() < 0.1);
    }

    #[test]
    fn gaps_far_apart_have_wide_bars_and_no_gaps_have_none() {
        let log = run(100_000, vec![record(0).sent_at(0, 0, 0).chunks(&[(1, 1), (1, 1), (90_000, 1)]).build()]);
        let bars = TokenGaps::from_log(&log).unwrap().bars();
        assert_eq!(bars.len(), 2);
        assert_eq!(bars[0], GapBar { from_ms: 0.0, to_ms: 0.01, count: 1 });
        assert!((bars[1].to_ms / bars[1].from_ms).log10() > 0.02 && bars[1].to_ms > 89_900.0);
        assert!(TokenGaps::from_log(&run(1_000, vec![record(0).whole_answer(5, 1).build()])).is_none());
    }

    /// Tokens that shared a read have no gap between them, not one of 10 µs. What was cut off is no longest gap.
    #[test]
    fn gaps_too_short_are_none_and_those_cut_off_have_no_length() {
        let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s");
        let chunks = [(10, 1), (10, 1), (10, 1), (40, 1)];
        let cut = record(0).sent_at(0, 0, 0).chunks(&chunks).asked(100).failed(2_040, silent).build();
        let gaps = TokenGaps::from_log(&run(3_000, vec![cut])).unwrap();
        assert_eq!((gaps.count(), gaps.open()), (4, 1));
        assert_eq!((gaps.at_share(1.0 / 3.0), gaps.at_share(1.0)), (Some(0.0), None));
        assert!((gaps.at_share(2.0 / 3.0).unwrap() - 30.0).abs() < 0.1);
        let bars = gaps.bars();
        assert_eq!(bars.iter().map(|bar| bar.count).collect::<Vec<_>>(), [2, 1, 1]);
        assert!(bars[2].from_ms <= 2_000.0 && bars[2].to_ms > 2_000.0);
    }

    /// Gaps of 10 ms, one of 500 ms, and one cut off after 150 ms. That one may have been longer than 500 ms or not.
    #[test]
    fn nothing_is_known_from_the_shortest_cut_off_gap_on() {
        let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 150 ms");
        let chunks = [(0, 1), (10, 1), (20, 1), (30, 1), (40, 1), (540, 1)];
        let cut = record(0).sent_at(0, 0, 0).chunks(&chunks).asked(100).failed(690, silent).build();
        let gaps = TokenGaps::from_log(&run(3_000, vec![cut])).unwrap();
        assert!((gaps.at_share(0.6).unwrap() - 10.0).abs() < 0.1);
        assert_eq!((gaps.at_share(0.8), gaps.at_share(1.0)), (None, None));
    }
}
