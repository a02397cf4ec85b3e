//! Reads a figure of a run from its summary, by its key.

use crate::analysis::figures::{Figure, FigureKey, FigureKind, Metric, PartName, Quantile, SampleWarning};
use crate::analysis::latency::row::{LatencyRow, Percentile};
use crate::analysis::parts::part::Part;
use crate::analysis::summary::run::Summary;
use crate::record::{Gauge, PartKind};

impl FigureKey {
    /// The figure in `summary`; `None` where the run has none.
    pub fn read(&self, summary: &Summary) -> Option<Figure> {
        match (&self.part, self.statistic) {
            (Some(part), _) if part.kind == Some(PartKind::Slice) => {
                summary.quality.as_ref()?.slice(&part.name)?.pass_rate.map(Figure::Exact)
            }
            (Some(part), _) => part.part(summary)?.figure(self),
            (None, Some(statistic)) => summary.latency.row(self.metric)?.statistic(statistic),
            (None, None) if self.kind() == FigureKind::Cost => summary.costs.as_ref()?.figure(self.metric),
            (None, None) => of_run(self.metric, summary).map(Figure::Exact),
        }
    }

    /// The latency whose statistic it is.
    pub(super) fn row<'s>(&self, summary: &'s Summary) -> Option<&'s LatencyRow> {
        match &self.part {
            Some(part) => part.part(summary)?.latency.row(self.metric),
            None => summary.latency.row(self.metric),
        }
    }

    /// Returns the share of the samples beyond it. `None` unless it is a percentile other than the median.
    pub(super) fn tail(&self) -> Option<f64> {
        let fraction = self.statistic?.fraction()?;
        Some(fraction.min(1.0 - fraction)).filter(|&tail| tail < 0.5)
    }

    /// The percentile of a latency that it is, where it is one.
    pub(crate) fn percentile_in<'s>(&self, summary: &'s Summary) -> Option<&'s Percentile> {
        self.row(summary)?.at(self.statistic?)
    }

    /// The 95 % interval of a percentile or an accuracy, by one run.
    pub fn interval(&self, summary: &Summary) -> Option<(Option<f64>, Option<f64>)> {
        if self.metric == Metric::Accuracy {
            let scores = match &self.part {
                Some(part) => part.part(summary)?.accuracy,
                None => summary.accuracy,
            };
            return scores.map(|scores| (scores.interval_low, scores.interval_high));
        }
        self.percentile_in(summary).map(|percentile| percentile.interval)
    }

    /// A reservation about it, and the samples it rests on.
    pub fn warning(&self, summary: &Summary) -> Option<(SampleWarning, u64)> {
        // Percentiles too, whatever their names.
        let requests = match self.metric {
            Metric::SlowTokensPerRequest => Some(summary.request_speed?.requests),
            Metric::SlowRealTimeFactor => Some(summary.real_time_factor?.requests),
            _ => None,
        };
        if let Some(requests) = requests {
            return Some((Quantile::P95.mark(requests)?, requests));
        }
        Some((self.percentile_in(summary)?.mark?, self.row(summary)?.n))
    }

    /// Returns half of the 95 % interval that one run gives it, as its share. `None` where there is none.
    pub fn relative_half_width(&self, summary: &Summary) -> Option<f64> {
        let percentile = self.percentile_in(summary)?;
        let (low, high) = percentile.interval;
        let value = percentile.figure.exact().filter(|&value| value > 0.0)?;
        Some((high? - low?) / 2.0 / value)
    }
}

/// A rate or a share of the whole run.
fn of_run(metric: Metric, summary: &Summary) -> Option<f64> {
    match metric {
        Metric::Goodput => summary.slo.goodput_per_s,
        Metric::RequestRate => summary.rates.completed_requests_per_s,
        Metric::Inputs => summary.rates.inputs_per_s,
        Metric::AudioSeconds => summary.rates.audio_seconds_per_s,
        Metric::RealTimeFactor => summary.real_time_factor?.p50,
        Metric::SlowRealTimeFactor => summary.real_time_factor?.p95,
        Metric::InputTokens => summary.rates.input_tokens_per_s,
        Metric::OutputTokens => summary.rates.output_tokens_per_s,
        Metric::ArrivedOutputTokens => summary.rates.arrived_output_tokens_per_s,
        Metric::AnswerTokens => summary.tokens.answer_lengths.received.map(|lengths| lengths.mean),
        Metric::OutputTokensPerGpu => summary.rates.output_tokens_per_s_per_gpu,
        Metric::TokensPerUser => {
            let tpot = FigureKey::percentile(Quantile::P50, Metric::Tpot).read(summary)?;
            tpot.exact().filter(|&ms| ms > 0.0).map(|ms| 1e3 / ms)
        }
        Metric::TokensPerRequest => summary.request_speed?.p50,
        Metric::SlowTokensPerRequest => summary.request_speed?.p5,
        Metric::InFlight => summary.in_flight.map(|level| level.mean),
        Metric::Running => Some(summary.server.as_ref()?.gauge(Gauge::Running)?.mean),
        Metric::Waiting => Some(summary.server.as_ref()?.gauge(Gauge::Waiting)?.mean),
        Metric::KvUsage => Some(summary.server.as_ref()?.gauge(Gauge::KvUsage)?.max),
        Metric::PrefixHits => summary.server.as_ref()?.prefix_hits(),
        Metric::ErrorRate => summary.failures.error_rate,
        Metric::RejectRate => summary.failures.reject_rate,
        Metric::TimeoutRate => summary.failures.timeout_rate,
        Metric::SloAttainment => summary.slo.slo_attainment,
        Metric::DeadlineMiss => Some(summary.deadlines?.deadline_miss),
        Metric::DeadlineMissRequests => Some(summary.deadlines?.deadline_miss_requests),
        Metric::CacheLoss => summary.prefix_cache.as_ref()?.off().map(|off| (-off).max(0.0)),
        Metric::CheckPassRate => summary.quality.as_ref()?.pass_rate,
        Metric::Accuracy => summary.accuracy?.accuracy,
        Metric::ValidAnswers => summary.answers.as_ref()?.valid_share,
        Metric::Amplification => summary.attempts.as_ref()?.amplification,
        _ => None,
    }
}

