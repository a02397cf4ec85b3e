//! How a latency is distributed: few points of its cumulative distribution, enough to draw it.

use super::gap_histogram::GapHistogram;
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::requests::observed::latency_of;
use crate::record::{Phase, RunLog};

/// Points that lie evenly apart.
const EVEN: u32 = 180;
/// More points where the tail is.
const TAIL: [f64; 8] = [0.99, 0.995, 0.997, 0.998, 0.999, 0.999_5, 0.999_9, 1.0];

/// The cumulative distribution of a latency over the measured requests.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyCurve {
    /// Samples; tokens for `itl`.
    pub n: u64,
    /// Shares of the samples, between 0 and 1, with the milliseconds that they are at most, ascending. Requests that were
    /// cut off count with the most that they can have taken; where there is no such most, it ends.
    pub points: Vec<(f64, f64)>,
}

impl LatencyCurve {
    /// Of a latency of which each request has one; `None` without a sample of which anything is known.
    pub fn of(log: &RunLog, metric: Metric) -> Option<Self> {
        let measured = log.records.iter().filter(|record| record.phase == Phase::Measured);
        let figures = measured.filter_map(|record| latency_of(log, record).get(metric));
        let sample: Sample = figures.collect();
        let at_most = |share| Some((share, sample.quantile(share).and_then(Figure::at_most)?));
        Self::through(sample.len(), at_most)
    }

    /// Of the gaps between tokens; it ends where those in which answers were cut off may lie.
    pub fn of_gaps(gaps: &GapHistogram) -> Option<Self> {
        Self::through(gaps.count(), |share| Some((share, gaps.at_share(share)?)))
    }

    fn through(n: u64, point: impl Fn(f64) -> Option<(f64, f64)>) -> Option<Self> {
        let mut shares: Vec<f64> =
            (0..EVEN).map(|step| f64::from(step) / f64::from(EVEN)).chain(TAIL).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let points: Vec<_> = shares.into_iter().map_while(point).collect();
        (!points.is_empty()).then_some(Self { n, points })
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
        let curve = LatencyCurve::of(&run(1_000, records), Metric::Ttft).unwrap();
        assert_eq!((curve.n, curve.points.len()), (181, 188));
        for (share, ms) in &curve.points {
            // By hand: rank 180 × share, counted from the first, which is 1 ms.
            assert!((ms - (180.0 * share + 1.0)).abs() < 1e-9, "{share}: {ms}");
        }
        assert!(
            curve.points.is_sorted_by(|a, b| a.0 < b.0)
                && curve.points.iter().any(|(share, _)| *share == 0.99)
        );
        assert_eq!(curve.points.last(), Some(&(1.0, 181.0)));
    }

    #[test]
    fn it_ends_where_nothing_more_is_known() {
        let mut records: Vec<_> =
            (0..90).map(|i| record(i).sent_at(i, i, i).paced(i + 50, 10, 2).build()).collect();
        records.extend((90..100).map(|i| record(i).sent_at(i, i, i).censored(900).build()));
        let curve = LatencyCurve::of(&run(1_000, records), Metric::Ttft).unwrap();
        let (last, _) = curve.points.last().unwrap();
        assert!((0.88..0.91).contains(last), "{last}");
        assert_eq!(LatencyCurve::of(&run(1_000, Vec::new()), Metric::Ttft), None);
    }

    /// Nine gaps of 10 ms and a silence of 2 s that a time limit ended: of the tenth nothing is known but that it is longer.
    #[test]
    fn that_of_gaps_ends_before_those_that_were_cut_off() {
        let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s");
        let cut = record(0).sent_at(0, 0, 0).paced(100, 10, 10).asked(100).failed(2_190, silent);
        let curve =
            LatencyCurve::of_gaps(&GapHistogram::of(&run(3_000, vec![cut.build()])).unwrap()).unwrap();
        let (last, ms) = *curve.points.last().unwrap();
        assert_eq!(curve.n, 10);
        assert!((0.89..=0.9).contains(&last) && (ms - 10.0).abs() < 0.1, "{last} {ms}");
    }
}
