//! The figures of a run that can be demanded, by name.

use std::fmt;

use super::metric::Metric;
use super::quantile::Quantile;

/// The figure that an objective is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FigureKey {
    /// A statistic of a latency, milliseconds.
    Latency(Statistic, Metric),
    /// A flow, per second.
    Rate(Flow),
    /// A share of the requests, between 0 and 1.
    Share(Share),
}

/// A statistic of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Smallest sample.
    Min,
    /// Largest sample.
    Max,
    /// A percentile.
    Percentile(Quantile),
}

/// A flow over the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Requests that met their SLO; where nobody was promised anything, requests that completed.
    Goodput,
    /// Requests completed.
    CompletedRequests,
    /// Prompt tokens.
    InputTokens,
    /// Answer tokens.
    OutputTokens,
}

/// A share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Failed.
    Errors,
    /// Refused by the server.
    Rejects,
    /// Ended by the client's time limits.
    Timeouts,
    /// Met their SLO, of those that were promised something.
    SloAttainment,
    /// Golden prompts that passed, of those that ended.
    CheckPasses,
    /// Answers of the form asked for, of those that came whole.
    ValidAnswers,
}

/// How a figure must stand to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// Longer signs first, so that `<=` is not read as `<`.
    pub(crate) const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];

    /// Whether `value` stands so to `bound`.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

const FLOWS: [(&str, Flow); 5] = [
    ("goodput", Flow::Goodput),
    ("request_rate", Flow::CompletedRequests),
    ("completed_requests_per_s", Flow::CompletedRequests),
    ("input_tokens_per_s", Flow::InputTokens),
    ("output_tokens_per_s", Flow::OutputTokens),
];

const SHARES: [(&str, Share); 6] = [
    ("error_rate", Share::Errors),
    ("reject_rate", Share::Rejects),
    ("timeout_rate", Share::Timeouts),
    ("slo_attainment", Share::SloAttainment),
    ("check_pass_rate", Share::CheckPasses),
    ("valid_answers", Share::ValidAnswers),
];

const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("p50", Statistic::Percentile(Quantile::P50)),
    ("p90", Statistic::Percentile(Quantile::P90)),
    ("p95", Statistic::Percentile(Quantile::P95)),
    ("p99", Statistic::Percentile(Quantile::P99)),
    ("p99.9", Statistic::Percentile(Quantile::P999)),
];

impl FigureKey {
    /// Reads the name of a figure, such as `p95 ttft` or `goodput`.
    pub(crate) fn parse(figure: &str) -> Result<Self, String> {
        let lower = figure.to_ascii_lowercase();
        if let Some((statistic, metric)) = lower.split_once(char::is_whitespace) {
            let statistic = named(&STATISTICS, statistic)
                .ok_or_else(|| format!("`{statistic}` is not a statistic; use mean, p95, max, …"))?;
            let metric = metric_named(metric.trim()).ok_or_else(|| {
                format!("`{}` is not a latency; use ttft, tpot, itl, e2e, …", metric.trim())
            })?;
            return Ok(Self::Latency(statistic, metric));
        }
        let flow = named(&FLOWS, &lower).map(Self::Rate);
        flow.or_else(|| named(&SHARES, &lower).map(Self::Share)).ok_or_else(|| match metric_named(&lower) {
            Some(metric) => {
                format!("`{figure}` is a distribution; say which part of it, such as `p95 {metric}`")
            }
            None => format!("`{figure}` is not a figure of a run"),
        })
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sense {
    /// Less is better: latencies, failures.
    Less,
    /// More is better: flows, promises kept.
    More,
}

impl FigureKey {
    /// Which way it is better.
    #[must_use]
    pub const fn sense(self) -> Sense {
        match self {
            Self::Latency(..) | Self::Share(Share::Errors | Share::Rejects | Share::Timeouts) => Sense::Less,
            Self::Rate(_) | Self::Share(_) => Sense::More,
        }
    }
}

/// Its name, as objectives have it.
impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(statistic, metric) => write!(f, "{} {metric}", name_of(&STATISTICS, statistic)),
            Self::Rate(flow) => f.write_str(name_of(&FLOWS, flow)),
            Self::Share(share) => f.write_str(name_of(&SHARES, share)),
        }
    }
}

/// The first name of a value; every value of the tables above has one.
fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    names.iter().find(|(_, named)| named == value).map_or("", |(name, _)| name)
}

fn metric_named(name: &str) -> Option<Metric> {
    let name = if name == "e2el" { "e2e" } else { name };
    Metric::ALL.into_iter().find(|metric| metric.name() == name)
}

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}
