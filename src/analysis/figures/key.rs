//! The name of a figure of a run, such as `p95 ttft of chat`.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::catalogue::Metric;
use super::info::{Direction, FigureKind};
use super::part::PartName;
use super::quantile::Quantile;
use crate::record::PartKind;
use crate::workload::nearest;

/// Key of a figure of a run, or of a part of its requests. It is written as objectives name the figure, such as
/// `p95 ttft of chat` or `goodput`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct FigureKey {
    /// Statistic of the figure. Absent unless it is a latency.
    pub statistic: Option<Statistic>,
    /// The figure.
    pub metric: Metric,
    /// Part whose figure it is. Absent for the whole run's.
    pub part: Option<PartName>,
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

impl Statistic {
    /// Statistics that every latency has.
    pub(crate) const ALL: [Self; 8] = [
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::Percentile(Quantile::P50),
        Self::Percentile(Quantile::P90),
        Self::Percentile(Quantile::P95),
        Self::Percentile(Quantile::P99),
        Self::Percentile(Quantile::P999),
    ];

    /// The share of samples at or below it, where it is a percentile.
    pub fn fraction(self) -> Option<f64> {
        match self {
            Self::Mean | Self::Min | Self::Max => None,
            Self::Percentile(quantile) => Some(quantile.fraction()),
        }
    }

    /// Returns the statistic's name in files: `mean_ms`, `p99_9_ms`.
    pub fn field(self) -> String {
        format!("{}_ms", self.to_string().replace('.', "_"))
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.pad("mean"),
            Self::Min => f.pad("min"),
            Self::Max => f.pad("max"),
            Self::Percentile(quantile) => quantile.fmt(f),
        }
    }
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

#[cfg(test)]
impl schemars::JsonSchema for FigureKey {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FigureKey".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl FromStr for FigureKey {
    type Err = FigureKeyError;

    fn from_str(text: &str) -> Result<Self, FigureKeyError> {
        let words: Vec<_> = text.split_whitespace().collect();
        let text = words.join(" ");
        Self::parse(&text).map_err(|problem| FigureKeyError { text, problem })
    }
}

impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistic = self.statistic.map_or_else(String::new, |statistic| format!("{statistic} "));
        let part = self.part.as_ref().map_or_else(String::new, |part| format!(" of {part}"));
        f.pad(&format!("{statistic}{}{part}", self.metric))
    }
}

impl FigureKey {
    /// A rate or a share of the whole run.
    pub const fn from_metric(metric: Metric) -> Self {
        Self { statistic: None, metric, part: None }
    }

    /// A statistic of a latency of the whole run.
    pub const fn latency(statistic: Statistic, metric: Metric) -> Self {
        Self { statistic: Some(statistic), metric, part: None }
    }

    /// A percentile of a latency of the whole run.
    pub const fn percentile(quantile: Quantile, metric: Metric) -> Self {
        Self::latency(Statistic::Percentile(quantile), metric)
    }

    /// Every figure of a whole run: latencies with each statistic of `statistics`.
    pub fn all(statistics: &[Statistic]) -> impl Iterator<Item = Self> {
        Metric::ALL.iter().flat_map(move |&metric| {
            let latencies: &[Statistic] = if metric.kind() == FigureKind::Latency { statistics } else { &[] };
            let other = (metric.kind() != FigureKind::Latency).then_some(Self::from_metric(metric));
            latencies.iter().map(move |&statistic| Self::latency(statistic, metric)).chain(other)
        })
    }

    /// Returns the name in files of a figure of the whole run: `ttft_p95_ms`, `goodput_per_s`.
    pub fn field(&self) -> String {
        match self.statistic {
            Some(statistic) => format!("{}_{}", self.metric, statistic.field()),
            None => self.metric.field().to_owned(),
        }
    }

    /// The figure of this name in files.
    pub fn of_field(field: &str) -> Option<Self> {
        Self::all(&Statistic::ALL).find(|key| key.field() == field)
    }

    /// Returns the name in headings of a figure of the whole run: `p95 TTFT`, `goodput`.
    pub fn title(&self) -> String {
        let statistic = self.statistic.map_or_else(String::new, |statistic| format!("{statistic} "));
        format!("{statistic}{}", self.metric.title())
    }

    /// Returns the figure of the requests of one class. `None` where it is that of a part already, or none of parts.
    pub fn of_class(&self, class: &str) -> Option<Self> {
        let whole = self.part.is_none() && self.metric.info().of_parts;
        let part = PartName { kind: Some(PartKind::Class), name: class.to_owned() };
        whole.then(|| Self { part: Some(part), ..self.clone() })
    }

    /// The figure itself, whichever statistic of it.
    #[must_use]
    pub fn without_statistic(&self) -> Self {
        Self { statistic: None, ..self.clone() }
    }

    /// Returns the figure's kind.
    pub fn kind(&self) -> FigureKind {
        self.metric.kind()
    }

