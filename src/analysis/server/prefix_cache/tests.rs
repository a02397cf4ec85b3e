//! Hit rates of small runs, worked out by hand.

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::clock::Timestamp;
use crate::record::{
    CachePreparation, CheckRecord, CheckResult, Failure, FailureKind, Outcome, Phase, ServerCounters, Shard,
    SharedPrefix, Turn, Usage,
};
use crate::workload::{ArrivalPattern, CacheState, Distribution, SharedPrefixes, Trace, TraceFindings, TraceFormat};

/// The cache of a log without pages of metrics.
fn cache_of(log: &RunLog) -> Option<PrefixCacheFigures> {
    PrefixCacheFigures::new(log, MeasuredHits::new(log, None))
}

#[test]
fn what_golden_prompts_found_is_not_counted() {
    let mut log = log(&[(0, Some(0)), (0, Some(0))], 0);
    let counters = ServerCounters { cache_hits: Some(64), cache_queries: Some(250), ..Default::default() };
    log.footer.as_mut().unwrap().server = Some(counters);
    let rate = |log: &RunLog| cache_of(log).unwrap().measured.unwrap().rate;
    assert_eq!(rate(&log), 64.0 / 250.0);
    // Two of 25 tokens under load found a block of 16 each, one before the run came before the counters.
    let usage = Usage { prompt_tokens: 25, completion_tokens: 3, ..Usage::default() };
    let asked =
        |released| CheckRecord { check: 0, released, result: CheckResult::Passed, excerpt: None, usage: Some(usage) };
    let moment = Timestamp::from_nanos(1);
    log.checks = vec![asked(None), asked(Some(moment)), asked(Some(moment))];
    assert_eq!(rate(&log), 32.0 / 200.0);
}

#[test]
fn what_primes_a_cache_is_left_out_of_the_plan_and_of_what_was_measured() {
    let mut log = log(&[(0, Some(1)), (0, Some(1)), (0, Some(1))], 0);
    log.records[0].phase = Phase::Warmup;
    close(cache_of(&log).unwrap().expected_least, 64.0 / 300.0);
    log.header.workload.cache = Some(CacheState::Primed);
    // It still puts its prefix into the cache, where the others find it.
    close(cache_of(&log).unwrap().expected_least, 64.0 / 200.0);
    let measured = |log: &RunLog, source| {
        let hits = cache_of(log).unwrap().measured.unwrap();
        assert_eq!(hits.source, source);
        hits.rate
    };
    let mut counted = log.clone();
    counted.footer.as_mut().unwrap().server =
        Some(ServerCounters { cache_queries: Some(300), cache_hits: Some(80), ..ServerCounters::default() });
    close(measured(&counted, HitSource::Counters), 80.0 / 200.0);
    // Of what was found, it had a block, as its answer says.
    counted.records[0].usage = Some(Usage { cached_tokens: Some(16), ..counted.records[0].usage.unwrap() });
    close(measured(&counted, HitSource::Counters), 64.0 / 200.0);
    for record in &mut log.records {
        record.usage = Some(Usage { cached_tokens: Some(32), ..record.usage.unwrap() });
    }
    close(measured(&log, HitSource::Usage), 64.0 / 200.0);
}

/// Requests at 0, 1, 2 … ms with these models and prefixes. They have 100 tokens, and as many in the template as given.
fn log(requests: &[(u16, Option<u32>)], template: u64) -> RunLog {
    let records = (0..).zip(requests).map(|(i, &(model, number))| {
        let mut record = record(i).sent_at(i, i, i).paced(100 + i, 10, 2).usage(100 + template, 2).build();
        record.prefix = number.map(|number| SharedPrefix { number, tokens: 40 });
        record.model = Some(model);
        record
    });
    let mut log = run(1_000, records.collect());
    log.header.workload.classes[0].shared_prefix =
        Some(SharedPrefixes { count: 4, tokens: Distribution::Constant { value: 40 }, zipf: 0.0, warm: 0.5 });
    log
}

fn close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
}

