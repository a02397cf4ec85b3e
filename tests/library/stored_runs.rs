//! Runs stored by every format of the past still load, and say what they said.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skyline::analysis::{CountBeside, Figure, Judgement, Metric, Quantile, Status, summarise};
use skyline::experiment::{Load, LoadClass, Sweep};
use skyline::generator::check_plan;
use skyline::record::{
    EngineFacts, Failure, FailureKind, Gauge, LogLine, Outcome, PageKind, PartKind, PlanCheck, Predecessor, Release,
    RequestRecord, RunHeader, RunLog, RunLogError, RunLogWriter, ServerTime, StampSource, WorkKind,
};

fn stored(schema: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/runs/schema-{schema}"))
}

#[test]
fn every_schema_has_a_stored_run() {
    for schema in 1..=RunHeader::SCHEMA {
        assert!(stored(schema).join(RunLog::FILE_NAME).exists(), "keep a run of schema {schema}");
    }
}

/// Eight rates of a small model on a CPU, two runs each.
#[test]
fn a_sweep_of_schema_1_says_what_it_said() {
    use LoadClass::{Failed, Passed, Saturated, Undecided};

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/sweep-schema-1");
    let sweep = Sweep::read(&folder).unwrap();
    assert_eq!(sweep.schema, Sweep::SCHEMA, "it is read into the newest form");
    let answer = sweep.answer.unwrap();
    assert_eq!((answer.passed, answer.failed), (Some(Load::Rate(50.0)), Some(Load::Rate(90.0))));
    assert!(sweep.sustained.unwrap().held);
    let classes: Vec<_> = sweep.points.iter().map(|point| point.class).collect();
    assert_eq!(classes, [Passed, Passed, Passed, Undecided, Failed, Saturated, Saturated]);
}

#[test]
fn schema_1_says_what_it_said() {
    let log = RunLog::read(&stored(1)).unwrap();
    let objectives: Vec<_> = log.header.objectives.iter().map(|text| text.parse().unwrap()).collect();
    let summary = summarise(&log, &objectives);
    assert!(summary.verdict.valid);
    assert_eq!((summary.requests.planned, summary.requests.completed), (6, 6));
    assert_eq!(summary.window.warmup_requests, 1);
    // Its figures meet the objectives; six requests are too few to say so of percentiles.
    let missed = |judged: &Judgement| judged.status == Status::Missed;
    assert!(!summary.objectives.is_empty() && !summary.objectives.iter().any(missed));
    // First token minus scheduled moment of its six requests, by hand: 42.737773 … 135.744843 ms.
    let ttft = summary.latency.row(Metric::Ttft).unwrap();
    assert_eq!((ttft.min, ttft.max), (Figure::Exact(42.737_773), Figure::Exact(135.744_843)));
    assert!((ttft.mean_ms.unwrap() - 79.548_761_333).abs() < 1e-6);
    assert_eq!(ttft.percentile(Quantile::P50).figure, Figure::Exact(75.153_626_5));
    assert_eq!(ttft.n, 6);
}

#[test]
fn schema_2_says_what_it_said() {
    let log = RunLog::read(&stored(2)).unwrap();
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    assert_eq!(log.header.stamps, StampSource::KernelReceived);
    assert!(log.header.calibration.is_some());
    // By hand: 32.350639 … 32.444572 ms.
    let ttft = summary.latency.row(Metric::Ttft).unwrap();
    assert_eq!((ttft.n, ttft.min, ttft.max), (6, Figure::Exact(32.350_639), Figure::Exact(32.444_572)));
    let footer = log.footer.unwrap();
    assert_eq!(footer.present_ns, Some(771_249_966));
    assert_eq!(footer.server.unwrap().generation_tokens, Some(28), "six answers of four tokens, and the warm-up's");
    assert_eq!(footer.client.unwrap().loop_delay.unwrap().n, 188);
}

