//! Runs whose machine stood still at known moments.

use super::*;
use crate::analysis::client::effects::ClientEffect;
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::judgements::check::{Check, CheckOutcome, Rule};
use crate::analysis::summarise::summarise;
use crate::analysis::summary::run::Summary;
use crate::analysis::test_runs::{ms, record, run};
use crate::record::{ClientFacts, RunLog};

fn stall(from: u64, length: u64) -> HostStall {
    HostStall { from: ms(from), length_ns: length * 1_000_000, longest_step_ns: None, shard: None }
}

fn watched(mut log: RunLog, stalls: &[HostStall]) -> Summary {
    let client = ClientFacts { host_stalls: stalls.to_vec(), ..ClientFacts::default() };
    log.footer.as_mut().unwrap().client = Some(client);
    summarise(&log, &[])
}

/// `count` requests, one each 100 ms: a first token after 100 ms, ten more 10 ms apart. While the machine stands
/// still nothing leaves and nothing is read; the first token of what was held up comes 100 ms after that.
fn sample_run(count: u64, still: Option<HostStall>) -> RunLog {
    let records = (0..count).map(|i| {
        let scheduled = ms(i * 100);
        let held = still.filter(|still| still.from <= scheduled && scheduled < still.until());
        let sent = held.map_or(i * 100, |still| still.until().as_nanos() / 1_000_000);
        record(i).sent_at(i * 100, sent, sent).paced(sent + 100, 10, 11).build()
    });
    run(count * 100, records.collect())
}

fn check(summary: &Summary) -> Check {
    summary.verdict.checks.iter().find(|check| check.rule == Rule::HostStalls).unwrap().clone()
}

fn touched(summary: &Summary) -> Vec<(Metric, Quantile)> {
    let effects = summary.client_effects.iter().filter(|effect| effect.rule == Rule::HostStalls);
    effects.map(|effect| (effect.metric, effect.quantile)).collect()
}

/// What stalls could have done to this percentile.
fn effect(summary: &Summary, metric: Metric, quantile: Quantile) -> ClientEffect {
    let of_stalls = |effect: &&ClientEffect| effect.rule == Rule::HostStalls;
    let mut effects = summary.client_effects.iter().filter(of_stalls);
    *effects.find(|effect| (effect.metric, effect.quantile) == (metric, quantile)).unwrap()
}

#[test]
fn a_run_that_nobody_watched_is_not_tested() {
    let summary = summarise(&sample_run(200, None), &[]);
    assert_eq!(summary.host_stalls, None);
    assert_eq!(check(&summary).outcome, CheckOutcome::NotTested);
}

#[test]
fn a_machine_that_never_stood_still_touches_nothing() {
    let summary = watched(sample_run(200, None), &[]);
    assert_eq!(
        summary.host_stalls,
        Some(HostStallImpact { share_touched: Some(0.0), ..HostStallImpact::default() })
    );
    let check = check(&summary);
    assert_eq!((check.outcome, check.value), (CheckOutcome::Passed, Some(0.0)));
    assert_eq!(check.sentence, "the client never stalled; no percentile moves by over 1 %");
}

#[test]
fn a_short_pause_moves_no_percentile() {
    // In flight at 10,050 ms: the requests of 9,900 ms (until 10,100) and of 10,000 ms.
    let summary = watched(sample_run(200, None), &[stall(10_050, 5)]);
    let impact = summary.host_stalls.as_ref().unwrap();
    assert_eq!((impact.count, impact.longest_ms), (1, Some(5.0)));
    assert_eq!((impact.requests_touched, impact.share_touched), (2, Some(0.01)));
    assert_eq!(touched(&summary), []);
    let check = check(&summary);
    assert_eq!(check.outcome, CheckOutcome::Passed);
    let said =
        "the client stalled once (5.00 ms); 2 requests (1 %) affected; no percentile moves by over 1 %";
    assert_eq!(check.sentence, said);
}

#[test]
fn a_pause_after_the_last_token_touches_only_what_was_cut_off_later() {
    let stalls = [stall(300, 50)];
    let answer = || record(0).sent_at(0, 0, 0).paced(100, 10, 11);
    for (record, touched) in
        [(answer().build(), 0), (answer().censored(290).build(), 0), (answer().censored(900).build(), 1)]
    {
        let summary = watched(run(1_000, vec![record]), &stalls);
        assert_eq!(summary.host_stalls.unwrap().requests_touched, touched);
    }
}

