//! The latency table of a run: one row a metric.

use std::cell::LazyCell;

use serde::Serialize;

use super::gaps::{Gaps, Received, Stalls};
use super::intervals::{add_intervals, add_intervals_of_many, are_dependent};
use super::row::{LatencyRow, Percentile};
use crate::analysis::figures::{Figure, Metric, Quantile, Sample};
use crate::analysis::requests::{Measured, Observed, Occupancy, session_of};
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
        let reasoned = observed.requests.iter().any(|request| request.latency().ttfa.and_then(Figure::exact).is_some());
        let asked = &observed.log.header.percentiles;
        let mut gaps = Gaps::default();
        // What an answer had sent until it was cut off was received like any other.
        let answers = || {
            observed.requests.iter().map(|request| {
                let record = request.record();
                let session = session_of(&record);
                (record, session)
            })
        };
        for (record, _) in answers() {
            if let Some(answer) = Received::from_record(&record) {
                gaps.add(answer);
            }
        }
        let (chunk_gap, itl, mut stalls) = gaps.finish();
        if observed.delivery.itl_withheld {
            stalls = Stalls::default();
        }
        let of_tokens: SamplesOf = |answer, take| answer.token_gaps().for_each(|(gap, tokens)| take(gap, tokens));
        let of_chunks: SamplesOf = |answer, take| answer.chunk_gaps().for_each(|(gap, times)| take(gap, times));
        let in_flight = observed.in_flight_of(observed.requests.iter());
        let of_itl = LazyCell::new(|| of_answers(&itl, asked, answers(), of_tokens, in_flight));
        let table = Self::from_rows(Metric::LATENCIES, |metric| match metric {
            metric if observed.delivery.withholds(metric) => None,
            Metric::Itl => of_itl.clone(),
            // Where each chunk has one token.
            Metric::ChunkGap if chunk_gap.is_same_as(&itl) => of_itl.clone(),
            Metric::ChunkGap => of_answers(&chunk_gap, asked, answers(), of_chunks, in_flight),
            Metric::QueueWait if !capped => None,
            Metric::Ttfa if !reasoned => None,
            metric => {
                let figures = figures(observed.requests.iter(), metric).chain(unended(observed, metric));
                in_order(figures, asked, of_metric(in_flight, metric))
            }
        });
        (table, stalls)
    }

    /// The metrics of a group of requests.
    pub(crate) fn of_group(observed: &Observed<'_>, requests: &[&Measured<'_>]) -> Self {
        let in_flight = observed.in_flight_of(requests.iter().copied());
        Self::from_rows(Metric::MAIN, |metric| {
            let figures = figures(requests.iter().copied(), metric);
            Some(row_and_values(figures, &[], of_metric(in_flight, metric))?.0)
        })
    }

    fn from_rows<const N: usize>(metrics: [Metric; N], row: impl Fn(Metric) -> Option<LatencyRow>) -> Self {
        let mut rows: Vec<_> = metrics.into_iter().filter_map(|metric| Some((metric, row(metric)?))).collect();
        // Where noise hides from one latency that the server remembers, the wait for the first token shows it.
        let of = |metric| rows.iter().find(|(of, _)| *of == metric).map(|(_, row)| row.correlation_times);
        if let Some(times) = of(Metric::Ttft).or_else(|| of(Metric::E2e)) {
            for (_, row) in &mut rows {
                row.lose_unseen(times);
            }
        }
        Self { rows }
    }
}

impl LatencyRow {
    /// Describes a latency of which each request has one. The requests are in order of arrival. `None` without any.
    pub fn in_order(values: &[f64]) -> Option<Self> {
        in_order(values.iter().zip(0..).map(|(value, session)| (Figure::Exact(*value), 0, session)), &[], None)
    }

    /// Describes the gaps inside answers, of each answer its own. The answers are in order of arrival. `None` without
    /// any.
    pub fn of_gaps(answers: &[&[f64]]) -> Option<Self> {
        let sample = Sample::new(answers.iter().copied().flatten().copied().collect());
        let mut row = Self::new(&sample, &[])?;
        add_intervals_of_many(&mut row, &sample, answers.iter().zip(0..), None, |gaps, take| {
            gaps.iter().for_each(|gap| take(*gap, 1));
        });
        Some(row)
    }
}

