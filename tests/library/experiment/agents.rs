//! The search for the largest number of agents finds the number that measuring every number finds.

use skyline::analysis::Tier;
use skyline::experiment::{HighestLoad, Load, LoadAxis, Sweep, SweepPlan, TrialRequest};
use skyline::record::Outcome;
use skyline::simulator::{Delay, FixedQueue, SimulatedServer};
use skyline::workload::WorkloadSpec;

use super::highest_load::Searched;
use crate::virtual_time::fly;

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
/// The bound of the objective, seconds, and the share of answers that may be over it.
const BOUND_S: f64 = 1.2;
const MAY_BE_LATE: f64 = 0.05;

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

/// The search of a seed, by its own objective or by these tiers.
fn search(seed: u64, tiers: &[&str]) -> Sweep {
    let searched = agents();
    let axis = LoadAxis::Agents { from: 4 };
    let plan = searched.plan(700, seed);
    let tiers: Vec<Tier> = tiers.iter().map(|text| text.parse().unwrap()).collect();
    let objectives = if tiers.is_empty() { plan.objectives.clone() } else { Tier::objectives_of(&tiers, &[]) };
    searched
        .search(SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(&searched.spec, &axis),
            axis,
            objectives,
            tiers,
            first_samples: Some(75),
            fewest_users_per_s: Some(2.0),
            precision: 0.1,
            ..plan
        })
        .sweep
}

/// The figure of an answer, and its interval.
fn found(answer: &HighestLoad) -> (f64, Option<(f64, f64)>) {
    (answer.estimate.unwrap_or(0.0), answer.interval_low.zip(answer.interval_high))
}

/// How many searches of these seeds come within 5 % of the truth, or one agent; how many intervals hold it.
fn held(seeds: impl Iterator<Item = u64>) -> [u64; 2] {
    let mut held = [0; 2];
    for seed in seeds {
        let (estimate, interval) = found(&search(seed, &[]).answer.unwrap());
        held[0] += u64::from((estimate - TRUTH).abs() <= f64::max(1.0, 0.05 * TRUTH));
        held[1] += u64::from(interval.is_some_and(|(low, high)| low <= TRUTH && TRUTH <= high));
        println!("seed {seed}: {estimate} agents, {interval:?}");
    }
    held
}

#[test]
fn the_largest_number_of_agents_is_found() {
    let held = held(1..=3);
    assert!(held.iter().all(|&searches| searches >= 2), "{held:?}");
}

/// One search for two tiers of service. The faster one is the objective of the searches above.
#[test]
#[ignore = "two whole searches: `tests/interop/long_tests.sh agents` runs it optimised"]
fn each_tier_has_the_number_of_a_search_of_its_own() {
    let together = search(1, &["usual=p95 ttft < 1200ms", "slow=p95 ttft < 2s"]);
    let [usual, slow] = together.tiers.as_slice() else { panic!("{:?}", together.tiers) };
    let alone = found(&search(2, &["slow=p95 ttft < 2s"]).tiers[0].answer);
    for (tier, (alone, interval)) in [(usual, (TRUTH, None)), (slow, alone)] {
        let (estimate, own) = found(&tier.answer);
        assert!((estimate - alone).abs() <= f64::max(1.0, 0.05 * alone), "{estimate} and {alone}: {tier:?}");
        let [(low, high), (other_low, other_high)] = [own.unwrap(), interval.unwrap_or((alone, alone))];
        assert!(low <= other_high && other_low <= high, "{own:?} and {interval:?}");
        assert!(tier.answer.passed.is_some() && tier.answer.failed.is_some(), "{tier:?}");
    }
    assert!(usual.answer.estimate < slow.answer.estimate);
    // A user of the faster tier sees its first token sooner.
    assert!(usual.ttft_p95_ms < slow.ttft_p95_ms && usual.tokens_per_s_per_user.is_some());
}

/// Share of late answers of a run with so many agents, whose window has so many seconds.
fn late(agents: u64, window_s: f64) -> f64 {
    let searched = self::agents();
    let (load, seed) = (Load::Agents(agents), 1_000 + agents);
    let wanted = TrialRequest { number: 1, load, repeat: 1, seed, window_s, run: String::new() };
    let workload = wanted.workload(&searched.spec).unwrap();
    let run = fly(&workload, &mut *(searched.server)(wanted.seed));
    let warm = run.records.iter().filter(|record| {
        record.outcome == Outcome::Completed && record.scheduled.as_secs_f64() >= searched.spec.warmup_s
    });
    let waits: Vec<f64> =
        warm.map(|record| record.chunks.first_at().unwrap().since(record.scheduled).as_secs_f64()).collect();
    waits.iter().filter(|wait| **wait > BOUND_S).count() as f64 / waits.len() as f64
}

/// `each` of all items, in their order, on two threads.
fn on_two_threads<T: Send>(items: &[u64], each: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (first, second) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().map(|item| each(*item)).collect::<Vec<T>>());
        first.iter().map(|item| each(*item)).chain(other.join().unwrap()).collect()
    })
}

/// Each number from 1 to 64 is run, those near the limit for as long as it takes to tell their share of late answers.
#[test]
#[ignore = "long runs of every number and 40 searches: `tests/interop/long_tests.sh agents` runs it optimised"]
fn of_forty_searches_all_find_the_number_that_measuring_every_number_finds() {
    // As many requests of few agents as of many.
    let roughly = on_two_threads(&(1..=64).collect::<Vec<_>>(), |agents| late(agents, 10_000.0 / agents as f64));
    let is_near = |agents: &u64| (0.03..0.12).contains(&roughly[*agents as usize - 1]);
    let near: Vec<u64> = (1..=64).filter(is_near).collect();
    let [first, .., last] = near[..] else { panic!("{roughly:.3?}") };
    let near: Vec<u64> = (first..=last).collect();
    let shares = on_two_threads(&near, |agents| late(agents, 1_500.0));
    println!("late by agents, from {first} to {last}: {shares:.4?}; roughly, from 1 on: {roughly:.3?}");
    let share = |agents: u64| {
        let place = near.iter().position(|other| *other == agents);
        place.map_or(roughly[agents as usize - 1], |place| shares[place])
    };
    assert!(near.len() < 20, "{near:?}");
    let largest = (1..=64).rev().find(|agents| share(*agents) <= MAY_BE_LATE).unwrap();
    assert!((1..=largest).all(|agents| share(agents) <= MAY_BE_LATE), "no number below it is too many");
    assert_eq!(largest as f64, TRUTH);
    let seeds: Vec<u64> = (1..=40).collect();
    let each = on_two_threads(&seeds, |seed| held(std::iter::once(seed)));
    let held = each.iter().fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    println!("of 40 searches {} came within 5 %, and {} intervals held {TRUTH}", held[0], held[1]);
    assert!(held[0] == 40 && held[1] >= 36, "{held:?}");
}
