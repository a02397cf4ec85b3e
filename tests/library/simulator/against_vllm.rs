//! Holds the scheduler to traces of vLLM's own, step by step.

use serde_json::Value;
use skyline::clock::Timestamp;
use skyline::simulator::{BatchingEngine, Job, JobId, PrefixHashes, SchedulingPolicy, SimulatedServer};

use super::drive::ten_ms_engine;

/// What `tests/data/scheduler/record.py` recorded from vLLM 0.32: 24 cases of 24 jobs with few blocks, seats or tokens,
/// under both policies, with and without prefix caching.
const RECORDED: &str = include_str!("../../data/scheduler/vllm_0_32.json");

/// One step: sequences, new tokens, tokens of context read, jobs that emit.
type Row = (u64, u64, u64, Vec<u64>);

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("`{field}` in {value}"))
}

fn job(id: u64, job: &Value) -> Job {
    let input = number(job, "input") as u32;
    let prefix = match number(job, "shared_blocks") as u32 {
        0 => PrefixHashes::default(),
        // A prompt shorter than its group's prefix has only the full blocks of it.
        shared => PrefixHashes::of_group(number(job, "group"), shared.min(input / 16)),
    };
    let priority = number(job, "priority") as i32;
    Job { priority, prefix, ..Job::new(JobId(id), input, number(job, "output") as u32) }
}

fn replay(case: &Value) -> (Vec<Row>, BatchingEngine) {
    let mut config = ten_ms_engine(number(case, "blocks"));
    config.limits.max_num_seqs = number(case, "max_num_seqs") as u32;
    config.limits.max_num_batched_tokens = number(case, "max_num_batched_tokens") as u32;
    config.limits.max_model_len = number(case, "max_model_len") as u32;
    config.limits.prefix_caching = case["prefix_caching"].as_bool().unwrap();
    config.limits.policy =
        if case["priority"].as_bool().unwrap() { SchedulingPolicy::Priority } else { SchedulingPolicy::Fcfs };
    let mut engine = BatchingEngine::new(config);
    let jobs = case["jobs"].as_array().unwrap();
    let mut arriving = jobs.iter().zip(0..).peekable();
    let mut now = Timestamp::ZERO;
    let mut rows = Vec::new();
    while arriving.peek().is_some() || engine.jobs() > 0 {
        while let Some((asked, id)) =
            arriving.next_if(|(asked, _)| number(asked, "step") <= rows.len() as u64)
        {
            engine.submit(now, job(id, asked)).unwrap();
        }
        let Some(step) = engine.begin_step(now) else {
            rows.push((0, 0, 0, vec![]));
            continue;
        };
        now = step.ends_at;
        let mut events = Vec::new();
        engine.end_step(&mut events);
        let mut emitting: Vec<u64> = events.iter().map(|event| event.job.0).collect();
        emitting.sort_unstable();
        let work = step.work;
        rows.push((u64::from(work.sequences), work.new_tokens, work.kv_tokens_read, emitting));
    }
    (rows, engine)
}

#[test]
fn every_step_is_vllms() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let mut preemptions = 0;
    let mut hits = 0;
    let mut different = Vec::new();
    for (case, number) in cases.iter().zip(0..) {
        let recorded: Vec<Row> = serde_json::from_value(case["steps"].clone()).unwrap();
        let (rows, engine) = replay(case);
        preemptions += engine.gauges().num_preemptions;
        hits += engine.gauges().prefix_cache_hits;
        let first = recorded.iter().zip(&rows).position(|(theirs, ours)| theirs != ours);
        if let Some(step) = first {
            different.push(format!(
                "case {number}, step {step}: vLLM {:?}, here {:?}",
                recorded[step], rows[step]
            ));
        } else if recorded.len() != rows.len() {
            different.push(format!("case {number}: vLLM {} steps, here {}", recorded.len(), rows.len()));
        }
    }
    assert!(different.is_empty(), "of {} cases:\n{}", cases.len(), different.join("\n"));
    assert!(preemptions > 50 && hits > 5000, "{preemptions} preemptions, {hits} tokens found in the cache");
}