/// Returns the latencies of requests that had no end when the log was cut off. Each is at least nothing.
fn unended(observed: &Observed<'_>, metric: Metric) -> impl Iterator<Item = Sampled> {
    let has_one = matches!(metric, Metric::Ttft | Metric::TtftFromSend | Metric::E2e | Metric::E2eFromSend);
    let unended = if has_one { observed.window.in_flight } else { 0 };
    (0..unended).map(|number| (Figure::AtLeast(0.0), 0, u64::MAX - number))
}

/// The figure of a request, how many it found in flight, and its session.
type Sampled = (Figure, u32, u64);

/// The memory of a latency that each request has one of.
fn of_metric(in_flight: Option<Occupancy>, metric: Metric) -> Option<Occupancy> {
    in_flight.map(|in_flight| if metric.is_pace() { in_flight.of_pace(1.0) } else { in_flight })
}

/// Returns the figures of a latency that each request has one of. They are in order of arrival.
fn figures<'r, 'a: 'r>(
    requests: impl Iterator<Item = &'r Measured<'a>>,
    metric: Metric,
) -> impl Iterator<Item = Sampled> {
    requests.filter_map(move |request| request.sampled(metric))
}

/// Returns the row of one figure a request, in order of arrival. It says whether requests that follow one another are
/// alike.
fn in_order(figures: impl Iterator<Item = Sampled>, asked: &[f64], in_flight: Option<Occupancy>) -> Option<LatencyRow> {
    let (mut row, values) = row_and_values(figures, asked, in_flight)?;
    row.dependent = are_dependent(&values);
    Some(row)
}

/// Returns the row of one figure a request, in order of arrival. It has the percentiles that the user asked for, in
/// percent. `None` without a figure.
pub(crate) fn of_requests(figures: impl Iterator<Item = Figure>, asked: &[f64]) -> Option<LatencyRow> {
    row_and_values(figures.zip(0..).map(|(figure, session)| (figure, 0, session)), asked, None).map(|(row, _)| row)
}

/// Returns the row of one figure a request, with the least that each can be.
fn row_and_values(
    figures: impl Iterator<Item = Sampled>,
    asked: &[f64],
    in_flight: Option<Occupancy>,
) -> Option<(LatencyRow, Vec<f64>)> {
    let with_found = figures.map(|(figure, found, session)| (figure, (f64::from(found), session)));
    let (figures, found): (Vec<Figure>, Vec<(f64, u64)>) = with_found.unzip();
    let (found, sessions): (Vec<f64>, Vec<u64>) = found.into_iter().unzip();
    let values: Vec<f64> = figures.iter().map(|figure| figure.at_least()).collect();
    let sample = figures.into_iter().collect();
    let mut row = LatencyRow::new(&sample, asked)?;
    add_intervals(&mut row, &sample, [&values, &found], &sessions, in_flight);
    Some((row, values))
}

/// Hands out the samples of an answer, each with how many it stands for.
type SamplesOf = fn(Received<'_>, &mut dyn FnMut(f64, u32));

/// Returns the row of what lies between the chunks of `answers`. They are the gaps of each, with the samples that one
/// stands for.
fn of_answers<'r>(
    sample: &Sample,
    asked: &[f64],
    answers: impl Iterator<Item = (RecordRef<'r>, u64)>,
    gaps: SamplesOf,
    in_flight: Option<Occupancy>,
) -> Option<LatencyRow> {
    let mut row = LatencyRow::new(sample, asked)?;
    let answers = answers.filter(|(record, _)| Received::from_record(record).is_some());
    add_intervals_of_many(&mut row, sample, answers, in_flight, |record, take| {
        if let Some(answer) = Received::from_record(&record) {
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
            let (table, _) = LatencyTable::of_run(&Observed::from_log(&run(
                1_000,
                vec![record(0).sent_at(0, 0, 0).chunks(&chunks).build()],
            )));
            [Metric::Itl, Metric::ChunkGap].map(|gap| table.percentile(gap, Quantile::P50).unwrap().figure)
        };
        assert_eq!(medians(1), [40.0, 40.0].map(Figure::Exact));
        assert_eq!(medians(4), [10.0, 40.0].map(Figure::Exact));
    }
}
