//! Runs in virtual time: exact moments on servers of known delays, the runner's window, records that read back.

use std::time::Duration;

use crate::virtual_time::{fly, header};
use skyline::analysis::{Figure, Metric, Quantile, Summary, summarise};
use skyline::clock::Timestamp;
use skyline::experiment::{LayoutFigures, Limit, SimulatedRun, predict};
use skyline::generator::Schedule;
use skyline::record::{FailureKind, LogLine, Outcome, PartKind, Phase, RequestRecord, RunEnding, RunLog, RunLogWriter};
use skyline::report::{Extent, Style, documents, render};
use skyline::simulator::{
    BatchingConfig, Delay, Deployment, Efficiency, EngineModel, Fleet, FleetLayout, KvTransfer, RoutingRule,
    SimulatedServer,
};
use skyline::workload::WorkloadSpec;

/// A request each `1 / rate` seconds, the first after that time, with prompts of 10 tokens.
fn metronome(rate: f64, horizon_s: f64, warmup_s: f64, drain_s: f64, answer: u32) -> WorkloadSpec {
    let text = format!(
        r#"
name = "metronome"
horizon_s = {horizon_s}
warmup_s = {warmup_s}
drain_s = {drain_s}
seed = 3
arrival = {{ kind = "constant", rate_per_s = {rate} }}
[[classes]]
name = "tick"
input_tokens = {{ kind = "constant", value = 10 }}
output_tokens = {{ kind = "constant", value = {answer} }}
slo = {{ ttft_ms = 100 }}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// First token after `ttft`, the others `gap` apart, milliseconds.
fn plain(slots: usize, ttft: f64, gap: f64) -> Fleet {
    let engine = EngineModel::Plain { slots, ttft: Delay::Constant(ttft / 1e3), itl: Delay::Constant(gap / 1e3) };
    Fleet::of_one(engine, 0)
}

fn llama_on_a10g() -> Fleet {
    llama_on("a10g")
}

fn llama_on(gpu: &str) -> Fleet {
    let deployment = Deployment::new(gpu.parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
    Fleet::of_one(EngineModel::Batching(Box::new(config)), 0)
}

/// The simulate side of an agreement with a server that is driven in real time: `spec` flown in virtual time against
/// `server`, which must be fresh, and summarised as any run is.
fn simulated(spec: &WorkloadSpec, server: &mut dyn SimulatedServer) -> Summary {
    let SimulatedRun { records, footer, .. } = fly(spec, server);
    summarise(&RunLog::of_requests(header(spec), records, footer), &[])
}

fn phase(flown: &SimulatedRun, phase: Phase) -> Vec<&RequestRecord> {
    flown.records.iter().filter(|record| record.phase == phase).collect()
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn every_moment_on_a_server_of_constant_delays_is_exact() {
    let spec = metronome(20.0, 2.0, 0.0, 20.0, 5);
    let flown = fly(&spec, &mut *plain(64, 30.0, 7.0).server().unwrap());
    let planned: Vec<_> = Schedule::draw(&spec).plan().collect();
    for record in phase(&flown, Phase::Measured) {
        let request = planned[record.index as usize];
        let begin = request.scheduled;
        assert_eq!((record.scheduled, record.dispatched, record.sent), (begin, begin, Some(begin)));
        let arrivals: Vec<_> = record.chunks.iter().map(|chunk| chunk.at).collect();
        assert_eq!(arrivals, [30, 37, 44, 51, 58].map(|after| begin.after(ms(after))));
        assert_eq!((record.ended, &record.outcome), (begin.after(ms(58)), &Outcome::Completed));
        let usage = record.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, record.output_tokens), (10, 5, 5));
    }
    let summary = simulated(&spec, &mut *plain(64, 30.0, 7.0).server().unwrap());
    for (metric, value) in
        [(Metric::Ttft, 30.0), (Metric::Tpot, 7.0), (Metric::Itl, 7.0), (Metric::E2e, 58.0), (Metric::ScheduleLag, 0.0)]
    {
        let row = summary.latency.row(metric).unwrap();
        assert_eq!((row.min, row.max), (Figure::Exact(value), Figure::Exact(value)), "{metric}");
    }
    assert_eq!(summary.requests.planned, 39);
    assert_eq!(summary.slo.slo_attainment, Some(1.0));
    assert!(summary.verdict.valid);
}

#[test]
fn one_place_makes_a_queue_of_known_waits() {
    // One each 50 ms, 80 ms of service: the k-th waits for k × 30 ms.
    let spec = metronome(20.0, 1.0, 0.0, 20.0, 1);
    let flown = fly(&spec, &mut *plain(1, 80.0, 0.0).server().unwrap());
    let mut records = phase(&flown, Phase::Measured);
    records.sort_by_key(|record| record.index);
    for (record, k) in records.iter().zip(0..) {
        assert_eq!(record.chunks.first_at().unwrap().since(record.scheduled), ms(80 + 30 * k));
    }
    let waited: f64 = (0..19).map(|k| 0.03 * f64::from(k)).sum();
    assert!((flown.queued_s - waited).abs() < 1e-9, "{} s of queueing, not {waited}", flown.queued_s);
}

#[test]
fn load_goes_on_until_the_windows_last_request_is_done() {
    let spec = metronome(100.0, 0.3, 0.1, 20.0, 1);
    let flown = fly(&spec, &mut *plain(1_000, 105.0, 0.0).server().unwrap());
    assert_eq!((phase(&flown, Phase::Warmup).len(), phase(&flown, Phase::Measured).len()), (9, 20));
    let awaited = flown.records.iter().filter(|record| record.phase != Phase::Cooldown);
    let last = awaited.clone().map(|record| record.ended).max().unwrap();
    assert!(awaited.into_iter().all(|record| record.outcome == Outcome::Completed));
    // What came after the horizon kept the load up, and was cut off when the window's last was done.
    assert_eq!((flown.footer.ended, flown.footer.ending), (last, RunEnding::Finished));
    let cooldown = phase(&flown, Phase::Cooldown);
    assert!(cooldown.len() >= 9, "{}", cooldown.len());
    assert!(cooldown.iter().all(|record| record.outcome == Outcome::Censored && record.ended == last));
    assert!(cooldown.iter().all(|record| record.scheduled <= last));
}

#[test]
fn what_the_drain_limit_cuts_off_is_censored_and_kept_with_its_tokens() {
    let spec = metronome(100.0, 0.03, 0.0, 0.1, 100);
    let flown = fly(&spec, &mut *plain(1_000, 49.0, 50.0).server().unwrap());
    let limit = Timestamp::from_nanos(130_000_000);
    assert_eq!((flown.footer.ended, flown.footer.ending), (limit, RunEnding::DrainLimit));
    let records = phase(&flown, Phase::Measured);
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!((&record.outcome, record.ended, record.usage), (&Outcome::Censored, limit, None));
        let gone = limit.since(record.scheduled).as_millis() as u64;
        assert_eq!(record.chunks.len() as u64, (gone - 49) / 50 + 1);
        assert_eq!(record.output_tokens, record.chunks.tokens());
    }
}

#[test]
fn what_can_never_be_served_fails_with_400_and_ends_at_once() {
    let mut spec = metronome(10.0, 1.0, 0.0, 20.0, 8);
    spec.classes[0].input_tokens = skyline::workload::Distribution::Constant { value: 200_000 };
    let flown = fly(&spec, &mut *llama_on_a10g().server().unwrap());
    assert_eq!(flown.records.len(), 9);
    for record in &flown.records {
        let Outcome::Failed(failure) = &record.outcome else { unreachable!("{:?}", record.outcome) };
        assert_eq!((failure.reason, record.ended), (FailureKind::HttpStatus(400), record.scheduled));
        assert!(failure.message.contains("maximum context length is 31744"), "{}", failure.message);
    }
    assert_eq!(flown.footer.ending, RunEnding::Finished);
}

#[test]
fn a_run_is_repeated_to_the_last_nanosecond() {
    let spec = WorkloadSpec::load("short_chat").unwrap();
    let once = fly(&spec, &mut *llama_on_a10g().server().unwrap());
    assert_eq!(once, fly(&spec, &mut *llama_on_a10g().server().unwrap()));
    assert!(once.effort.steps > 100 && once.effort.busy_s <= 60.0, "{:?}", once.effort);
}

#[test]
fn a_stored_run_reads_back_and_reports_identically() {
    let spec = metronome(20.0, 1.0, 0.0, 20.0, 5);
    let SimulatedRun { records, footer, .. } = fly(&spec, &mut *plain(4, 300.0, 7.0).server().unwrap());
    let mut log = RunLog::of_requests(header(&spec), records, footer);
    log.header.engines[0].modelled.insert("slots".to_owned(), 4.into());
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RunLogWriter::create(folder.path(), &log.header).unwrap();
    log.records.iter().for_each(|record| writer.append(LogLine::Request(&record)).unwrap());
    writer.finish(log.footer.as_ref().unwrap()).unwrap();
    let read = RunLog::read(folder.path()).unwrap();
    assert_eq!(read, log);
    let said = render::text(&documents::run(&summarise(&log, &[]), None, None), Style::PLAIN, Extent::Full);
    assert_eq!(render::text(&documents::run(&summarise(&read, &[]), None, None), Style::PLAIN, Extent::Full), said);
    assert!(said.contains("simulator, in virtual time") && said.contains("slots 4"), "{said}");
}

#[test]
fn the_bottleneck_follows_the_evidence() {
    let limit = |rate: f64, fleet: &Fleet| {
        let mut spec = WorkloadSpec::load("short_chat").unwrap();
        spec.arrival = spec.arrival.with_mean_rate(rate);
        predict(header(&spec), Schedule::draw(&spec), fleet, &[]).unwrap().1.bottleneck
    };
    let calm = limit(1.0, &llama_on_a10g());
    assert_eq!(calm.limit, Limit::Memory);
    let parts = [calm.evidence.memory_share, calm.evidence.compute_share, calm.evidence.overhead_share];
    assert!((parts.iter().flatten().sum::<f64>() - 1.0).abs() < 1e-9, "{parts:?}");
    assert!(calm.evidence.queue_share_of_ttft.unwrap() < 0.3 && calm.evidence.preemptions == 0);

    let full = limit(10.0, &llama_on_a10g());
    assert_eq!(full.limit, Limit::KvCache);
    assert!(full.evidence.preemptions > 0 && full.evidence.kv_usage.unwrap() > 0.9);
    assert!(full.evidence.queue_share_of_ttft.unwrap() > 0.9 && full.cure.contains("compute-bound already"));

    let mut few_seats = llama_on_a10g();
    let EngineModel::Batching(config) = &mut few_seats.engine else { unreachable!() };
    config.limits.max_num_seqs = 8;
    assert_eq!(limit(10.0, &few_seats).limit, Limit::BatchSlots);

    let over_pcie =
        Deployment { tensor_parallel: 8, ..Deployment::new("l4".parse().unwrap(), "llama-3.1-8b".parse().unwrap()) };
    let config = BatchingConfig::vllm(&over_pcie, Efficiency::default()).unwrap();
    let over_pcie = Fleet::of_one(EngineModel::Batching(Box::new(config)), 0);
    let shares = limit(1.0, &over_pcie).evidence;
    assert!(shares.communication_share.unwrap() > 0.1, "{shares:?}");

    // One decode server cannot hold what seven prefill servers begin: TTFT stays calm, and answers wait after it.
    let deployment = Deployment::new("a10g".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let transfer = KvTransfer::new(&deployment, 12.5e9);
    let layout = FleetLayout::Pools { prefill: 7, decode: 1, rule: RoutingRule::LeastLoaded, transfer };
    let narrow = limit(25.0, &Fleet { layout, ..llama_on_a10g() });
    assert_eq!(narrow.limit, Limit::DecodePool, "{}", narrow.sentence);
    assert!(narrow.evidence.queue_share_of_ttft.unwrap() < 0.5);

    assert_eq!(limit(10.0, &plain(2, 500.0, 10.0)).limit, Limit::Slots);
    assert_eq!(limit(1.0, &plain(100, 500.0, 10.0)).limit, Limit::Nothing);
}

#[test]
fn pools_are_held_against_as_many_alike_behind_round_robin() {
    let spec = WorkloadSpec::load("bursty_mix").unwrap();
    let deployment = Deployment::new("a10g".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    let layout = FleetLayout::Pools {
        prefill: 6,
        decode: 2,
        rule: RoutingRule::ByPriority,
        transfer: KvTransfer::new(&deployment, 25e9 / 8.0),
    };
    let fleet = Fleet { layout, ..llama_on_a10g() };
    let (_, prediction) = predict(header(&spec), Schedule::draw(&spec), &fleet, &[]).unwrap();
    let comparison = prediction.baseline.unwrap();
    assert_eq!(comparison.baseline, "8 alike, round-robin");
    let groups: Vec<_> = comparison.rows.iter().map(|row| row.group.as_str()).collect();
    assert_eq!(groups, ["all", "chat", "rag", "high", "medium", "low"]);
    let summary = &prediction.summary;
    let p95 = summary.latency.row(Metric::Ttft).unwrap().percentile(Quantile::P95).figure.exact();
    assert_eq!(comparison.rows[0].requested.ttft_p95.unwrap().value_ms, p95);
    let chats = &comparison.rows[1];
    let p95 = |side: &LayoutFigures| side.ttft_p95.unwrap().value_ms.unwrap();
    assert!(p95(&chats.requested) < 0.25 * p95(&chats.baseline), "{chats:?}");
}

#[test]
fn the_hardware_that_a_workload_recommends_carries_its_load() {
    for spec in skyline::workload::library::all().unwrap() {
        let hardware = spec.mock_hardware.as_deref().expect("each workload of the library recommends one");
        let deployment = Deployment::new(hardware.parse().unwrap(), "llama-3.1-8b".parse().unwrap());
        let config = BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap();
        let fleet = Fleet::of_one(EngineModel::Batching(Box::new(config)), 0);
        let summary = simulated(&spec, &mut *fleet.server().unwrap());
        assert!(summary.verdict.valid, "{} on {hardware}: {:?}", spec.name, summary.verdict.reasons);
        let attainment = summary.slo.slo_attainment.unwrap_or(1.0);
        assert!(attainment > 0.98, "{} on {hardware}: {attainment}", spec.name);
    }
}

#[test]
fn bursts_are_phases_of_the_load() {
    let arrival = "{ kind = \"bursts\", base_rate_per_s = 10, burst_rate_per_s = 50, base_s = 30, burst_s = 2 }";
    let text = format!(
        "name = \"burst\"\nhorizon_s = 640\nwarmup_s = 0\nseed = 3\narrival = {arrival}\n[[classes]]\n\
         name = \"tick\"\ninput_tokens = {{ kind = \"constant\", value = 10 }}\n\
         output_tokens = {{ kind = \"constant\", value = 1 }}\n"
    );
    let spec = WorkloadSpec::from_toml(&text, "a test").unwrap();
    let summary = simulated(&spec, &mut *plain(1, 50.0, 0.0).server().unwrap());
    let phases: Vec<_> = summary
        .parts_of(PartKind::Phase)
        .into_iter()
        .map(|phase| (phase.name.as_str(), phase.load.unwrap().seconds))
        .collect();
    assert_eq!(phases, [("base", 562.0), ("burst", 40.0), ("after_burst", 38.0)]);
}

/// With room for all keys and values, the simulated server finds exactly what the plan says that a cache can find. The
/// plan knows nothing of its blocks but their size, and the server nothing of the graph.
#[test]
fn a_graph_shares_with_the_simulated_cache_what_its_plan_says() {
    let text = r#"
name = "agents"
horizon_s = 600
warmup_s = 0
seed = 11
arrival = { kind = "poisson", rate_per_s = 0.1 }
[[classes]]
name = "agent"
input_tokens = { kind = "uniform", min = 100, max = 900 }
output_tokens = { kind = "uniform", min = 20, max = 200 }
shared_prefix = { count = 1, tokens = 2048 }
[classes.session]
steps = [
    { name = "task" },
    { name = "loop", turns = { kind = "uniform", min = 2, max = 9 }, delay_s = 0.5 },
    { name = "explore", after = "task", copies = 3, turns = 3, history = "new" },
    { name = "fork", after = "loop", copies = 2, turns = 2 },
    { name = "end", after = ["explore", "fork"], history = "loop", delay_s = 0.2 },
]
"#;
    let spec = WorkloadSpec::from_toml(text, "a test").unwrap();
    let summary = simulated(&spec, &mut *llama_on("h200").server().unwrap());
    let cache = summary.prefix_cache.unwrap();
    let measured = cache.measured.unwrap().rate;
    println!("planned {:.5} to {:.5}, found {measured:.5}", cache.expected_least, cache.expected_most);
    assert!(measured > 0.8, "{measured}");
    assert!((cache.expected_least - 0.001..=cache.expected_most + 0.001).contains(&measured), "{cache:?}");
    assert_eq!(summary.sessions.unwrap().broken_off, 0);
}
