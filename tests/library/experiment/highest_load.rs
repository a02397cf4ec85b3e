//! The search for the highest load finds what the closed form says.

use std::convert::Infallible;

use skyline::analysis::{Objective, summarise};
use skyline::experiment::{
    CompletedRun, Experiment, LoadAxis, RunRequest, Search, Sweep, SweepExperiment, SweepPlan, SweepRun,
    Swept, VirtualExecutor, drive,
};
use skyline::record::{DeploymentFacts, RunLog};
use skyline::workload::WorkloadSpec;

use super::queues::Queue;
use crate::virtual_time::{fly, header};

const WORKLOAD: &str = r#"
    name = "queue"
    horizon_s = 600
    warmup_s = 30
    drain_s = 600
    seed = 1
    arrival = { kind = "poisson", rate_per_s = 1 }
    [[classes]]
    name = "job"
    input_tokens = { kind = "constant", value = 1 }
    output_tokens = { kind = "constant", value = 2 }
"#;

/// One search on `queue`, its runs of `samples` requests.
pub(crate) fn search(queue: Queue, samples: u64, most_trials: u64, seed: u64) -> Sweep {
    let spec = WorkloadSpec::from_toml(WORKLOAD, "a queue").unwrap();
    let objectives: Vec<Objective> = vec![queue.objective.parse().unwrap()];
    let plan = SweepPlan {
        axis: LoadAxis::Automatic { from_per_s: 1.0 },
        objectives: objectives.clone(),
        repeats: 2,
        samples,
        requests_per_arrival: None,
        shortest_s: None,
        longest_s: 1e5,
        fewest_users_per_s: None,
        precision: 0.05,
        most_trials,
        saturated_in_a_row: 2,
        first_seed: seed,
    };
    let search = Search::new(plan).unwrap();
    let swept = Swept {
        started_at: jiff::Timestamp::UNIX_EPOCH,
        engine: header(&spec).engine,
        workload: spec.clone(),
        deployment: DeploymentFacts::default(),
    };
    let mut sweep = SweepExperiment::new(search, swept);
    let run = |request: &RunRequest<SweepRun>| -> Result<_, Infallible> {
        let SweepRun::Load(wanted) = &request.part else { panic!("a search asks for loads alone") };
        let workload = wanted.workload(&spec).unwrap();
        let flown = fly(&workload, &mut queue.server(wanted.seed));
        let log = RunLog::of_requests(header(&workload), flown.records, flown.footer);
        Ok(CompletedRun::from(summarise(&log, &objectives)))
    };
    let recorded = |_: &SweepExperiment| Ok(());
    let Ok(()) = drive(&mut sweep, &mut VirtualExecutor { run, recorded });
    sweep.result()
}

/// How many of `searches` come within 5 % of the truth, and how many intervals and brackets hold it.
fn held(queue: Queue, samples: u64, most_trials: u64, searches: u64) -> [u64; 3] {
    let mut held = [0; 3];
    for seed in 1..=searches {
        let sweep = search(queue, samples, most_trials, seed);
        let answer = sweep.answer.unwrap();
        let truth = queue.truth_per_s;
        let estimate = answer.estimate.unwrap_or(0.0);
        let interval = answer.interval_low.zip(answer.interval_high);
        let bracket = answer.passed.zip(answer.failed).map(|(low, high)| (low.amount(), high.amount()));
        let holds = |ends: Option<(f64, f64)>| ends.is_some_and(|(low, high)| low <= truth && truth <= high);
        held[0] += u64::from((estimate / truth - 1.0).abs() <= 0.05);
        held[1] += u64::from(holds(interval));
        held[2] += u64::from(holds(bracket));
    }
    held
}

/// Of three searches each; bounds that one of the figures may miss by chance.
#[test]
fn the_highest_load_of_queues_is_found() {
    for (queue, samples) in [(Queue::mean_of_one_place(), 1_000), (Queue::eight_places(), 1_000)] {
        let held = held(queue, samples, 25, 3);
        assert!(held.iter().all(|&searches| searches >= 2), "{}: {held:?}", queue.name);
    }
}

#[test]
#[ignore = "60 searches of 40 runs take minutes unoptimised; `.ci/run` runs it; by hand: `cargo test --release --test library experiment:: -- --ignored`"]
fn of_twenty_searches_eighteen_find_the_truth_and_hold_it() {
    for (queue, samples) in
        [(Queue::one_place(), 3_000), (Queue::mean_of_one_place(), 1_000), (Queue::eight_places(), 1_000)]
    {
        let held = held(queue, samples, 40, 20);
        assert!(held.iter().all(|&searches| searches >= 18), "{}: {held:?}", queue.name);
    }
}
