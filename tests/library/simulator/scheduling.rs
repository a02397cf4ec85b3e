//! Holds the scheduler to vLLM's rules, step by step, with steps of exactly 10 ms.

use skyline::clock::Timestamp;
use skyline::simulator::{
    BatchingEngine, Job, JobEnd, JobId, PrefixHashes, Reject, SchedulingPolicy, SimulatedServer, Speculation,
    TokenEvent,
};

use super::drive::{jobs, ms, run, ten_ms_engine};

/// Arrival times of each job's tokens, ms, by name.
fn token_times(engine: &mut BatchingEngine, plan: &[(u64, u32, u32)]) -> Vec<Vec<f64>> {
    let mut histories = run(engine, jobs(plan));
    histories.sort_by_key(|history| history.job);
    histories.iter().map(|history| history.chunks.iter().map(|chunk| ms(chunk.at)).collect()).collect()
}

#[test]
fn a_token_comes_with_every_step() {
    let mut engine = BatchingEngine::new(ten_ms_engine(100));
    assert_eq!(token_times(&mut engine, &[(0, 100, 3)]), [[10.0, 20.0, 30.0]]);
}

#[test]
fn a_job_that_comes_during_a_step_waits_for_the_next() {
    let mut engine = BatchingEngine::new(ten_ms_engine(100));
    let times = token_times(&mut engine, &[(0, 10, 3), (4, 10, 1), (50, 10, 1)]);
    assert_eq!(times, [vec![10.0, 20.0, 30.0], vec![20.0], vec![60.0]]);
}

#[test]
fn jobs_of_one_moment_share_their_first_step() {
    let mut engine = BatchingEngine::new(ten_ms_engine(100));
    assert_eq!(token_times(&mut engine, &[(5, 10, 1), (5, 10, 1)]), [[15.0], [15.0]]);
}

#[test]
fn a_long_prompt_is_computed_in_chunks_beside_running_answers() {
    let mut config = ten_ms_engine(1000);
    config.limits.max_num_batched_tokens = 100;
    // The chat decodes on. The prompt of 250 gets 99 (beside one decode token), 99, then the last 52; and the job
    // behind it finds 47 tokens of that third step left.
    let times = token_times(&mut BatchingEngine::new(config), &[(0, 10, 6), (5, 250, 1), (6, 60, 1)]);
    assert_eq!(times, [vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0], vec![40.0], vec![50.0]]);
}

#[test]
fn without_chunks_a_prompt_waits_until_it_fits_the_step() {
    let mut config = ten_ms_engine(1000);
    config.limits.max_num_batched_tokens = 100;
    config.limits.max_model_len = 110;
    config.limits.chunked_prefill = false;
    // The budget is raised to max_model_len, 110. Beside one decode token 109 are left, one short of the prompt of
    // 100 with 10 of another.
    let times = token_times(&mut BatchingEngine::new(config), &[(0, 10, 2), (5, 100, 1), (5, 10, 1)]);
    assert_eq!(times, [vec![10.0, 20.0], vec![20.0], vec![30.0]]);
}

#[test]
fn seats_are_limited_and_given_in_order() {
    let mut config = ten_ms_engine(1000);
    config.limits.max_num_seqs = 2;
    let times = token_times(&mut BatchingEngine::new(config), &[(0, 10, 2), (0, 10, 3), (0, 10, 1), (0, 10, 1)]);
    assert_eq!(times, [vec![10.0, 20.0], vec![10.0, 20.0, 30.0], vec![30.0], vec![40.0]]);
}

#[test]
fn the_last_admitted_gives_way_when_blocks_run_out() {
    // Four blocks of 16. Each job fills one block with its prompt and needs the second for its 17th token, and the
    // first job a third for its 33rd: 16 + 18 tokens.
    let mut config = ten_ms_engine(4);
    config.limits.prefix_caching = false;
    let mut engine = BatchingEngine::new(config);
    let times = token_times(&mut engine, &[(0, 16, 20), (0, 16, 20)]);
    assert_eq!(engine.gauges().num_preemptions, 1);
    let whole: Vec<f64> = (1..=20).map(|step| f64::from(step) * 10.0).collect();
    assert_eq!(times[0], whole, "the first is not disturbed");
    // Both emit 17 tokens (33 known, 32 computed). Then the first takes a block from the second, and ends after step
    // 20. The second needs three blocks for its 33 tokens, and starts over when they are free: step 21.
    let second: Vec<f64> = (1..=17).chain(21..=23).map(|step| f64::from(step) * 10.0).collect();
    assert_eq!(times[1], second);
    assert_eq!(engine.gauges().kv_cache_usage_perc, 0.0);
}

#[test]
fn a_preempted_job_finds_again_what_nobody_has_taken() {
    // As above, with prefix caching: of the second job's two full blocks the first job takes the last, so that of 33
    // known tokens 16 are found and 17 are computed again.
    let mut engine = BatchingEngine::new(ten_ms_engine(4));
    let mut events = Vec::new();
    for (at, job) in jobs(&[(0, 16, 20), (0, 16, 20)]) {
        engine.submit(at, job).unwrap();
    }
    let mut prefills = Vec::new();
    while let Some(at) = engine.next_event() {
        engine.advance(at, &mut events);
        prefills.extend(engine.step().map(|step| step.work.prefill_tokens).filter(|&tokens| tokens > 0));
    }
    assert_eq!(prefills, [32, 17]);
    assert_eq!(engine.gauges().prefix_cache_queries, 32, "only the first look-up of each job counts");
}

