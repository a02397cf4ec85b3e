//! A figure of a row: of its one run with the run's own interval, or over its runs.

use serde::Serialize;

use crate::analysis::{Figure, FigureKey, Flow, Mark, Metric, Quantile, Share, Statistic, Summary};
use crate::experiment::repeats::AcrossRuns;

/// One figure, in its own unit: milliseconds, per second, or a share between 0 and 1. What is not known is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RowFigure {
    /// The figure: of several runs their mean.
    pub value: Option<f64>,
    /// The least that it can be, where requests that were cut off leave it open.
    pub at_least: Option<f64>,
    /// Lower end of its 95 % interval: over the runs by Student's t, of one run by its own sections, where it has one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// A reservation about the figure of some run.
    pub mark: Option<Mark>,
    /// The figure of each run.
    pub runs: Vec<Option<f64>>,
}

impl RowFigure {
    /// The figure `subject` of `runs`; `None` where no run has it.
    #[must_use]
    pub fn of(subject: FigureKey, runs: &[&Summary]) -> Option<Self> {
        let figures: Vec<Option<Figure>> = runs.iter().map(|run| subject.read(run)).collect();
        if figures.iter().all(Option::is_none) {
            return None;
        }
        let mark = Mark::gravest(runs.iter().filter_map(|run| subject.mark(run)).map(|(mark, _)| mark));
        let most = if matches!(subject, FigureKey::Share(_)) { 1.0 } else { f64::INFINITY };
        let across = AcrossRuns::of_figures(&figures, most);
        let (low, high) = match runs {
            [run] => interval_of_run(subject, run),
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
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

/// What a single run says of how sure a figure of its own is.
fn interval_of_run(subject: FigureKey, run: &Summary) -> (Option<f64>, Option<f64>) {
    let FigureKey::Latency(Statistic::Percentile(quantile), metric) = subject else { return (None, None) };
    run.latency.row(metric).map_or((None, None), |row| row.percentile(quantile).best_interval())
}

const LATENCIES: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Itl, Metric::E2e];
const QUANTILES: [(Quantile, &str); 3] =
    [(Quantile::P50, "p50"), (Quantile::P95, "p95"), (Quantile::P99, "p99")];
const OTHERS: [(&str, FigureKey); 5] = [
    ("completed_requests_per_s", FigureKey::Rate(Flow::CompletedRequests)),
    ("output_tokens_per_s", FigureKey::Rate(Flow::OutputTokens)),
    ("goodput_per_s", FigureKey::Rate(Flow::Goodput)),
    ("slo_attainment", FigureKey::Share(Share::SloAttainment)),
    ("error_rate", FigureKey::Share(Share::Errors)),
];

/// The figures that a table of experiments follows, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFigures(Vec<(String, FigureKey, RowFigure)>);

impl RowFigures {
    pub(super) fn of(runs: &[&Summary]) -> Self {
        let latencies = LATENCIES.into_iter().flat_map(|metric| {
            QUANTILES.map(|(quantile, name)| {
                (format!("{metric}_{name}_ms"), FigureKey::Latency(Statistic::Percentile(quantile), metric))
            })
        });
        let others = OTHERS.map(|(name, subject)| (name.to_owned(), subject));
        let followed = latencies.chain(others);
        Self(
            followed
                .filter_map(|(name, subject)| Some((name, subject, RowFigure::of(subject, runs)?)))
                .collect(),
        )
    }

    /// One of them.
    #[must_use]
    pub fn figure(&self, subject: FigureKey) -> Option<&RowFigure> {
        self.0.iter().find(|(_, of, _)| *of == subject).map(|(_, _, figure)| figure)
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
        let names = latencies.chain(OTHERS.map(|(name, _)| name.to_owned()));
        let fields: serde_json::Map<_, _> = names.map(|name| (name, figure.clone())).collect();
        schemars::json_schema!({
            "description": "The figures that a table of experiments follows, by name; what no run has is not there.",
            "type": "object",
            "properties": fields,
        })
    }
}
