//! Reproduces what serving teams meet in production, from datasheets and vLLM's rules alone: nothing here is fitted.
//!
//! Figures are of these tests' seed, over 60 s or 120 s of arrivals; TTFT counts from the moment of arrival.

use skyline::clock::Timestamp;
use skyline::random::Stream;
use skyline::simulator::{
    Cluster, Deployment, History, Instance, InstanceConfig, Job, JobId, KvTransfer, Lane, Policy, Pools,
    Prefix, Routing, Server, Speculation,
};

use crate::drive::{Latencies, bursty_mix, chat, normal, poisson, preset, run};

/// Short chat at 10/s on Llama-3.1-8B on an A10G: p95 TTFT 37.7 s, and 99 % miss 200 ms; 60 s of arrivals bring 590
/// requests to a server that completes about 6 a second. At 5/s: p95 0.53 s, and 53 % still miss.
///
/// Measured on that machine: p95 5–9 s and 90–99 % misses, with at most 50 requests in flight and latency taken from
/// the sending, so that the wait before it did not count; here all of it does.
#[test]
fn short_chat_at_ten_a_second_overwhelms_an_a10g() {
    let at = |rate| {
        Latencies::of(&run(
            &mut Instance::new(preset("a10g", "llama-3.1-8b", 1)),
            poisson(rate, 60.0, 42, chat),
        ))
    };
    let (five, ten) = (at(5.0), at(10.0));
    assert!(ten.ttft(95.0) > 5_000.0, "p95 {}", ten.ttft(95.0));
    assert!(ten.share_over(200.0) > 0.9, "{} miss", ten.share_over(200.0));
    assert!(five.ttft(95.0) < 1_000.0, "p95 {}", five.ttft(95.0));
}

/// Llama-3.1-70B on 8 × H100, chats of about 260 tokens in and 240 out:
///
/// | req/s | p50 TTFT | p99 TTFT | p50 TPOT |
/// |---|---|---|---|
/// | 5 | 18 ms | 30 ms | 8.8 ms |
/// | 20 | 22 ms | 52 ms | 11 ms |
/// | 30 | 28 ms | 69 ms | 14 ms |
/// | 45 | 71 ms | 175 ms | 41 ms |
/// | 50 | 123 ms | 1.6 s | 69 ms |
/// | 55 | 217 ms | 6.7 s | 92 ms |
///
/// The published curve of such a server (p50 85 → 135 → 480 ms, p99 110 → 450 → 2,500 ms at 5 → 20 → 30 req/s) has the
/// same shape: the median barely moves while the tail grows by an order of magnitude. Its level differs. It starts at
/// 82 ms, of which this model explains 16: HTTP, tokenising and the front end's Python are not modelled. And its knee
/// lies at 25–30 req/s, not at 48: its 35 ms between tokens at 20 req/s is three times the 11 ms of the roofline, so
/// its kernels or its host reached a third of what `Efficiency::default` assumes.
#[test]
fn past_the_knee_the_tail_explodes_before_the_median() {
    let at = |rate| {
        let job = |id, stream: &mut Stream| {
            let input = normal(stream, 220.0, 150.0, (4, 1024));
            Job::new(JobId(id), input, normal(stream, 200.0, 150.0, (4, 1024)))
        };
        Latencies::of(&run(
            &mut Instance::new(preset("h100", "llama-3.1-70b", 8)),
            poisson(rate, 60.0, 42, job),
        ))
    };
    let (calm, knee, past) = (at(20.0), at(48.0), at(55.0));
    assert!(calm.ttft(99.0) < 4.0 * calm.ttft(50.0));
    assert!(knee.ttft(99.0) < 4.0 * knee.ttft(50.0));
    assert!(past.ttft(50.0) < 4.0 * knee.ttft(50.0), "p50 {} → {}", knee.ttft(50.0), past.ttft(50.0));
    assert!(past.ttft(99.0) > 10.0 * knee.ttft(99.0), "p99 {} → {}", knee.ttft(99.0), past.ttft(99.0));
}

