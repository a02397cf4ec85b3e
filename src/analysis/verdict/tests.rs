//! Each rule in a run that breaks it and in one that stands it.

mod accounts;
mod overload;

use std::time::Duration;

use crate::analysis::judgements::{Check, FindingKind, Rule, Status, VerdictOutcome};
use crate::analysis::summarise::summarise;
use crate::analysis::summary::run::Summary;
use crate::analysis::test_runs::{ms, record, run};
use crate::clock::Timestamp;
use crate::record::{
    CheckRecord, CheckResult, ClientFacts, Delays, Failure, FailureKind, FinishReason, Outcome, Phase, RunEnding,
    RunLog, ServerCounters, Usage,
};
use crate::workload::{ArrivalPattern, ClientBehaviour, Purpose, RateStage};

/// The tests that `rule` asked for.
fn checks(summary: &Summary, rule: Rule) -> Vec<Check> {
    summary.verdict.checks.iter().filter(|check| check.rule == rule).cloned().collect()
}

fn outcomes(summary: &Summary, rule: Rule) -> Vec<Status> {
    checks(summary, rule).iter().map(|check| check.outcome).collect()
}

/// Returns the sentence of the first failed test of `rule`.
fn reason(summary: &Summary, rule: Rule) -> String {
    let reason = summary.verdict.reasons.iter().find(|reason| reason.rule == rule);
    reason.unwrap_or_else(|| panic!("{rule:?} stood: {:?}", checks(summary, rule))).sentence.clone()
}

#[test]
fn a_reason_is_a_failed_check_and_nothing_else() {
    let mut log = steady();
    log.records.iter_mut().for_each(|record| record.index += 1_000);
    let summary = summarise(&log, &[]);
    let failed: Vec<_> = summary.verdict.checks.iter().filter(|check| check.outcome == Status::Missed).collect();
    assert!(!summary.verdict.valid && !failed.is_empty());
    assert_eq!(summary.verdict.reasons.len(), failed.len());
    for (reason, check) in summary.verdict.reasons.iter().zip(failed) {
        assert_eq!((&reason.sentence, &reason.cure), (&check.sentence, &check.cure));
        assert!(!reason.cure.is_empty());
    }
    let sound = summarise(&steady(), &[]);
    assert!(sound.verdict.valid && sound.verdict.checks.len() > 5, "{:?}", sound.verdict);
    assert_eq!(summary.verdict.gravest(), summary.verdict.reasons.first());
    assert_eq!(sound.verdict.gravest(), None);
}

/// Ten requests a second for 20 s, a warm-up of 2 s before them. Each answer takes a second and closes 2 ms later.
fn steady() -> RunLog {
    let records = (0..220).map(|i| {
        let at = i * 100;
        let phase = if i < 20 { Phase::Warmup } else { Phase::Measured };
        let mut record =
            record(i).phase(phase).sent_at(at, at, at + 1).paced(at + 100, 100, 10).usage(100, 10).counted().build();
        record.ended = record.ended.after(Duration::from_millis(2));
        record
    });
    let mut log = run(22_000, records.collect());
    log.header.plan.window_start = ms(2_000);
    log.header.plan.warmup_requests = 20;
    // 200 stays of 1.002 s, less what lies after the window, and what the last ten of the warm-up stay in it.
    log.footer.as_mut().unwrap().present_ns = Some(200_400_000_000);
    log
}

#[test]
fn what_was_there_is_what_the_stays_add_up_to() {
    let law = |log: &RunLog| checks(&summarise(log, &[]), Rule::LittlesLaw).remove(0);
    let sound = law(&steady());
    assert_eq!(sound.outcome, Status::Met, "{}", sound.sentence);
    assert!(sound.value.unwrap() < 1e-4, "{}", sound.sentence);
    // Without the run's own sum, the records' moments of dispatch and end stand in.
    let mut stored = steady();
    stored.footer.as_mut().unwrap().present_ns = None;
    assert_eq!(law(&stored).outcome, Status::Met);
    // A log that was merged into itself, counted from its own records: twice as many are there as were planned.
    let again = stored.records.to_vec();
    stored.records.extend(again);
    assert!((law(&stored).value.unwrap() - 0.5).abs() < 0.03, "{}", law(&stored).sentence);
    // Stamps of another clock: every answer 3 % longer than the requests were there.
    let mut slow = steady();
    slow.footer.as_mut().unwrap().present_ns = Some(194_500_000_000);
    let said = law(&slow);
    assert_eq!(said.outcome, Status::Missed);
    assert!(said.sentence.contains("3.03 % apart; limit: 1 %"), "{}", said.sentence);
}

