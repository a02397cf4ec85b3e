//! How often the verdict is wrong: clean runs in virtual time that are not VALID, overloaded ones that are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

use crate::virtual_time::{fly, header};
use skyline::analysis::{FindingKind, Summary, VerdictOutcome, summarise};
use skyline::experiment::SimulatedRun;
use skyline::record::{Outcome, RunLog};
use skyline::simulator::{BatchingConfig, Delay, Deployment, Efficiency, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

/// `short_chat` for a minute as it is shipped, but at `rate` requests a second, with another seed.
fn chat(rate: f64, seed: u64) -> WorkloadSpec {
    chat_for(60.0, rate, seed)
}

/// The same for another time, of which 5 s are warm-up.
pub(crate) fn chat_for(horizon_s: f64, rate: f64, seed: u64) -> WorkloadSpec {
    let text = format!(
        r#"
name = "chat"
horizon_s = {horizon_s}
warmup_s = 5
drain_s = 30
seed = {seed}
arrival = {{ kind = "poisson", rate_per_s = {rate} }}
[[classes]]
name = "chat"
input_tokens = {{ kind = "normal", mean = 256, std = 128, min = 16, max = 1024 }}
output_tokens = {{ kind = "normal", mean = 128, std = 64, min = 8, max = 512 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// Llama-3.1-8B on one A10G, as vLLM runs it.
pub(crate) fn a10g() -> Fleet {
    on("a10g")
}

/// Llama-3.1-8B on one such device, as vLLM runs it.
fn on(hardware: &str) -> Fleet {
    let deployment = Deployment::new(hardware.parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
    Fleet::of_one(EngineModel::Batching(Box::new(config)), 0)
}

/// A server of `slots` slots that first tokens leave after 80 ms and the others 20 ms apart, with a queue before it.
fn queued(slots: usize, seed: u64) -> Fleet {
    let ttft = Delay::LogNormal(0.08, 0.45);
    Fleet::of_one(EngineModel::Plain { slots, ttft, itl: Delay::Constant(0.02) }, seed)
}

fn flown(spec: &WorkloadSpec, fleet: &Fleet) -> Summary {
    let SimulatedRun { records, footer, .. } = fly(spec, &mut *fleet.server().unwrap());
    summarise(&RunLog::of_requests(header(spec), records, footer), &[])
}

/// A server that is tested: an A10G or an L40S under vLLM, or a queue before sixteen slots.
#[derive(Clone, Copy, Debug)]
enum Server {
    Engine,
    Slots,
    Large,
}

impl Server {
    const BOTH: [Self; 2] = [Self::Engine, Self::Slots];

    fn fleet(self, seed: u64) -> Fleet {
        match self {
            Self::Engine => a10g(),
            Self::Slots => queued(16, seed),
            Self::Large => on("l40s"),
        }
    }

    /// The rate at which so much of its capacity is asked for.
    fn rate(self, share: f64) -> f64 {
        static CAPACITIES: [OnceLock<f64>; 3] = [const { OnceLock::new() }; 3];
        share * CAPACITIES[self as usize].get_or_init(|| self.capacity())
    }

    /// Requests that it completes in a second when it is never short of them: from 100 s on, to 700 s or, of the faster one,
    /// to 250 s, of nearly twice as many as it can do.
    fn capacity(self) -> f64 {
        let (until, rate) = if matches!(self, Self::Large) { (250.0, 50.0) } else { (700.0, 11.0) };
        let spec = chat_for(until, rate, 0);
        let run = fly(&spec, &mut *self.fleet(0).server().unwrap());
        let ends = run.records.iter().filter(|record| record.outcome == Outcome::Completed);
        let counted = ends.filter(|record| (100.0..until).contains(&record.ended.as_secs_f64()));
        counted.count() as f64 / (until - 100.0)
    }
}

/// How often each rule was broken in the runs with seeds from 0 to `seeds`, and how many runs broke any.
fn broken(seeds: u64, run: impl Fn(u64) -> Summary) -> (BTreeMap<String, u32>, u32) {
    let (mut rules, mut any) = (BTreeMap::new(), 0);
    for seed in 0..seeds {
        let verdict = run(seed).verdict;
        any += u32::from(verdict.outcome != VerdictOutcome::Valid);
        let broken: BTreeSet<String> = verdict.reasons.iter().map(|reason| format!("{:?}", reason.rule)).collect();
        for rule in broken {
            *rules.entry(rule).or_insert(0) += 1;
        }
    }
    (rules, any)
}

/// The capacity of sixteen slots by division: 16 ÷ (the mean time to first token + 126.6 gaps of 20 ms), where answers of 8
/// to 512 tokens have 127.6 or so on average.
#[test]
fn capacities_are_computed() {
    let [engine, slots] = Server::BOTH.map(|server| server.rate(1.0));
    assert!((slots / 5.89 - 1.0).abs() < 0.02, "{slots} a second of sixteen slots");
    assert!((5.2..=6.0).contains(&engine), "{engine} a second of an A10G");
}

/// A minute at half of what the server can do: about 160 requests after five seconds of warm-up. Of 1,600 runs the long tests
/// find none that is overloaded.
#[test]
fn clean_runs_are_hardly_ever_refused() {
    let [(rules, a10g), (more, slots)] =
        Server::BOTH.map(|server| broken(30, |seed| flown(&chat(server.rate(0.5), seed), &server.fleet(seed))));
    assert!(a10g + slots <= 1, "{a10g} and {slots} of 30 each: {rules:?} {more:?}");
}

/// Windows of 12 to 31 s at half load, nearly all of which hold 30 to 99 requests.
#[test]
fn short_clean_runs_are_refused_rarely_too() {
    let few = std::cell::Cell::new(0);
    let [(rules, a10g), (more, slots)] = Server::BOTH.map(|server| {
        broken(30, |seed| {
            let spec = chat_for(17.0 + (seed % 20) as f64, server.rate(0.5), 1_000 + seed);
            let summary = flown(&spec, &server.fleet(seed));
            few.set(few.get() + u32::from((30..100).contains(&summary.requests.executed())));
            summary
        })
    });
    assert!(few.get() >= 54, "{few:?} of 60 windows are as short as that");
    assert!(a10g + slots <= 1, "{a10g} and {slots} of 30 each: {rules:?} {more:?}");
}

/// How many runs are found to grow, do not tell, and are found to be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcomes {
    growing: u32,
    unclear: u32,
    steady: u32,
}

impl Outcomes {
    /// Of runs of so many seconds, of which 5 s are warm-up, at this share of the capacity.
    fn new(server: Server, horizon_s: f64, share: f64, seeds: Range<u64>) -> Self {
        let mut outcomes = Self::default();
        for seed in seeds {
            let summary = flown(&chat_for(horizon_s, server.rate(share), seed), &server.fleet(seed));
            let unclear = summary.findings.iter().any(|finding| finding.kind == FindingKind::CannotTell);
            match (summary.verdict.is_overloaded(), unclear) {
                (true, _) => outcomes.growing += 1,
                (false, true) => outcomes.unclear += 1,
                (false, false) => outcomes.steady += 1,
            }
        }
        outcomes
    }
}

/// A minute at half load is steady in nearly all runs.
#[test]
fn calm_minutes_are_steady() {
    for server in Server::BOTH {
        let outcomes = Outcomes::new(server, 60.0, 0.5, 9_000..9_015);
        assert!(outcomes.growing == 0 && outcomes.steady >= 13, "{server:?}: {outcomes:?}");
    }
}

/// At 85 % queues come and go, and none of them is an overload.
#[test]
fn busy_minutes_are_not_overloaded() {
    for server in Server::BOTH {
        let outcomes = Outcomes::new(server, 60.0, 0.85, 5_000..5_010);
        assert!(outcomes.growing <= 1, "{server:?}: {outcomes:?}");
    }
}

/// A minute is too short for a slight overload, and says so; one of a third shows in it.
#[test]
fn slightly_overloaded_minutes_are_not_steady() {
    for server in Server::BOTH {
        let slight = Outcomes::new(server, 60.0, 1.05, 5_000..5_008);
        assert!(slight.steady <= 2, "{server:?}: {slight:?}");
        let clear = Outcomes::new(server, 60.0, 1.3, 5_000..5_005);
        assert!(clear.growing >= 4 && clear.steady == 0, "{server:?}: {clear:?}");
    }
}

#[test]
fn five_minutes_show_an_overload_of_a_tenth() {
    for server in Server::BOTH {
        let outcomes = Outcomes::new(server, 300.0, 1.1, 5_000..5_002);
        assert!(outcomes.growing == 2 && outcomes.steady == 0, "{server:?}: {outcomes:?}");
    }
}

/// Of windows of 30 s, and of an L40S, whose batch is as large as its answers are long, chance makes none an overload.
#[test]
fn short_busy_windows_are_not_overloaded() {
    for (server, load) in [(Server::Large, 0.8), (Server::Large, 0.9), (Server::Engine, 0.9)] {
        let outcomes = Outcomes::new(server, 35.0, load, 5_000..5_008);
        assert!(outcomes.growing <= 1, "{server:?} at {load}: {outcomes:?}");
    }
    let gross = Outcomes::new(Server::Large, 35.0, 2.0, 5_000..5_002);
    assert_eq!(gross.growing, 2, "{gross:?}");
}

/// A server that completes half of what it is offered, in windows of every length, and one whose answers take as long as
/// the window.
#[test]
fn who_completes_half_is_overloaded_and_long_answers_are_not() {
    for seconds in [15.0, 25.0, 65.0] {
        for server in [Server::Engine, Server::Slots] {
            let outcomes = Outcomes::new(server, seconds, 2.5, 7_000..7_003);
            assert!(outcomes.growing == 3, "{server:?} for {seconds} s: {outcomes:?}");
        }
    }
    for seconds in [10.0, 15.0, 20.0] {
        let outcomes = Outcomes::new(Server::Engine, seconds, 0.7, 7_000..7_012);
        assert!(outcomes.growing <= 1, "{seconds} s: {outcomes:?}");
    }
}

/// The table of `skyline guide validity`, with fresh seeds.
#[test]
#[ignore = "3,600 runs take a quarter of an hour; `tests/interop/long_tests.sh three_outcomes` runs it"]
fn the_three_outcomes_are_as_often_as_the_guide_says() {
    const LOADS: [f64; 9] = [0.5, 0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.3, 2.0];
    let seeds = |runs| {
        let from = std::env::var("FROM").map_or(210_000, |from| from.parse::<u64>().unwrap());
        from..from + runs
    };
    let runs: u64 = std::env::var("RUNS").map_or(50, |runs| runs.parse().unwrap());
    let share = |part: u32| f64::from(part) / runs as f64;
    let mut wrong = Vec::new();
    for server in [Server::Engine, Server::Slots, Server::Large] {
        println!("{server:?}: {:.3} requests/s", server.rate(1.0));
        let horizons: &[f64] = if matches!(server, Server::Large) { &[35.0, 65.0] } else { &[35.0, 65.0, 305.0] };
        let only: Option<f64> = std::env::var("HORIZON").ok().map(|horizon| horizon.parse().unwrap());
        let chosen = horizons.iter().filter(|horizon| only.is_none_or(|only| (only - **horizon).abs() < 0.5));
        for (&horizon_s, load) in chosen.flat_map(|horizon| LOADS.map(|load| (horizon, load))) {
            let outcomes = Outcomes::new(server, horizon_s, load, seeds(runs));
            let Outcomes { growing, unclear, steady } = outcomes;
            println!("{server:?} {load} for {horizon_s} s: {growing} growing, {unclear} cannot tell, {steady} steady");
            let right = match load {
                0.5 => share(growing) <= 0.01 && share(steady) >= if horizon_s > 60.0 { 0.95 } else { 0.8 },
                0.8..=0.9 => share(growing) <= 0.02,
                0.95 => share(growing) <= 0.05,
                1.05 => share(steady) <= 0.15,
                1.1 => share(steady) <= 0.12 && (horizon_s < 300.0 || share(growing) >= 0.9),
                1.3 => share(growing) >= if horizon_s > 60.0 { 0.95 } else { 0.7 },
                _ => share(growing) >= 0.99,
            };
            if !right {
                wrong.push(format!("{server:?} at {load} for {horizon_s} s: {outcomes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