impl Part {
    /// Returns the figure of this part for a key, whichever part that names. `None` where it has none.
    pub fn figure(&self, key: &FigureKey) -> Option<Figure> {
        if let Some(statistic) = key.statistic {
            return self.latency.row(key.metric)?.statistic(statistic);
        }
        match key.metric {
            Metric::Goodput => self.slo.goodput_per_s,
            Metric::ErrorRate => self.error_rate,
            Metric::RejectRate => self.reject_rate,
            Metric::TimeoutRate => self.timeout_rate,
            Metric::SloAttainment => self.slo.slo_attainment,
            Metric::Accuracy => self.accuracy.and_then(|scores| scores.accuracy),
            _ => None,
        }
        .map(Figure::Exact)
    }
}

impl PartName {
    /// Returns the part of a run that is meant. `None` where there is none, or the name fits several.
    fn part<'s>(&self, summary: &'s Summary) -> Option<&'s Part> {
        let is_meant = |part: &&Part| part.name == self.name && self.kinds().any(|kind| kind == part.kind);
        let mut parts = summary.parts.iter().filter(is_meant);
        parts.next().filter(|_| parts.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn figures_are_read_of_the_run_and_of_a_class() {
        let records = (0..4).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 11).build()).collect();
        let log = run(1_000, records);
        let summary = summarise(&log, &[]);
        let figure = |text: &str| text.parse::<FigureKey>().unwrap().read(&summary).and_then(Figure::exact);
        assert_eq!(figure("p50 ttft"), Some(100.0));
        assert_eq!(figure("p50 ttft of chat"), Some(100.0));
        assert_eq!((figure("p50 ttft of search"), figure("error_rate")), (None, Some(0.0)));
        // A token each 10 ms is 100 of them in a second.
        assert_eq!(figure("tokens_per_s_per_user"), Some(100.0));
        let unfit = "p50 ttft of search".parse::<FigureKey>().unwrap().check(&log.header.workload).unwrap_err();
        assert!(unfit.to_string().starts_with("the figure `p50 ttft of search` does not fit"), "{unfit}");
    }

    /// Four requests of 100 and 11 tokens in a second on four GPUs. Each is there for 0.2 s.
    #[test]
    fn each_rate_is_read_by_its_name() {
        let mut log = run(
            1_000,
            (0..4).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 11).usage(100, 11).build()).collect(),
        );
        log.header.deployment.gpus = Some(4);
        let summary = summarise(&log, &[]);
        for (name, expected) in [
            ("goodput", 4.0),
            ("request_rate", 4.0),
            ("input_tokens_per_s", 400.0),
            ("output_tokens_per_s", 44.0),
            ("output_tokens_per_s_per_gpu", 11.0),
            ("in_flight", 0.8),
            ("reject_rate", 0.0),
            ("timeout_rate", 0.0),
        ] {
            let found = name.parse::<FigureKey>().unwrap().read(&summary).and_then(Figure::exact);
            assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{name}: {found:?}");
        }
    }

    #[test]
    fn only_percentiles_other_than_the_median_have_a_tail() {
        let tail = |text: &str| {
            let share = text.parse::<FigureKey>().unwrap().tail()?;
            Some((share * 1e6).round() / 1e6)
        };
        assert_eq!([tail("p50 ttft"), tail("p90 ttft"), tail("p99 ttft")], [None, Some(0.1), Some(0.01)]);
        assert_eq!([tail("mean ttft"), tail("error_rate")], [None, None]);
    }

    /// 2,000 latencies, even from 0 to 1 s.
    #[test]
    fn half_of_an_interval_is_a_share_of_its_figure() {
        let spread = |i: u64| i * 7_919 % 1_000;
        let records = (0..2_000).map(|i| {
            let at = 10 * i;
            record(i).sent_at(at, at, at).paced(at + spread(i), 10, 3).build()
        });
        let summary = summarise(&run(30_000, records.collect()), &[]);
        let key = "p50 ttft".parse::<FigureKey>().unwrap();
        let (Some(low), Some(high)) = key.interval(&summary).unwrap() else { panic!("no interval") };
        let median = key.read(&summary).and_then(Figure::exact).unwrap();
        let share = key.relative_half_width(&summary).unwrap();
        assert!((share * median - (high - low) / 2.0).abs() < 1e-9 && share < 0.2, "{low} {median} {high}");
    }
}
