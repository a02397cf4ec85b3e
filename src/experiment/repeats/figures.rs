//! Every figure that is followed over several runs, by the names that it has in one run's summary.

use serde::Serialize;

use super::across_runs::AcrossRuns;
use crate::analysis::{FigureKey, Metric, Quantile, Statistic, Summary};

/// What is asked of each latency.
const STATISTICS: [(&str, Statistic); 6] = [
    ("mean_ms", Statistic::Mean),
    ("p50_ms", Statistic::Percentile(Quantile::P50)),
    ("p90_ms", Statistic::Percentile(Quantile::P90)),
    ("p95_ms", Statistic::Percentile(Quantile::P95)),
    ("p99_ms", Statistic::Percentile(Quantile::P99)),
    ("p99_9_ms", Statistic::Percentile(Quantile::P999)),
];

const RATES: [Metric; 4] = [Metric::RequestRate, Metric::InputTokens, Metric::OutputTokens, Metric::Goodput];

const SHARES: [Metric; 6] = [
    Metric::SloAttainment,
    Metric::ErrorRate,
    Metric::RejectRate,
    Metric::TimeoutRate,
    Metric::CheckPassRate,
    Metric::ValidAnswers,
];

/// Figures over several runs. One that no run has is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(Vec<(FigureKey, AcrossRuns)>);

impl Figures {
    pub(super) fn of(runs: &[&Summary]) -> Self {
        let latencies = Metric::LATENCIES
            .into_iter()
            .flat_map(|metric| STATISTICS.map(|(_, statistic)| FigureKey::latency(statistic, metric)));
        let others = RATES.into_iter().chain(SHARES).map(FigureKey::of);
        let of_runs = |key: FigureKey| AcrossRuns::of(&key, runs).map(|figure| (key, figure));
        Self(latencies.chain(others).filter_map(of_runs).collect())
    }

    /// One of them.
    pub fn figure(&self, subject: &FigureKey) -> Option<&AcrossRuns> {
        self.0.iter().find(|(of, _)| of == subject).map(|(_, figure)| figure)
    }
}

/// The keys of one run's summary, with the figure over the runs in place of the value; `null` for what no run has.
impl Serialize for Figures {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Keyed<'a> {
            latency: Latencies<'a>,
            rates: Others<'a>,
            shares: Others<'a>,
        }
        Keyed { latency: Latencies(self), rates: Others(self, &RATES), shares: Others(self, &SHARES) }
            .serialize(serializer)
    }
}

struct Latencies<'a>(&'a Figures);
struct Statistics<'a>(&'a Figures, Metric);
struct Others<'a>(&'a Figures, &'static [Metric]);

impl Serialize for Latencies<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |metric: Metric| {
            let known = self.0.0.iter().any(|(of, _)| of.metric == metric);
            (metric.name(), known.then_some(Statistics(self.0, metric)))
        };
        serializer.collect_map(Metric::LATENCIES.map(of))
    }
}

impl Serialize for Statistics<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(figures, metric) = self;
        serializer.collect_map(
            STATISTICS.map(|(key, statistic)| (key, figures.figure(&FigureKey::latency(statistic, *metric)))),
        )
    }
}

impl Serialize for Others<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figure = |metric: &Metric| (metric.field(), self.0.figure(&FigureKey::of(*metric)));
        serializer.collect_map(self.1.iter().map(figure))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Figures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let figure = generator.subschema_for::<Option<AcrossRuns>>().to_value();
        let object = |keys: &[&str], of: &serde_json::Value| {
            let fields: serde_json::Map<_, _> =
                keys.iter().map(|key| ((*key).to_owned(), of.clone())).collect();
            serde_json::json!({ "type": "object", "properties": fields, "required": keys })
        };
        let statistics = object(&STATISTICS.map(|(key, _)| key), &figure);
        let latency = serde_json::json!({ "anyOf": [statistics, { "type": "null" }] });
        schemars::json_schema!({
            "description": "Figures over several runs under the keys of one run's summary; null for what no run has.",
            "type": "object",
            "properties": {
                "latency": object(&Metric::LATENCIES.map(Metric::name), &latency),
                "rates": object(&RATES.map(Metric::field), &figure),
                "shares": object(&SHARES.map(Metric::field), &figure),
            },
            "required": ["latency", "rates", "shares"],
        })
    }
}
