//! What a fitted engine predicts of several rates, beside what was measured at them.

use serde::Serialize;

use super::reach::{Reach, outside};
use super::{EngineFit, RunCheck};
use crate::analysis::{Metric, Quantile, Summary};
use crate::experiment::Latency;
use crate::record::RunLog;

/// A fitted engine and what it predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedRates {
    /// Version of this format: [`PredictedRates::SCHEMA`].
    pub schema: u32,
    /// The engine.
    pub engine_fit: EngineFit,
    /// The rates, in the order in which they were asked.
    pub rates: Vec<PredictedRate>,
    /// What of it lies outside the runs, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What is predicted of a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedRate {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Whether the predicted run is valid: not when the server would not keep up.
    pub valid: bool,
    /// Median TTFT.
    pub ttft_p50: Option<Latency>,
    /// 99th percentile of TTFT.
    pub ttft_p99: Option<Latency>,
    /// Median TPOT.
    pub tpot_p50: Option<Latency>,
    /// 99th percentile of TPOT.
    pub tpot_p99: Option<Latency>,
    /// Answer tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Share of the requests that were promised something and get it, between 0 and 1.
    pub slo_attainment: Option<f64>,
    /// The run that was measured at this rate, of the same requests by the same arrivals; absent where none was.
    pub measured: Option<RunCheck>,
}

impl PredictedRates {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;

    /// What `engine_fit` predicts: each rate's run in virtual time with its summary.
    #[must_use]
    pub fn of(engine_fit: EngineFit, predicted: &[(RunLog, Summary)]) -> Self {
        let reaches: Vec<Reach> = predicted.iter().map(|(log, _)| Reach::of(log)).collect();
        let rates = predicted
            .iter()
            .zip(&reaches)
            .map(|((log, summary), reach)| {
                let rate_per_s = log.header.workload.arrival.mean_rate_per_s();
                let measured = engine_fit.runs.iter().find(|run| run.sent.is_of(reach));
                PredictedRate::of(rate_per_s, summary, measured)
            })
            .collect();
        Self { schema: Self::SCHEMA, notes: outside(&engine_fit.runs, &reaches), engine_fit, rates }
    }
}

impl PredictedRate {
    fn of(rate_per_s: f64, summary: &Summary, measured: Option<&RunCheck>) -> Self {
        let figure = |metric, quantile| Some(summary.latency.row(metric)?.percentile(quantile).figure.into());
        Self {
            rate_per_s,
            valid: summary.verdict.valid,
            ttft_p50: figure(Metric::Ttft, Quantile::P50),
            ttft_p99: figure(Metric::Ttft, Quantile::P99),
            tpot_p50: figure(Metric::Tpot, Quantile::P50),
            tpot_p99: figure(Metric::Tpot, Quantile::P99),
            output_tokens_per_s: summary.rates.output_tokens_per_s,
            slo_attainment: summary.slo.slo_attainment,
            measured: measured.cloned(),
        }
    }
}