/// Short chat at 10/s on an A10G, by `max_num_seqs`:
///
/// | seats | tokens/s | first token after its seat, p50 · p99 | TPOT p50 | TTFT p50 | preemptions |
/// |---|---|---|---|---|---|
/// | 16 | 370 | 116 · 299 ms | 42 ms | 76.6 s | 0 |
/// | 64 | 741 | 164 · 789 ms | 81 ms | 20.5 s | 0 |
/// | 84 | 787 | 202 · 789 ms | 100 ms | 17.4 s | 1 |
/// | 128 | 729 | 282 · 1,478 ms | 118 ms | 21.2 s | 130 |
///
/// More seats lift throughput and slow each token, the first one too once it has a seat: what a closed loop, with as
/// many users as seats, calls TTFT. Counted from arrival, an overloaded server's TTFT is mostly queue, and the same
/// seats shorten it: until the KV cache, not the seats, is the limit. Then preemption eats the gain, and both worsen.
#[test]
fn more_seats_lift_throughput_and_slow_the_first_token() {
    let with = |seats| {
        let mut config = preset("a10g", "llama-3.1-8b", 1);
        config.limits.max_num_seqs = seats;
        let mut engine = Instance::new(config);
        let latencies = Latencies::of(&run(&mut engine, poisson(10.0, 60.0, 42, chat)));
        (latencies, engine.gauges().num_preemptions)
    };
    let ((few, _), (some, _), (most, disturbed), (too_many, preempted)) =
        (with(16), with(64), with(84), with(128));
    assert!(some.tokens_per_s() > 1.5 * few.tokens_per_s());
    assert!(
        some.seated_ttft(50.0) > 1.2 * few.seated_ttft(50.0)
            && some.seated_ttft(99.0) > 2.0 * few.seated_ttft(99.0)
    );
    assert!(some.tpot(50.0) > 1.5 * few.tpot(50.0));
    assert!(some.ttft(50.0) < few.ttft(50.0));
    assert!(preempted > 5 * disturbed, "{disturbed} → {preempted} preemptions");
    assert!(too_many.tokens_per_s() < most.tokens_per_s() && too_many.ttft(50.0) > most.ttft(50.0));
}

/// Chats at 1/s on an A10G, where every 20th request may be a RAG prompt of 8,000 tokens, 3.5 s of prefill: under first
/// come, first served the chunks of the long prompt fill every step's budget, and a chat that comes behind it waits for
/// all of them. The chats' p50 TTFT goes from 124 to 142 ms, their p95 from 218 ms to 2.7 s.
#[test]
fn short_chats_queue_behind_a_long_prompt() {
    let with = |long_prompts: bool| {
        let arrivals = poisson(1.0, 120.0, 42, |id, stream| {
            let job = chat(id, stream);
            if long_prompts && id % 20 == 19 { Job::new(JobId(id), 8_000, 160) } else { job }
        });
        let histories = run(&mut Instance::new(preset("a10g", "llama-3.1-8b", 1)), arrivals);
        Latencies::of(histories.iter().filter(|history| history.job.0 % 20 != 19))
    };
    let (alone, mixed) = (with(false), with(true));
    assert!(mixed.ttft(50.0) < 3.0 * alone.ttft(50.0));
    assert!(mixed.ttft(95.0) > 5.0 * alone.ttft(95.0));
}

/// A system prompt of 2,048 tokens before questions of about 130, Llama-3.1-8B on an H100 at 1/s: p50 TTFT 62.7 ms when
/// each prompt is computed whole, 6.3 ms when the system prompt is found in the prefix cache (93 % of all prompt tokens).
#[test]
fn a_warm_prefix_cuts_ttft() {
    let with = |shared_blocks| {
        let arrivals = poisson(1.0, 120.0, 42, |id, stream| Job {
            prefix: Prefix::of_group(9, shared_blocks),
            ..Job::new(JobId(id), 2_048 + normal(stream, 128.0, 64.0, (16, 512)), 64)
        });
        let mut engine = Instance::new(preset("h100", "llama-3.1-8b", 1));
        let latencies = Latencies::of(&run(&mut engine, arrivals));
        let gauges = engine.gauges();
        (latencies, gauges.prefix_cache_hits as f64 / gauges.prefix_cache_queries as f64)
    };
    let ((cold, no_hits), (warm, hits)) = (with(0), with(128));
    assert!(no_hits == 0.0 && hits > 0.9, "hit rate {hits}");
    assert!(warm.ttft(50.0) < 0.25 * cold.ttft(50.0));
}

/// Four tokens drafted at a 20th of a step each, four of five accepted, Llama-3.1-8B on an H100: 3.4 tokens come out of a
/// step that takes 1.2 times as long, so a lone stream goes 2.8 times as fast, each of 64 streams 2.4 times. Of 256 it is
/// 1.05 times: to check five tokens for each the step is bound by compute, and the gain is gone.
#[test]
fn speculation_speeds_up_a_lone_stream_but_not_a_full_batch() {
    let tpot = |batch: u64, speculation| {
        let mut config = preset("h100", "llama-3.1-8b", 1);
        config.speculation = speculation;
        let together = (0..batch).map(|id| (Timestamp::ZERO, Job::new(JobId(id), 64, 400)));
        Latencies::of(&run(&mut Instance::new(config), together)).tpot(50.0)
    };
    let drafting = Some(Speculation { draft_tokens: 4, acceptance: 0.8, draft_cost: 0.05 });
    let gain = |batch| tpot(batch, None) / tpot(batch, drafting);
    assert!((2.5..3.1).contains(&gain(1)), "{}", gain(1));
    assert!(gain(256) < 1.2, "{}", gain(256));
}

