//! How often the verdict is wrong: clean runs in virtual time that it refuses, overloaded ones that it lets pass.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::time::Duration;

use skyline::analysis::{Rule, Summary, summarise};
use skyline::experiment::VirtualRun;
use skyline::generator::Schedule;
use skyline::record::{
    EngineFacts, HostFacts, Limits, PromptFacts, PromptMethod, RunHeader, RunLog, StampSource,
};
use skyline::simulator::{Delay, Deployment, Efficiency, Engine, Fleet, InstanceConfig};
use skyline::workload::WorkloadSpec;

/// `short_chat` as it is shipped, but at `rate` requests a second, with another seed.
fn chat(rate: f64, horizon_s: f64, warmup_s: f64, seed: u64) -> WorkloadSpec {
    let text = format!(
        r#"
name = "chat"
horizon_s = {horizon_s}
warmup_s = {warmup_s}
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
    let config = InstanceConfig::vllm(&deployment, Efficiency::default()).unwrap();
    Fleet::of_one(Engine::Batching(Box::new(config)), 0)
}

/// A server of `places` places that first tokens leave after 80 ms and the others 20 ms apart, with a queue before it.
fn queue(places: usize, seed: u64) -> Fleet {
    let ttft = Delay::LogNormal { median: 0.08, sigma: 0.45 };
    Fleet::of_one(Engine::Plain { places, ttft, itl: Delay::Constant(0.02) }, seed)
}

fn flown(spec: &WorkloadSpec, fleet: &Fleet) -> Summary {
    let schedule = Schedule::draw(spec);
    let plan = schedule.facts();
    let drain = Duration::from_secs_f64(spec.drain_s);
    let run = VirtualRun { plan: plan.clone(), schedule, drain };
    let flown = run.fly(&mut *fleet.server().unwrap());
    let header = RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: "0.1.0".to_owned(),
        started_at: "2026-11-21T04:05:06Z".parse().unwrap(),
        command: Vec::new(),
        workload: spec.clone(),
        plan,
        prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0 },
        engine: EngineFacts {
            engine: "simulator".to_owned(),
            url: "virtual time".to_owned(),
            endpoint: "no wire".to_owned(),
            streamed: true,
            model: "llama".to_owned(),
            server_version: None,
            max_model_len: None,
            request_id_prefix: String::new(),
            modelled: serde_json::Map::new(),
        },
        limits: Limits::default(),
        objectives: Vec::new(),
        host: HostFacts::default(),
        stamps: StampSource::default(),
    };
    summarise(&RunLog { header, records: flown.records, footer: Some(flown.footer) }, &[])
}

/// How many of `seeds` runs broke each rule, and how many broke any.
fn broken(seeds: u64, run: impl Fn(u64) -> Summary) -> (BTreeMap<String, u32>, u32) {
    let (mut rules, mut any) = (BTreeMap::new(), 0);
    for seed in 0..seeds {
        let summary = run(seed);
        any += u32::from(!summary.verdict.valid);
        let mut seen: Vec<Rule> = summary.verdict.reasons.iter().map(|reason| reason.rule).collect();
        seen.dedup();
        for rule in seen {
            *rules.entry(format!("{rule:?}")).or_insert(0) += 1;
        }
    }
    (rules, any)
}

#[test]
fn explore() {
    for (rate, horizon, warm) in [
        (3.0, 60.0, 5.0),
        (3.0, 60.0, 0.0),
        (5.0, 60.0, 5.0),
        (5.0, 30.0, 5.0),
        (6.0, 60.0, 5.0),
        (6.5, 60.0, 5.0),
        (7.0, 60.0, 5.0),
        (8.0, 60.0, 5.0),
        (8.0, 30.0, 5.0),
        (10.0, 60.0, 5.0),
        (10.0, 30.0, 5.0),
        (10.0, 120.0, 5.0),
    ] {
        let found = broken(60, |seed| flown(&chat(rate, horizon, warm, seed), &a10g()));
        println!("a10g {rate} {horizon} {warm}: {found:?}");
    }
    // A place serves one in 0.089 + 127 × 0.02 = 2.63 s: 16 places serve 6.1/s.
    for (rate, horizon, warm) in [
        (3.0, 60.0, 5.0),
        (3.0, 60.0, 0.0),
        (4.9, 60.0, 5.0),
        (5.5, 60.0, 5.0),
        (6.1, 60.0, 5.0),
        (7.3, 60.0, 5.0),
        (7.9, 30.0, 5.0),
        (7.9, 60.0, 5.0),
    ] {
        let found = broken(100, |seed| flown(&chat(rate, horizon, warm, seed), &queue(16, seed)));
        println!("queue {rate} {horizon} {warm}: {found:?}");
    }
}
