//! A figure of a run with what is said of it, for files and series.

use std::borrow::Cow;

use crate::analysis::{Figure, Part, Quantile, SampleWarning, Unit, Unresolvable};

/// A figure of a run as files and series have it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct RunFigure<'a> {
    /// Part of the run whose figure it is; absent: the whole run's.
    pub(in crate::report) part: Option<&'a Part>,
    /// Quantity that was measured: a name of the catalogue, or one such as `server_ttft`.
    pub(in crate::report) metric: &'static str,
    /// Meaning of the metric, in a few words without a full stop.
    pub(in crate::report) meaning: &'static str,
    /// Statistic of the figure, such as `p99`, or what is counted, such as `completed`. Empty where there is one value.
    pub(in crate::report) statistic: Cow<'a, str>,
    /// Kind of thing that `statistic` names, where it is no statistic: `outcome`, `kind` or `objective`.
    pub(in crate::report) of: Option<&'static str>,
    pub(in crate::report) unit: Unit,
    /// Value of the figure; absent where it is not known.
    pub(in crate::report) value: Option<Figure>,
    /// Samples that it rests on, where they are counted.
    pub(in crate::report) n: Option<u64>,
    /// Ends of its 95 % interval.
    pub(in crate::report) interval: (Option<f64>, Option<f64>),
    /// Number of independent samples that tell as much as its own.
    pub(in crate::report) effective_samples: Option<f64>,
    /// Reason why an end of the interval is missing.
    pub(in crate::report) unresolvable: Option<Unresolvable>,
    /// Reservation about the figure.
    pub(in crate::report) mark: Option<SampleWarning>,
}

impl<'a> RunFigure<'a> {
    /// The only value of a figure of the whole run.
    pub(super) fn new(metric: &'static str, meaning: &'static str, unit: Unit, value: Option<Figure>) -> Self {
        Self {
            part: None,
            metric,
            meaning,
            statistic: "".into(),
            of: None,
            unit,
            value,
            n: None,
            interval: (None, None),
            effective_samples: None,
            unresolvable: None,
            mark: None,
        }
    }

    /// The figure as this statistic.
    pub(super) fn statistic(self, statistic: impl Into<Cow<'a, str>>) -> Self {
        Self { statistic: statistic.into(), ..self }
    }

    /// The share of samples at or below it, where it is a percentile.
    pub(in crate::report) fn percentile(&self) -> Option<f64> {
        let percent = self.statistic.strip_prefix('p')?.parse().ok()?;
        Some(Quantile::from_percent(percent).fraction())
    }

    /// Returns the figure as the number of one of several things, such as an outcome.
    pub(super) fn counted(self, of: &'static str, one: impl Into<Cow<'a, str>>) -> Self {
        Self { of: Some(of), ..self.statistic(one) }
    }
}
