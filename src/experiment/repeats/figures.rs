//! The figures that repeats follow, and how `repeats.json` has them.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use crate::analysis::selections::STATISTICS_OF_REPEATS;
use crate::analysis::{AcrossRuns, FigureKey, FigureKind, FigureSet, Metric, Statistic, Summary, selections};

/// The figures of these runs together, with the percentiles that the user asked for.
pub(super) fn across(runs: &[&Summary]) -> FigureSet {
    FigureSet::new(selections::of_repeats(&statistics(runs)), runs)
}

/// Returns the statistics of each latency, with the percentiles that the user asked for.
fn statistics(runs: &[&Summary]) -> Vec<Statistic> {
    let rows = runs.iter().flat_map(|run| run.latency.iter());
    let asked: BTreeSet<_> = rows.flat_map(|(_, row)| row.asked.iter().map(|asked| asked.quantile)).collect();
    let others = asked.into_iter().filter(|asked| !asked.is_usual()).map(Statistic::Percentile);
    STATISTICS_OF_REPEATS.into_iter().chain(others).collect()
}

/// The figures of a kind, in the order of the catalogue.
fn of_kind(kind: FigureKind) -> impl Iterator<Item = FigureKey> {
    selections::of_repeats(&STATISTICS_OF_REPEATS).filter(move |key| key.kind() == kind)
}

/// A map in the order of its entries.
struct Ordered<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Latencies by metric and statistic, rates and shares by metric.
pub(super) fn by_kind<S: Serializer>(figures: &FigureSet, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Stored<'a> {
        latency: Ordered<&'static str, Option<Ordered<String, Option<&'a AcrossRuns>>>>,
        rates: Ordered<String, Option<&'a AcrossRuns>>,
        shares: Ordered<String, Option<&'a AcrossRuns>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        costs: Option<Ordered<String, &'a AcrossRuns>>,
    }
    let statistics = |metric: Metric| {
        let of = |of: Statistic| (of.field(), figures.get(&FigureKey::latency(of, metric)));
        let of_metric = figures.iter().filter(|(key, _)| key.metric == metric);
        let statistics = of_metric.filter_map(|(key, _)| key.statistic);
        let asked = statistics.filter(|of| matches!(of, Statistic::Percentile(quantile) if !quantile.is_usual()));
        let known: Vec<_> = STATISTICS_OF_REPEATS.into_iter().chain(asked).map(of).collect();
        (metric.name(), known.iter().any(|(_, figure)| figure.is_some()).then_some(Ordered(known)))
    };
    let others = |kind| Ordered(of_kind(kind).map(|key| (key.field(), figures.get(&key))).collect());
    let costs = of_kind(FigureKind::Cost).filter_map(|key| Some((key.field(), figures.get(&key)?)));
    let costs: Vec<_> = costs.collect();
    Stored {
        latency: Ordered(Metric::LATENCIES.map(statistics).into()),
        rates: others(FigureKind::Rate),
        shares: others(FigureKind::Share),
        costs: (!costs.is_empty()).then_some(Ordered(costs)),
    }
    .serialize(serializer)
}

#[cfg(test)]
pub(super) fn by_kind_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let figure = generator.subschema_for::<Option<AcrossRuns>>();
    let object = |fields: serde_json::Map<_, _>| {
        let keys: Vec<_> = fields.keys().cloned().collect();
        serde_json::json!({ "type": "object", "properties": fields, "required": keys })
    };
    let others = |kind| object(crate::analysis::schema(of_kind(kind), &figure));
    let statistics = STATISTICS_OF_REPEATS.map(|statistic| (statistic.field(), figure.clone().to_value()));
    let latency = serde_json::json!({ "anyOf": [object(statistics.into_iter().collect()), { "type": "null" }] });
    let latencies = Metric::LATENCIES.map(|metric| (metric.name().to_owned(), latency.clone()));
    let costs = crate::analysis::schema(of_kind(FigureKind::Cost), &generator.subschema_for::<AcrossRuns>());
    schemars::json_schema!({
        "description": "The figures over the counted runs, under the keys of one run's summary; null for what no run \
            has.",
        "type": "object",
        "properties": {
            "latency": object(latencies.into_iter().collect()),
            "rates": others(FigureKind::Rate),
            "shares": others(FigureKind::Share),
            "costs": { "type": "object", "properties": costs, "description": "What is known of costs; left out where \
                nothing is." },
        },
        "required": ["latency", "rates", "shares"],
    })
}