#[test]
fn the_second_request_of_a_prefix_hits_whole_blocks() {
    let cache = cache_of(&log(&[(0, Some(1)), (0, Some(1)), (1, Some(1)), (0, None)], 0)).unwrap();
    // One hit of 2 blocks of 16: another model computes its own.
    close(cache.expected_least, 32.0 / 400.0);
    close(cache.expected_most, 32.0 / 400.0);
    assert_eq!((cache.prefixes, cache.prefix_tokens, cache.measured), (Some(2), Some(80), None));
    assert!(cache_of(&run(1_000, vec![record(0).sent_at(0, 0, 0).build()])).is_none());
}

/// Makes one conversation of the requests of `log`. The history of each has so many tokens more.
fn converse(log: &mut RunLog, history_tokens: u32) {
    log.header.workload.classes[0].conversation = Some(crate::workload::Conversation {
        turns: Distribution::Constant { value: 2 },
        think_time_s: crate::workload::ThinkTime::default(),
        first_input_tokens: None,
        max_context_tokens: None,
    });
    for (number, record) in (0..).zip(&mut log.records) {
        record.index = Turn::index_of(5, number);
        record.turn = Some(
            Turn { session: 5, number, of: Some(2), history_tokens: history_tokens * number, ..Turn::default() }.into(),
        );
    }
}

#[test]
fn a_later_turn_hits_what_was_said_before() {
    // 100 tokens and 30 of the template, 2 of an answer; then 102 of history and 50 more, with 40 of the template.
    let mut log = log(&[(0, None), (0, None)], 30);
    log.header.workload.classes[0].shared_prefix = None;
    assert_eq!(cache_of(&log), None);
    converse(&mut log, 102);
    log.records[1].usage = Some(Usage { prompt_tokens: 192, ..log.records[1].usage.unwrap() });
    let cache = cache_of(&log).unwrap();
    // Of 322 tokens, 101 are 6 whole blocks, and with the template's the server counted 131: 8 of them.
    close(cache.expected_least, 96.0 / 322.0);
    close(cache.expected_most, 128.0 / 322.0);
    assert_eq!((cache.prefixes, cache.prefix_tokens), (Some(0), Some(0)));
}

/// The server counted 50 of 100 tokens that were estimated.
#[test]
fn no_more_is_shared_than_the_server_counted() {
    let mut log = log(&[(0, None), (0, None)], 0);
    log.header.workload.classes[0].shared_prefix = None;
    converse(&mut log, 80);
    log.records[1].usage = Some(Usage { prompt_tokens: 50, ..log.records[1].usage.unwrap() });
    let cache = cache_of(&log).unwrap();
    // Half of 79 tokens are 2 whole blocks. The one before had more than 50 tokens, of which 3 blocks are whole.
    close(cache.expected_least, 32.0 / 150.0);
    close(cache.expected_most, 48.0 / 150.0);
}

#[test]
fn what_was_sent_before_the_run_hits_at_once() {
    let mut log = log(&[(0, Some(1)), (0, Some(1)), (0, Some(2))], 0);
    log.header.cache = Some(CachePreparation { emptied: true, warmed_prefixes: 2 });
    // Number 2 is the third of four, and only the first two are warm.
    close(cache_of(&log).unwrap().expected_least, 64.0 / 300.0);
}

#[test]
fn a_template_may_add_a_block_and_is_shared_itself() {
    // 30 tokens more: 70 tokens are 4 blocks, and 30 alone are one.
    let cache = cache_of(&log(&[(0, Some(1)), (0, Some(1)), (0, Some(2)), (0, None)], 30)).unwrap();
    close(cache.expected_least, 32.0 / 520.0);
    close(cache.expected_most, (64.0 + 16.0 + 16.0) / 520.0);
}