#[test]
fn a_pause_that_holds_up_one_request_in_ten_moves_p95() {
    let still = stall(5_000, 2_000);
    let summary = watched(sample_run(200, Some(still)), &[still]);
    // Those of 5,000 to 6,900 ms, and the last before, whose last tokens were due when the machine had stopped.
    assert_eq!(summary.host_stalls.as_ref().unwrap().requests_touched, 21);
    let moved = touched(&summary);
    for metric in [Metric::Ttft, Metric::E2e] {
        assert!(moved.contains(&(metric, Quantile::P95)) && !moved.contains(&(metric, Quantile::P50)));
    }
    // Without the stall every request had its first token after 100 ms; with it, 20 of 200 after 200 to 2,100 ms.
    let p95 = effect(&summary, Metric::Ttft, Quantile::P95);
    assert_eq!(p95.without_ms, 100.0);
    assert!((p95.reported_ms - 1_105.0).abs() < 1.0, "{p95:?}");
    let check = check(&summary);
    assert_eq!(check.outcome, CheckOutcome::Failed);
    assert!(check.sentence.contains("p95 ttft from 100 ms to 1,105 ms"), "{check:?}");
    assert!(!check.cure.is_empty());
}

#[test]
fn p99_is_named_and_the_run_stays_valid() {
    let still = stall(50_000, 1_500);
    let summary = watched(sample_run(1_000, Some(still)), &[still]);
    let moved = touched(&summary);
    assert!(
        moved.contains(&(Metric::Ttft, Quantile::P99)) && !moved.contains(&(Metric::Ttft, Quantile::P95))
    );
    let check = check(&summary);
    assert_eq!(check.outcome, CheckOutcome::Passed);
    assert!(check.sentence.contains("may have raised p99 ttft"), "{}", check.sentence);
}

#[test]
fn a_percentile_of_too_few_samples_is_named_only() {
    // 40 requests: p95 wants 130.
    let still = stall(1_000, 400);
    let summary = watched(sample_run(40, Some(still)), &[still]);
    assert!(touched(&summary).contains(&(Metric::Ttft, Quantile::P95)));
    assert_eq!(check(&summary).outcome, CheckOutcome::Passed);
}

#[test]
fn a_pause_in_the_middle_of_all_answers_moves_their_tpot() {
    // All in flight from 3 s on; eleven tokens 200 ms apart, but for one gap of 1,200 ms.
    let still = stall(5_050, 1_000);
    let chunks = |i: u64| {
        let token = move |token: u64| {
            let at = 3_000 + i * 10 + token * 200;
            (if at > 5_050 { at + 1_000 } else { at }, 1)
        };
        (0..11).map(token).collect::<Vec<_>>()
    };
    let records = (0..200).map(|i| record(i).sent_at(i * 10, i * 10, i * 10).chunks(&chunks(i)).build());
    let summary = watched(run(2_000, records.collect()), &[still]);
    let tpot = effect(&summary, Metric::Tpot, Quantile::P50);
    assert_eq!((tpot.reported_ms, tpot.without_ms), (300.0, 200.0));
    assert!(!touched(&summary).iter().any(|(metric, _)| *metric == Metric::Ttft));
    assert_eq!(check(&summary).outcome, CheckOutcome::Failed);
}

#[test]
fn a_pause_of_one_generator_touches_its_own_requests_alone() {
    // Three generators flew in turn, and the second stood still under requests 98 to 102: 100 alone is its own.
    let mut still = stall(10_050, 200);
    let by = |shard| {
        still.shard = shard;
        watched(sample_run(200, None), &[still]).host_stalls.unwrap().requests_touched
    };
    assert_eq!([None, Some(Shard { number: 2, of: 3 })].map(by), [4, 1]);
}

#[test]
fn what_is_cut_out_between_two_moments_is_what_overlaps_them() {
    let stalls = [stall(10, 5), stall(15, 1), stall(40, 20), stall(50, 15)];
    // As milliseconds that are lost: 10..16 and 40..65.
    let lost =
        |moment: u64| (0..moment).filter(|at| (10..16).contains(at) || (40..65).contains(at)).count() as u64;
    let timeline = Timeline::without(&stalls);
    for moment in 0..100 {
        assert_eq!(timeline.lost_before(ms(moment)), lost(moment) * 1_000_000, "{moment} ms");
    }
    assert_eq!(timeline.place(ms(45)), ms(45 - 6 - 5));
    assert_eq!(Timeline::without(&[]).place(ms(45)), ms(45));
}
