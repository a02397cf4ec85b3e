//! Advice that knows its case: no cure names what the run did not use, or what the server already does.

use super::*;
use crate::record::{Outcome, RunLog, SessionCounts, Turn};
use crate::units::percent;
use crate::workload::Conversation;

/// Twenty answers of 4 tokens of 10, whose chunks nobody counted.
fn short() -> RunLog {
    let answer = |i| {
        let mut record = record(i).sent_at(i, i, i).paced(100 + i, 10, 3).asked(10).build();
        record.count(4);
        record
    };
    run(1_000, (0..20).map(answer).collect())
}

/// Every cure of a log: findings, reasons and checklist.
fn cures(log: &RunLog) -> Vec<String> {
    let summary = summarise(log, &[]);
    let findings = summary.findings.into_iter().map(|finding| finding.cure);
    let reasons = summary.verdict.reasons.into_iter().map(|reason| reason.cure);
    let items = summary.checklist.into_iter().flat_map(|list| list.items).filter_map(|item| item.cure);
    findings.chain(reasons).chain(items).collect()
}

#[test]
fn no_cure_names_what_the_run_did_not_use_or_already_does() {
    let refused = |status| {
        let mut log = short();
        for record in log.records.iter_mut().skip(5) {
            record.outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(status), "no").into());
        }
        log
    };
    let mut logs = vec![short(), refused(401), refused(403), refused(400), refused(429), refused(500)];
    for index in 0..logs.len() {
        for closed in [false, true] {
            let mut log = logs[index].clone();
            if closed {
                log.header.workload.arrival = ArrivalPattern::of_users(4, ThinkTime::default());
            }
            log.header.engines[0].streamed = closed;
            logs.push(log);
        }
    }
    for log in &mut logs {
        for engine in ["vllm", "sglang", "trtllm", "llamacpp", "tgi", "litellm", "openai", "mock"] {
            engine.clone_into(&mut log.header.engines[0].engine);
            let (streamed, closed) = (log.header.engines[0].streamed, log.header.workload.arrival.users().is_some());
            for cure in cures(log) {
                let names = |option: &str| cure.contains(option);
                assert!(!(streamed && names("leave --no-stream out")), "{engine}: {cure}");
                assert!(!(closed && names("lower the rate")), "{engine}: {cure}");
                assert!(!names("--salt"), "{engine}: {cure}");
                let may_empty = ["vllm", "sglang", "mock"].contains(&engine);
                assert!(may_empty || !names("--reset-cache"), "{engine}: {cure}");
                let forces = !["tgi", "litellm", "openai"].contains(&engine);
                assert!(!(forces && names("their own --engine") && names("forces its length")), "{engine}: {cure}");
            }
        }
    }
}

#[test]
fn a_length_that_was_forced_is_not_to_be_forced_by_another_engine() {
    let cure = |engine: &str, fields: Option<&str>| {
        let mut log = short();
        engine.clone_into(&mut log.header.engines[0].engine);
        log.header.engines[0].length_fields = fields.map(str::to_owned);
        let summary = summarise(&log, &[]);
        summary.findings.into_iter().find(|finding| finding.kind == FindingKind::OutputLength).unwrap().cure
    };
    assert!(cure("vllm", None).contains("ignore_eos out: it was sent"));
    assert!(cure("openai", Some("max_tokens, ignore_eos and min_tokens")).contains("it was sent"));
    assert!(cure("openai", None).contains("under their own --engine"));
    assert!(cure("vllm", Some("max_tokens")).contains("under their own --engine"));
}

#[test]
fn a_key_that_stops_being_accepted_is_no_matter_of_load() {
    let reason = |from: usize, status| {
        let mut log = short();
        for record in log.records.iter_mut().skip(from) {
            record.outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(status), "no").into());
        }
        summarise(&log, &[]).verdict.reasons.swap_remove(0).cure
    };
    assert!(reason(5, 401).starts_with("the server stopped taking the key during the run"), "{}", reason(5, 401));
    assert!(reason(0, 401).starts_with("the server refuses the key"), "{}", reason(0, 401));
    assert!(reason(5, 503).starts_with("lower the rate or fix the cause"), "{}", reason(5, 503));
}

