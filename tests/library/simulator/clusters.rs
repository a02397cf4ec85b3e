//! Holds routers and disaggregated pools to exact histories, with steps of 10 ms.

use std::time::Duration;

use proptest::prelude::*;
use skyline::clock::Timestamp;
use skyline::simulator::{
    BadFleet, BatchingEngine, Cluster, Delay, FixedQueue, Job, JobEnd, JobHistory, JobId, KvTransfer, Pools,
    PrefixHashes, Reject, RoutingRule, SimulatedServer,
};

use super::drive::{jobs, ms, run, ten_ms_engine};

/// Engines with one seat each, so that a second job on one waits.
fn one_seat(count: usize) -> Vec<BatchingEngine> {
    let mut config = ten_ms_engine(1000);
    config.limits.max_num_seqs = 1;
    (0..count).map(|_| BatchingEngine::new(config.clone())).collect()
}

/// First-token times, ms, by job.
fn firsts(histories: &[JobHistory]) -> Vec<f64> {
    let mut by_job: Vec<&JobHistory> = histories.iter().collect();
    by_job.sort_by_key(|history| history.job);
    by_job.iter().map(|history| ms(history.chunks.first_at().unwrap())).collect()
}

#[test]
fn a_round_goes_on_however_long_the_jobs_are() {
    // The third job waits for the long first one, though the other server is idle by then.
    let plan = jobs(&[(0, 10, 5), (0, 10, 1), (20, 10, 1), (20, 10, 1)]);
    let mut in_turn = Cluster::new(one_seat(2), RoutingRule::RoundRobin).unwrap();
    assert_eq!(firsts(&run(&mut in_turn, plan.clone())), [10.0, 10.0, 60.0, 30.0]);
    let mut by_load = Cluster::new(one_seat(2), RoutingRule::LeastLoaded).unwrap();
    assert_eq!(firsts(&run(&mut by_load, plan)), [10.0, 10.0, 30.0, 60.0]);
}

#[test]
fn a_prefix_draws_its_jobs_to_one_server_until_that_is_too_full() {
    let of = |id, at: u64| {
        let prefix = PrefixHashes::of_group(id % 2, 4);
        (Timestamp::from_nanos(at * 1_000_000), Job { prefix, ..Job::new(JobId(id), 100, 1) })
    };
    let engines = || vec![BatchingEngine::new(ten_ms_engine(1000)), BatchingEngine::new(ten_ms_engine(1000))];
    // Groups 0 and 1 come together to cold servers, and later in the other order.
    let plan = [of(0, 0), of(1, 0), of(3, 100), of(2, 100)];
    let mut cluster = Cluster::new(engines(), RoutingRule::PrefixAware).unwrap();
    let cached: Vec<u32> = run(&mut cluster, plan.clone()).iter().map(|history| history.cached_tokens).collect();
    assert_eq!(cached, [0, 0, 64, 64]);
    let mut blind = Cluster::new(engines(), RoutingRule::RoundRobin).unwrap();
    let cached: Vec<u32> = run(&mut blind, plan).iter().map(|history| history.cached_tokens).collect();
    assert_eq!(cached, [0, 0, 0, 0]);
    // Jobs of one group at one moment: no server gets over so many more than the other.
    let count = RoutingRule::IMBALANCE + 3;
    let burst: Vec<_> = (0..count).map(|i| of(2 * i + 10, 200)).collect();
    for (at, job) in burst {
        cluster.submit(at, job).unwrap();
    }
    let loads: Vec<u64> = cluster.replicas().iter().map(SimulatedServer::jobs).collect();
    assert_eq!((loads.iter().sum::<u64>(), loads.iter().min()), (count, Some(&1)), "{loads:?}");
}

#[test]
fn lanes_keep_servers_for_the_short_and_urgent() {
    let mut plan = jobs(&[(0, 1_500, 9), (1, 10, 1), (2, 10, 1), (30, 10, 1)]);
    plan[2].1.priority = 1;
    // The long one and the one of no hurry share the second server; the short urgent ones have the first.
    let mut cluster = Cluster::new(one_seat(2), RoutingRule::ByPriority).unwrap();
    assert_eq!(firsts(&run(&mut cluster, plan)), [10.0, 11.0, 100.0, 40.0]);
}

#[test]
fn a_cluster_of_nothing_is_refused() {
    assert_eq!(Cluster::<BatchingEngine>::new(vec![], RoutingRule::RoundRobin).err(), Some(BadFleet::Empty));
}

#[test]
fn plain_servers_can_be_replicas_too() {
    let plain = || FixedQueue::new(1, Delay::Constant(0.1), Delay::Constant(0.01), 1);
    let mut cluster = Cluster::new(vec![plain(), plain()], RoutingRule::LeastLoaded).unwrap();
    assert_eq!(firsts(&run(&mut cluster, jobs(&[(0, 1, 1), (0, 1, 1), (0, 1, 1)]))), [100.0, 100.0, 200.0]);
}

/// One prefill and one decode engine, and a link on which 10 tokens of 1,000 bytes take 5 ms.
fn pools() -> Pools {
    let engine = || vec![BatchingEngine::new(ten_ms_engine(1000))];
    let transfer = KvTransfer { bytes_per_token: 1_000.0, bandwidth: 2e6, latency: Duration::ZERO };
    Pools::new(engine(), engine(), RoutingRule::RoundRobin, transfer).unwrap()
}