#[test]
fn littles_law_allows_for_the_lag_that_another_rule_judges() {
    // Each request left 30 ms late: the run counted 200 stays of 0.972 s, the latencies say 1.002 s.
    let mut late = steady();
    for record in late.records.iter_mut().filter(|record| record.phase == Phase::Measured) {
        record.dispatched = record.scheduled.after(Duration::from_millis(30));
    }
    late.footer.as_mut().unwrap().present_ns = Some(194_400_000_000);
    let law = checks(&summarise(&late, &[]), Rule::LittlesLaw).remove(0);
    assert_eq!(law.outcome, Status::Met);
    assert!(law.sentence.contains("3.09 % apart; limit: 3.29 %"), "{}", law.sentence);
}

#[test]
fn littles_law_allows_for_a_run_that_was_slow_to_notice_what_ended() {
    // Each end was noted 30 ms late: an event loop that is late by 65 ms at p99 may do that.
    let mut busy = steady();
    busy.footer.as_mut().unwrap().present_ns = Some(206_400_000_000);
    assert_eq!(outcomes(&summarise(&busy, &[]), Rule::LittlesLaw), [Status::Missed]);
    let delay = Delays { n: 100, p50_ns: 100_000, p99_ns: 65_000_000, max_ns: 80_000_000 };
    let client = ClientFacts { loop_delay: Some(delay), ..ClientFacts::default() };
    busy.footer.as_mut().unwrap().client = Some(client);
    assert_eq!(outcomes(&summarise(&busy, &[]), Rule::LittlesLaw), [Status::Met]);
}

#[test]
fn a_request_may_take_a_second_to_be_sent_and_longer_with_a_long_prompt() {
    // 10 µs for each of 100 tokens.
    let sent_after = |millis: u64| {
        let mut log = steady();
        for record in &mut log.records {
            record.sent = Some(record.dispatched.after(Duration::from_millis(millis)));
        }
        let checks = checks(&summarise(&log, &[]), Rule::ScheduleLag);
        checks.into_iter().find(|check| check.statistic.contains("between dispatch and sending")).unwrap()
    };
    assert_eq!(sent_after(1_001).outcome, Status::Met);
    assert_eq!(sent_after(1_002).outcome, Status::Missed);
}

#[test]
fn littles_law_has_nothing_to_say_of_a_burst() {
    // A hundred at t = 0 in a window of a millisecond, of which dispatching took the better part.
    let records = (0..100).map(|i| record(i).sent_at(0, 0, 0).paced(500 + i, 10, 10).build());
    let mut log = run(1, records.collect());
    for record in &mut log.records {
        record.dispatched = Timestamp::from_nanos(970_000 + record.index * 100);
        record.sent = Some(record.dispatched);
    }
    log.footer.as_mut().unwrap().present_ns = Some(2_500_000);
    let law = checks(&summarise(&log, &[]), Rule::LittlesLaw).remove(0);
    assert_eq!(law.outcome, Status::Undecided, "{}", law.sentence);
    assert!(law.sentence.contains("in the window for 0.0250 ms each"), "{}", law.sentence);
}

#[test]
fn littles_law_is_tested_up_to_a_limit_of_half() {
    // A hundred that stay for 4 ms, and each of which is allowed 2 ms.
    let records = (0..100).map(|i| record(i).sent_at(i * 10, i * 10, i * 10).paced(i * 10 + 4, 1, 1).build());
    let mut log = run(1_000, records.collect());
    let mut law = |present_ns| {
        log.footer.as_mut().unwrap().present_ns = Some(present_ns);
        checks(&summarise(&log, &[]), Rule::LittlesLaw).remove(0)
    };
    assert_eq!((law(400_000_000).outcome, law(400_000_000).critical), (Status::Met, Some(0.5)));
    assert_eq!(law(398_000_000).outcome, Status::Undecided);
}

#[test]
fn littles_law_counts_users_who_go_on_before_the_last_counted_request() {
    // In a window of 2 s two users send the requests that count at 0 and 1.9 s, and one goes on meanwhile.
    let request = |i, at: u64| record(i).sent_at(at, at, at).paced(at + 500, 100, 5);
    let more = |i, at| request(i, at).phase(Phase::Cooldown).build();
    let mut log = run(2_000, vec![request(0, 0).build(), more(2, 900), request(1, 1_900).build()]);
    // Stays of 0.9 s, 0.9 s and 0.1 s.
    log.footer.as_mut().unwrap().present_ns = Some(1_900_000_000);
    let law = checks(&summarise(&log, &[]), Rule::LittlesLaw).remove(0);
    assert_eq!(law.outcome, Status::Met, "{}", law.sentence);
}

