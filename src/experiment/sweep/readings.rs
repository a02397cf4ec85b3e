//! The figures of one run of a sweep, and of a load over its runs.

use serde::{Deserialize, Serialize};

use crate::analysis::{Figure, FigureKey, Metric, Quantile, SampleWarning, Summary};
use crate::experiment::repeats::AcrossRuns;

/// A figure of one run with its sample warning.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MarkedFigure {
    figure: Figure,
    mark: Option<SampleWarning>,
}

impl MarkedFigure {
    fn of(subject: &FigureKey, run: &Summary) -> Option<Self> {
        Some(Self { figure: subject.read(run)?, mark: subject.warning(run).map(|(mark, _)| mark) })
    }

    const fn exact(value: f64) -> Self {
        Self { figure: Figure::Exact(value), mark: None }
    }
}

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RunFigures {
    ttft_p50: Option<MarkedFigure>,
    ttft_p95: Option<MarkedFigure>,
    ttft_p99: Option<MarkedFigure>,
    tpot_p50: Option<MarkedFigure>,
    tpot_p95: Option<MarkedFigure>,
    tpot_p99: Option<MarkedFigure>,
    e2e_p50: Option<MarkedFigure>,
    e2e_p95: Option<MarkedFigure>,
    e2e_p99: Option<MarkedFigure>,
    goodput: Option<MarkedFigure>,
    attainment: Option<MarkedFigure>,
    errors: Option<MarkedFigure>,
    completed: Option<MarkedFigure>,
    input_tokens: Option<MarkedFigure>,
    output_tokens: Option<MarkedFigure>,
    gpus: Option<f64>,
    in_flight: Option<MarkedFigure>,
}

/// The figures of a load over its runs, with intervals; absent where no run has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointFigures {
    /// Median TTFT, milliseconds.
    pub ttft_p50_ms: Option<AcrossRuns>,
    /// 95th percentile of TTFT, milliseconds.
    pub ttft_p95_ms: Option<AcrossRuns>,
    /// 99th percentile of TTFT, milliseconds.
    pub ttft_p99_ms: Option<AcrossRuns>,
    /// Median TPOT, milliseconds.
    pub tpot_p50_ms: Option<AcrossRuns>,
    /// 95th percentile of TPOT, milliseconds.
    pub tpot_p95_ms: Option<AcrossRuns>,
    /// 99th percentile of TPOT, milliseconds.
    pub tpot_p99_ms: Option<AcrossRuns>,
    /// Median e2e latency, milliseconds.
    pub e2e_p50_ms: Option<AcrossRuns>,
    /// 95th percentile of e2e latency, milliseconds.
    pub e2e_p95_ms: Option<AcrossRuns>,
    /// 99th percentile of e2e latency, milliseconds.
    pub e2e_p99_ms: Option<AcrossRuns>,
    /// Requests that met their SLO, per second.
    pub goodput_per_s: Option<AcrossRuns>,
    /// Their share of the requests with an SLO, 0 to 1.
    pub slo_attainment: Option<AcrossRuns>,
    /// Share of the requests that failed, 0 to 1.
    pub error_rate: Option<AcrossRuns>,
    /// Requests completed per second.
    pub completed_requests_per_s: Option<AcrossRuns>,
    /// Prompt tokens per second.
    pub input_tokens_per_s: Option<AcrossRuns>,
    /// Output tokens per second of all GPUs together.
    pub output_tokens_per_s: Option<AcrossRuns>,
    /// The same per GPU; absent where their number is not declared.
    pub output_tokens_per_s_per_gpu: Option<AcrossRuns>,
    /// Answer tokens per second that one user sees: 1000 ÷ median TPOT in milliseconds.
    pub tokens_per_s_per_user: Option<AcrossRuns>,
    /// Requests waiting or in flight, on average over time.
    pub in_flight: Option<AcrossRuns>,
}

