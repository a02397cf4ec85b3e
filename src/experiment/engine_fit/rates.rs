//! Predictions of a fitted engine at several rates, beside what was measured there.
use serde::Serialize;

use super::check::{FitRange, RunCheck, SAME};
use super::fit::EngineFit;
use crate::analysis::{Metric, Quantile, Summary, VerdictOutcome};
use crate::experiment::virtual_time::Latency;
use crate::record::RunLog;
use crate::units::{count, counted, three_digits};

/// The share at either end of a prediction that may lie outside the measured range.
const END: f64 = 0.05;

/// A fitted engine and what it predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedRates {
    /// Version of this format: [`PredictedRates::SCHEMA`].
    pub schema: u32,
    /// The engine.
    pub engine_fit: EngineFit,
    /// The rates, in the order in which they were asked.
    pub rates: Vec<PredictedRate>,
    /// Notes on what is extrapolated, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The prediction for a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedRate {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Verdict on the predicted run.
    pub outcome: VerdictOutcome,
    /// Whether its figures can be trusted.
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
    /// Share of the requests with an SLO that meet it, between 0 and 1.
    pub slo_attainment: Option<f64>,
    /// Run that was measured at this rate, of the same requests. Their arrivals are the same too. It is absent where
    /// none was measured.
    pub measured: Option<RunCheck>,
}

impl PredictedRates {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Collects what `engine_fit` predicts: each rate's run in virtual time with its summary.
    pub fn new(engine_fit: EngineFit, predicted: &[(RunLog, Summary)]) -> Self {
        let reaches: Vec<FitRange> = predicted.iter().map(|(log, _)| FitRange::from_log(log)).collect();
        let rates = predicted
            .iter()
            .zip(&reaches)
            .map(|((log, summary), reach)| {
                let rate_per_s = log.header.workload.arrival.mean_rate_per_s();
                let measured = engine_fit.runs.iter().find(|run| run.sent.is_of(reach));
                PredictedRate::new(rate_per_s, summary, measured)
            })
            .collect();
        Self { schema: Self::SCHEMA, notes: outside(&engine_fit.runs, &reaches), engine_fit, rates }
    }
}

impl PredictedRate {
    fn new(rate_per_s: f64, summary: &Summary, measured: Option<&RunCheck>) -> Self {
        let figure = |metric, quantile| Some(summary.latency.row(metric)?.percentile(quantile).figure.into());
        Self {
            rate_per_s,
            outcome: summary.verdict.outcome,
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

/// Tells in sentences what of `predicted` lies outside what `runs` measured.
fn outside(runs: &[RunCheck], predicted: &[FitRange]) -> Vec<String> {
    let lengths = |of: fn(&FitRange) -> &[u32], what: &str| {
        let known = runs.iter().map(|run| of(&run.sent)).filter_map(|all| Some((*all.first()?, *all.last()?)));
        let (least, most) = known.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        let mut asked: Vec<u32> = predicted.iter().flat_map(of).copied().collect();
        asked.sort_unstable();
        let end_place = asked.len().checked_sub(1)?;
        let end = (end_place as f64 * END) as usize;
        let (short, long) = (asked[end], asked[end_place - end]);
        let [low, high, least_known, most_known] = [short, long, least, most].map(|tokens| count(u64::from(tokens)));
        (short < least || long > most).then(|| {
            format!(
                "{what} of {low} to {high} tokens are predicted, and the runs have {least_known} to {most_known}: \
                 beyond those the prediction is extrapolated"
            )
        })
    };
    let rates = runs.iter().filter(|run| run.users.is_none()).map(|run| run.rate_per_s);
    let known = rates.map(|rate| (rate, rate)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let beyond = known.and_then(|(least, most)| {
        let asked = predicted.iter().map(|reach| reach.workload.arrival.mean_rate_per_s());
        let far: Vec<String> = asked
            .filter(|rate| *rate < least * (1.0 - SAME) || *rate > most * (1.0 + SAME))
            .map(three_digits)
            .collect();
        let known = if least < most {
            format!("{} to {}", three_digits(least), three_digits(most))
        } else {
            three_digits(most)
        };
        (!far.is_empty())
            .then(|| format!("{known}/s were measured: predictions for {}/s are extrapolated", far.join(", ")))
    });
    [lengths(|reach| &reach.prompts, "prompts"), lengths(|reach| &reach.answers, "answers"), beyond]
        .into_iter()
        .flatten()
        .chain(of_another(runs, predicted))
        .collect()
}

/// Returns a note where runs at a predicted rate have another workload. Their figures are not shown with it.
fn of_another(runs: &[RunCheck], predicted: &[FitRange]) -> Option<String> {
    let same_rate = |run: &&RunCheck| {
        let rates = predicted.iter().map(|reach| reach.workload.arrival.mean_rate_per_s());
        let mut here = rates.zip(predicted).filter(|(rate, _)| (run.rate_per_s / rate - 1.0).abs() <= SAME);
        here.any(|(_, reach)| !run.sent.is_of(reach))
    };
    let others = runs.iter().filter(same_rate).count() as u64;
    (others > 0).then(|| {
        format!(
            "{} at these rates sent other requests, or had other arrivals: their measured figures are not shown",
            counted(others, "run")
        )
    })
}
