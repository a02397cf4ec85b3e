//! The latency table of a run: one row a metric.

use std::cell::LazyCell;

use serde::Serialize;

use super::gaps::{Gaps, Received, Stalls};
use super::intervals::{add_intervals, add_intervals_of_many, are_dependent, in_flight_memory, is_too_long};
use super::row::{LatencyRow, Percentile};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::statistics::LEAST_EFFECTIVE;
use crate::record::RecordRef;

/// Every latency of a run. A metric without a sample is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTable {
    rows: Vec<(Metric, LatencyRow)>,
}

impl LatencyTable {
    /// The row of `metric`.
    pub fn row(&self, metric: Metric) -> Option<&LatencyRow> {
        self.rows.iter().find(|(of, _)| *of == metric).map(|(_, row)| row)
    }

    /// A percentile of `metric`.
    pub fn percentile(&self, metric: Metric, quantile: Quantile) -> Option<&Percentile> {
        self.row(metric).map(|row| row.percentile(quantile))
    }

    /// The rows that there are, in the order of [`Metric::LATENCIES`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &LatencyRow)> {
        self.rows.iter().map(|(metric, row)| (*metric, row))
    }

    /// All metrics over every measured request.
    pub(crate) fn of_run(observed: &Observed<'_>) -> (Self, Stalls) {
        let capped = observed.log.header.limits.is_capped();
        // Where no answer reasoned first, none that is cut off was about to.
        let reasoned =
            observed.requests.iter().any(|request| request.latency().ttfa.and_then(Figure::exact).is_some());
        let asked = &observed.log.header.percentiles;
        let mut gaps = Gaps::default();
        // What an answer had sent until it was cut off was received like any other.
        let answers = || observed.requests.iter().map(Measured::record);
        answers().for_each(|record| Received::of(&record).into_iter().for_each(|answer| gaps.add(answer)));
        let (chunk_gap, itl, mut stalls) = gaps.finish();
        if observed.delivery.itl_withheld {
            stalls = Stalls::default();
        }
        let of_tokens: SamplesOf =
            |answer, take| answer.token_gaps().for_each(|(gap, tokens)| take(gap, tokens));
        let of_chunks: SamplesOf =
            |answer, take| answer.chunk_gaps().for_each(|(gap, times)| take(gap, times));
        let memory = in_flight_memory(observed, &observed.requests);
        let of_itl = LazyCell::new(|| of_answers(&itl, asked, answers(), of_tokens, memory));
        let table = Self::from_rows(memory, Metric::LATENCIES, |metric| match metric {
            metric if observed.delivery.withholds(metric) => None,
            Metric::Itl => of_itl.clone(),
            // Where each chunk has one token.
            Metric::ChunkGap if chunk_gap.is_same_as(&itl) => of_itl.clone(),
            Metric::ChunkGap => of_answers(&chunk_gap, asked, answers(), of_chunks, memory),
            Metric::QueueWait if !capped => None,
            Metric::Ttfa if !reasoned => None,
            metric => {
                let figures = figures(observed.requests.iter(), metric).chain(unended(observed, metric));
                in_order(figures, asked, memory.filter(|_| metric.is_pace()))
            }
        });
        (table, stalls)
    }

    /// The metrics of a group of requests.
    pub(crate) fn of_group(observed: &Observed<'_>, requests: &[&Measured<'_>]) -> Self {
        let memory = in_flight_memory(observed, requests.iter().copied());
        Self::from_rows(memory, Metric::MAIN, |metric| {
            let memory = memory.filter(|_| metric.is_pace());
            Some(row_and_values(figures(requests.iter().copied(), metric), &[], memory)?.0)
        })
    }

    fn from_rows<const N: usize>(
        memory: Option<f64>,
        metrics: [Metric; N],
        row: impl Fn(Metric) -> Option<LatencyRow>,
    ) -> Self {
        let mut rows: Vec<_> =
            metrics.into_iter().filter_map(|metric| Some((metric, row(metric)?))).collect();
        // Where noise hides from one latency that the server remembers, the wait for the first token shows it.
        let of = |metric: Metric| {
            let (_, row) = rows.iter().find(|(of, _)| *of == metric)?;
            Some((row.correlation_times, row.dependent))
        };
        if let Some((times, dependent)) = of(Metric::Ttft).or_else(|| of(Metric::E2e)) {
            let is_short = memory.is_some_and(is_too_long) && dependent != Some(false);
            for (_, row) in &mut rows {
                row.lose_unseen(times.filter(|_| !is_short), LEAST_EFFECTIVE);
            }
        }
        Self { rows }
    }
}

