//! A stored run, split into shards and merged again.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::clock::Timestamp;
use crate::record::gauge::Gauge;
use crate::record::request::record::RequestRecord;
use crate::record::run::client::{Calibration, Shard, StampSource, StreamReads};
use crate::record::run::engine::RequestParameters;
use crate::record::run::header::PromptMethod;
use crate::record::telemetry::PageKind;
use crate::workload::{Distribution, SharedPrefixes, Slo};

fn stored() -> RunLog {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
    let mut log = RunLog::read(&folder).unwrap();
    log.records.sort_by_key(|record| (record.ended, record.index));
    log
}

/// Returns the logs that `of` generators would have stored of the run.
fn shards(of: u64) -> Vec<NamedLog> {
    let whole = stored();
    let shard = |number| {
        let mut log = whole.clone();
        log.header.shard = Some(Shard { number, of });
        log.records.retain(|record| record.index % of == number - 1);
        let counted = |phase| log.records.iter().filter(|record| record.phase == phase).count() as u64;
        log.header.plan.warmup_requests = counted(crate::record::request::turn::Phase::Warmup);
        log.header.plan.measured_requests = counted(crate::record::request::turn::Phase::Measured);
        NamedLog { name: format!("results/{number}"), log }
    };
    (1..=of).map(shard).collect()
}

fn footer(part: &mut NamedLog) -> &mut RunFooter {
    part.log.footer.as_mut().unwrap()
}

#[test]
fn shards_join_into_the_run_that_they_were_in_any_order() {
    let whole = stored();
    assert!(whole.records.len() > 6, "{}", whole.records.len());
    for of in [1, 2, 3] {
        let mut parts = shards(of);
        parts.reverse();
        let MergedRun { log, apart } = merge(parts).unwrap();
        assert_eq!((&log.records, apart), (&whole.records, Duration::ZERO));
        let shard_delays_ns = vec![0; of as usize];
        let merged = RunHeader { schema: RunHeader::SCHEMA, shard_delays_ns, ..whole.header.clone() };
        assert_eq!(log.header, merged);
    }
}

#[test]
fn addresses_are_those_of_all_shards_whatever_their_order_in_each() {
    let mut parts = shards(2);
    let [a, b, c] = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(str::to_owned);
    footer(&mut parts[0]).addresses = vec![vec![a.clone(), b.clone()]];
    footer(&mut parts[1]).addresses = vec![vec![b.clone(), c.clone()]];
    let mut went = BTreeMap::new();
    for part in &mut parts {
        let footer = part.log.footer.clone().unwrap();
        for (record, place) in
            part.log.records.iter_mut().zip([NonZeroU16::new(1), NonZeroU16::new(2), None].into_iter().cycle())
        {
            record.address = place;
            went.insert(record.index, footer.address_of(record).map(str::to_owned));
        }
    }
    let MergedRun { log, .. } = merge(parts).unwrap();
    let footer = log.footer.clone().unwrap();
    assert_eq!(footer.addresses, [vec![a, b, c]]);
    for record in log.records.iter() {
        assert_eq!(footer.address_of(&record), went[&record.index].as_deref());
    }
}

#[test]
fn what_a_later_shard_saw_is_put_later() {
    let mut parts = shards(2);
    let by = Duration::from_millis(15);
    parts[1].log.header.started_at += by;
    let alone = parts[1].log.clone();
    let MergedRun { log, apart } = merge(parts).unwrap();
    assert_eq!((apart, log.header.started_at), (by, stored().header.started_at));
    for before in alone.records.iter() {
        let after = log.records.iter().find(|record| record.index == before.index).unwrap();
        assert_eq!(after.scheduled, before.scheduled.after(by));
        assert_eq!(after.ended, before.ended.after(by));
        assert_eq!(after.sent, before.sent.map(|at| at.after(by)));
        assert_eq!(after.chunks.len(), before.chunks.len());
        // No latency has changed.
        let ttft = |record: &RequestRecord| record.chunks.first_at().map(|at| at.since(record.scheduled));
        assert_eq!(ttft(&after), ttft(&before));
        assert_eq!(
            after.chunks.last_at().map(|at| at.since(after.scheduled)),
            before.chunks.last_at().map(|at| at.since(before.scheduled))
        );
    }
    assert!(log.records.is_sorted_by_key(|record| record.ended));
}

