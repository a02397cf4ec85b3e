//! Every figure that is followed over several runs, by the names that it has in one run's summary.

use serde::Serialize;

use super::across_runs::AcrossRuns;
use crate::analysis::{FigureKey, Flow, Metric, Quantile, Share, Statistic, Summary};

/// What is asked of each latency.
const STATISTICS: [(&str, Statistic); 6] = [
    ("mean_ms", Statistic::Mean),
    ("p50_ms", Statistic::Percentile(Quantile::P50)),
    ("p90_ms", Statistic::Percentile(Quantile::P90)),
    ("p95_ms", Statistic::Percentile(Quantile::P95)),
    ("p99_ms", Statistic::Percentile(Quantile::P99)),
    ("p99_9_ms", Statistic::Percentile(Quantile::P999)),
];

const FLOWS: [(&str, Flow); 4] = [
    ("completed_requests_per_s", Flow::CompletedRequests),
    ("input_tokens_per_s", Flow::InputTokens),
    ("output_tokens_per_s", Flow::OutputTokens),
    ("goodput_per_s", Flow::Goodput),
];

const SHARES: [(&str, Share); 6] = [
    ("slo_attainment", Share::SloAttainment),
    ("error_rate", Share::Errors),
    ("reject_rate", Share::Rejects),
    ("timeout_rate", Share::Timeouts),
    ("check_pass_rate", Share::CheckPasses),
    ("valid_answers", Share::ValidAnswers),
];

/// Figures over several runs. One that no run has is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(Vec<(FigureKey, AcrossRuns)>);

impl Figures {
    pub(super) fn of(runs: &[&Summary]) -> Self {
        let latencies = Metric::ALL
            .into_iter()
            .flat_map(|metric| STATISTICS.map(|(_, statistic)| FigureKey::Latency(statistic, metric)));
        let flows = FLOWS.into_iter().map(|(_, flow)| FigureKey::Rate(flow));
        let shares = SHARES.into_iter().map(|(_, share)| FigureKey::Share(share));
        let subjects = latencies.chain(flows).chain(shares);
        Self(subjects.filter_map(|subject| Some((subject, AcrossRuns::of(subject, runs)?))).collect())
    }

    /// One of them.
    #[must_use]
    pub fn figure(&self, subject: FigureKey) -> Option<&AcrossRuns> {
        self.0.iter().find(|(of, _)| *of == subject).map(|(_, figure)| figure)
    }
}

/// The keys of one run's summary, with the figure over the runs in place of the value; `null` for what no run has.
impl Serialize for Figures {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Keyed<'a> {
            latency: Latencies<'a>,
            rates: Flows<'a>,
            shares: Shares<'a>,
        }
        Keyed { latency: Latencies(self), rates: Flows(self), shares: Shares(self) }.serialize(serializer)
    }
}

struct Latencies<'a>(&'a Figures);
struct Statistics<'a>(&'a Figures, Metric);
struct Flows<'a>(&'a Figures);
struct Shares<'a>(&'a Figures);

impl Serialize for Latencies<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |metric: Metric| {
            let known = self.0.0.iter().any(|(of, _)| matches!(of, FigureKey::Latency(_, m) if *m == metric));
            (metric.name(), known.then_some(Statistics(self.0, metric)))
        };
        serializer.collect_map(Metric::ALL.map(of))
    }
}

impl Serialize for Statistics<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(figures, metric) = self;
        serializer.collect_map(
            STATISTICS.map(|(key, statistic)| (key, figures.figure(FigureKey::Latency(statistic, *metric)))),
        )
    }
}

impl Serialize for Flows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(FLOWS.map(|(key, flow)| (key, self.0.figure(FigureKey::Rate(flow)))))
    }
}

impl Serialize for Shares<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(SHARES.map(|(key, share)| (key, self.0.figure(FigureKey::Share(share)))))
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
                "latency": object(&Metric::ALL.map(Metric::name), &latency),
                "rates": object(&FLOWS.map(|(key, _)| key), &figure),
                "shares": object(&SHARES.map(|(key, _)| key), &figure),
            },
            "required": ["latency", "rates", "shares"],
        })
    }
}
