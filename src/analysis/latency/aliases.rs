//! The figures of other tools under their names for them, so that reports can be held side by side.

use serde::Serialize;

use crate::analysis::figures::{Figure, Metric, TOOLS};
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::requests::{Measured, Observed};
use crate::record::{Outcome, RequestRecord};
use crate::units::millis;

/// Latency under the name that another tool gives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Alias {
    /// The tool.
    pub tool: &'static str,
    /// Name that the tool has for the figure.
    pub name: &'static str,
    /// Formula of the tool, in the words of this program's definitions. N is the number of output tokens.
    pub formula: &'static str,
    /// The metric of this program that is the same.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub same_as: Option<Metric>,
    /// The figure itself, where no metric of this program is the same. Absent without a sample.
    pub latency: Option<LatencyRow>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with passes a reference")]
#[allow(clippy::ref_option, reason = "serde's serialize_with passes a reference")]
fn by_name<S: serde::Serializer>(metric: &Option<Metric>, serializer: S) -> Result<S::Ok, S::Error> {
    metric.map(Metric::name).serialize(serializer)
}

impl Alias {
    /// Every name, with the figures that only other tools compute.
    pub(crate) fn all(observed: &Observed<'_>) -> Vec<Self> {
        let same = TOOLS.into_iter().flat_map(|tool| {
            let named = Metric::ALL
                .iter()
                .flat_map(|&metric| metric.info().elsewhere.iter().map(move |elsewhere| (metric, elsewhere)));
            named.filter(move |(_, elsewhere)| elsewhere.tool == tool).map(|(metric, elsewhere)| Self {
                tool,
                name: elsewhere.name,
                formula: elsewhere.formula,
                same_as: Some(metric),
                latency: None,
            })
        });
        let own = |tool, name, formula, of: fn(&RequestRecord) -> Option<f64>| {
            let completed = observed.requests.iter().map(Measured::record);
            let completed = completed.filter(|record| record.outcome == Outcome::Completed);
            let figures = completed.filter_map(|record| of(&record)).map(Figure::Exact);
            Self {
                tool,
                name,
                formula,
                same_as: None,
                latency: crate::analysis::latency::table::of_requests(figures, &[]),
            }
        };
        let mut all: Vec<_> = same.collect();
        all.push(own(
            "guidellm",
            "time_per_output_token",
            "(last chunk − sent) / N; answers that were cut off are left out",
            |record| per_token(record, record.chunks.last_at()?.since(record.sent?)),
        ));
        if observed.delivery.tpot_withheld {
            return all;
        }
        all.push(own(
            "course texts",
            "tpot",
            "(last − first chunk) / N; answers that were cut off are left out",
            |record| per_token(record, record.chunks.last_at()?.since(record.chunks.first_at()?)),
        ));
        all
    }
}

fn per_token(record: &RequestRecord, time: std::time::Duration) -> Option<f64> {
    (record.output_tokens > 0).then(|| millis(time) / record.output_tokens as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::Quantile;
    use crate::analysis::test_runs::{record, run};

    #[test]
    fn other_tools_divide_by_all_tokens_and_from_other_moments() {
        // Scheduled at 0, sent at 50, tokens from 150 to 250 ms: 11 of them.
        let log = run(1_000, vec![record(0).sent_at(0, 40, 50).paced(150, 10, 11).build()]);
        let all = Alias::all(&Observed::from_log(&log));
        let median = |tool: &str| {
            let alias = all.iter().find(|alias| alias.tool == tool).unwrap();
            alias.latency.as_ref().unwrap().percentile(Quantile::P50).figure.at_least()
        };
        assert!((median("guidellm") - 200.0 / 11.0).abs() < 1e-9);
        assert!((median("course texts") - 100.0 / 11.0).abs() < 1e-9);
        let vllm = all.iter().find(|alias| alias.name == "itl").unwrap();
        assert_eq!(serde_json::to_value(vllm).unwrap()["same_as"], "chunk_gap");
    }
}