#[test]
fn a_wait_that_no_latency_shows_breaks_littles_law() {
    // A twentieth of the requests left half a second late, and their latency counts from when they left.
    let mut log = steady();
    for record in log.records.iter_mut().filter(|record| record.index % 20 == 7 && record.index > 20) {
        record.scheduled = record.scheduled.after(Duration::from_millis(500));
        record.dispatched = record.scheduled;
    }
    let summary = summarise(&log, &[]);
    assert_eq!(outcomes(&summary, Rule::LittlesLaw), [Status::Missed]);
}

#[test]
fn counted_chunks_are_the_tokens_of_usage() {
    let identity = |usage: u64, finish: Option<FinishReason>| {
        let mut log = steady();
        for record in &mut log.records {
            record.usage.as_mut().unwrap().completion_tokens = usage;
            record.finish_reason = finish.clone();
        }
        checks(&summarise(&log, &[]), Rule::TokenIdentity).remove(0)
    };
    assert_eq!(identity(10, None).outcome, Status::Met);
    // One token more than the chunks carried may be without text; eight where the model itself ended the answer.
    assert_eq!(identity(11, Some(FinishReason::Length)).outcome, Status::Met);
    assert_eq!(identity(18, Some(FinishReason::Stop)).outcome, Status::Met);
    // 200 answers of 12 tokens of which 10 came, less one each.
    let short = identity(12, Some(FinishReason::Length));
    assert_eq!(short.outcome, Status::Missed);
    assert_eq!(
        short.sentence,
        "the tokens of the chunks differ from usage by 200 tokens (8.33 %) in 200 of 200 answers; limit: 0.500 %"
    );
    assert_eq!(identity(9, Some(FinishReason::Stop)).outcome, Status::Missed, "more than there were");
    let mut uncounted = steady();
    uncounted.records.iter_mut().for_each(|record| record.chunks_counted = false);
    assert_eq!(outcomes(&summarise(&uncounted, &[]), Rule::TokenIdentity), [Status::Undecided]);
}

#[test]
fn the_servers_counters_are_the_clients() {
    use Status::{Met, Missed, Undecided};
    // 220 requests of 100 prompt and 10 answer tokens; two more were cut off after three of their ten tokens.
    let mut log = steady();
    log.records.extend((220..222).map(|i| {
        let mut cut = record(i).phase(Phase::Cooldown).sent_at(22_000, 22_000, 22_001).paced(22_100, 10, 3);
        // One of them says with each chunk how many there are.
        cut = if i == 220 { cut.usage(100, 3).censored(22_200) } else { cut.censored(22_200) };
        let mut cut = cut.build();
        cut.output_tokens_asked = 10;
        cut
    }));
    let counters = |prompt_tokens, generation_tokens, requests_succeeded| {
        let mut log = log.clone();
        log.footer.as_mut().unwrap().server =
            Some(ServerCounters { prompt_tokens, generation_tokens, requests_succeeded, ..ServerCounters::default() });
        outcomes(&summarise(&log, &[]), Rule::CounterIdentity)
    };
    // Answer tokens, prompt tokens, requests.
    assert_eq!(counters(Some(22_000), Some(2_206), Some(220)), [Met, Met, Met]);
    assert_eq!(counters(Some(22_200), Some(2_220), Some(222)), [Met, Met, Met], "what the cut may hide");
    assert_eq!(counters(Some(22_000), Some(2_300), Some(230)), [Missed, Met, Missed]);
    assert_eq!(counters(Some(21_000), Some(2_206), None), [Met, Missed, Undecided]);
    assert_eq!(outcomes(&summarise(&log, &[]), Rule::CounterIdentity), [Undecided]);
    // Prompts without a count are at most a tenth longer than the others make likely.
    let said = |log: &RunLog, check: usize| {
        let (prompt_tokens, generation_tokens) = (Some(22_000), Some(2_206));
        let server = ServerCounters { prompt_tokens, generation_tokens, ..ServerCounters::default() };
        let mut log = log.clone();
        log.footer.as_mut().unwrap().server = Some(server);
        checks(&summarise(&log, &[]), Rule::CounterIdentity).remove(check).sentence
    };
    assert!(said(&log, 1).contains("the client 22,100 to 22,210: "), "{}", said(&log, 1));
    assert!(said(&steady(), 1).contains("the client 22,000: "), "{}", said(&steady(), 1));
    // How many tokens audio has, the plan does not know: the longest of the others bounds it.
    let mut of_audio = log.clone();
    of_audio.records.iter_mut().for_each(|record| record.input_tokens_asked = 0);
    assert!(said(&of_audio, 1).contains("the client 22,100 to 22,210: "), "{}", said(&of_audio, 1));
    // A whole answer that is shorter than it was asked to be hides nothing.
    log.records[..220].iter_mut().for_each(|record| record.output_tokens_asked = 20);
    assert!(said(&log, 0).contains("the client 2,206 to 2,220: "), "{}", said(&log, 0));
}