    /// Returns the percentile that the figure is, if it is one.
    pub const fn quantile(&self) -> Option<Quantile> {
        match self.statistic {
            Some(Statistic::Percentile(quantile)) => Some(quantile),
            _ => None,
        }
    }

    /// Whether less of it is better.
    pub const fn less_is_better(&self) -> bool {
        matches!(self.metric.info().better, Direction::Less)
    }

    /// The most that it can be.
    pub fn most(&self) -> f64 {
        match self.kind() {
            FigureKind::Share => 1.0,
            FigureKind::Latency | FigureKind::Rate | FigureKind::Count | FigureKind::Cost => f64::INFINITY,
        }
    }

    /// A value of it for people.
    pub fn show(&self, value: f64) -> String {
        self.metric.info().unit.show(value)
    }

    /// Reads a figure, and whose it is if that is said: `p95 ttft of chat`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<_> = text.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| *word == "of") else {
            return Self::of_run(text);
        };
        let figure = words[..at].join(" ");
        Self::of_run(&figure)?.of_part(PartName::parse(&words[at + 1..])?)
    }

    /// Returns the figure of a part. Golden prompts have slices and no classes; a bare name is then that of a slice.
    fn of_part(self, part: PartName) -> Result<Self, String> {
        let of_checks = self.metric == Metric::CheckPassRate;
        let part = match part.kind {
            None | Some(PartKind::Slice) if of_checks => PartName { kind: Some(PartKind::Slice), ..part },
            Some(kind) if of_checks => {
                return Err(format!("checks have no {}; write `{self} of slice {}`", kind.name(), part.name));
            }
            Some(PartKind::Slice) => {
                return Err(format!("`{self}` has no slices; {} has", Metric::CheckPassRate));
            }
            _ if !self.metric.info().of_parts => {
                return Err(format!("`{self}` exists only for the whole run"));
            }
            _ => part,
        };
        Ok(Self { part: Some(part), ..self })
    }

    /// Reads a figure of the whole run.
    fn of_run(figure: &str) -> Result<Self, String> {
        let lower = figure.to_ascii_lowercase();
        let is_latency = |metric: &Metric| metric.kind() == FigureKind::Latency;
        let Some((statistic, name)) = lower.split_once(char::is_whitespace) else {
            return match Metric::named(&lower) {
                Some(metric) if is_latency(&metric) => {
                    Err(format!("`{figure}` is a distribution; say which part of it, such as `p95 {metric}`"))
                }
                Some(metric) => Ok(Self::from_metric(metric)),
                None => Err(format!("`{figure}` is not a figure of a run{}", meant(&lower).unwrap_or_default())),
            };
        };
        let known = Statistic::ALL.into_iter().find(|known| known.to_string() == statistic);
        let name = name.trim();
        match (known, Metric::named(name)) {
            (None, _) => {
                let all = Statistic::ALL.map(|statistic| statistic.to_string()).join(", ");
                Err(format!("`{statistic}` is not a statistic; there are {all}"))
            }
            (Some(statistic), Some(metric)) if is_latency(&metric) => Ok(Self::latency(statistic, metric)),
            (Some(_), Some(metric)) => Err(format!("`{metric}` has no {statistic}; write it alone")),
            (Some(_), None) => {
                let meant = meant(name).unwrap_or_else(|| "; use ttft, tpot, itl, e2e, …".to_owned());
                Err(format!("`{name}` is not a latency{meant}"))
            }
        }
    }
}

/// The question after the name that is nearest to a wrong one.
fn meant(wrong: &str) -> Option<String> {
    let near = nearest(wrong, Metric::ALL.iter().map(|metric| metric.name()));
    near.map(|near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_by_name_and_printed_again() {
        let key: FigureKey = " P95  ttft of chat".parse().unwrap();
        let part = PartName { kind: None, name: "chat".to_owned() };
        assert_eq!(key, FigureKey { part: Some(part), ..FigureKey::percentile(Quantile::P95, Metric::Ttft) });
        assert_eq!((key.to_string(), key.of_class("chat")), ("p95 ttft of chat".to_owned(), None));
        let goodput: FigureKey = "goodput".parse().unwrap();
        assert!(key.less_is_better() && !goodput.less_is_better());
        assert_eq!(goodput.of_class("a").unwrap().to_string(), "goodput of class a");
        assert_eq!("output_tokens_per_s".parse::<FigureKey>().unwrap().of_class("a"), None);
        let error = "p97 ttft".parse::<FigureKey>().unwrap_err().to_string();
        assert!(error.contains("`p97` is not a statistic") && error.contains("for example"), "{error}");
        assert!("p95 ttft < 5s".parse::<FigureKey>().is_err());
        for key in Metric::ALL.iter().map(|&metric| match metric.kind() {
            FigureKind::Latency => FigureKey::latency(Statistic::Percentile(Quantile::P999), metric),
            _ => FigureKey::from_metric(metric),
        }) {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
    }
}
