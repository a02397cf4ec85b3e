//! A figure of a row: of its only run with the run's interval, or over its runs.

use serde::Serialize;

use crate::analysis::{Figure, FigureKey, Metric, Quantile, SampleWarning, Statistic, Summary};
use crate::experiment::repeats::AcrossRuns;

/// One figure: milliseconds, per second, or a share between 0 and 1. Unknown values are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RowFigure {
    /// The value; for several runs their mean.
    pub value: Option<f64>,
    /// Its lower bound, where requests were cut off.
    pub at_least: Option<f64>,
    /// Lower end of its 95 % interval: over the runs by Student's t, of one run by its own sections, where it has one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// A warning about the figure of some run.
    pub mark: Option<SampleWarning>,
    /// The figure of each run.
    pub runs: Vec<Option<f64>>,
}

impl RowFigure {
    /// The figure `subject` of `runs`; `None` where no run has it.
    pub fn of(subject: &FigureKey, runs: &[&Summary]) -> Option<Self> {
        let figures: Vec<Option<Figure>> = runs.iter().map(|run| subject.read(run)).collect();
        if figures.iter().all(Option::is_none) {
            return None;
        }
        let mark =
            SampleWarning::gravest(runs.iter().filter_map(|run| subject.warning(run)).map(|(mark, _)| mark));
        let across = AcrossRuns::of_figures(&figures, subject.most());
        let (low, high) = match runs {
            [run] => subject.interval(run).unwrap_or_default(),
            _ => (across.interval_low, across.interval_high),
        };
        Some(Self {
            value: across.mean,
            at_least: across.mean_at_least,
            low,
            high,
            mark,
            runs: across.values,
        })
    }

    /// Both ends of the interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

const LATENCIES: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::E2e];
const QUANTILES: [(Quantile, &str); 3] =
    [(Quantile::P50, "p50"), (Quantile::P95, "p95"), (Quantile::P99, "p99")];
const OTHERS: [Metric; 5] =
    [Metric::RequestRate, Metric::OutputTokens, Metric::Goodput, Metric::SloAttainment, Metric::ErrorRate];

/// The figures of a row, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFigures(Vec<(String, FigureKey, RowFigure)>);

impl RowFigures {
    pub(super) fn of(runs: &[&Summary]) -> Self {
        let latencies = LATENCIES.into_iter().flat_map(|metric| {
            QUANTILES.map(|(quantile, name)| {
                (format!("{metric}_{name}_ms"), FigureKey::latency(Statistic::Percentile(quantile), metric))
            })
        });
        let others = OTHERS.map(|metric| (metric.field().to_owned(), FigureKey::of(metric)));
        let followed = latencies.chain(others);
        Self(
            followed
                .filter_map(|(name, key)| RowFigure::of(&key, runs).map(|figure| (name, key, figure)))
                .collect(),
        )
    }

    /// One of them.
    pub fn figure(&self, subject: &FigureKey) -> Option<&RowFigure> {
        self.0.iter().find(|(_, of, _)| of == subject).map(|(_, _, figure)| figure)
    }
}

impl Serialize for RowFigures {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, _, figure)| (name, figure)))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for RowFigures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RowFigures".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let figure = generator.subschema_for::<RowFigure>().to_value();
        let latencies =
            LATENCIES.into_iter().flat_map(|metric| QUANTILES.map(|(_, name)| format!("{metric}_{name}_ms")));
        let names = latencies.chain(OTHERS.map(|metric| metric.field().to_owned()));
        let fields: serde_json::Map<_, _> = names.map(|name| (name, figure.clone())).collect();
        schemars::json_schema!({
            "description": "The figures that a table of experiments follows, by name; what no run has is not there.",
            "type": "object",
            "properties": fields,
        })
    }
}
