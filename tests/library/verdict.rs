//! How often the verdict is wrong: clean runs in virtual time that are not VALID, overloaded ones that are.

use std::collections::{BTreeMap, BTreeSet};

use crate::virtual_time::{fly, header};
use skyline::analysis::{FindingKind, Summary, VerdictOutcome, summarise};
use skyline::experiment::SimulatedRun;
use skyline::record::RunLog;
use skyline::simulator::{BatchingConfig, Delay, Deployment, Efficiency, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

/// `short_chat` for a minute as it is shipped, but at `rate` requests a second, with another seed.
fn chat(rate: f64, seed: u64) -> WorkloadSpec {
    chat_for(60.0, rate, seed)
}

/// The same for another time, of which 5 s are warm-up.
fn chat_for(horizon_s: f64, rate: f64, seed: u64) -> WorkloadSpec {
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
fn a10g() -> Fleet {
    let deployment = Deployment::new("a10g".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
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

/// How often each rule was broken in the runs with seeds from 0 to `seeds`, and how many runs broke any.
fn broken(seeds: u64, run: impl Fn(u64) -> Summary) -> (BTreeMap<String, u32>, u32) {
    let (mut rules, mut any) = (BTreeMap::new(), 0);
    for seed in 0..seeds {
        let verdict = run(seed).verdict;
        any += u32::from(verdict.outcome != VerdictOutcome::Valid);
        let broken: BTreeSet<String> =
            verdict.reasons.iter().map(|reason| format!("{:?}", reason.rule)).collect();
        for rule in broken {
            *rules.entry(rule).or_insert(0) += 1;
        }
    }
    (rules, any)
}

/// A minute at half of what the server can do: about 165 requests after five seconds of warm-up. An A10G serves about
/// 6.2 of them a second; a place one in 0.089 + 127 × 0.02 = 2.63 s, so 16 serve 6.1.
#[test]
fn clean_runs_are_refused_at_most_once_in_a_hundred() {
    let (rules, a10g) = broken(100, |seed| flown(&chat(3.0, seed), &a10g()));
    let (more, places) = broken(100, |seed| flown(&chat(3.0, seed), &queued(16, seed)));
    assert!(a10g + places <= 2, "{a10g} and {places} of 100 each: {rules:?} {more:?}");
}

/// Windows of 12 to 31 s at half load, nearly all of which hold 30 to 99 requests: one of these 200 is refused.
#[test]
fn short_clean_runs_are_refused_rarely_too() {
    let spec = |seed: u64| chat_for(17.0 + (seed % 20) as f64, 3.0, 1_000 + seed);
    let few = std::cell::Cell::new(0);
    let short = |seed: u64, fleet: &Fleet| {
        let summary = flown(&spec(seed), fleet);
        few.set(few.get() + u32::from((30..100).contains(&summary.requests.executed())));
        summary
    };
    let (rules, a10g) = broken(100, |seed| short(seed, &a10g()));
    let (more, places) = broken(100, |seed| short(seed, &queued(16, seed)));
    assert!(few.get() >= 180, "{few:?} of 200 windows are as short as that");
    assert!(a10g + places <= 2, "{a10g} and {places} of 100 each: {rules:?} {more:?}");
}

/// The same minute at 130 % of what the server can do.
#[test]
fn overloaded_runs_are_called_so() {
    assert_eq!(flown(&chat(8.0, 1), &a10g()).verdict.outcome, VerdictOutcome::Overloaded);
    let (_, a10g) = broken(20, |seed| flown(&chat(8.0, seed), &a10g()));
    let (_, places) = broken(20, |seed| flown(&chat(7.9, seed), &queued(16, seed)));
    assert_eq!((a10g, places), (20, 20), "of 20 each");
}

/// How many of `seeds` minutes at each of the two rates, of an A10G and of 16 places, break the rule of the steady state.
fn unsettled(seeds: u64, [engine, queue]: [f64; 2]) -> u32 {
    let count = |rate, fleet: fn(u64) -> Fleet| {
        let (rules, _) = broken(seeds, |seed| flown(&chat(rate, 5_000 + seed), &fleet(seed)));
        rules.get("SteadyState").copied().unwrap_or(0)
    };
    count(engine, |_| a10g()) + count(queue, |seed| queued(16, seed))
}

/// At 80 % queues come and go: of 400 such runs 7 seem to grow (1.8 %).
#[test]
fn busy_runs_are_seldom_taken_for_overloaded_ones() {
    let unsettled = unsettled(50, [4.96, 4.88]);
    assert!(unsettled <= 4, "{unsettled} of 100");
}

/// At 110 % a minute shows it in five of six runs: 166 of 200.
#[test]
fn a_slight_overload_is_seen_in_most_minutes() {
    let unsettled = unsettled(20, [6.8, 6.7]);
    assert!(unsettled >= 30, "{unsettled} of 40");
}

/// Minutes at half load that are warned of as perhaps overloaded, and those at 110 % that are either OVERLOADED or
/// warned of.
#[test]
fn calm_runs_are_seldom_doubted() {
    let doubted = |summary: &Summary| {
        summary.verdict.outcome != VerdictOutcome::Valid
            || summary.findings.iter().any(|finding| finding.kind == FindingKind::CannotTell)
    };
    let count =
        |rate: f64| (0..50).filter(|seed| doubted(&flown(&chat(rate, 9_000 + seed), &a10g()))).count();
    let (calm, over) = (count(3.0), count(6.8));
    assert!(calm <= 5, "{calm} of 50 at half load");
    assert!(over >= 40, "{over} of 50 at 110 %");
}
