//! How often an objective on a percentile is decided, and how often falsely, where the truth is known.

use std::ops::Range;

use skyline::analysis::statistics::{Memory, OrderedShare};
use skyline::analysis::{Objective, Quantile, Status, summarise};
use skyline::experiment::{Repeats, repeats_of};
use skyline::record::{Repeat, RunHeader, RunLog};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

use super::shown::queue;
use crate::virtual_time::{fly, header};

const LOADS: [f64; 3] = [0.5, 0.8, 0.9];
const REQUESTS: [usize; 3] = [165, 1_000, 4_000];
const QUANTILES: [Quantile; 3] = [Quantile::P50, Quantile::P95, Quantile::P99];

/// How many of so many experiments called an objective met, missed, or neither.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    all: u32,
    met: u32,
    missed: u32,
}

impl Decided {
    fn add(&mut self, status: Status) {
        self.all += 1;
        self.met += u32::from(status == Status::Met);
        self.missed += u32::from(status == Status::Missed);
    }

    fn share_met(self) -> f64 {
        f64::from(self.met) / f64::from(self.all)
    }

    fn share_missed(self) -> f64 {
        f64::from(self.missed) / f64::from(self.all)
    }
}

/// Objectives on the times in the system of M/M/1, in `repeats` runs of `n` requests each, whose bounds are so many `times`
/// the truth: of each percentile and bound. The lines of the table.
fn of_queue<const BOUNDS: usize>(
    load: f64,
    (repeats, n): (u64, usize),
    times: [f64; BOUNDS],
    seeds: Range<u64>,
) -> [[Decided; BOUNDS]; 3] {
    let mut decided = [[Decided::default(); BOUNDS]; 3];
    for seed in seeds {
        let runs: Vec<_> = (0..repeats)
            .map(|run| {
                let values = queue(seed * repeats + run, load, n);
                let memory = Memory::of_ranks(&values);
                (values, memory)
            })
            .collect();
        for (quantile, decided) in QUANTILES.into_iter().zip(&mut decided) {
            let most = 1.0 - quantile.fraction();
            for (times, decided) in times.into_iter().zip(decided) {
                let bound = times * -libm::log(most) / (1.0 - load);
                let shares = runs.iter().filter_map(|(values, memory)| {
                    OrderedShare::new(&values.iter().map(|value| Some(*value >= bound)).collect::<Vec<_>>(), *memory)
                });
                let share = OrderedShare::pooled(&shares.collect::<Vec<_>>());
                decided.add(share.map_or(Status::Undecided, |share| share.keeps(most)));
            }
        }
    }
    for (quantile, decided) in QUANTILES.into_iter().zip(&decided) {
        for (times, decided) in times.into_iter().zip(decided) {
            println!(
                "load {load}, {repeats} x {n} requests, {quantile} < {times} x truth: met {:.1} %, missed {:.1} % of {}",
                100.0 * decided.share_met(),
                100.0 * decided.share_missed(),
                decided.all
            );
        }
    }
    decided
}

/// No objective below the truth is called met, nor one above it missed, in more than a share `most` of the experiments.
fn hold(seeds: Range<u64>, most: f64) {
    for load in LOADS {
        let check = |[below, above]: [Decided; 2], what: &str| {
            assert!(below.share_met() <= most, "{load} {what}: {below:?}");
            assert!(above.share_missed() <= most, "{load} {what}: {above:?}");
        };
        for n in REQUESTS {
            let found = of_queue(load, (1, n), [0.9, 1.1], seeds.clone());
            for of_quantile in found {
                check(of_quantile, &format!("{n} requests"));
            }
        }
        let found = of_queue(load, (5, 165), [0.97, 1.03], seeds.clone());
        for of_quantile in found {
            check(of_quantile, "five repeats");
        }
    }
}

/// Of 40 experiments each wrong in one of 20, more than six are with a chance of 0.4 %.
#[test]
fn objectives_near_the_truth_are_hardly_ever_decided_falsely() {
    hold(0..40, 0.15);
}

