//! Holds the figures of conversations to runs made by hand.

use super::*;
use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::FindingKind;
use crate::analysis::parts::part::Part;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{ms, record, run};
use crate::record::{Failure, FailureKind, GraphPlace, PartKind, RunLog};
use crate::workload::{ArrivalPattern, Conversation, Distribution, ThinkTime};

/// Turn `number` of a conversation of `of`.
fn turn(session: u64, number: u32, of: u32) -> Turn {
    Turn { session, number, of: Some(of), history_tokens: 100 * number, ..Turn::default() }
}

/// A request scheduled at `at` whose eleven tokens come from `first` on, 10 ms apart.
fn answered(turn: Turn, at: u64, first: u64) -> RequestRecord {
    let index = Turn::index_of(turn.session, turn.number);
    let mut record = record(index).sent_at(at, at, at).paced(first, 10, 11).build();
    record.turn = Some(turn.into());
    record.input_tokens_asked = 100 + turn.history_tokens;
    record
}

fn with_conversations(records: Vec<RequestRecord>) -> RunLog {
    let mut log = run(10_000, records);
    log.header.workload.classes[0].conversation = Some(Conversation {
        turns: Distribution::Constant { value: 3 },
        think_time_s: ThinkTime::Constant { value: 1.0 },
        first_input_tokens: None,
        max_context_tokens: None,
    });
    log
}

/// Three conversations begin in the window. The first has its three turns, the last token of which comes at
/// 2,500 ms. The second of the other's two turns fails at 1,900 ms, 1,400 after the conversation began. The
/// third is in its pause when the run ends, at 10,200 ms, 1,200 after it began. A fourth began in the
/// warm-up, a fifth in the cool-down.
fn three() -> RunLog {
    let failure = Failure::new(FailureKind::Reset, "gone");
    let mut broken = record(Turn::index_of(2, 1)).sent_at(1_800, 1_800, 1_800).failed(1_900, failure).build();
    broken.turn = Some(turn(2, 1, 2).into());
    let mut before = answered(turn(0, 0, 2), 0, 90);
    before.phase = Phase::Warmup;
    let mut after = answered(turn(4, 0, 3), 10_000, 10_080);
    after.phase = Phase::Cooldown;
    let mut log = with_conversations(vec![
        before,
        answered(turn(0, 1, 2), 1_190, 1_260),
        answered(turn(1, 0, 3), 0, 100),
        answered(turn(1, 1, 3), 1_200, 1_250),
        answered(turn(1, 2, 3), 2_350, 2_400),
        answered(turn(2, 0, 2), 500, 700),
        broken,
        answered(turn(3, 0, 2), 9_000, 9_300),
        after,
    ]);
    log.footer.as_mut().unwrap().ended = ms(10_200);
    log
}

#[test]
fn every_conversation_of_the_window_is_counted_once() {
    let sessions = Sessions::from_observed(&Observed::from_log(&three())).unwrap();
    let Sessions { begun, completed, broken_off, censored, turns_planned, turns_sent, .. } = sessions;
    assert_eq!((begun, completed, broken_off, censored), (3, 1, 1, 1));
    assert_eq!((turns_planned, turns_sent), (Some(3 + 2 + 2), 3 + 2 + 1));
    assert!((sessions.turns_not_reached.unwrap() - 1.0 / 7.0).abs() < 1e-12);
    // That of the warm-up ended in the window too: two in ten seconds, on two GPUs.
    let mut log = three();
    log.header.deployment.gpus = Some(2);
    let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    assert_eq!((sessions.completed_per_hour, sessions.completed_per_hour_per_gpu), (Some(720.0), Some(360.0)));
    assert_eq!(sessions.completed_per_hour_per_user, None, "two were cut off");
    // 500, 400 and 400 ms with the server of 2,500, 1,400 and 400.
    let time = sessions.time.unwrap();
    assert!((time.total_s - 4.3).abs() < 1e-9 && time.client_share == 0.0, "{time:?}");
    assert!((time.server_share - 1.3 / 4.3).abs() < 1e-9 && (time.pause_share - 3.0 / 4.3).abs() < 1e-9, "{time:?}");
}

