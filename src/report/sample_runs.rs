//! Runs that the writers of formats are tested with.

use super::RunReport;
use crate::analysis::summarise;
use crate::analysis::test_runs::{class, record, run};
use crate::clock::Timestamp;
use crate::record::{
    ClientFacts, ClientSample, Counter, Delays, DeviceReading, Failure, FailureKind, Gauge, PageKind, Reading, RunLog,
    ServerTime, TelemetrySource, TimeHistogram,
};
use crate::workload::{Priority, Slo};

/// Signs that mean something to Markdown, HTML, XML, a terminal, `OpenMetrics` or `GitHub`.
pub(super) const HOSTILE: &str = "a|b\\|c `x` ``` *d* _e_ <script>alert(1)</script> ]]> & \"q\" 'q' @all #1 ![i](u)\n# \
    EOF\n\u{1b}[31m\u{202e}\0$f$";

/// Returns what `write` makes of a run with these objectives.
pub(super) fn report<T>(log: &RunLog, objectives: &[&str], write: impl FnOnce(RunReport<'_>) -> T) -> T {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let summary = summarise(log, &objectives);
    write(RunReport { log, summary: &summary, diagnosis: None })
}

/// An SLO of this TTFT in milliseconds, and of a TPOT of 50.
pub(super) fn slo(ttft: f64) -> Slo {
    Slo { ttft_ms: Some(ttft), tpot_ms: Some(50.0), e2e_ms: None }
}

/// Ten requests a second for a minute by vLLM. They have two priorities with an SLO each, and a TTFT from 100 to 400
/// ms.
pub(super) fn minute() -> RunLog {
    let records = (0..600).map(|i| {
        let at = i * 100;
        let priority = if i % 10 < 7 { Priority::High } else { Priority::Medium };
        let first = at + 100 + (i * 37) % 300;
        record(i).class(0, priority).sent_at(at, at, at + 1).paced(first, 20 + i % 7, 40).usage(112, 40).build()
    });
    let mut log = run(60_000, records.collect());
    log.header.workload.name = "short_chat".to_owned();
    log.header.workload.classes = vec![class("chat", &[(Priority::High, slo(200.0)), (Priority::Medium, slo(500.0))])];
    log
}

/// Three requests of three outcomes. One came whole, one broke off after two tokens, one was cut off without any.
pub(super) fn three() -> RunLog {
    let whole = record(0).sent_at(0, 2, 10).chunks(&[(110, 1), (130, 2), (160, 1)]).usage(112, 4).build();
    let broken = record(1)
        .sent_at(500, 500, 501)
        .chunks(&[(601, 1), (651, 1)])
        .failed(700, Failure::new(FailureKind::Truncated, "the stream ended without a finish reason"))
        .build();
    let censored = record(2).sent_at(900, 900, 905).asked(8).censored(5_000).build();
    run(1_000, vec![censored, broken, whole])
}

/// A run in which all that a server or a person says is [`HOSTILE`].
pub(super) fn hostile() -> RunLog {
    let mut log = three();
    let failed = record(3).sent_at(950, 950, 951);
    log.records.push(failed.failed(960, Failure::new(FailureKind::HttpStatus(500), HOSTILE)).build());
    log.header.plan.measured_requests += 1;
    let own = |name: &str| format!("{name} {HOSTILE}");
    log.header.workload.name = own("workload");
    log.header.engines[0].model = own("model");
    log.header.engines[0].server_version = Some(own("version"));
    log.header.deployment.hardware = Some(own("hardware"));
    log.header.deployment.labels.insert("flags".to_owned(), own("flags"));
    log.header.command.push(own("argument"));
    let two = [(Priority::High, Slo::default()), (Priority::Low, Slo::default())];
    log.header.workload.classes = vec![class(&own("class"), &two), class("other", &two)];
    log.records[0].class = 1;
    log.records[0].priority = Priority::Low;
    log
}

/// The minute with all that a server, its two GPUs and the client can tell. The server is read at its begin, its middle
/// and its end, the GPUs every ten seconds.
pub(super) fn observed() -> RunLog {
    let mut log = minute();
    let source = |kind| {
        let url = format!("http://host/{kind:?}");
        TelemetrySource { url, kind: Some(kind), hardware: None, driver: None }
    };
    log.header.telemetry = vec![source(PageKind::Vllm), source(PageKind::Dcgm)];
    let at = |second: u64| Timestamp::from_nanos(second * 1_000_000_000);
    let empty = |source, second| Reading { source, asked: at(second), answered: at(second), ..Reading::default() };
    // A server that had 100 requests behind it, and then 590 of 200 ms each, a tenth of them within 100 ms.
    let server = |second, requests: f64, running: f64| {
        let buckets = vec![(0.1, requests * 0.1), (0.25, requests * 0.9), (0.5, requests)];
        let times = TimeHistogram { count: requests, sum_s: requests * 0.2, buckets };
        let all = [
            ServerTime::Ttft,
            ServerTime::InterToken,
            ServerTime::Queue,
            ServerTime::Prefill,
            ServerTime::Decode,
            ServerTime::E2e,
        ];
        Reading {
            gauges: [
                (Gauge::Running, running),
                (Gauge::Waiting, running / 10.0),
                (Gauge::KvUsage, running / 40.0),
                (Gauge::CacheHitRate, 0.75),
                (Gauge::GenerationTokensPerS, 2_000.0),
            ]
            .into(),
            counters: [
                (Counter::PromptTokens, requests * 100.0),
                (Counter::GenerationTokens, requests * 40.0),
                (Counter::RequestsSucceeded, requests),
                (Counter::CacheQueries, requests * 100.0),
                (Counter::CacheHits, requests * 25.0),
                (Counter::Preemptions, if second > 0 { 5.0 } else { 2.0 }),
            ]
            .into(),
            histograms: all.map(|time| (time, times.clone())).into(),
            ..empty(0, second)
        }
    };
    let device = |busy, gib: f64, joules| DeviceReading {
        gauges: [(Gauge::Utilisation, busy), (Gauge::MemoryUsedBytes, gib * 1_073_741_824.0)].into(),
        counters: [(Counter::EnergyJ, joules)].into(),
    };
    // One draws 300 W, the other 100.
    let devices = |second: u64| Reading {
        devices: [
            ("0".to_owned(), device(0.9, 72.0, 5_000.0 + 300.0 * second as f64)),
            ("1".to_owned(), device(0.5, 40.0, 100.0 * second as f64)),
        ]
        .into(),
        ..empty(1, second)
    };
    log.telemetry.readings = (0..=6).map(|tens| devices(tens * 10)).collect();
    log.telemetry.readings.extend([server(0, 100.0, 0.0), server(30, 400.0, 20.0), server(60, 690.0, 10.0)]);
    log.telemetry.readings.sort_by_key(|reading| reading.answered);
    let delays = Delays { n: 600, p50_ns: 1_000_000, p99_ns: 2_000_000, max_ns: 9_000_000 };
    let footer = log.footer.as_mut().unwrap();
    footer.ended = at(62);
    footer.client = Some(ClientFacts {
        cpu_ns: 31_000_000_000,
        readers: None,
        loop_cpu_ns: 6_200_000_000,
        loop_delay: Some(delays),
        read_delay: Some(Delays { p99_ns: 500_000, ..delays }),
        stream_reads: None,
        host_stalls: Vec::new(),
        slept_ns: None,
        peak_memory_bytes: Some(50_000_000),
        priority_lost: false,
    });
    log.telemetry.client = vec![ClientSample { at: at(62), retransmits: Some(7), ..ClientSample::default() }];
    log
}
