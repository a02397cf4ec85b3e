//! Holds the simulator to what must be true of every run.

use std::time::Duration;

use proptest::prelude::*;
use skyline::clock::Timestamp;
use skyline::simulator::{
    BatchingConfig, BatchingEngine, Delay, FixedQueue, Job, JobEnd, JobHistory, JobId, KvTransfer, Pools, PrefixHashes,
    RoutingRule, SchedulingPolicy, SimulatedServer, Speculation,
};

use super::drive::{simulate, ten_ms_engine};

/// Gap before it (ms), input, output, priority, prefix group.
type Drawn = (u64, u32, u32, i32, u64);

fn plans() -> impl Strategy<Value = Vec<Drawn>> {
    prop::collection::vec((0_u64..40, 1_u32..300, 1_u32..40, -1_i32..2, 0_u64..4), 1..60)
}

/// Small and unkind engines: few blocks, seats and tokens.
fn engines() -> impl Strategy<Value = BatchingConfig> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (22_u64..80, 1_u32..12, 8_u32..200, flags).prop_map(|(blocks, seats, budget, flags)| {
        let (chunked, caching, priority, speculating) = flags;
        let mut config = ten_ms_engine(blocks);
        config.limits.max_num_seqs = seats;
        config.limits.max_num_batched_tokens = budget;
        config.limits.max_model_len = 400;
        config.limits.chunked_prefill = chunked;
        config.limits.prefix_caching = caching;
        config.limits.policy = if priority { SchedulingPolicy::Priority } else { SchedulingPolicy::Fcfs };
        config.speculation = speculating.then_some(Speculation { draft_tokens: 3, acceptance: 0.6, draft_cost: 0.1 });
        config
    })
}

fn arrivals(plan: &[Drawn]) -> Vec<(Timestamp, Job)> {
    let mut at = 0;
    plan.iter()
        .zip(0..)
        .map(|(&(gap, input, output, priority, group), id)| {
            at += gap * 1_000_000;
            let prefix = if group == 0 { PrefixHashes::default() } else { PrefixHashes::of_group(group, 6) };
            (Timestamp::from_nanos(at), Job { priority, prefix, ..Job::new(JobId(id), input, output) })
        })
        .collect()
}

fn histories(config: &BatchingConfig, plan: &[Drawn]) -> (Vec<JobHistory>, BatchingEngine) {
    let mut engine = BatchingEngine::new(config.clone());
    let mut all = Vec::new();
    simulate(&mut engine, arrivals(plan), |history| all.push(history));
    (all, engine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_token_asked_for_comes_and_every_block_goes_back(config in engines(), plan in plans()) {
        let (all, engine) = histories(&config, &plan);
        prop_assert_eq!(all.len(), plan.len());
        let mut output = 0;
        for history in &all {
            let (_, input, asked, ..) = plan[history.job.0 as usize];
            prop_assert_eq!(history.end, JobEnd::Finished);
            prop_assert_eq!(history.chunks.tokens(), u64::from(asked));
            prop_assert!(history.cached_tokens < input);
            prop_assert!(history.scheduled.unwrap() >= history.arrived);
            prop_assert!(history.chunks.first_at().unwrap() > history.scheduled.unwrap());
            output += u64::from(asked);
        }
        let gauges = engine.gauges();
        prop_assert_eq!(gauges.generation_tokens, output);
        prop_assert_eq!(gauges.request_success, plan.len() as u64);
        prop_assert_eq!(gauges.prompt_tokens, plan.iter().map(|drawn| u64::from(drawn.1)).sum::<u64>());
        prop_assert_eq!(gauges.kv_cache_usage_perc, 0.0);
        prop_assert_eq!((gauges.num_requests_running, gauges.num_requests_waiting), (0, 0));
        prop_assert!(gauges.prefix_cache_hits <= gauges.prefix_cache_queries);
        prop_assert_eq!(engine.next_event(), None);
    }

    #[test]
    fn blocks_are_never_over_committed_and_cancelled_jobs_leave_nothing(
        config in engines(), plan in plans(), cancel_every in 2_u64..5,
    ) {
        let mut engine = BatchingEngine::new(config);
        let mut events = Vec::new();
        let mut waiting = arrivals(&plan).into_iter().peekable();
        while let Some(at) = waiting.peek().map(|a| a.0).into_iter().chain(engine.next_event()).min() {
            while let Some((_, job)) = waiting.next_if(|arrival| arrival.0 <= at) {
                let id = job.id;
                engine.submit(at, job).unwrap();
                if id.0 >= 1 && id.0 % cancel_every == 0 {
                    engine.cancel(at, JobId(id.0 - 1));
                }
            }
            engine.advance(at, &mut events);
            let usage = engine.gauges().kv_cache_usage_perc;
            prop_assert!((0.0..=1.0).contains(&usage), "{usage}");
        }
        prop_assert_eq!(engine.gauges().kv_cache_usage_perc, 0.0);
        prop_assert_eq!(engine.jobs(), 0);
    }

    #[test]
    fn first_come_is_first_scheduled(mut config in engines(), plan in plans()) {
        config.limits.policy = SchedulingPolicy::Fcfs;
        let (mut all, _) = histories(&config, &plan);
        all.sort_by_key(|history| history.job);
        for pair in all.windows(2) {
            prop_assert!(pair[0].scheduled <= pair[1].scheduled, "{:?} overtook {:?}", pair[1].job, pair[0].job);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_history(config in engines(), plan in plans()) {
        prop_assert_eq!(histories(&config, &plan).0, histories(&config, &plan).0);
    }

    #[test]
    fn a_driver_that_wakes_late_loses_no_time(config in engines(), plan in plans(), late in 0_u64..25_000_000) {
        let jobs = || arrivals(&plan).into_iter().map(|(_, job)| job);
        let tokens = |server: &mut dyn SimulatedServer, late: u64| {
            let mut events = Vec::new();
            jobs().for_each(|job| server.submit(Timestamp::ZERO, job).unwrap());
            while let Some(due) = server.next_event() {
                server.advance(Timestamp::from_nanos(due.as_nanos() + late), &mut events);
            }
            events.sort_by_key(|event| (event.job, event.at));
            events
        };
        let transfer = KvTransfer { bytes_per_token: 1e3, bandwidth: 5e6, latency: Duration::from_millis(1) };
        let servers: [&dyn Fn() -> Box<dyn SimulatedServer>; 3] = [
            &|| Box::new(BatchingEngine::new(config.clone())),
            &|| Box::new(FixedQueue::new(3, Delay::Constant(0.02), Delay::Constant(0.007), 1)),
            &|| {
                let fleet = |count| (0..count).map(|_| BatchingEngine::new(config.clone())).collect();
                Box::new(Pools::new(fleet(2), fleet(1), RoutingRule::RoundRobin, transfer).unwrap())
            },
        ];
        for server in servers {
            prop_assert_eq!(tokens(&mut *server(), late), tokens(&mut *server(), 0));
        }
    }
}