#[test]
fn what_was_cut_off_lasted_at_least_so_long() {
    let duration = Sessions::from_observed(&Observed::from_log(&three())).unwrap().duration.unwrap();
    assert_eq!((duration.n, duration.censored), (3, 2));
    // 1,200 and more, 1,400 and more, 2,500: the middle one may be any from 1,400 on.
    assert_eq!(duration.percentile(Quantile::P50).figure, Figure::AtLeast(1_400.0));
    assert_eq!(duration.min, Figure::Between { low: 1_200.0, high: 2_500.0 });
}

#[test]
fn turns_are_told_apart_and_share_nothing_with_warm_up_and_cool_down() {
    let summary = summarise(&three(), &[]);
    let by_turn = summary.parts_of(PartKind::Turn);
    let places: Vec<_> = by_turn.iter().map(|turn| (turn.name.as_str(), turn.requests)).collect();
    assert_eq!(places, [("1", 3), ("2", 3), ("3", 1)]);
    let p50 = |turn: &&Part| turn.latency.row(Metric::Ttft).unwrap().percentile(Quantile::P50).figure.exact();
    // 100, 200, 300; then 50 and 70, for the one that failed has none; then 50.
    assert_eq!(by_turn.iter().map(p50).collect::<Vec<_>>(), [Some(200.0), Some(60.0), Some(50.0)]);
    // The failed one was asked for without its history.
    let prompts: Vec<_> = by_turn.iter().map(|turn| turn.mean_prompt_tokens.unwrap()).collect();
    assert_eq!(prompts, [100.0, 500.0 / 3.0, 300.0]);
    assert_eq!(by_turn[0].mean_cached_tokens, None);
}

#[test]
fn later_turns_are_put_together_and_cached_tokens_averaged_where_told() {
    let record_of = |number: u32, cached| {
        let mut record = answered(turn(1, number, 20), u64::from(number) * 500, u64::from(number) * 500 + 100);
        record.usage = record.usage.or(Some(crate::record::Usage::default())).map(|usage| crate::record::Usage {
            prompt_tokens: 2_120 + u64::from(number),
            cached_tokens: cached,
            ..usage
        });
        record
    };
    let log = with_conversations(vec![
        record_of(3, None),
        record_of(4, Some(64)),
        record_of(8, Some(32)),
        record_of(9, None),
        record_of(19, Some(16)),
    ]);
    let summary = summarise(&log, &[]);
    let by_turn = summary.parts_of(PartKind::Turn);
    let found: Vec<_> =
        by_turn.iter().map(|turn| (turn.name.as_str(), turn.requests, turn.mean_cached_tokens)).collect();
    assert_eq!(found, [("4", 1, None), ("5–9", 2, Some(48.0)), ("10–19", 1, None), ("20–49", 1, Some(16.0))]);
    assert_eq!(by_turn[1].mean_prompt_tokens, Some(2_126.0));
    // 400 and 800 tokens were said before, the last of which is computed anew; in blocks of 16.
    assert_eq!(by_turn[1].planned_cached_tokens, Some(f64::midpoint(384.0, 784.0)));
    let mut unknown = log.clone();
    unknown.header.engines[0].cache_block_tokens = None;
    let planned = summarise(&unknown, &[]).parts_of(PartKind::Turn)[1].planned_cached_tokens;
    assert_eq!(planned, Some(f64::midpoint(399.0, 799.0)));
}