#[test]
fn what_generators_went_through_is_joined() {
    let mut parts = shards(2);
    let pause = |from, length_ns| HostStall {
        from: Timestamp::from_nanos(from),
        length_ns,
        longest_step_ns: None,
        shard: None,
    };
    let own = |number, pause| HostStall { shard: Some(Shard { number, of: 2 }), ..pause };
    let delays = |p99_ns| Some(Delays { n: 100, p50_ns: 10, p99_ns, max_ns: 900 });
    let calibration = |p99_ns| {
        let delay = Delays { n: 1, p50_ns: 1, p99_ns, max_ns: p99_ns };
        let cost = 1_000;
        Some(Calibration {
            took_ns: 1,
            age_s: None,
            stamp_delay: delay,
            pacer_delay: delay,
            request_cpu_ns: cost,
            paced_event_cpu_ns: cost,
            coalesced_event_cpu_ns: cost,
        })
    };
    for (part, (cpu_ns, p99_ns, host_stalls)) in
        parts.iter_mut().zip([(300, 70, vec![pause(50, 20), pause(400, 10)]), (200, 60, vec![pause(60, 30)])])
    {
        part.log.header.limits.max_concurrency = Some(8);
        part.log.header.objectives = vec![format!("p95 ttft < {p99_ns}ms"), "error_rate < 1%".to_owned()];
        part.log.header.calibration = calibration(p99_ns);
        part.log.header.engines[0].proxy = (p99_ns == 60).then(|| "http://proxy:3128".to_owned());
        part.log.header.stamps = if p99_ns == 70 { StampSource::KernelReceived } else { StampSource::ReadReturned };
        let footer = footer(part);
        footer.present_ns = Some(cpu_ns);
        footer.ended = Timestamp::from_nanos(cpu_ns);
        footer.client = Some(ClientFacts {
            cpu_ns,
            readers: None,
            loop_cpu_ns: cpu_ns / 2,
            loop_delay: delays(p99_ns),
            read_delay: None,
            stream_reads: Some(StreamReads { reads: 8, shared: 2, most_streams: p99_ns / 20 }),
            host_stalls,
            slept_ns: (p99_ns == 70).then_some(9),
            peak_memory_bytes: Some(1_000),
            priority_lost: p99_ns == 70,
        });
    }
    footer(&mut parts[1]).ending = RunEnding::DrainLimit;
    let RunLog { header, footer, .. } = merge(parts).unwrap().log;
    assert_eq!(header.limits.max_concurrency, Some(16));
    assert_eq!(header.objectives, ["p95 ttft < 70ms", "error_rate < 1%", "p95 ttft < 60ms"]);
    assert_eq!((header.calibration, header.stamps), (calibration(70), StampSource::ReadReturned));
    assert_eq!(header.engines[0].proxy.as_deref(), Some("http://proxy:3128"));
    let footer = footer.unwrap();
    assert_eq!((footer.ending, footer.present_ns), (RunEnding::DrainLimit, Some(500)));
    assert_eq!((footer.ended, footer.released_until), (Timestamp::from_nanos(300), header.plan.window_end));
    let expected = ClientFacts {
        cpu_ns: 500,
        readers: None,
        loop_cpu_ns: 150,
        loop_delay: Some(Delays { n: 200, p50_ns: 10, p99_ns: 70, max_ns: 900 }),
        read_delay: None,
        stream_reads: Some(StreamReads { reads: 16, shared: 4, most_streams: 3 }),
        host_stalls: vec![own(1, pause(50, 20)), own(2, pause(60, 30)), own(1, pause(400, 10))],
        slept_ns: Some(9),
        peak_memory_bytes: Some(2_000),
        priority_lost: true,
    };
    assert_eq!(footer.client, Some(expected));
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of refusals")]
fn what_is_no_whole_run_is_refused_in_plain_words() {
    let refused = |change: fn(&mut Vec<NamedLog>)| {
        let mut parts = shards(3);
        change(&mut parts);
        merge(parts).unwrap_err()
    };
    for (said, expected) in [
        (refused(Vec::clear), "no runs are given to merge"),
        (
            refused(|parts| parts.truncate(1)),
            "shard 2/3, 3/3 is missing; a plan run in 3 shards is merged from all 3\n\
             hint: give the runs of all shards; where one is lost, run all of them again, together",
        ),
        (
            refused(|parts| parts[2] = NamedLog { name: "copy".to_owned(), ..parts[0].clone() }),
            "results/1 and copy are both shard 1/3; give each shard once\n\
             error: shard 3/3 is missing; a plan run in 3 shards is merged from all 3\n\
             hint: give the runs of all shards; where one is lost, run all of them again, together",
        ),
        (
            refused(|parts| parts[1].log.header.shard = None),
            "results/2 is not a shard: it ran the whole plan\nhint: a shard is run with --shard 1/2, --shard 2/2, …",
        ),
        (
            refused(|parts| parts[1].log.header.plan.hash = "0".to_owned()),
            "results/1 and results/2 are not shards of one run: they differ in the plan: \"b94667ae73e3\" and \"0\"\n\
             hint: run all shards again, of the same workload with the same seed, rate and length",
        ),
        (
            refused(|parts| parts[1].log.header.workload.classes[0].priorities[0].slo = Slo::default()),
            "results/1 and results/2 are not shards of one run: they differ in the workload\n\
             hint: run all shards again, of the same workload with the same seed, rate and length",
        ),
        (
            refused(|parts| parts[2].log.header.shard = Some(Shard { number: 3, of: 4 })),
            "results/1 and results/3 are not shards of one run: they differ in the number of shards: 3 and 4\n\
             hint: give the shards of one plan, all of them",
        ),
        (
            refused(|parts| parts[2].log.header.engines[0].model = "other".to_owned()),
            "results/1 and results/3 are not shards of one run: they differ in the model: \"mock-8b\" and \"other\"\n\
             hint: run all shards again with the same --model",
        ),
        (
            refused(|parts| parts[1].log.header.engines[0].url = "http://b:1".to_owned()),
            "results/1 and results/2 are not shards of one run: they differ in the server's address: \
             \"http://127.0.0.1:40859\" and \"http://b:1\"\nhint: run all shards again with the same --url, one that \
             every generator reaches the server by",
        ),
        (
            refused(|parts| {
                for (part, temperature) in parts.iter_mut().zip([0.0, 0.7]) {
                    part.log.header.engines[0].parameters =
                        Some(RequestParameters { temperature: Some(temperature), ..RequestParameters::default() });
                }
            }),
            "results/1 and results/2 are not shards of one run: they differ in the parameters of requests: \
             \"temperature 0\" and \"temperature 0.7\"\nhint: run all shards again with the same --temperature, \
             --top-p, --top-k, --sampling-seed, --send-priority, --session-header and --extra-body",
        ),
        (
            refused(|parts| parts[1].log.header.prompts.method = PromptMethod::WordList),
            "results/1 and results/2 are not shards of one run: they differ in what counted the tokens of prompts: \
             {\"kind\":\"server\"} and {\"kind\":\"word_list\"}\nhint: run all shards again with the same --tokenizer, \
             or all without one",
        ),
        (
            refused(|parts| parts[1].log.header.limits.max_concurrency = Some(8)),
            "results/1 and results/2 are not shards of one run: they differ in what is capped: [] and \
             [\"all requests\"]\nhint: run all shards again with the same --max-concurrency, which is divided over \
             them",
        ),
        (
            refused(|parts| {
                for (part, cap) in parts.iter_mut().zip([3, 3, 4]) {
                    part.log.header.limits.max_concurrency = Some(cap);
                }
            }),
            "the caps of the shards on requests in flight are not the parts of one cap\n\
             hint: run all shards again with the same --max-concurrency, which is divided over them",
        ),
        (
            refused(|parts| {
                parts[1].log.header.plan.hash = "0".to_owned();
                parts[1].log.header.skyline_version = "9".to_owned();
                parts[2].log.footer = None;
            }),
            "results/3 was cut off, so the load was not the planned one\nhint: run all shards again, together\n\
             error: results/1 and results/2 are not shards of one run: they differ in the plan: \"b94667ae73e3\" and \
             \"0\"; the version of skyline: \"0.1.0\" and \"9\"\n\
             hint: run all shards again with the same skyline\n\
             hint: run all shards again, of the same workload with the same seed, rate and length",
        ),
        (
            refused(|parts| parts[1].log.header.engines[0].streamed = false),
            "results/1 and results/2 are not shards of one run: they differ in whether answers are streamed: true and \
             false\nhint: run all shards again with the same command but for the number of the shard",
        ),
        (
            refused(|parts| parts[0].log.footer = None),
            "results/1 was cut off, so the load was not the planned one\nhint: run all shards again, together",
        ),
        (
            refused(|parts| footer(&mut parts[0]).ending = RunEnding::Interrupted),
            "results/1 was interrupted, so the load was not the planned one\nhint: run all shards again, together",
        ),
        (
            refused(|parts| parts[1].log.header.started_at += Duration::from_millis(16)),
            "results/2 began 16.0 ms after the first of the shards, so they did not load the server together (the \
             limit is 15.0 ms: 1 % of the window, 1 s at most)\nhint: run them again with the same --start-at",
        ),
    ] {
        assert_eq!(said, expected);
    }
}

#[test]
fn shards_that_share_prefixes_must_share_their_salt() {
    let of = |salts: [u64; 2]| {
        let mut parts = shards(2);
        for (part, salt) in parts.iter_mut().zip(salts) {
            let tokens = Distribution::Constant { value: 4 };
            part.log.header.workload.classes[0].shared_prefix =
                Some(SharedPrefixes { count: 1, tokens, zipf: 0.0, warm: 0.0 });
            part.log.header.prompts.salt = salt;
        }
        merge(parts)
    };
    assert!(of([5, 5]).is_ok());
    let said = of([5, 6]).unwrap_err();
    assert!(said.contains("the salt of prompts that share prefixes: 5 and 6") && said.contains("--salt"), "{said}");
}

#[test]
fn what_became_of_sessions_adds_up() {
    let counts = |measured_turns, broken_off| SessionCounts { measured_turns, broken_off, ..SessionCounts::default() };
    let mut parts = shards(2);
    assert_eq!(merge(parts.clone()).unwrap().log.footer.unwrap().sessions, None);
    footer(&mut parts[0]).sessions = Some(counts(7, 1));
    footer(&mut parts[1]).sessions = Some(counts(5, 0));
    assert_eq!(merge(parts).unwrap().log.footer.unwrap().sessions, Some(counts(12, 1)));
}

#[test]
fn a_page_that_several_shards_read_is_reported_once_and_on_the_run_s_clock() {
    let mut parts = shards(2);
    let page = |name: &str| TelemetrySource {
        url: format!("http://{name}/metrics"),
        kind: Some(PageKind::Vllm),
        hardware: None,
        driver: None,
    };
    let reading = |source, at| Reading {
        source,
        asked: Timestamp::from_nanos(at),
        answered: Timestamp::from_nanos(at + 1),
        gauges: [(Gauge::Running, at as f64)].into(),
        ..Reading::default()
    };
    parts[0].log.header.telemetry = vec![page("a")];
    parts[0].log.telemetry.readings = vec![reading(0, 10), reading(0, 30)];
    parts[1].log.header.telemetry = vec![page("b"), page("a")];
    parts[1].log.telemetry.readings = vec![reading(0, 5), reading(1, 12)];
    parts[1].log.header.started_at += Duration::from_nanos(10);
    let log = merge(parts.clone()).unwrap().log;
    assert_eq!(log.header.telemetry, [page("a"), page("b")]);
    let later = Reading { asked: Timestamp::from_nanos(15), answered: Timestamp::from_nanos(16), ..reading(1, 5) };
    assert_eq!(log.telemetry.readings, [reading(0, 10), later.clone(), reading(0, 30)]);
    // The first could not read its page before the run: the second's description counts, once.
    parts[0].log.header.telemetry[0].kind = None;
    parts[0].log.telemetry.readings.clear();
    let log = merge(parts).unwrap().log;
    assert_eq!(log.header.telemetry, [page("a"), page("b")]);
    let of_second = Reading { asked: Timestamp::from_nanos(22), answered: Timestamp::from_nanos(23), ..reading(0, 12) };
    assert_eq!(log.telemetry.readings, [later, of_second]);
}