#[test]
fn schema_3_says_what_it_said() {
    let log = RunLog::read(&stored(3)).unwrap();
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    assert_eq!(log.header.engines[0].cache_block_tokens, Some(16));
    // 13 requests of 48 tokens, 40 of them shared: two whole blocks. The first prefix was sent before the run for both
    // models; the first request of the second misses for each of them.
    let cache = summary.prefix_cache.as_ref().unwrap();
    assert_eq!((cache.prefixes, cache.expected_least), (Some(4), 352.0 / 624.0));
    assert_eq!(cache.measured.unwrap().rate, cache.expected_least);
    let groups = |kind| -> Vec<(String, u64)> {
        summary.parts_of(kind).into_iter().map(|part| (part.name.clone(), part.requests)).collect()
    };
    let named = |name: &str, requests| (name.to_owned(), requests);
    assert_eq!(groups(PartKind::Tenant), [named("steady", 7), named("noisy", 2)]);
    assert_eq!(groups(PartKind::Model), [named("base", 7), named("sql", 2)]);
    assert_eq!(summary.fairness.unwrap().service, Some(1.0));
}

#[test]
fn schema_4_says_what_it_said() {
    let log = RunLog::read(&stored(4)).unwrap();
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    let page = &log.header.telemetry[0];
    assert_eq!(page.kind, Some(PageKind::Vllm));
    assert_eq!((log.telemetry.readings.len(), log.telemetry.client.len()), (7, 1));
    let server = summary.server.unwrap();
    // By hand, from the readings at the ends of the window: ten first tokens in it, and nine whole answers.
    let ttft = server.times[&ServerTime::Ttft];
    assert_eq!(ttft.count, 10.0);
    assert!((ttft.mean_ms - 45.639_479).abs() < 1e-9, "{ttft:?}");
    let both = server.accounts.unwrap();
    assert_eq!(both.requests, Some(CountBeside { client: 9, server: 9.0 }));
    assert_eq!(both.output_tokens, Some(CountBeside { client: 39, server: 39.0 }));
    assert_eq!(server.gauge(Gauge::Running).unwrap().max, 1.0);
    assert!(log.telemetry.client[0].memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
}

#[test]
fn schema_5_says_what_it_said() {
    let log = RunLog::read(&stored(5)).unwrap();
    let summary = summarise(&log, &[]);
    assert_eq!((log.header.schema, log.telemetry.readings.len()), (5, 5));
    // By hand: 199.416693 − 166.666666 … 702.029421 − 666.666666 … 371.601864 − 333.333333 ms.
    let ttft = summary.latency.row(Metric::Ttft).unwrap();
    assert_eq!(ttft.n, 6);
    assert_eq!((ttft.min, ttft.max), (Figure::Exact(32.468_184), Figure::Exact(38.268_531)));
}

#[test]
fn schema_6_says_what_it_said() {
    let log = RunLog::read(&stored(6)).unwrap();
    assert!(log.damage.is_none() && log.unended.is_empty());
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    // By hand: 757.710355 − 750 … 1007.880488 − 1000 ms.
    let ttft = summary.latency.row(Metric::Ttft).unwrap();
    assert_eq!((ttft.n, ttft.min, ttft.max), (8, Figure::Exact(7.710_355), Figure::Exact(7.880_488)));
}

#[test]
fn schema_7_says_what_it_said_of_its_one_server() {
    let (seven, eight) = (RunLog::read(&stored(7)).unwrap(), RunLog::read(&stored(8)).unwrap());
    assert!(seven.damage.is_none());
    assert_eq!((seven.header.schema, seven.header.engines.len()), (7, 1));
    assert_eq!(RunHeader { schema: 8, ..seven.header }, eight.header);
    assert_eq!(seven.records, eight.records);
}

#[test]
fn schema_8_says_what_it_said_of_several_servers_and_of_clients_who_leave() {
    let mut log = RunLog::read(&stored(8)).unwrap();
    assert!(log.damage.is_none());
    let before = summarise(&log, &[]);
    assert_eq!((before.requests.completed, before.requests.cancelled), (8, 0));
    assert_eq!((log.records[1].target, log.records[1].work, &log.records[1].release), (0, WorkKind::Tokens, &None));
    let second = EngineFacts { url: "http://10.0.0.8:8000".to_owned(), ..log.header.engine().clone() };
    log.header.engines.push(second);
    let released = Release::Any([0, 1].map(|index| Predecessor { index, delay_ns: 5_000_000 }).to_vec());
    log.records[1] = RequestRecord {
        target: 1,
        work: WorkKind::Items,
        release: Some(released.into()),
        outcome: Outcome::Cancelled,
        ..log.records[1].clone()
    };
    let folder = tempfile::tempdir().unwrap();
    log.store(folder.path()).unwrap();
    assert_eq!(RunLog::read(folder.path()).unwrap(), log);
    let summary = summarise(&log, &[]);
    let counts = summary.requests;
    assert_eq!((counts.executed(), counts.completed, counts.failed, counts.cancelled), (8, 7, 0, 1));
    assert_eq!((counts.unrecorded, summary.failures.error_rate), (0, Some(0.0)));
    // No record is of a server that the header lacks.
    log.records[2].target = 2;
    let folder = tempfile::tempdir().unwrap();
    let refused = log.store(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("server 3 of 2 does not exist"), "{refused}");
}

#[test]
fn schema_9_says_what_the_requests_of_its_graph_waited_for() {
    let log = RunLog::read(&stored(9)).unwrap();
    assert!(log.damage.is_none());
    assert!(matches!(check_plan(&log), PlanCheck::Held { records: 6, .. }), "{:?}", check_plan(&log));
    // By hand: the first of the three that it waits for ends at 1,090.322952 ms, and 20 ms pass.
    let answer = log.records.iter().find(|record| matches!(record.release.as_deref(), Some(Release::Any(_)))).unwrap();
    assert_eq!(answer.scheduled.as_nanos(), 1_110_322_952);
    let summary = summarise(&log, &[]);
    let sessions = summary.sessions.unwrap();
    assert_eq!((sessions.begun, sessions.completed, sessions.turns_sent, sessions.broken_off), (1, 1, 6, 0));
    // Its counters found 960 of 1,464 tokens, and so says the plan. By hand, in blocks of 16: 160 of the prefix for each
    // explorer, 192 of the 206 said before the loop and before the answer, 256 of the 266 before the loop's second turn.
    let cache = summary.prefix_cache.unwrap();
    let measured = cache.measured.unwrap().rate;
    assert!((measured - 960.0 / 1_464.0).abs() < 1e-12, "{measured}");
    assert!((cache.expected_least - 960.0 / 1_464.0).abs() < 1e-12, "{cache:?}");
}

#[test]
fn a_header_has_a_server() {
    let text = std::fs::read_to_string(stored(8).join(RunLog::FILE_NAME)).unwrap();
    let header = |engines: Value| {
        let mut header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        header["header"]["engines"] = engines;
        serde_json::from_value::<RunHeader>(header["header"].take())
    };
    let one = serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()["header"]["engines"][0].take();
    assert_eq!(header(one.clone()).unwrap(), header(json!([one])).unwrap());
    let refused = header(json!([])).unwrap_err().to_string();
    assert!(refused.contains("a server, or a list of one or more"), "{refused}");
}

/// Until schema 4 host stalls were `pauses`, the moment of a reading was `asked_ns`, and the slots of a simulated server
/// were `places`.
#[test]
fn what_schema_4_calls_otherwise_is_read() {
    let text = std::fs::read_to_string(stored(4).join(RunLog::FILE_NAME)).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[0]["header"]["engine"]["modelled"] = json!({"places": 16, "ttft": "80ms"});
    let last = lines.len() - 1;
    lines[last]["footer"]["client"]["pauses"] = json!([{"from_ns": 300_000_000, "length_ns": 20_000_000}]);
    assert!(lines.iter().any(|line| line["reading"]["asked_ns"].is_u64()));
    let folder = tempfile::tempdir().unwrap();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(folder.path().join(RunLog::FILE_NAME), text.join("\n") + "\n").unwrap();
    let log = RunLog::read(folder.path()).unwrap();
    assert_eq!(Value::Object(log.header.engines[0].modelled.clone()), json!({"slots": 16, "ttft": "80ms"}));
    assert_eq!(log.footer.as_ref().unwrap().client.as_ref().unwrap().host_stalls[0].length_ns, 20_000_000);
    assert_eq!(summarise(&log, &[]).host_stalls.unwrap().count, 1);
}

#[test]
fn a_log_survives_being_written_and_read() {
    let log = RunLog::read(&stored(RunHeader::SCHEMA)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    log.store(folder.path()).unwrap();
    assert_eq!(RunLog::read(folder.path()).unwrap(), log);
    // A log is never written over.
    assert!(RunLogWriter::create(folder.path(), &log.header).is_err());
}

#[test]
fn a_log_that_was_cut_off_keeps_what_was_whole() {
    let whole = std::fs::read_to_string(stored(1).join(RunLog::FILE_NAME)).unwrap();
    let log = RunLog::read(&stored(1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(RunLog::FILE_NAME);
    let (third_line, _) = whole.match_indices('\n').nth(1).unwrap();
    std::fs::write(&path, &whole[..third_line + 50]).unwrap();
    let cut = RunLog::read(&path).unwrap();
    assert_eq!((&cut.header, cut.records.len(), cut.footer.is_none()), (&log.header, 1, true));
    assert_eq!(cut.records[0], log.records[0]);
    assert!(!summarise(&cut, &[]).verdict.valid);
}

#[test]
fn a_log_that_was_cut_inside_a_character_keeps_what_was_whole() {
    let log = RunLog::read(&stored(1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RunLogWriter::create(folder.path(), &log.header).unwrap();
    let mut failed = log.records[0].clone();
    failed.outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(500), "mémoire").into());
    writer.append(LogLine::Request(&log.records[0])).unwrap();
    writer.append(LogLine::Request(&failed)).unwrap();
    writer.flush().unwrap();
    let path = folder.path().join(RunLog::FILE_NAME);
    let bytes = std::fs::read(&path).unwrap();
    let inside = bytes.windows(2).position(|pair| pair == "é".as_bytes()).unwrap() + 1;
    std::fs::write(&path, &bytes[..inside]).unwrap();
    assert_eq!(RunLog::read(&path).unwrap().records[..], log.records[..1]);
}

/// What is said of the stored run when `change` has been at one of its lines, counted from 1.
fn changed(number: usize, change: fn(&mut Value)) -> Result<RunLog, String> {
    let whole = std::fs::read_to_string(stored(1).join(RunLog::FILE_NAME)).unwrap();
    let mut lines: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines[number - 1]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(RunLog::FILE_NAME);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let log = RunLog::read(folder.path()).map_err(|error| {
        let said = error.to_string();
        let rest = said.strip_prefix(&format!("{}, line 1: ", path.display())).unwrap_or(&said);
        let hint =
            "\nhint: the log was damaged or changed since it was written; use a copy that was not, or repeat the run";
        rest.strip_suffix(hint).unwrap_or(&said).to_owned()
    })?;
    let Some(said) = log.damage.first.first() else { return Ok(log) };
    assert_eq!((log.damage.lost_lines, log.damage.faults), (1, 1), "{said}");
    Err(said.strip_prefix(&format!("line {number} is not believed: ")).unwrap_or(said).to_owned())
}

#[test]
fn what_cannot_have_been_is_not_believed() {
    assert_eq!(changed(1, |_| {}), RunLog::read(&stored(1)).map_err(|error| error.to_string()));
    let refused = |number, change| changed(number, change).unwrap_err();
    for (said, expected) in [
        (
            refused(1, |line| line["header"]["plan"]["window_end_ns"] = 400_000_000.into()),
            "the window ends at 0.4 s, before it begins at 0.5 s",
        ),
        (refused(1, |line| line["header"]["shard"] = json!({"number": 3, "of": 2})), "shard 3 of 2 does not exist"),
        (
            refused(1, |line| line["header"]["repeat"] = json!({"number": 0, "of": 2, "first_seed": 1})),
            "repeat 0 of 2 does not exist",
        ),
        (
            refused(1, |line| line["header"]["plan"]["measured_requests"] = u64::MAX.into()),
            "measured_requests is 18446744073709551615, more than can be counted in a run",
        ),
        (
            refused(3, |line| line["request"]["class"] = 1.into()),
            "request 1: class 1 does not exist; the workload has 1, numbered from 0",
        ),
        (
            refused(3, |line| line["request"]["priority"] = "high".into()),
            "request 1: the class \"chat\" has no requests of high priority",
        ),
        (
            refused(3, |line| line["request"]["tenant"] = 0.into()),
            "request 1: tenant 0 does not exist; the workload has 0, numbered from 0",
        ),
        (
            refused(3, |line| line["request"]["model"] = 2.into()),
            "request 1: model 2 does not exist; the workload has 0, numbered from 0",
        ),
        (
            refused(3, |line| line["request"]["prefix"] = json!({"number": 1, "tokens": 4})),
            "request 1: the class \"chat\" has no shared prefix 1",
        ),
        (
            refused(3, |line| line["request"]["phase"] = "cooldown".into()),
            "request 1: it was scheduled at 0.5 s, and the cool-down begins at 2 s",
        ),
        (
            refused(3, |line| line["request"]["scheduled_ns"] = 9_000_000_000_u64.into()),
            "request 1: it was scheduled at 9 s, and the window is from 0.5 s to 2 s",
        ),
        (
            refused(3, |line| line["request"]["scheduled_ns"] = 2_900_000_000_u64.into()),
            "request 1: it was dispatched at 0.500000706 s, before it was scheduled at 2.9 s",
        ),
        (
            refused(3, |line| line["request"]["chunks"]["gaps_ns"][1] = 9_000_000_000_u64.into()),
            "request 1: it ended at 0.678576433 s, before its last chunk came at 9.648171111 s",
        ),
        (
            refused(3, |line| line["request"]["sent_ns"] = (-5).into()),
            "line 3 cannot be read (invalid value: integer `-5`, expected u64 at line 1 column 181)",
        ),
        (
            refused(3, |line| line["request"]["usage"]["completion_tokens"] = u64::MAX.into()),
            "request 1: completion_tokens is 18446744073709551615, more than can be counted in a run",
        ),
        (
            refused(3, |line| line["request"]["usage"]["cached_tokens"] = u64::MAX.into()),
            "request 1: cached_tokens is 18446744073709551615, more than can be counted in a run",
        ),
        (
            refused(3, |line| line["request"]["admitted_ns"] = 1_000_000_000_000_000_000_u64.into()),
            "request 1: it ended at 0.678576433 s, before it was admitted at 1000000000 s",
        ),
        (
            refused(1, |line| line["header"]["shard"] = json!({"number": 1, "of": 20_000})),
            "it is one of 20000 shards; there are 10000 at most",
        ),
        (
            refused(9, |line| line["footer"]["ended_ns"] = u64::MAX.into()),
            "the run's end is 18446744073.709553 s, over a year after the beginning",
        ),
        (refused(3, |line| *line = json!({"counted": {"index": 0, "tokens": 5}})), "request 0 has no answer to count"),
        (
            refused(3, |line| *line = json!({"counted": {"index": 0, "tokens": u64::MAX}})),
            "request 0: the number of its tokens is 18446744073709551615, more than can be counted in a run",
        ),
    ] {
        assert_eq!(said, expected);
    }
}

/// A picture over such a value has no end.
#[test]
fn a_page_of_metrics_that_nobody_can_have_told_is_refused() {
    let log = std::fs::read_to_string(stored(4).join(RunLog::FILE_NAME)).unwrap();
    let mut lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let read = |lines: &[Value]| {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(folder.path().join(RunLog::FILE_NAME), lines.join("\n") + "\n").unwrap();
        RunLog::read(folder.path()).map_err(|error| error.to_string())
    };
    assert!(read(&lines).unwrap().damage.is_none());
    lines[1]["reading"]["gauges"]["running"] = json!(1e300);
    let said = |lines: &[Value]| read(lines).unwrap().damage.in_words();
    assert!(said(&lines).contains("line 2 is not believed: a reading has a value of 1e300, too large"));
    lines[1]["reading"]["gauges"]["running"] = json!(0.0);
    lines[1]["reading"]["devices"] = json!({"0": {"gauges": {"power_w": -1e19}}});
    assert!(said(&lines).contains("too large for a measurement"));
}

#[test]
fn what_is_no_log_is_answered_with_file_line_and_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(RunLog::FILE_NAME);
    let whole = std::fs::read_to_string(stored(1).join(RunLog::FILE_NAME)).unwrap();
    let said = |text: &str| {
        std::fs::write(&path, text).unwrap();
        RunLog::read(&path).unwrap_err().to_string()
    };
    assert!(said("").contains("line 1: the file is empty"));
    assert!(said("{}\n").contains("line 1"));
    let (header, rest) = whole.split_once('\n').unwrap();
    let damage = |text: &str| {
        std::fs::write(&path, text).unwrap();
        RunLog::read(&path).unwrap().damage.in_words()
    };
    assert!(damage(&format!("{whole}nonsense\n")).contains("line 10 comes after the end of the run"));
    assert!(damage(&whole.repeat(2)).contains("and 6 more; no line is lost"));
    assert!(damage(&format!("{header}\n{header}\n{rest}")).contains("line 2 is a second header"));
    let newer = whole.replacen("\"schema\":1", "\"schema\":99", 1);
    for newer in [&newer, &newer.replacen("\"seed\"", "\"seeds\"", 1)] {
        let error = said(newer);
        assert!(error.contains("schema 99") && error.contains("newer skyline"), "{error}");
    }
    assert!(matches!(RunLog::read(Path::new("no/such/run")), Err(RunLogError::Io { .. })));
}