#[test]
fn golden_prompts_under_load_are_in_the_servers_counters() {
    use Status::{Met, Missed};
    // 220 requests of 100 prompt and 10 answer tokens; 100 golden prompts of 20 and 5, one of them before the run.
    let mut log = steady();
    let usage = Usage { prompt_tokens: 20, completion_tokens: 5, ..Usage::default() };
    log.checks = (0..100)
        .map(|i| CheckRecord {
            check: 0,
            released: (i > 0).then(|| Timestamp::from_nanos(i)),
            result: CheckResult::Passed,
            excerpt: None,
            usage: Some(usage),
        })
        .collect();
    let mut record_of = |prompt_tokens, generation_tokens, requests| {
        log.footer.as_mut().unwrap().server = Some(ServerCounters {
            prompt_tokens: Some(prompt_tokens),
            generation_tokens: Some(generation_tokens),
            requests_succeeded: Some(requests),
            ..ServerCounters::default()
        });
        outcomes(&summarise(&log, &[]), Rule::CounterIdentity)
    };
    assert_eq!(record_of(22_000 + 99 * 20, 2_200 + 99 * 5, 319), [Met, Met, Met]);
    assert_eq!(record_of(22_000, 2_200, 220), [Missed, Missed, Missed]);
}

#[test]
fn a_cache_that_the_plan_says_is_cold_was_not_warm() {
    use Status::{Met, Missed};
    // 22,000 prompt tokens, of which the chat template adds 880. The limit is 16 tokens of 100.
    let mut log = steady();
    log.header.prompts.template_tokens = Some(4);
    let with = |log: &RunLog, hits| {
        let mut log = log.clone();
        let [cache_hits, cache_queries] = [hits, 22_000].map(Some);
        log.footer.as_mut().unwrap().server = Some(ServerCounters { cache_queries, cache_hits, ..Default::default() });
        let summary = summarise(&log, &[]);
        let advice = summary.findings.iter().any(|finding| finding.kind == FindingKind::WarmCache);
        (checks(&summary, Rule::CacheHits), advice, summary.verdict.outcome)
    };
    let found = |log: &RunLog, hits| {
        let (checks, advice, outcome) = with(log, hits);
        (checks.first().map(|check| check.outcome), advice, outcome)
    };
    let (valid, invalid) = (VerdictOutcome::Valid, VerdictOutcome::Invalid);
    assert_eq!(found(&log, 1_980), (Some(Met), false, valid), "9 %, and 4 % are shared");
    assert_eq!(found(&log, 4_400), (Some(Met), true, valid), "20 %: a chance hit of a block, and worth advice");
    assert_eq!(found(&log, 4_422), (Some(Missed), true, invalid));
    let failed = with(&log, 11_000).0.remove(0);
    let said = "50 % of the prompt tokens came from a prefix cache, and at most 4 % are shared by the plan; limit: \
        16 % more";
    assert_eq!((failed.sentence.as_str(), failed.critical), (said, Some(0.16)));
    assert!(failed.cure.starts_with("reset the server's prefix cache"), "{}", failed.cure);

    // Another client has its own hits, and the plan does not know what the server adds to a prompt.
    let counted = |log: &RunLog, prompt_tokens| {
        let mut log = log.clone();
        let server = ServerCounters {
            prompt_tokens: Some(prompt_tokens),
            cache_hits: Some(prompt_tokens / 2),
            cache_queries: Some(prompt_tokens),
            ..ServerCounters::default()
        };
        log.footer.as_mut().unwrap().server = Some(server);
        summarise(&log, &[]).verdict.reasons.iter().map(|reason| reason.rule).collect::<Vec<_>>()
    };
    assert_eq!(counted(&log, 22_000), [Rule::CacheHits]);
    assert_eq!(counted(&log, 44_000), [Rule::CounterIdentity]);
    let mut unknown = log.clone();
    unknown.header.prompts.template_tokens = None;
    assert_eq!(found(&unknown, 11_000), (None, true, valid));
    // Attempts of one request find its prompt.
    log.header.workload.clients = Some(ClientBehaviour { retries: 2, ..ClientBehaviour::default() });
    assert_eq!(found(&log, 11_000), (None, true, valid));
}