impl LatencyRow {
    /// Describes a latency that each request has one of, the requests in order of arrival; `None` without any.
    pub fn in_order(values: &[f64]) -> Option<Self> {
        in_order(values.iter().copied().map(Figure::Exact), &[], None)
    }

    /// Describes the gaps inside answers, of each answer its own, the answers in order of arrival; `None` without any.
    pub fn of_gaps(answers: &[&[f64]]) -> Option<Self> {
        let sample = Sample::new(answers.iter().copied().flatten().copied().collect());
        let mut row = Self::of(&sample, &[])?;
        add_intervals_of_many(&mut row, &sample, answers.iter(), None, |gaps, take| {
            gaps.iter().for_each(|gap| take(*gap, 1));
        });
        Some(row)
    }
}

/// Latencies of the requests that had no end when the log was cut off: each is at least nothing.
fn unended(observed: &Observed<'_>, metric: Metric) -> impl Iterator<Item = Figure> {
    let has_one = matches!(metric, Metric::Ttft | Metric::TtftFromSend | Metric::E2e | Metric::E2eFromSend);
    std::iter::repeat_n(Figure::AtLeast(0.0), if has_one { observed.in_flight as usize } else { 0 })
}

/// The figures of a latency that each request has one of, in order of arrival.
fn figures<'r, 'a: 'r>(
    requests: impl Iterator<Item = &'r Measured<'a>>,
    metric: Metric,
) -> impl Iterator<Item = Figure> {
    requests.filter_map(move |request| request.latency().get(metric))
}

/// The row of one figure a request, in order of arrival, with whether those that follow one another are alike.
fn in_order(figures: impl Iterator<Item = Figure>, asked: &[f64], memory: Option<f64>) -> Option<LatencyRow> {
    let (mut row, values) = row_and_values(figures, asked, memory)?;
    row.dependent = are_dependent(&values);
    Some(row)
}

/// The row of one figure a request, in order of arrival, with the percentiles that the user asked for, in percent; `None`
/// without one.
pub(crate) fn of_requests(figures: impl Iterator<Item = Figure>, asked: &[f64]) -> Option<LatencyRow> {
    row_and_values(figures, asked, None).map(|(row, _)| row)
}

/// The same with the least that each figure can be.
fn row_and_values(
    figures: impl Iterator<Item = Figure>,
    asked: &[f64],
    memory: Option<f64>,
) -> Option<(LatencyRow, Vec<f64>)> {
    let mut values = Vec::new();
    let sample = figures.inspect(|figure| values.push(figure.at_least())).collect();
    let mut row = LatencyRow::of(&sample, asked)?;
    add_intervals(&mut row, &sample, &values, memory);
    Some((row, values))
}

/// Hands out the samples of an answer, each with how many it stands for.
type SamplesOf = fn(Received<'_>, &mut dyn FnMut(f64, u32));

/// The row of what lies between the chunks of `answers`: the gaps of each, with the samples that one stands for.
fn of_answers<'r>(
    sample: &Sample,
    asked: &[f64],
    answers: impl Iterator<Item = RecordRef<'r>>,
    gaps: SamplesOf,
    memory: Option<f64>,
) -> Option<LatencyRow> {
    let mut row = LatencyRow::of(sample, asked)?;
    let answers = answers.filter(|record| Received::of(record).is_some());
    add_intervals_of_many(&mut row, sample, answers, memory, |record, take| {
        if let Some(answer) = Received::of(&record) {
            gaps(answer, take);
        }
    });
    Some(row)
}

impl Serialize for LatencyTable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::LATENCIES.map(|metric| (metric.name(), self.row(metric))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn gaps_between_chunks_are_those_between_tokens_only_where_each_has_one() {
        let medians = |tokens: u32| {
            let chunks: Vec<_> = (0..11).map(|i| (100 + 40 * i, tokens)).collect();
            let (table, _) = LatencyTable::of_run(&Observed::of(&run(
                1_000,
                vec![record(0).sent_at(0, 0, 0).chunks(&chunks).build()],
            )));
            [Metric::Itl, Metric::ChunkGap].map(|gap| table.percentile(gap, Quantile::P50).unwrap().figure)
        };
        assert_eq!(medians(1), [40.0, 40.0].map(Figure::Exact));
        assert_eq!(medians(4), [10.0, 40.0].map(Figure::Exact));
    }
}