#[test]
fn hits_that_the_server_counted_are_a_warm_cache_though_no_answer_says_so() {
    let with = |command: &str, hits| {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 10).usage(100, 10).build()]);
        log.header.command.push(command.to_owned());
        let counters =
            ServerCounters { cache_queries: Some(1_000), cache_hits: Some(hits), ..ServerCounters::default() };
        log.footer.as_mut().unwrap().server = Some(counters);
        let summary = summarise(&log, &[]);
        summary.findings.into_iter().find(|finding| finding.kind == FindingKind::WarmCache)
    };
    assert_eq!(with("", 40), None);
    let warm = with("", 960).unwrap();
    assert!(warm.sentence.starts_with("96 % of the prompt tokens") && !warm.cure.contains("--salt"), "{warm:?}");
    let salted = with("--salt=5", 960).unwrap();
    assert!(salted.sentence.contains("--salt repeats those of an earlier run"), "{salted:?}");
    assert!(with("--reset-cache", 960).unwrap().cure.contains("other clients"));
}

#[test]
fn a_cache_that_finds_something_is_on() {
    let cure = |hits| {
        let records = (0..10).map(|i| {
            let mut record = record(i).sent_at(i, i, i).paced(100 + i, 1, 1).usage(100, 1).build();
            record.prefix = Some(SharedPrefix { number: 0, tokens: 80 });
            record
        });
        let mut log = run(1_000, records.collect());
        let tokens = Distribution::Constant { value: 80 };
        log.header.workload.classes[0].shared_prefix = Some(SharedPrefixes { count: 1, tokens, zipf: 0.0, warm: 0.0 });
        let counters =
            ServerCounters { cache_queries: Some(1_000), cache_hits: Some(hits), ..ServerCounters::default() };
        log.footer.as_mut().unwrap().server = Some(counters);
        let findings = summarise(&log, &[]).findings;
        findings.into_iter().find(|finding| finding.kind == FindingKind::LostPrefixes).unwrap().cure
    };
    assert!(!cure(408).contains("prefix caching is on"), "{}: {}", percent(0.408), cure(408));
    assert!(cure(0).starts_with("check that prefix caching is on"), "{}", cure(0));
}

#[test]
fn an_empty_answer_that_the_next_turn_repeats_is_named() {
    let mut opener = record(0).sent_at(0, 0, 0).paced(100, 10, 10).build();
    opener.turn = Some(Box::new(Turn { of: Some(2), ..Turn::default() }));
    let mut log = run(1_000, vec![opener]);
    log.header.workload.classes[0].conversation = Some(Conversation {
        turns: Distribution::Constant { value: 2 },
        think_time_s: ThinkTime::default(),
        first_input_tokens: None,
        max_context_tokens: None,
    });
    let said = |log: &RunLog| sentence(&summarise(log, &[]), FindingKind::EmptyTurns);
    log.footer.as_mut().unwrap().sessions = Some(SessionCounts::default());
    assert_eq!(said(&log), None);
    log.footer.as_mut().unwrap().sessions = Some(SessionCounts { empty_answers: 3, ..SessionCounts::default() });
    assert!(said(&log).unwrap().starts_with("3 answers of conversations had no text"));
}

#[test]
fn a_head_that_is_not_typical_of_its_trace_is_named() {
    let said = |arrivals: Vec<u64>, sent: u64, input_tokens: f64| {
        let requests: u64 = arrivals.iter().sum();
        let found = TraceFindings {
            format: TraceFormat::BurstGpt,
            requests,
            ends_s: 100.0,
            warmup_s: None,
            bin_s: 100.0 / arrivals.len() as f64,
            arrivals,
            peak_per_s: 1,
            same_moment: 0,
            input_tokens,
            output_tokens: 10.0,
            reusable_share: None,
            too_many_blocks: false,
            kinds: Vec::new(),
            skipped_lines: 0,
            nearest_drawn: 0,
            reordered: 0,
        };
        let answer = |i| record(i).sent_at(i, i, i).paced(100 + i, 10, 10).build();
        let mut log = run(10_000, (0..sent).map(answer).collect());
        let trace = Trace { found: Some(found), ..Trace::whole("a.csv") };
        log.header.workload.arrival = ArrivalPattern::Trace(Box::new(trace));
        sentence(&summarise(&log, &[]), FindingKind::UnevenArrivals)
    };
    let quiet = said([vec![2], vec![100; 9]].concat(), 2, 100.0).unwrap();
    assert!(quiet.contains("not typical of it: 0.200 requests/s, and 9.02 in all of it"), "{quiet}");
    assert_eq!(said(vec![100; 10], 40, 100.0), None, "as the whole of it");
    let short = said(vec![100; 10], 40, 300.0).unwrap();
    assert!(short.contains("prompts of 100 tokens on average, and 300 in all of it"), "{short}");
}
