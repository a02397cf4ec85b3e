//! Flies conversations and closed loops in virtual time, moment by moment.

use std::time::Duration;

use skyline::analysis::{Quantile, Rule, summarise};
use skyline::clock::Timestamp;
use skyline::experiment::SimulatedRun;
use skyline::record::{Outcome, Phase, RequestRecord, RunLog};
use skyline::simulator::{Delay, EngineModel, Fleet};
use skyline::workload::WorkloadSpec;

use super::drive::ten_ms_engine;
use crate::virtual_time::{fly, header};

/// Prompts of 10 tokens and answers of `answer`, with these arrivals and whatever else the class has.
fn workload(horizon_s: f64, arrival: &str, answer: u32, class: &str) -> WorkloadSpec {
    let text = format!(
        r#"
name = "talk"
horizon_s = {horizon_s}
warmup_s = 0
drain_s = 20
seed = 3
arrival = {arrival}
[[classes]]
name = "talker"
input_tokens = {{ kind = "constant", value = 10 }}
output_tokens = {{ kind = "constant", value = {answer} }}
{class}
"#
    );
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// First token after `ttft`, the others `gap` apart, milliseconds.
fn plain(slots: usize, ttft: f64, gap: f64) -> Fleet {
    let engine = EngineModel::Plain { slots, ttft: Delay::Constant(ttft / 1e3), itl: Delay::Constant(gap / 1e3) };
    Fleet::of_one(engine, 0)
}

/// The log of a run.
fn log(spec: &WorkloadSpec, flown: SimulatedRun) -> RunLog {
    RunLog::of_requests(header(spec), flown.records, flown.footer)
}

const fn ms(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn of_session(flown: &SimulatedRun, session: u64) -> Vec<&RequestRecord> {
    let mut records: Vec<_> =
        flown.records.iter().filter(|record| record.turn().is_some_and(|turn| turn.session == session)).collect();
    records.sort_by_key(|record| record.turn().map(|turn| turn.number));
    records
}

const THREE_TURNS: &str = "conversation = { turns = 3, think_time_s = 2 }";

#[test]
fn a_later_turn_leaves_a_think_time_after_the_end_of_the_one_before() {
    // One conversation a second. Each answer takes 30 + 4 · 7 = 58 ms, so the first's turns leave at 1, 3.058 and 5.116 s.
    let spec = workload(20.0, "{ kind = \"constant\", rate_per_s = 1 }", 5, THREE_TURNS);
    let flown = fly(&spec, &mut *plain(64, 30.0, 7.0).server().unwrap());
    let turns = of_session(&flown, 0);
    assert_eq!(turns.iter().map(|turn| turn.scheduled).collect::<Vec<_>>(), [1_000, 3_058, 5_116].map(ms));
    assert_eq!(turns.iter().map(|turn| turn.ended).collect::<Vec<_>>(), [1_058, 3_116, 5_174].map(ms));
    // What was said before, its answers too, and ten tokens more.
    assert_eq!(turns.iter().map(|turn| turn.input_tokens_asked).collect::<Vec<_>>(), [10, 25, 40]);
    assert_eq!(flown.footer.sessions.unwrap().broken_off, 0);
    let summary = summarise(&log(&spec, flown), &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    let sessions = summary.sessions.unwrap();
    assert_eq!(sessions.begun, 19);
    let median = sessions.duration.unwrap().percentile(Quantile::P50).figure;
    assert_eq!(median.at_most(), Some(4_174.0), "those that the end of the run cut off lasted as long at least");
}

#[test]
fn the_run_ends_when_all_that_was_scheduled_in_the_window_has_ended() {
    // Only the first turn of the one conversation lies in the window, and those of the others after it.
    let spec = workload(1.5, "{ kind = \"constant\", rate_per_s = 1 }", 5, THREE_TURNS);
    let flown = fly(&spec, &mut *plain(64, 30.0, 7.0).server().unwrap());
    assert_eq!((flown.records.len(), flown.footer.ended), (1, ms(1_058)));
    // Here its second turn too: 3.058 s. Meanwhile others have begun after the window.
    let spec = workload(3.1, "{ kind = \"constant\", rate_per_s = 0.9 }", 5, THREE_TURNS);
    let flown = fly(&spec, &mut *plain(64, 2_000.0, 7.0).server().unwrap());
    let last = |phase| flown.records.iter().filter(|record| record.phase == phase).map(|record| record.ended).max();
    assert_eq!(last(Phase::Measured), Some(flown.footer.ended));
    assert!(flown.records.iter().any(|record| record.phase == Phase::Cooldown));
}

#[test]
fn users_take_turns_with_the_server() {
    // They begin 50 ms apart before one place of 80 ms, and think for 100 ms.
    let users = "{ kind = \"users\", users = 2, think_time_s = 0.1, ramp_s = 0.1 }";
    let spec = workload(0.5, users, 1, "");
    let flown = fly(&spec, &mut *plain(1, 80.0, 0.0).server().unwrap());
    let moments =
        |user| -> Vec<_> { of_session(&flown, user).iter().map(|record| (record.scheduled, record.ended)).collect() };
    let pairs = |all: &[(u64, u64)]| all.iter().map(|&(from, to)| (ms(from), ms(to))).collect::<Vec<_>>();
    assert_eq!(moments(0)[..3], pairs(&[(0, 80), (180, 260), (360, 440)]));
    assert_eq!(moments(1)[..3], pairs(&[(50, 160), (260, 340), (440, 520)]));
    assert_eq!(flown.footer.ended, ms(520), "the last that was scheduled in the window");
}

#[test]
fn a_user_who_is_refused_waits_for_a_second() {
    let users = "{ kind = \"users\", users = 3, ramp_s = 0.3 }";
    let spec = workload(5.0, users, 7, "");
    let mut engine = ten_ms_engine(100);
    engine.limits.max_model_len = 16;
    let flown = fly(&spec, &mut *Fleet::of_one(EngineModel::Batching(Box::new(engine)), 0).server().unwrap());
    for user in 0..3 {
        let records = of_session(&flown, user);
        assert_eq!(records.len(), 5, "at 0, 1, 2, 3 and 4 s after its beginning");
        assert!(records.iter().all(|record| matches!(record.outcome, Outcome::Failed(_))));
        for pair in records.windows(2) {
            assert_eq!(pair[1].scheduled.since(pair[0].ended), Duration::from_secs(1));
        }
    }
}

#[test]
fn a_conversation_whose_turn_is_refused_breaks_off() {
    // 10 + 5, 25 + 5 and 40 + 5 tokens: the third turn is too long for the server.
    let spec = workload(8.0, "{ kind = \"constant\", rate_per_s = 0.5 }", 5, THREE_TURNS.replace('3', "5").as_str());
    let mut engine = ten_ms_engine(100);
    engine.limits.max_model_len = 40;
    let flown = fly(&spec, &mut *Fleet::of_one(EngineModel::Batching(Box::new(engine)), 0).server().unwrap());
    assert_eq!(of_session(&flown, 0).len(), 3);
    let counts = flown.footer.sessions.unwrap();
    assert!(counts.broken_off >= 1 && counts.turns_not_reached == 2 * counts.broken_off);
}

#[test]
fn no_more_than_all_users_are_there_at_once_and_turns_find_their_history() {
    let users = "{ kind = \"users\", users = 4, think_time_s = { kind = \"exponential\", mean = 0.05 } }";
    let spec = workload(20.0, users, 40, "conversation = { turns = 4, think_time_s = 0.1 }");
    let engine = EngineModel::Batching(Box::new(ten_ms_engine(1_000)));
    let flown = fly(&spec, &mut *Fleet::of_one(engine, 0).server().unwrap());
    for record in &flown.records {
        let Some(turn) = record.turn() else { panic!("users have sessions") };
        let Some(usage) = record.usage else { continue };
        // All but the last token of what was said before, in whole blocks of 16.
        let expected = u64::from(turn.history_tokens).saturating_sub(1) / 16 * 16;
        assert_eq!(usage.cached_tokens, Some(expected), "{turn:?}");
    }
    let summary = summarise(&log(&spec, flown), &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict.reasons);
    assert!(summary.in_flight.unwrap().peak <= 4);
    assert_eq!(summary.rates.offered_requests_per_s, None, "the server decides how many there are");
    assert!(summary.sessions.unwrap().completed > 20);
}

#[test]
fn think_times_that_the_window_cuts_short_are_counted_by_what_lies_in_it() {
    // Half as long as the window, so that a fifth of a user's thinking lies beyond its end.
    let users = "{ kind = \"users\", users = 400, think_time_s = { kind = \"exponential\", mean = 30 } }";
    let spec = workload(60.0, users, 5, "");
    let flown = fly(&spec, &mut *plain(1_000, 30.0, 7.0).server().unwrap());
    let summary = summarise(&log(&spec, flown), &[]);
    assert!(!summary.verdict.breaks(Rule::InteractiveLaw), "{:?}", summary.verdict.reasons);
    let closed = summary.closed_loop.unwrap();
    let (accounted, error) = (closed.accounted_users.unwrap(), closed.accounted_error.unwrap());
    assert!((accounted - 400.0).abs() < 3.0 * error, "{accounted} ± {error} of 400");
}
