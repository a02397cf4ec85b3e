//! A figure that runs are compared by, such as `p95 ttft` or `p95 ttft of chat`, without a bound on it.

use std::fmt;
use std::str::FromStr;

use super::percentile::Figure;
use super::scope::{PartKind, Scope};
use super::subject::Statistic;
use super::subject::{Comparison, FigureKey, Sense};
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::slo::objective::figure_of_part;
use crate::analysis::slo::objective::{Objective, UnfitObjective};
use crate::analysis::summary::run::Summary;
use crate::workload::WorkloadSpec;

/// A figure of a run, or of a part of its requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    /// As it was typed.
    pub text: String,
    /// The figure.
    pub subject: FigureKey,
    /// Whose figure it is; absent: the whole run's.
    pub scope: Option<Scope>,
}

/// A text that names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a figure to compare: {problem}\n  a figure is, for example, p95 ttft, mean e2e, goodput, \
     error_rate, output_tokens_per_s or p95 ttft of chat"
)]
pub struct FigureKeyError {
    text: String,
    problem: String,
}

impl FromStr for Measure {
    type Err = FigureKeyError;

    fn from_str(text: &str) -> Result<Self, FigureKeyError> {
        let words: Vec<_> = text.split_whitespace().collect();
        let text = words.join(" ");
        match figure_of_part(&text) {
            Ok((subject, scope)) => Ok(Self { text, subject, scope }),
            Err(problem) => Err(FigureKeyError { text, problem }),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Measure {
    /// The same figure of the requests of one class; `None` where it is that of a part already, or none of parts.
    #[must_use]
    pub fn of_class(&self, class: &str) -> Option<Self> {
        let whole = self.scope.is_none() && self.subject.is_of_parts();
        let scope = Scope { kind: Some(PartKind::Class), name: class.to_owned() };
        let text = format!("{} of {scope}", self.text);
        whole.then_some(Self { text, subject: self.subject, scope: Some(scope) })
    }

    /// Looks whether runs of `workload` can have such a figure.
    ///
    /// # Errors
    ///
    /// When it names requests that the workload does not have or cannot tell apart, or asks how many promises were kept
    /// where nothing is promised.
    pub fn check(&self, workload: &WorkloadSpec) -> Result<(), UnfitObjective> {
        let Self { text, subject, scope } = self.clone();
        let as_objective = Objective { text, subject, scope, comparison: Comparison::AtMost, bound: 0.0 };
        as_objective.check(workload).map_err(UnfitObjective::of_figure)
    }

    /// The figure in `summary`; `None` where the run has none.
    #[must_use]
    pub fn read(&self, summary: &Summary) -> Option<Figure> {
        match &self.scope {
            Some(scope) => scope.read(self.subject, summary),
            None => self.subject.read(summary),
        }
    }

    /// Half of the 95 % interval that one run gives it by its sections, as a share of it; `None` where there is none.
    #[must_use]
    pub fn relative_half_width(&self, summary: &Summary) -> Option<f64> {
        let FigureKey::Latency(Statistic::Percentile(quantile), metric) = self.subject else { return None };
        let row: &LatencyRow = match &self.scope {
            Some(scope) => scope.row(metric, summary)?,
            None => summary.latency.row(metric)?,
        };
        let percentile = row.percentile(quantile);
        let (low, high) = percentile.batch_interval?;
        let value = percentile.figure.exact().filter(|&value| value > 0.0)?;
        Some((high? - low?) / 2.0 / value)
    }

    /// Whether less of it is better: of latencies, failures and the like, not of flows and of promises kept.
    #[must_use]
    pub const fn less_is_better(&self) -> bool {
        matches!(self.subject.sense(), Sense::Less)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::metric::Metric;
    use crate::analysis::figures::quantile::Quantile;
    use crate::analysis::summary::summarise::summarise;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn figures_are_read_by_name() {
        let measure: Measure = " p95  ttft of chat".parse().unwrap();
        assert_eq!(measure.subject, FigureKey::Latency(Statistic::Percentile(Quantile::P95), Metric::Ttft));
        assert_eq!((measure.to_string(), measure.of_class("chat")), ("p95 ttft of chat".to_owned(), None));
        let goodput: Measure = "goodput".parse().unwrap();
        assert!(measure.less_is_better() && !goodput.less_is_better());
        assert_eq!(goodput.of_class("a").unwrap().to_string(), "goodput of class a");
        assert_eq!("output_tokens_per_s".parse::<Measure>().unwrap().of_class("a"), None);
        let error = "p97 ttft".parse::<Measure>().unwrap_err().to_string();
        assert!(error.contains("`p97` is not a statistic") && error.contains("for example"), "{error}");
        assert!("p95 ttft < 5s".parse::<Measure>().is_err());
    }

    #[test]
    fn they_are_read_of_the_run_and_of_a_class() {
        let records = (0..4).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 11).build()).collect();
        let log = run(1_000, records);
        let summary = summarise(&log, &[]);
        let figure = |text: &str| text.parse::<Measure>().unwrap().read(&summary).and_then(Figure::exact);
        assert_eq!(figure("p50 ttft"), Some(100.0));
        assert_eq!(figure("p50 ttft of chat"), Some(100.0));
        assert_eq!((figure("p50 ttft of search"), figure("error_rate")), (None, Some(0.0)));
        let unfit = "p50 ttft of search".parse::<Measure>().unwrap().check(&log.header.workload).unwrap_err();
        assert!(unfit.to_string().starts_with("the figure `p50 ttft of search` does not fit"), "{unfit}");
    }
}