#[test]
fn only_requests_that_were_looked_up_are_expected_to_hit() {
    let mut log = log(&[(0, Some(1)), (0, Some(1)), (0, Some(1)), (0, Some(1))], 0);
    log.records[0].outcome = Outcome::Failed(Failure::new(FailureKind::HttpStatus(503), "not now".to_owned()).into());
    log.records[0].usage = None;
    // The first was refused, so that the second is the first of its prefix; by hand: 2 hits among 3.
    close(cache_of(&log).unwrap().expected_least, 64.0 / 300.0);
    // The last was cut off: nobody knows what the cache gave it, once answers are all that tells.
    log.records[2].usage = Some(Usage { cached_tokens: Some(32), ..log.records[2].usage.unwrap() });
    log.records[3].usage = None;
    let cache = cache_of(&log).unwrap();
    close(cache.expected_least, 32.0 / 200.0);
    close(cache.measured.unwrap().rate, 32.0 / 200.0);
    log.header.shard = Some(Shard { number: 1, of: 2 });
    assert_eq!(cache_of(&log), None, "the other shard warms the same cache");
}

#[test]
fn a_trace_says_what_all_of_its_slice_shares() {
    let mut log = log(&[(0, None), (0, None)], 10);
    log.header.workload.classes[0].shared_prefix = None;
    let found = TraceFindings {
        format: TraceFormat::Mooncake,
        requests: 2,
        ends_s: log.header.workload.horizon_s,
        warmup_s: None,
        bin_s: 1.0,
        arrivals: vec![2],
        peak_per_s: 2,
        same_moment: 0,
        input_tokens: 100.0,
        output_tokens: 2.0,
        reusable_share: Some(0.5),
        too_many_blocks: false,
        kinds: Vec::new(),
        skipped_lines: 0,
        nearest_drawn: 0,
        reordered: 0,
    };
    let trace = Trace { found: Some(found), ..Trace::whole("a.jsonl") };
    log.header.workload.arrival = ArrivalPattern::Trace(Box::new(trace));
    let cache = cache_of(&log).unwrap();
    // Half of 2 × 100 tokens, of 2 × 110 that the server counts; the template's may come again too.
    close(cache.expected_least, 100.0 / 220.0);
    close(cache.expected_most, 120.0 / 220.0);
    let whole = log.header.workload.horizon_s;
    log.header.workload.horizon_s = whole / 2.0;
    assert_eq!(cache_of(&log), None, "what half of it shares the trace does not say");
    log.header.workload.horizon_s = whole;
    log.footer.as_mut().unwrap().released_until = Timestamp::from_nanos(1);
    assert_eq!(cache_of(&log), None, "nor what a run shared that was broken off");
}

#[test]
fn blocks_of_unknown_length_leave_a_range() {
    let mut log = log(&[(0, Some(1)), (0, Some(1))], 30);
    log.header.engines[0].cache_block_tokens = None;
    let cache = cache_of(&log).unwrap();
    // 40 tokens are no whole block of 64; with the template 70 are 70 blocks of 1.
    assert_eq!((cache.block_tokens, cache.expected_least), (None, 0.0));
    close(cache.expected_most, 70.0 / 260.0);
}

#[test]
fn counters_are_believed_before_usage() {
    let mut log = log(&[(0, Some(1)), (0, Some(1))], 0);
    log.records[1].usage = Some(Usage { cached_tokens: Some(32), ..log.records[1].usage.unwrap() });
    let rate = |log: &RunLog| cache_of(log).unwrap().measured.map(|hits| (hits.rate, hits.source));
    // The first had nothing to find, and its usage leaves the field out.
    assert_eq!(rate(&log), Some((0.16, HitSource::Usage)));
    log.footer.as_mut().unwrap().server =
        Some(ServerCounters { cache_queries: Some(200), cache_hits: Some(60), ..ServerCounters::default() });
    assert_eq!(rate(&log), Some((0.3, HitSource::Counters)));
    close(cache_of(&log).unwrap().off().unwrap(), 0.3 - 0.16);
    log.footer.as_mut().unwrap().server.as_mut().unwrap().cache_hits = Some(10);
    close(cache_of(&log).unwrap().off().unwrap(), 0.05 - 0.16);
}