impl RunFigures {
    pub(super) fn of(run: &Summary) -> Self {
        let percentile = |metric, quantile| MarkedFigure::of(&FigureKey::percentile(quantile, metric), run);
        let figure = |metric| MarkedFigure::of(&FigureKey::of(metric), run);
        Self {
            ttft_p50: percentile(Metric::Ttft, Quantile::P50),
            ttft_p95: percentile(Metric::Ttft, Quantile::P95),
            ttft_p99: percentile(Metric::Ttft, Quantile::P99),
            tpot_p50: percentile(Metric::Tpot, Quantile::P50),
            tpot_p95: percentile(Metric::Tpot, Quantile::P95),
            tpot_p99: percentile(Metric::Tpot, Quantile::P99),
            e2e_p50: percentile(Metric::E2e, Quantile::P50),
            e2e_p95: percentile(Metric::E2e, Quantile::P95),
            e2e_p99: percentile(Metric::E2e, Quantile::P99),
            // Without SLOs it would equal the completed requests.
            goodput: figure(Metric::Goodput).filter(|_| run.slo.declared),
            attainment: figure(Metric::SloAttainment),
            errors: figure(Metric::ErrorRate),
            completed: figure(Metric::RequestRate),
            input_tokens: figure(Metric::InputTokens),
            output_tokens: figure(Metric::OutputTokens),
            gpus: run.run.deployment.gpus.filter(|&gpus| gpus > 0).map(f64::from),
            in_flight: run.in_flight.map(|level| MarkedFigure::exact(level.mean)),
        }
    }

    /// Answer tokens per second and accelerator.
    fn per_gpu(&self) -> Option<MarkedFigure> {
        Some(MarkedFigure::exact(self.output_tokens?.figure.exact()? / self.gpus?))
    }

    /// Answer tokens per second of a user.
    fn per_user(&self) -> Option<MarkedFigure> {
        let tpot_ms = self.tpot_p50?.figure.exact().filter(|&ms| ms > 0.0)?;
        Some(MarkedFigure::exact(1e3 / tpot_ms))
    }
}

impl PointFigures {
    /// The joint figures of `runs`, at least one.
    pub(super) fn of(runs: &[&RunFigures]) -> Self {
        let across = |read: fn(&RunFigures) -> Option<MarkedFigure>, most: f64| {
            let read: Vec<_> = runs.iter().map(|run| read(run)).collect();
            let figures: Vec<_> = read.iter().map(|reading| reading.map(|reading| reading.figure)).collect();
            let any = figures.iter().any(Option::is_some);
            let mark = SampleWarning::gravest(read.iter().filter_map(|reading| (*reading)?.mark));
            any.then(|| AcrossRuns { mark, ..AcrossRuns::of_figures(&figures, most) })
        };
        let any = f64::INFINITY;
        Self {
            ttft_p50_ms: across(|run| run.ttft_p50, any),
            ttft_p95_ms: across(|run| run.ttft_p95, any),
            ttft_p99_ms: across(|run| run.ttft_p99, any),
            tpot_p50_ms: across(|run| run.tpot_p50, any),
            tpot_p95_ms: across(|run| run.tpot_p95, any),
            tpot_p99_ms: across(|run| run.tpot_p99, any),
            e2e_p50_ms: across(|run| run.e2e_p50, any),
            e2e_p95_ms: across(|run| run.e2e_p95, any),
            e2e_p99_ms: across(|run| run.e2e_p99, any),
            goodput_per_s: across(|run| run.goodput, any),
            slo_attainment: across(|run| run.attainment, 1.0),
            error_rate: across(|run| run.errors, 1.0),
            completed_requests_per_s: across(|run| run.completed, any),
            input_tokens_per_s: across(|run| run.input_tokens, any),
            output_tokens_per_s: across(|run| run.output_tokens, any),
            output_tokens_per_s_per_gpu: across(RunFigures::per_gpu, any),
            tokens_per_s_per_user: across(RunFigures::per_user, any),
            in_flight: across(|run| run.in_flight, any),
        }
    }
}