#[test]
fn under_priority_the_urgent_go_first_and_the_least_urgent_gives_way() {
    let mut config = ten_ms_engine(1000);
    config.limits.policy = SchedulingPolicy::Priority;
    config.limits.max_num_seqs = 1;
    let mut plan = jobs(&[(0, 10, 1), (1, 10, 1), (2, 10, 1), (3, 10, 1)]);
    plan[2].1.priority = 1;
    plan[3].1.priority = -1;
    let order: Vec<u64> = run(&mut BatchingEngine::new(config), plan).iter().map(|history| history.job.0).collect();
    assert_eq!(order, [0, 3, 1, 2]);

    let mut config = ten_ms_engine(4);
    config.limits.policy = SchedulingPolicy::Priority;
    let mut plan = jobs(&[(0, 16, 20), (0, 16, 20)]);
    plan[0].1.priority = 5;
    let histories = run(&mut BatchingEngine::new(config), plan);
    assert_eq!(histories[0].job.0, 1, "the urgent job ends first, though it came second");
}

#[test]
fn a_warm_prefix_is_not_computed_again() {
    let mut config = ten_ms_engine(1000);
    config.limits.max_num_batched_tokens = 64;
    let mut engine = BatchingEngine::new(config);
    let of = |id, at: u64, input| {
        let prefix = PrefixHashes::of_group(1, 8);
        (Timestamp::from_nanos(at * 1_000_000), Job { prefix, ..Job::new(JobId(id), input, 1) })
    };
    // 192 tokens, 128 of them shared: three steps cold, one step warm. A prompt of exactly the shared 128 still
    // computes its last block.
    let histories = run(&mut engine, [of(0, 0, 192), of(1, 100, 192), of(2, 200, 128)]);
    let ttfts: Vec<f64> = super::drive::ttfts(&histories);
    assert_eq!(ttfts, [30.0, 10.0, 10.0]);
    let cached: Vec<u32> = histories.iter().map(|history| history.cached_tokens).collect();
    assert_eq!(cached, [0, 128, 112]);
    let gauges = engine.gauges();
    assert_eq!((gauges.prefix_cache_queries, gauges.prefix_cache_hits), (192 + 192 + 128, 128 + 112));
    engine.reset_prefix_cache();
    assert_eq!(run(&mut engine, [of(3, 300, 192)])[0].cached_tokens, 0);
}

#[test]
fn jobs_that_can_never_be_served_are_refused_with_the_reason() {
    let mut engine = BatchingEngine::new(ten_ms_engine(10));
    let histories = run(&mut engine, jobs(&[(0, 16_000, 385), (0, 150, 11), (0, 0, 1), (0, 150, 10)]));
    let too_long = Reject::TooLong { max_model_len: 16_384, input_tokens: 16_000, output_tokens: 385 };
    assert_eq!(histories[0].end, JobEnd::Rejected(too_long));
    assert!(too_long.to_string().starts_with("this model's maximum context length is 16384 tokens"));
    assert_eq!(histories[1].end, JobEnd::Rejected(Reject::LargerThanCache { tokens: 161, capacity: 160 }));
    assert_eq!(histories[2].end, JobEnd::Rejected(Reject::Empty));
    assert_eq!(histories[3].end, JobEnd::Finished);
}

#[test]
fn cancelling_frees_blocks_and_seat_at_once() {
    let mut config = ten_ms_engine(10);
    config.limits.max_num_seqs = 1;
    let mut engine = BatchingEngine::new(config);
    let mut events: Vec<TokenEvent> = Vec::new();
    for (at, job) in jobs(&[(0, 100, 50), (0, 20, 1)]) {
        engine.submit(at, job).unwrap();
    }
    let step = engine.begin_step(Timestamp::ZERO).unwrap();
    assert_eq!((step.work.new_tokens, step.work.sequences), (100, 1));
    assert!(engine.cancel(Timestamp::from_nanos(3), JobId(0)));
    assert!(!engine.cancel(Timestamp::from_nanos(3), JobId(0)));
    assert_eq!((engine.gauges().kv_cache_usage_perc, engine.gauges().num_requests_running), (0.0, 0));
    // The pass under way is not stopped, but nobody gets its token; then the other job has its turn.
    engine.advance(step.ends_at, &mut events);
    assert!(events.is_empty());
    engine.advance(engine.next_event().unwrap(), &mut events);
    assert_eq!((events[0].job, ms(events[0].at), events[0].finished), (JobId(1), 20.0, true));
    assert_eq!(engine.next_event(), None);
}

#[test]
fn speculation_yields_several_tokens_a_step_and_never_too_many() {
    let mut config = ten_ms_engine(1000);
    config.speculation = Some(Speculation { draft_tokens: 3, acceptance: 1.0, draft_cost: 0.0 });
    let histories = run(&mut BatchingEngine::new(config), jobs(&[(0, 10, 10)]));
    let chunks: Vec<(f64, u32)> = histories[0].chunks.iter().map(|chunk| (ms(chunk.at), chunk.tokens)).collect();
    assert_eq!(chunks, [(10.0, 1), (20.0, 4), (30.0, 4), (40.0, 1)]);
}
