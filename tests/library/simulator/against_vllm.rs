//! Holds the scheduler to traces of vLLM's own, step by step.

use serde_json::Value;
use skyline::clock::Timestamp;
use skyline::simulator::{BatchingEngine, Job, JobId, PrefixHashes, SchedulingPolicy, SimulatedServer};

use super::drive::{jobs, run, ten_ms_engine};

/// What `tests/data/scheduler/record.py` recorded from vLLM 0.32: 24 cases of 24 jobs with few blocks, seats or tokens,
/// under both policies, with and without prefix caching.
const RECORDED: &str = include_str!("../../data/scheduler/vllm_0_32.json");
/// The steps of the same cases under vLLM's `AsyncScheduler`, with a queue of two batches.
const RECORDED_ASYNC: &str = include_str!("../../data/scheduler/vllm_0_32_async.json");

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

fn replay(case: &Value, async_scheduling: bool) -> (Vec<Row>, BatchingEngine) {
    let mut config = ten_ms_engine(number(case, "blocks"));
    config.limits.max_num_seqs = number(case, "max_num_seqs") as u32;
    config.limits.max_num_batched_tokens = number(case, "max_num_batched_tokens") as u32;
    config.limits.max_model_len = number(case, "max_model_len") as u32;
    config.limits.prefix_caching = case["prefix_caching"].as_bool().unwrap();
    config.limits.async_scheduling = async_scheduling;
    config.limits.policy =
        if case["priority"].as_bool().unwrap() { SchedulingPolicy::Priority } else { SchedulingPolicy::Fcfs };
    let mut engine = BatchingEngine::new(config);
    let asked = case["jobs"].as_array().unwrap();
    let mut arriving = asked.iter().zip(0..).peekable();
    let mut now = Timestamp::ZERO;
    let mut rows = Vec::new();
    while arriving.peek().is_some() || engine.jobs() > 0 {
        while let Some((asked, id)) = arriving.next_if(|(asked, _)| number(asked, "step") <= rows.len() as u64) {
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

/// Replays the cases and compares each step with the recorded one.
fn compare(recorded: impl Fn(usize, &Value) -> Value, async_scheduling: bool) {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let mut preemptions = 0;
    let mut hits = 0;
    let mut different = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let recorded: Vec<Row> = serde_json::from_value(recorded(number, case)).unwrap();
        let (rows, engine) = replay(case, async_scheduling);
        preemptions += engine.gauges().num_preemptions;
        hits += engine.gauges().prefix_cache_hits;
        let first = recorded.iter().zip(&rows).position(|(theirs, ours)| theirs != ours);
        if let Some(step) = first {
            different.push(format!("case {number}, step {step}: vLLM {:?}, here {:?}", recorded[step], rows[step]));
        } else if recorded.len() != rows.len() {
            different.push(format!("case {number}: vLLM {} steps, here {}", recorded.len(), rows.len()));
        }
    }
    assert!(different.is_empty(), "of {} cases:\n{}", cases.len(), different.join("\n"));
    assert!(preemptions > 50 && hits > 5000, "{preemptions} preemptions, {hits} tokens found in the cache");
}

#[test]
fn every_step_is_vllms() {
    compare(|_, case| case["steps"].clone(), false);
}

#[test]
fn every_step_of_asynchronous_scheduling_is_vllms() {
    let steps: Vec<Value> = serde_json::from_str(RECORDED_ASYNC).unwrap();
    compare(|number, _| steps[number].clone(), true);
}

/// Steps of 10 ms. A job that comes at 5 ms to an engine that decodes waits for the step that runs and, where the next is
/// planned already, for that one too; the gaps between tokens are the same.
#[test]
fn an_arrival_waits_for_the_planned_step_too() {
    for (async_scheduling, first_ms) in [(false, 20), (true, 30)] {
        let mut config = ten_ms_engine(100);
        config.limits.async_scheduling = async_scheduling;
        let histories = run(&mut BatchingEngine::new(config), jobs(&[(0, 8, 10), (5, 8, 3)]));
        let of = |id| histories.iter().find(|history| history.job == JobId(id)).unwrap();
        let times = |id| of(id).chunks.iter().map(|chunk| chunk.at.as_nanos() / 1_000_000).collect::<Vec<_>>();
        assert_eq!(times(1), [first_ms, first_ms + 10, first_ms + 20]);
        assert_eq!(times(0), (1..=10).map(|step| 10 * step).collect::<Vec<_>>());
    }
}