#[test]
#[ignore = "12 million requests unoptimised take minutes; `tests/interop/long_tests.sh coverage::` runs it"]
fn four_hundred_fresh_experiments_decide_falsely_in_one_of_20_at_most() {
    hold(2_000_000..2_000_400, 0.05);
    // At the bound itself about as often: ten short repeats of a queue near its limit are called met in 7 %.
    for load in LOADS {
        for (repeats, n) in REQUESTS.map(|n| (1, n)).into_iter().chain([(5, 165), (10, 1_000)]) {
            let seeds = 3_000_000..3_000_400;
            for [at, room, twice] in of_queue(load, (repeats, n), [1.0, 1.3, 2.0], seeds) {
                let wrong = at.share_met().max(at.share_missed());
                assert!(wrong <= 0.1, "{load}, {repeats} x {n}: {at:?}");
                assert!(room.share_missed() <= 0.05 && twice.share_missed() <= 0.05, "{room:?} {twice:?}");
            }
        }
    }
}

/// A bound 30 % above the truth: 4,000 requests of a queue at half load are worth about 600 and tell p50 and p95. Of a p99
/// 500 independent requests would have five beyond it, or with that bound one: no test that is wrong in one of 20 tells these apart in
/// more than two of three.
#[test]
fn an_objective_with_room_is_met_and_one_far_below_missed() {
    let [p50, p95, p99] = of_queue(0.5, (1, 4_000), [0.7, 1.3, 2.0], 0..60);
    assert!(p50[1].share_met() >= 0.9 && p95[1].share_met() >= 0.7 && p99[2].share_met() >= 0.8);
    assert!([p50, p95, p99].iter().all(|of| of[0].share_missed() >= 0.8));
    for load in [0.8, 0.9] {
        let found = of_queue(load, (1, 4_000), [0.4], 0..30);
        assert!(found.iter().all(|of| of[0].share_missed() >= 0.6), "{load}: {found:?}");
    }
}

/// M/M/1 with a service time of 100 ms on average at 80 % load: 165 requests after ten relaxation times.
fn spec(seed: u64) -> WorkloadSpec {
    let text = format!(
        r#"
name = "queue"
horizon_s = 110.6
warmup_s = 90
drain_s = 3600
seed = {seed}
arrival = {{ kind = "poisson", rate_per_s = 8 }}
[[classes]]
name = "all"
input_tokens = {{ kind = "constant", value = 1 }}
output_tokens = {{ kind = "constant", value = 1 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// The whole way, from the simulated server to the line that is shown: bounds 10 % below the true p99 of one run (one of 2
/// was met once), and 3 % below it of five repeats.
#[test]
fn a_short_run_of_a_queue_does_not_meet_what_its_server_misses() {
    let truth_ms = -libm::log(0.01) * 500.0;
    let objective = |times: f64| format!("p99 e2e < {}ms", times * truth_ms).parse::<Objective>().unwrap();
    let run = |spec: &WorkloadSpec, repeat: Option<Repeat>, objective: &Objective| {
        let engine = EngineModel::Plain { slots: 1, ttft: Delay::Exponential(0.1), itl: Delay::Constant(0.0) };
        let flown = fly(spec, &mut *Fleet::of_one(engine, spec.seed).server().unwrap());
        let header = RunHeader { repeat, ..header(spec) };
        summarise(&RunLog::of_requests(header, flown.records, flown.footer), std::slice::from_ref(objective))
    };
    let (mut met, below) = (0, objective(0.9));
    for seed in 0..60 {
        let judged = run(&spec(seed), None, &below).objectives.remove(0);
        assert!(judged.status != Status::Undecided || judged.line.starts_with("cannot tell: p99 e2e < "));
        met += u32::from(judged.status == Status::Met);
    }
    let (mut all_met, below) = (0, objective(0.97));
    for seed in 0..20 {
        let runs: Vec<_> = repeats_of(&spec(seed), 5).iter().map(|(repeat, spec)| run(spec, *repeat, &below)).collect();
        let judged = Repeats::new(&runs, std::slice::from_ref(&below)).unwrap().objectives.remove(0);
        all_met += u32::from(judged.status == Status::Met);
    }
    assert!(met <= 3 && all_met <= 1, "{met} of 60, {all_met} of 20 with five repeats");
}
