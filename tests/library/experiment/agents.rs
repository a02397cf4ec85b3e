//! The search for the largest number of agents finds the number that measuring every number finds.

use skyline::analysis::{Objective, summarise};
use skyline::experiment::{Load, LoadAxis, SweepPlan, TrialRequest};
use skyline::record::RunLog;
use skyline::simulator::{Delay, FixedQueue, SimulatedServer};
use skyline::workload::WorkloadSpec;

use super::highest_load::Searched;
use crate::virtual_time::{fly, header};

/// A task and a loop of tools, a second of which stands between two answers.
const WORKLOAD: &str = r#"
    name = "agents"
    horizon_s = 600
    warmup_s = 20
    drain_s = 600
    seed = 1
    arrival = { kind = "poisson", rate_per_s = 1 }
    [[classes]]
    name = "agent"
    input_tokens = 100
    output_tokens = 51
    [classes.session]
    steps = [
        { name = "task" },
        { name = "loop", turns = { kind = "uniform", min = 2, max = 8 }, tools = 2, delay_s = { kind = "exponential", mean = 0.6 } },
    ]
"#;

/// The largest number of agents that meets the objective, by runs of every number as below.
const TRUTH: f64 = 35.0;

/// A server of 16 places: a first token takes 300 ms on average, exponentially, each other token 10 ms.
fn agents() -> Searched<impl Fn(u64) -> Box<dyn SimulatedServer>> {
    Searched {
        spec: WorkloadSpec::from_toml(WORKLOAD, "agents").unwrap(),
        server: |seed| {
            Box::new(FixedQueue::new(16, Delay::Exponential(0.3), Delay::Constant(0.01), seed))
                as Box<dyn SimulatedServer>
        },
        objective: "p95 ttft < 1200ms",
    }
}

/// How many searches of the seeds from 1 on come within 5 % of the truth, or one agent; how many intervals hold it.
fn held(seeds: u64) -> [u64; 2] {
    let (searched, mut held, mut found) = (agents(), [0; 2], Vec::new());
    let axis = LoadAxis::Agents { from: 4 };
    let requests_per_arrival = SweepPlan::requests_per_arrival(&searched.spec, &axis);
    for seed in 1..=seeds {
        let plan = SweepPlan {
            axis: axis.clone(),
            requests_per_arrival,
            first_samples: Some(75),
            fewest_users_per_s: Some(2.0),
            precision: 0.1,
            ..searched.plan(700, seed)
        };
        let answer = searched.search(plan).sweep.answer.unwrap();
        let estimate = answer.estimate.unwrap_or(0.0);
        let interval = answer.interval_low.zip(answer.interval_high);
        held[0] += u64::from((estimate - TRUTH).abs() <= f64::max(1.0, 0.05 * TRUTH));
        held[1] += u64::from(interval.is_some_and(|(low, high)| low <= TRUTH && TRUTH <= high));
        found.push((estimate, interval));
    }
    println!("of {seeds}, {held:?}: {found:?}");
    held
}

#[test]
fn the_largest_number_of_agents_is_found() {
    let held = held(3);
    assert!(held.iter().all(|&searches| searches >= 2), "{held:?}");
}

/// Each number from 1 to 64 is run for as long as it takes to tell its share of late answers.
#[test]
#[ignore = "64 long runs and 40 searches take minutes unoptimised; `tests/interop/long_tests.sh agents` runs it; by hand: `cargo test --release --test library experiment::agents -- --ignored`"]
fn of_forty_searches_all_find_the_number_that_measuring_every_number_finds() {
    let searched = agents();
    let objectives: Vec<Objective> = vec![searched.objective.parse().unwrap()];
    let late = |agents: u64| {
        let wanted = TrialRequest {
            number: 1,
            load: Load::Agents(agents),
            repeat: 1,
            seed: 1_000 + agents,
            window_s: 20_000.0 / agents as f64 + 1_000.0,
            run: String::new(),
        };
        let workload = wanted.workload(&searched.spec).unwrap();
        let flown = fly(&workload, &mut *(searched.server)(wanted.seed));
        let log = RunLog::of_requests(header(&workload), flown.records, flown.footer);
        summarise(&log, &objectives).objectives[0].over_share.unwrap()
    };
    let shares: Vec<f64> = (1..=64).map(late).collect();
    println!("late by agents, from 1 on: {shares:.4?}");
    let too_many = shares.iter().position(|share| *share > 0.05).unwrap();
    assert!(shares[too_many..].iter().all(|share| *share > 0.05), "{shares:.4?}");
    assert_eq!(too_many as f64, TRUTH, "{shares:.4?}");
    let held = held(40);
    assert!(held[0] == 40 && held[1] >= 36, "{held:?}");
}