#[test]
fn the_transfer_shows_in_the_gap_to_the_second_token() {
    let mut pools = pools();
    let histories = run(&mut pools, jobs(&[(0, 10, 3), (0, 10, 2), (0, 10, 1)]));
    let times = |id| -> Vec<f64> {
        let history = histories.iter().find(|history| history.job == JobId(id)).unwrap();
        history.chunks.iter().map(|chunk| ms(chunk.at)).collect()
    };
    // Prefill ends at 10 ms for all three. The link brings the first at 15 and the second at 20 ms, where it waits for
    // the decode step under way. The third needed one token only, and stays where it is.
    assert_eq!([times(0), times(1), times(2)], [vec![10.0, 25.0, 35.0], vec![10.0, 35.0], vec![10.0]]);
    let gauges = pools.gauges();
    assert_eq!((gauges.request_success, gauges.generation_tokens, gauges.prompt_tokens), (3, 6, 30));
    assert_eq!((gauges.kv_cache_usage_perc, pools.jobs()), (0.0, 0));
}

#[test]
fn a_job_can_be_cancelled_wherever_it_is() {
    let mut pools = pools();
    let mut events = Vec::new();
    for (at, job) in jobs(&[(0, 10, 9), (0, 10, 9), (0, 10, 9)]) {
        pools.submit(at, job).unwrap();
    }
    let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
    pools.advance(at(0), &mut events);
    assert!(pools.cancel(at(4), JobId(2)), "in prefill");
    pools.advance(at(10), &mut events);
    pools.advance(at(15), &mut events);
    assert!(pools.cancel(at(16), JobId(0)), "decoding");
    assert!(pools.cancel(at(16), JobId(1)), "on the road");
    assert!(!pools.cancel(at(16), JobId(1)));
    assert_eq!((pools.jobs(), pools.gauges().kv_cache_usage_perc), (0, 0.0));
    while let Some(next) = pools.next_event() {
        pools.advance(next, &mut events);
    }
    assert_eq!(events.len(), 2, "the first tokens of the two that were not cancelled in prefill");
}

#[test]
fn pools_refuse_what_either_pool_must() {
    let small = || vec![BatchingEngine::new(ten_ms_engine(4))];
    let transfer = KvTransfer { bytes_per_token: 1.0, bandwidth: 1e9, latency: Duration::ZERO };
    let mut pools = Pools::new(small(), small(), RoutingRule::RoundRobin, transfer).unwrap();
    let histories = run(&mut pools, jobs(&[(0, 60, 5)]));
    assert_eq!(histories[0].end, JobEnd::Rejected(Reject::LargerThanCache { tokens: 65, capacity: 64 }));
}

proptest! {
    #[test]
    fn replicas_do_in_a_cluster_what_each_does_alone(
        plan in prop::collection::vec((0_u64..400, 1_u32..300, 1_u32..40), 1..60), cancel in 0_u64..60,
    ) {
        let mut plan = plan;
        plan.sort_unstable();
        let engine = || BatchingEngine::new(ten_ms_engine(40));
        let events_of = |server: &mut dyn SimulatedServer, jobs: Vec<(Timestamp, Job)>| {
            let mut jobs = jobs.into_iter().peekable();
            let mut events = Vec::new();
            while let Some(now) = jobs.peek().map(|job| job.0).into_iter().chain(server.next_event()).min() {
                while let Some((_, job)) = jobs.next_if(|job| job.0 <= now) {
                    let id = job.id;
                    server.submit(now, job).unwrap();
                    if id.0 == cancel {
                        assert!(server.cancel(now, id));
                    }
                }
                server.advance(now, &mut events);
            }
            events.sort_by_key(|event| (event.job, event.at));
            events
        };
        let mut cluster = Cluster::new(vec![engine(), engine(), engine()], RoutingRule::RoundRobin).unwrap();
        let together = events_of(&mut cluster, jobs(&plan));
        let mut alone: Vec<_> = (0..3)
            .flat_map(|place| {
                let own = jobs(&plan).into_iter().filter(|(_, job)| job.id.0 % 3 == place).collect();
                events_of(&mut engine(), own)
            })
            .collect();
        alone.sort_by_key(|event| (event.job, event.at));
        prop_assert_eq!(together, alone);
        prop_assert_eq!((cluster.jobs(), cluster.next_event()), (0, None));
    }

    #[test]
    fn pools_conserve_tokens(plan in prop::collection::vec((0_u64..100, 1_u32..300, 1_u32..40), 1..40), blocks in 22_u64..60) {
        let engines = |count| (0..count).map(|_| BatchingEngine::new(ten_ms_engine(blocks))).collect::<Vec<_>>();
        let transfer = KvTransfer { bytes_per_token: 1_000.0, bandwidth: 5e6, latency: Duration::from_millis(1) };
        let mut pools = Pools::new(engines(2), engines(2), RoutingRule::LeastLoaded, transfer).unwrap();
        let mut plan = plan;
        plan.sort_unstable();
        let histories = run(&mut pools, jobs(&plan));
        prop_assert_eq!(histories.len(), plan.len());
        for history in &histories {
            prop_assert_eq!(history.chunks.tokens(), u64::from(plan[history.job.0 as usize].2));
        }
        let gauges = pools.gauges();
        prop_assert_eq!(gauges.request_success, plan.len() as u64);
        prop_assert_eq!(gauges.generation_tokens, plan.iter().map(|job| u64::from(job.2)).sum::<u64>());
        prop_assert_eq!(gauges.kv_cache_usage_perc, 0.0);
    }
}