/// `bursty_mix` on eight A10G with Llama-3.1-8B, six seeds of 60 s together:
///
/// | servers | p95 TTFT | chats' p50 · p95 TTFT | p50 · p95 TPOT |
/// |---|---|---|---|
/// | eight alike, round robin | 10.5 s | 190 ms · 9.8 s | 51 · 119 ms |
/// | eight alike, least loaded | 5.9 s | 161 ms · 5.2 s | 54 · 110 ms |
/// | eight alike, least loaded, priority scheduling | 4.8 s | 158 ms · 3.3 s | 55 · 115 ms |
/// | two prefill for urgent short prompts, four for the rest, two decode | 5.1 s | 126 ms · 0.39 s | 55 · 169 ms |
///
/// So the p95 of all improves by 51 % on round robin and the chats' by 96 %. Of that, the router's knowing the load does
/// much, and the p95 of all, which long prompts decide, then moves little; what only a lane of their own brings is that
/// chats no longer wait behind a prompt. It is no free gift: the p95 time per token grows by 42 %, as two decode servers
/// have to hold what eight held. With three in place of two it is 44 ms, but the p95 TTFT of all 10.8 s; with one the
/// median time per token is 250 ms.
#[test]
fn pools_and_priority_routing_improve_the_tail_of_a_bursty_mix() {
    let shared = preset("a10g", "llama-3.1-8b", 1);
    let mut urgent_first = shared.clone();
    urgent_first.limits.policy = Policy::Priority;
    let fleet = |config: &InstanceConfig, count| -> Vec<Instance> {
        (0..count).map(|_| Instance::new(config.clone())).collect()
    };
    let deployment = Deployment::new("a10g".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    // 25 Gbit/s of network between the machines.
    let transfer = KvTransfer::of(&deployment, 25e9 / 8.0);
    let lanes = [
        Lane { servers: vec![0, 1], priority_up_to: Some(0), input_up_to: Some(1024) },
        Lane { servers: vec![2, 3, 4, 5], priority_up_to: None, input_up_to: None },
    ];

    let [mut in_turn, mut by_load, mut split] = [const { Vec::new() }; 3];
    for seed in 0..6 {
        let arrivals = bursty_mix(seed);
        // Jobs of all seeds in one list; whether a job is a chat goes along.
        let add = |all: &mut Vec<(bool, History)>, histories: Vec<History>| {
            let is_chat = |history: &History| arrivals[history.job.0 as usize].1.input_tokens <= 1024;
            all.extend(histories.into_iter().map(|history| (is_chat(&history), history)));
        };
        for (all, routing) in [(&mut in_turn, Routing::RoundRobin), (&mut by_load, Routing::LeastLoaded)] {
            let mut cluster = Cluster::new(fleet(&shared, 8), routing).unwrap();
            add(all, run(&mut cluster, arrivals.clone()));
        }
        let routing = Routing::Lanes(lanes.to_vec());
        let mut pools = Pools::new(fleet(&urgent_first, 6), fleet(&shared, 2), routing, transfer).unwrap();
        add(&mut split, run(&mut pools, arrivals.clone()));
        assert_eq!(pools.gauges().request_success, arrivals.len() as u64);
    }
    let everyone = |list: &[(bool, History)]| Latencies::of(list.iter().map(|(_, history)| history));
    let chats =
        |list: &[(bool, History)]| Latencies::of(list.iter().filter(|(is_chat, _)| *is_chat).map(|(_, h)| h));
    for (baseline, bar) in [(in_turn, 0.75), (by_load, 1.0)] {
        let (before, after) = (everyone(&baseline), everyone(&split));
        assert!(after.ttft(95.0) <= bar * before.ttft(95.0), "{} → {}", before.ttft(95.0), after.ttft(95.0));
        assert!(after.tpot(95.0) < 1.6 * before.tpot(95.0), "{} → {}", before.tpot(95.0), after.tpot(95.0));
        let (before, after) = (chats(&baseline), chats(&split));
        assert!(after.ttft(95.0) < 0.2 * before.ttft(95.0), "{} → {}", before.ttft(95.0), after.ttft(95.0));
    }
}
