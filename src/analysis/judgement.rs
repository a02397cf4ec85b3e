//! Holds a run against an objective.

use serde::Serialize;

use super::{Comparison, Figure, Flow, Mark, Objective, Share, Statistic, Subject, Summary};
use crate::units::{count, three_digits};

/// What became of an objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The objective as typed.
    pub objective: String,
    /// Whether it was met.
    pub status: Status,
    /// The figure judged: milliseconds, per second or a share between 0 and 1; absent when it is not known.
    pub value: Option<f64>,
    /// A reservation about the figure.
    pub mark: Option<Mark>,
    /// The judgement as a person reads it.
    pub line: String,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// The run cannot tell, which counts as missed: nothing unknown passes.
    Unresolvable,
}

impl Judgement {
    /// Whether the objective counts as met.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.status == Status::Met
    }
}

impl Objective {
    /// Holds the run against this objective.
    #[must_use]
    pub fn evaluate(&self, summary: &Summary) -> Judgement {
        let figure = self.subject.read(summary);
        let status = figure.map_or(Status::Unresolvable, |figure| self.judge(figure));
        let mark = self.subject.mark(summary);
        let was = figure.map_or("no such figure in this run".to_owned(), |figure| match figure {
            Figure::Exact(value) => format!("was {}", self.subject.show(value)),
            Figure::AtLeast(bound) => format!("was over {}", self.subject.show(bound)),
        });
        let word = match status {
            Status::Met => "met",
            Status::Missed => "missed",
            Status::Unresolvable => "unresolvable",
        };
        let reservation = match mark {
            Some((Mark::TooFewSamples, n)) => format!("; too few samples: {}", count(n)),
            Some((Mark::Indicative, n)) => format!("; indicative: {} samples", count(n)),
            None => String::new(),
        };
        Judgement {
            objective: self.text.clone(),
            status,
            value: figure.and_then(Figure::exact),
            mark: mark.map(|(mark, _)| mark),
            line: format!("{word}: {} ({was}{reservation})", self.text),
        }
    }

    /// A figure known only to reach a limit misses an upper bound at or under it, meets a lower one, and
    /// leaves every other question open.
    fn judge(&self, figure: Figure) -> Status {
        let known = |holds| if holds { Status::Met } else { Status::Missed };
        match (figure, self.comparison) {
            (Figure::Exact(value), comparison) => known(comparison.holds(value, self.bound)),
            (Figure::AtLeast(limit), Comparison::Below | Comparison::AtMost) if limit >= self.bound => {
                Status::Missed
            }
            (Figure::AtLeast(limit), Comparison::Above | Comparison::AtLeast) if limit >= self.bound => {
                Status::Met
            }
            (Figure::AtLeast(_), _) => Status::Unresolvable,
        }
    }
}

impl Subject {
    fn read(self, summary: &Summary) -> Option<Figure> {
        match self {
            Self::Latency(statistic, metric) => {
                let row = summary.latency.row(metric)?;
                match statistic {
                    Statistic::Mean => row.mean_ms.map(Figure::Exact),
                    Statistic::Min => Some(row.min),
                    Statistic::Max => Some(row.max),
                    Statistic::Percentile(quantile) => Some(row.percentile(quantile).figure),
                }
            }
            Self::Rate(flow) => match flow {
                Flow::Goodput => summary.slo.goodput_per_s,
                Flow::CompletedRequests => summary.rates.completed_requests_per_s,
                Flow::InputTokens => summary.rates.input_tokens_per_s,
                Flow::OutputTokens => summary.rates.output_tokens_per_s,
            }
            .map(Figure::Exact),
            Self::Share(share) => match share {
                Share::Errors => summary.failures.error_rate,
                Share::Rejects => summary.failures.reject_rate,
                Share::Timeouts => summary.failures.timeout_rate,
                Share::SloAttainment => summary.slo.slo_attainment,
            }
            .map(Figure::Exact),
        }
    }

    fn mark(self, summary: &Summary) -> Option<(Mark, u64)> {
        let Self::Latency(Statistic::Percentile(quantile), metric) = self else { return None };
        let row = summary.latency.row(metric)?;
        Some((row.percentile(quantile).mark?, row.n))
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Latency(..) => format!("{} ms", three_digits(value)),
            Self::Rate(_) => format!("{}/s", three_digits(value)),
            Self::Share(_) => format!("{} %", three_digits(value * 100.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};

    fn line(objective: &str, log: &crate::record::RunLog) -> String {
        let objective = objective.parse().unwrap();
        summarise(log, &[objective]).objectives.remove(0).line
    }

    #[test]
    fn figures_are_held_against_their_bounds() {
        let records = (0..4).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + 200 + i * 100, 10, 11).build()
        });
        let log = run(1_000, records.collect());
        for (objective, expected) in [
            ("p50 ttft < 500ms", "met: p50 ttft < 500ms (was 350 ms)"),
            ("max ttft < 500ms", "missed: max ttft < 500ms (was 500 ms)"),
            ("max ttft <= 500ms", "met: max ttft <= 500ms (was 500 ms)"),
            ("p95 ttft < 400ms", "missed: p95 ttft < 400ms (was 485 ms; too few samples: 4)"),
            ("mean itl <= 10ms", "met: mean itl <= 10ms (was 10.0 ms)"),
            ("error_rate < 1%", "met: error_rate < 1% (was 0 %)"),
            ("goodput > 5/s", "missed: goodput > 5/s (was 4.00/s)"),
            ("p95 queue_wait < 1s", "unresolvable: p95 queue_wait < 1s (no such figure in this run)"),
        ] {
            assert_eq!(line(objective, &log), expected);
        }
    }

    #[test]
    fn a_limit_decides_only_what_it_can() {
        let mut records: Vec<_> =
            (0..3).map(|i| record(i).sent_at(0, 0, 0).paced(100, 10, 11).build()).collect();
        records.push(record(3).sent_at(0, 0, 0).censored(5_000).build());
        let log = run(1_000, records);
        for (objective, expected) in [
            ("max ttft < 5s", "missed: max ttft < 5s (was over 5,000 ms)"),
            ("max ttft < 9s", "unresolvable: max ttft < 9s (was over 5,000 ms)"),
            ("max ttft > 4s", "met: max ttft > 4s (was over 5,000 ms)"),
            ("mean ttft < 9s", "unresolvable: mean ttft < 9s (no such figure in this run)"),
        ] {
            assert_eq!(line(objective, &log), expected);
        }
    }
}
