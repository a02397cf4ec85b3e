//! Engines fitted to runs of engines whose step times are known, and what they predict of rates that were not flown.

use std::time::Duration;

use skyline::analysis::{Metric, Quantile, Summary, summarise};
use skyline::experiment::{CannotFit, CostKind, CostModel, EngineFit, Grade, MeasuredRun, VirtualRun};
use skyline::generator::{ConcurrencyCaps, Schedule};
use skyline::record::RunLog;
use skyline::report::render::{self, Extent};
use skyline::report::{Colour, Style, documents};
use skyline::simulator::{BatchingConfig, Delay, Deployment, Efficiency, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

use crate::virtual_time::header;

fn chat(rate: f64, seed: u64) -> WorkloadSpec {
    let text = format!(
        r#"
name = "chat"
horizon_s = 90
warmup_s = 10
drain_s = 60
seed = {seed}
arrival = {{ kind = "poisson", rate_per_s = {rate} }}
[[classes]]
name = "chat"
input_tokens = {{ kind = "log_normal", median = 400, sigma = 0.8, min = 20, max = 3000 }}
output_tokens = {{ kind = "log_normal", median = 120, sigma = 0.6, min = 10, max = 500 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

fn deployment(hardware: &str) -> Deployment {
    Deployment::new(hardware.parse().unwrap(), "llama-3.1-8b".parse().unwrap())
}

fn config(hardware: &str, efficiency: Efficiency) -> BatchingConfig {
    BatchingConfig::vllm(&deployment(hardware), efficiency).unwrap()
}

fn fleet(config: BatchingConfig) -> Fleet {
    Fleet::of_one(EngineModel::Batching(Box::new(config)), 0)
}

fn fly(spec: &WorkloadSpec, fleet: &Fleet) -> RunLog {
    let schedule = Schedule::draw(spec);
    let drain = Duration::from_secs_f64(spec.drain_s);
    let flown = VirtualRun { plan: schedule.facts(), schedule, drain, caps: ConcurrencyCaps::default() }
        .execute(&mut *fleet.server().unwrap());
    RunLog::of_requests(header(spec), flown.records, flown.footer)
}

fn measured(rate: f64, seed: u64, fleet: &Fleet) -> MeasuredRun {
    MeasuredRun { name: format!("{rate}/s"), log: fly(&chat(rate, seed), fleet) }
}

fn p50(summary: &Summary, metric: Metric) -> f64 {
    summary.latency.row(metric).unwrap().percentile(Quantile::P50).figure.exact().unwrap()
}

/// The largest relative error of p50 TTFT and TPOT that `fit` makes at a rate that was not flown, with other requests.
fn error_at(rate: f64, fit: &EngineFit, truth: &Fleet) -> f64 {
    let spec = chat(rate, 99);
    let report = summarise(&fly(&spec, &fit.applied_to(truth)), &[]);
    let true_one = summarise(&fly(&spec, truth), &[]);
    [Metric::Ttft, Metric::Tpot]
        .map(|metric| (p50(&report, metric) / p50(&true_one, metric) - 1.0).abs())
        .into_iter()
        .fold(0.0, f64::max)
}

fn cost(fit: &EngineFit, kind: CostKind) -> f64 {
    fit.costs.iter().find(|cost| cost.kind == kind).unwrap().value.unwrap()
}

/// An engine that reaches less than is assumed by default.
fn slow_kernels() -> Efficiency {
    Efficiency { compute: 0.42, bandwidth: 0.65, step_overhead: 2e-3, ..Efficiency::default() }
}

#[test]
fn a_roofline_is_found_again_and_predicts_other_rates() {
    for (hardware, measured_rate, other_rates, async_scheduling) in
        [("h100", 6.0, [2.0, 14.0], true), ("a10g", 1.0, [0.4, 2.0], true), ("h100", 6.0, [2.0, 14.0], false)]
    {
        let [truth, base] = [slow_kernels(), Efficiency::default()].map(|efficiency| {
            let mut config = config(hardware, efficiency);
            config.limits.async_scheduling = async_scheduling;
            config
        });
        let truth = fleet(truth);
        let family = CostModel::Roofline(Box::new(deployment(hardware)));
        let fit = EngineFit::new(&[measured(measured_rate, 1, &truth)], &base, &family).unwrap();
        assert_eq!(fit.grade, Grade::Good, "{fit:#?}");
        // Nearly all of a step is reading the weights, as much in each: the overhead looks the same from outside.
        for (kind, expected, within) in
            [(CostKind::ComputeEfficiency, 0.42, 0.05), (CostKind::BandwidthEfficiency, 0.65, 0.1)]
        {
            let found = cost(&fit, kind);
            assert!((found / expected - 1.0).abs() < within, "{kind:?} {found}, not {expected}: {fit:#?}");
        }
        for rate in other_rates {
            let error = error_at(rate, &fit, &truth);
            assert!(error < 0.1, "{hardware} at {rate}/s: off by {error}; {:#?}", fit.costs);
        }
    }
}

#[test]
fn a_sum_of_costs_predicts_what_nobody_knows_the_physics_of() {
    for (hardware, rates, other_rates) in [("h100", [2.0, 12.0], [6.0, 16.0]), ("a10g", [0.4, 1.2], [0.8, 1.4])] {
        let truth = fleet(config(hardware, slow_kernels()));
        let runs: Vec<_> = rates.iter().zip(1..).map(|(&rate, seed)| measured(rate, seed, &truth)).collect();
        let base = config(hardware, Efficiency::default());
        let fit = EngineFit::new(&runs, &base, &CostModel::Linear).unwrap();
        assert_eq!((fit.runs.len(), fit.held_out.len()), (2, 2));
        assert!(fit.grade <= Grade::Rough, "{fit:#?}");
        for rate in other_rates {
            let error = error_at(rate, &fit, &truth);
            assert!(error < 0.1, "{hardware} at {rate}/s: off by {error}; {:#?}", fit.costs);
        }
    }
}

#[test]
fn a_front_end_is_told_from_the_steps() {
    let truth = Fleet { front_end: Duration::from_millis(40), ..fleet(config("h100", Efficiency::default())) };
    let family = CostModel::Roofline(Box::new(deployment("h100")));
    let base = config("h100", Efficiency::default());
    let fit = EngineFit::new(&[measured(4.0, 1, &truth)], &base, &family).unwrap();
    let found = cost(&fit, CostKind::FrontEnd);
    assert!((found - 0.040).abs() < 0.003, "{found}: {:#?}", fit.costs);
    assert!(error_at(10.0, &fit, &truth) < 0.1);
}

#[test]
fn what_does_not_fit_is_poor() {
    // Four places and nothing else: requests queue, and steps have nothing to do with it.
    let ttft = Delay::LogNormal(0.4, 0.8);
    let truth = Fleet::of_one(EngineModel::Plain { slots: 4, ttft, itl: Delay::Constant(0.01) }, 0);
    let base = config("h100", Efficiency::default());
    let fit = EngineFit::new(&[measured(2.0, 1, &truth)], &base, &CostModel::Linear).unwrap();
    assert_eq!(fit.grade, Grade::Poor, "{fit:#?}");
}

/// A server of constant delays that serves all at once, and one that is fitted to it with a single place: its steps are
/// those of the server, and it is drowned by what was sent.
#[test]
fn a_median_that_cannot_be_told_again_is_poor() {
    let delays = (Delay::Constant(0.1), Delay::Constant(0.02));
    let truth = Fleet::of_one(EngineModel::Plain { slots: 256, ttft: delays.0, itl: delays.1 }, 0);
    let mut base = config("h100", Efficiency::default());
    base.limits.max_num_seqs = 1;
    let fit = EngineFit::new(&[measured(6.0, 1, &truth)], &base, &CostModel::Linear).unwrap();
    assert_eq!((fit.grade, fit.worst(Quantile::P50)), (Grade::Poor, Some(f64::INFINITY)), "{fit:#?}");
    let ttft = fit.runs[0].figure(Metric::Ttft, Quantile::P50).unwrap();
    assert!(ttft.predicted_ms.is_none() && ttft.predicted_at_least_ms.unwrap() > 10_000.0, "{ttft:?}");
    let text = render::text(&documents::engine_fit(&fit), Style { colour: Colour::Plain, width: 120 }, Extent::Full);
    assert!(text.contains("100 → > ") && text.contains("does not keep up with the load that was sent"), "{text}");
}

/// Two runs, each of which ended with its last answer, and one engine 6 % slower than the other: fitted to the slower one
/// it gives the last answer of the other run late, and that alone makes no fit poor.
#[test]
fn a_slightly_slower_engine_answers_all_that_was_sent() {
    let at = |bandwidth| fleet(config("h100", Efficiency { bandwidth, ..Efficiency::default() }));
    let runs = [measured(6.0, 1, &at(0.85)), measured(6.0, 2, &at(0.8))];
    let base = config("h100", Efficiency::default());
    let fit = EngineFit::new(&runs, &base, &CostModel::Roofline(Box::new(deployment("h100")))).unwrap();
    assert_eq!(fit.grade, Grade::Good, "{fit:#?}");
    for figure in fit.held_out.iter().flat_map(|check| &check.figures) {
        assert!(figure.predicted_ms.is_some(), "{figure:?}");
    }
}

#[test]
fn too_little_is_refused() {
    let base = config("h100", Efficiency::default());
    let mut run = measured(2.0, 1, &fleet(base.clone()));
    run.log.records.truncate(10);
    let refused = EngineFit::new(&[run], &base, &CostModel::Linear).unwrap_err();
    assert!(matches!(refused, CannotFit::TooLittle(1..=20)), "{refused}");
    assert!(refused.to_string().contains("hint: "));
}