#[test]
fn a_conversation_without_room_has_ended() {
    let mut log = three();
    let full = log.records.iter_mut().find(|record| record.turn() == Some(turn(3, 0, 2))).unwrap();
    full.context_full = true;
    let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    assert_eq!((sessions.completed, sessions.censored, sessions.turns_sent), (2, 0, 6));
    // From 9,000 to 9,400 ms.
    assert_eq!(sessions.duration.unwrap().min, Figure::Exact(400.0));
    // Where none is cut off, a user is known to complete one in (2,500 + 400) / 2 ms.
    log.records.retain(|record| record.turn().is_none_or(|turn| turn.session != 2));
    let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    assert_eq!(sessions.completed_per_hour_per_user, Some(3_600.0 / 1.45));
}

#[test]
fn a_user_who_goes_on_has_ended_the_conversation_before() {
    // One user: a conversation of two turns, then another, which is on when the run ends.
    let of_user = |number, begun| Turn { of: None, begun, ..turn(0, number, 0) };
    let log = with_conversations(vec![
        answered(of_user(0, 0), 0, 100),
        answered(of_user(1, 0), 1_200, 1_300),
        answered(of_user(2, 2), 2_400, 2_500),
    ]);
    let sessions = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    assert_eq!((sessions.begun, sessions.completed, sessions.censored), (2, 1, 1));
    assert_eq!((sessions.turns_sent, sessions.turns_planned, sessions.turns_not_reached), (3, None, None));
    let summary = summarise(&log, &[]);
    let turns = summary.parts_of(PartKind::Turn);
    assert_eq!(turns.iter().map(|turn| turn.requests).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(sessions.duration.unwrap().max, Figure::AtLeast(1_400.0));
}

#[test]
fn the_rest_of_a_session_that_began_in_its_middle_is_no_session() {
    let mut log = three();
    let whole = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    // Two turns, the last of their session, both of which ended in the window.
    for (number, at) in [(0, 100), (1, 400)] {
        let mut rest = answered(turn(7, number, 2), at, at + 100);
        let place = GraphPlace { recorded: Some(8 + number), ..GraphPlace::default() };
        rest.turn.as_mut().unwrap().graph = Some(place);
        log.records.push(rest);
    }
    let with_rest = Sessions::from_observed(&Observed::from_log(&log)).unwrap();
    assert_eq!(with_rest, Sessions { from_middle: Some(1), ..whole });
}

#[test]
fn agents_without_a_request_in_the_window_are_counted() {
    let mut log = three();
    assert_eq!(Sessions::from_observed(&Observed::from_log(&log)).unwrap().idle_agents, None);
    log.header.workload.arrival = ArrivalPattern::of_users(6, ThinkTime::default());
    // One of the six has a request after the window alone, and one has none.
    let summary = summarise(&log, &[]);
    assert_eq!(summary.sessions.unwrap().idle_agents, Some(2));
    let said = summary.findings.iter().find(|finding| finding.kind == FindingKind::IdleAgents).unwrap();
    assert_eq!(said.sentence, "2 of the 6 users had no request in the window: the load was that of fewer");
}

#[test]
fn requests_that_stand_by_themselves_are_no_conversations() {
    let single = record(0).sent_at(0, 0, 0).paced(100, 10, 2).build();
    assert_eq!(Sessions::from_observed(&Observed::from_log(&run(1_000, vec![single.clone()]))), None);
    assert_eq!(Sessions::from_observed(&Observed::from_log(&with_conversations(vec![single]))), None);
}

/// Sums over sessions in no order of their own differ in the last digit.
#[test]
fn the_memory_of_sessions_is_the_same_to_the_last_bit() {
    let answers = (0..200).map(|k| answered(turn(k, 0, 1), 50 * k, 50 * k + 7 + k * k * 7_919 % 97));
    let log = with_conversations(answers.collect());
    let times = || summarise(&log, &[]).latency.row(Metric::Tpot).and_then(|row| row.correlation_times);
    let first = times();
    assert!(first.is_some() && (0..9).all(|_| times() == first), "{first:?}");
}
