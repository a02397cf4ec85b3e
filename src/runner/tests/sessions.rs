//! Runs of sessions in exact, paused time; every time is worked out by hand.

use std::convert::identity;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::sleep_until;

use super::engines::{ConversationEngine, at, ms};
use super::{Executed, PATIENT, failure};
use crate::clock::{Pacing, RunClock};
use crate::generator::{ConcurrencyCaps, Prompt, PromptBuilder, Schedule};
use crate::record::{FailureKind, Outcome, Phase, RequestRecord, RunEnding, SessionCounts, Turn};
use crate::runner::feed::RequestFeed;
use crate::runner::options::{Interrupt, RunOptions};
use crate::runner::progress::Progress;
use crate::runner::reader::Readers;
use crate::runner::run::Run;
use crate::workload::WorkloadSpec;

/// Conversations of three turns, one every ten seconds from the tenth on. Two seconds pass from answer to question.
const TALKS: &str = r#"
name = "talks"
horizon_s = 40
warmup_s = 0
arrival = { kind = "constant", rate_per_s = 0.1 }
[[classes]]
name = "talk"
input_tokens = { kind = "constant", value = 20 }
output_tokens = { kind = "constant", value = 2 }
conversation = { turns = 3, think_time_s = 2, first_input_tokens = 50 }
"#;

/// Three users, who begin a second apart and think for half a second.
const USERS: &str = r#"
name = "users"
horizon_s = 20
warmup_s = 2
arrival = { kind = "users", users = 3, think_time_s = 0.5, ramp_s = 3 }
[[classes]]
name = "shot"
input_tokens = { kind = "constant", value = 20 }
output_tokens = { kind = "constant", value = 2 }
"#;

async fn execute(
    toml: &str,
    engine: &ConversationEngine,
    options: RunOptions,
    pacing: Pacing,
    wishes: &[(u64, Interrupt)],
) -> Executed {
    let workload = WorkloadSpec::from_toml(toml, "a test").unwrap();
    let schedule = Schedule::draw(&workload);
    let plan = schedule.facts();
    let prompts = Arc::new(PromptBuilder::with_word_list(&workload.classes, 1));
    let engine = Arc::new(engine.clone());
    let openers = schedule.generate_stream(Arc::clone(&prompts));
    let later = schedule.sessions(&plan).map(|sessions| (sessions, prompts));
    let feed = RequestFeed::start(Arc::clone(&engine), openers, identity, later).unwrap();
    let clock = RunClock::starting_in(ms(0));
    let (wish, interrupt) = watch::channel(Interrupt::None);
    for &(moment, wanted) in wishes {
        let wish = wish.clone();
        tokio::spawn(async move {
            sleep_until(clock.instant(at(moment))).await;
            wish.send_replace(wanted);
        });
    }
    let options = RunOptions { pacing, ..options };
    let progress = Arc::new(Progress::default());
    let run = Run {
        readers: Arc::new(Readers::in_loop(engine)),
        clock,
        plan,
        options,
        samples: None,
        dispatches: None,
        progress: Arc::clone(&progress),
        interrupt,
        tail: None,
    };
    let mut records = Vec::new();
    let footer = run.execute(feed, |finished| records.push(finished.record)).await.unwrap();
    drop(wish);
    let snapshot = progress.snapshot(footer.ended);
    assert_eq!((snapshot.in_flight, snapshot.queued), (0, 0), "everything in the in_flight came down");
    Executed { records, footer }
}

pub(super) async fn timed(
    toml: &str,
    engine: &ConversationEngine,
    options: RunOptions,
    wishes: &[(u64, Interrupt)],
) -> Executed {
    execute(toml, engine, options, Pacing::Timer, wishes).await
}

pub(super) fn talker(stay: u64) -> ConversationEngine {
    ConversationEngine { stay: ms(stay), ..ConversationEngine::default() }
}

/// Scheduled, dispatched and ended, in milliseconds, of every turn of a session.
pub(super) fn moments(executed: &Executed, session: u64) -> Vec<[u64; 3]> {
    let of_session = executed.records.iter().filter(|record| turn(record).session == session);
    of_session
        .map(|record| [record.scheduled, record.dispatched, record.ended].map(|at| at.as_nanos() / 1_000_000))
        .collect()
}

pub(super) fn turn(record: &RequestRecord) -> Turn {
    record.turn().unwrap()
}

pub(super) fn counts(executed: &Executed) -> SessionCounts {
    executed.footer.sessions.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_leaves_a_think_time_after_the_end_of_the_one_before() {
    let executed = timed(TALKS, &talker(1_500), PATIENT, &[]).await;
    // Openers at 10, 20 and 30 s; the one at 40 s is of the cool-down.
    let of = |begin: u64| [0, 3_500, 7_000].map(|after| [begin + after, begin + after, begin + after + 1_500]).to_vec();
    for session in 0..3 {
        assert_eq!(moments(&executed, session), of(10_000 * (session + 1)), "session {session}");
    }
    let phases: Vec<Phase> = executed.records.iter().map(|record| record.phase).collect();
    assert!(phases.iter().all(|phase| *phase == Phase::Measured));
    // The last turn of the window leaves at 37 s and ends at 38.5 s.
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(38_500), RunEnding::Finished));
    assert_eq!(counts(&executed), SessionCounts { measured_turns: 6, ..SessionCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_turn_says_all_that_was_said_and_asks_for_it() {
    let engine = talker(1_500);
    let executed = timed(TALKS, &engine, PATIENT, &[]).await;
    let Prompt::Text(first) = engine.asked(0) else { panic!("the opener is a text") };
    let Prompt::Conversation(second) = engine.asked(1 << 28) else { panic!("a conversation") };
    let Prompt::Conversation(third) = engine.asked(2 << 28) else { panic!("a conversation") };
    assert_eq!((second.len(), &second[0], &*second[1]), (3, &first.into(), "answer 0"));
    assert_eq!((third.len(), &third[..3], &*third[3]), (5, &second[..], "answer 268435456"));
    assert_ne!(second[2], third[4], "the user says something new");
    assert!(second[2].starts_with(' '), "{:?} goes on from an answer", second[2]);
    let asked: Vec<_> = executed
        .records
        .iter()
        .filter(|record| turn(record).session == 0)
        .map(|record| (record.input_tokens_asked, turn(record).history_tokens))
        .collect();
    // 50, then two tokens of answer and 20 new ones a turn.
    assert_eq!(asked, [(50, 0), (72, 52), (94, 74)]);
}

#[tokio::test(start_paused = true)]
async fn later_turns_of_the_window_are_awaited_and_openers_keep_coming() {
    let long = TALKS.replace("horizon_s = 40", "horizon_s = 15");
    let executed = timed(&long, &talker(1_500), PATIENT, &[]).await;
    // Turns at 10 s and at 13.5 s lie in the window; the third, at 17 s, is of the cool-down, and nobody waits for it.
    let expected = [[10_000, 10_000, 11_500], [13_500, 13_500, 15_000]];
    assert_eq!(moments(&executed, 0), expected);
    assert_eq!(executed.footer.ended, at(15_000));
    let slow = timed(&long, &talker(8_000), PATIENT, &[]).await;
    // Now the second, at 20 s, is of the cool-down already.
    assert_eq!((moments(&slow, 0), slow.footer.ended), (vec![[10_000, 10_000, 18_000]], at(18_000)));
    let dragging = timed(TALKS, &talker(13_000), PATIENT, &[]).await;
    // Turns at 10, 25 and 40 s, at 20 and 35 s, at 30 and 45 s; openers at 40 s too. The last awaited is that of 35 s.
    assert_eq!(dragging.footer.ended, at(48_000));
    let mut cut: Vec<_> = dragging.records.iter().filter(|record| record.outcome == Outcome::Censored).collect();
    cut.sort_by_key(|record| (record.scheduled, turn(record).session));
    let cut: Vec<_> = cut.iter().map(|record| (record.scheduled, turn(record).session, record.phase)).collect();
    assert_eq!(
        cut,
        [(at(40_000), 0, Phase::Cooldown), (at(40_000), 3, Phase::Cooldown), (at(45_000), 2, Phase::Cooldown)]
    );
    assert_eq!(counts(&dragging), SessionCounts { measured_turns: 2, cooldown_turns: 2, ..SessionCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_ends_its_conversation_and_is_reported() {
    let engine = ConversationEngine { fails: vec![1], ..talker(1_000) };
    let executed = timed(TALKS, &engine, PATIENT, &[]).await;
    assert_eq!(executed.records.len(), 6);
    let failed: Vec<_> = executed.records.iter().filter(|record| failure(record).is_some()).collect();
    assert!(failed.iter().all(|record| turn(record).number == 1));
    let expected = SessionCounts { measured_turns: 3, broken_off: 3, turns_not_reached: 3, ..SessionCounts::default() };
    assert_eq!(counts(&executed), expected);
}

#[tokio::test(start_paused = true)]
async fn users_take_turns_with_the_server_and_are_never_more_than_they_are() {
    let executed = timed(USERS, &talker(700), PATIENT, &[]).await;
    for user in 0..3 {
        // 700 ms of answer and half a second of thought.
        let expected: Vec<_> = (1_000 * user..20_000).step_by(1_200).map(|begin| [begin, begin, begin + 700]).collect();
        let found = moments(&executed, user);
        assert_eq!(found[..expected.len()], expected, "user {user}");
    }
    // At the end, the last turn of the window, of 19.2 s, is awaited.
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(19_900), RunEnding::Finished));
    let mut changes: Vec<(u64, i32)> = executed
        .records
        .iter()
        .flat_map(|record| [(record.dispatched.as_nanos(), 1), (record.ended.as_nanos(), -1)])
        .collect();
    changes.sort_unstable();
    let mut there = 0;
    assert!(changes.iter().all(|(_, change)| {
        there += change;
        there <= 3
    }));
    let openers = executed.records.iter().filter(|record| turn(record).is_opener()).count() as u64;
    let all = counts(&executed);
    assert_eq!(openers + all.warmup_turns + all.measured_turns + all.cooldown_turns, executed.records.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_is_refused_waits_a_second() {
    let engine = ConversationEngine { fails: (0..100).collect(), ..talker(100) };
    let executed = timed(USERS, &engine, PATIENT, &[]).await;
    let begins: Vec<u64> = moments(&executed, 0).iter().take(3).map(|moments| moments[0]).collect();
    assert_eq!(begins, [0, 1_100, 2_200]);
    assert!(executed.records.iter().all(|record| failure(record) == Some(FailureKind::HttpStatus(503))));
    assert_eq!(counts(&executed).broken_off, 0, "requests that stand by themselves break nothing off");
}

#[tokio::test(start_paused = true)]
async fn a_cap_holds_later_turns_back_too_and_the_wait_shows() {
    let options = RunOptions { caps: ConcurrencyCaps { total: Some(2), classes: Vec::new() }, ..PATIENT };
    let executed = timed(USERS, &talker(2_000), options, &[]).await;
    let third: Vec<_> = executed.records.iter().filter(|record| turn(record).session == 2).collect();
    // It begins at 2 s, when the first user's answer ends and frees its place; the first user's second turn, of 2.5 s,
    // waits for the second user's place at 3 s.
    assert_eq!((third[0].dispatched, third[0].admitted), (at(2_000), Some(at(2_000))));
    let again = executed.records.iter().find(|record| record.index == 1 << 28).unwrap();
    assert_eq!((again.scheduled, again.dispatched, again.admitted), (at(2_500), at(2_500), Some(at(3_000))));
    assert_eq!(again.ended, at(5_000));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_lets_nothing_go_on_and_loses_nothing() {
    let executed = timed(TALKS, &talker(1_500), PATIENT, &[(14_000, Interrupt::StopReleasing)]).await;
    assert_eq!(moments(&executed, 0), [[10_000, 10_000, 11_500], [13_500, 13_500, 15_000]]);
    assert_eq!(executed.records.len(), 2);
    assert!(executed.records.iter().all(|record| record.outcome == Outcome::Completed));
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(15_000), RunEnding::Interrupted));
    let left =
        timed(TALKS, &talker(1_500), PATIENT, &[(14_000, Interrupt::StopReleasing), (14_200, Interrupt::Leave)]).await;
    assert_eq!((left.footer.ended, left.records.len()), (at(14_200), 2));
    assert_eq!(left.records[1].outcome, Outcome::Censored);
    assert_eq!(
        counts(&left),
        SessionCounts { measured_turns: 1, ..SessionCounts::default() },
        "nobody broke it off but us"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_drain_limit_cuts_off_is_censored_and_nothing_follows() {
    let options = RunOptions { drain: ms(2_000), ..PATIENT };
    let executed = timed(TALKS, &talker(13_000), options, &[]).await;
    assert_eq!((executed.footer.ended, executed.footer.ending), (at(42_000), RunEnding::DrainLimit));
    let censored = executed.records.iter().filter(|record| record.outcome == Outcome::Censored);
    let measured = censored.filter(|record| record.phase == Phase::Measured).count();
    assert_eq!(measured, 2, "the turns of 30 s and of 35 s");
}

/// Real time, by the precise pacer. Bounds are loose, and one of three runs must keep them, for the machine may be busy.
#[tokio::test]
async fn precise_pacing_lets_later_turns_go_at_their_moments() {
    let quick = USERS.replace("horizon_s = 20", "horizon_s = 1").replace("warmup_s = 2", "warmup_s = 0");
    let quick = quick.replace("think_time_s = 0.5", "think_time_s = 0.02").replace("ramp_s = 3", "ramp_s = 0.1");
    let mut medians = Vec::new();
    for _ in 0..3 {
        let executed = execute(&quick, &talker(30), PATIENT, Pacing::Precise, &[]).await;
        assert!(executed.records.len() > 20, "{}", executed.records.len());
        for session in 0..3 {
            let turns = moments(&executed, session);
            assert!(turns.windows(2).all(|pair| pair[1][0] >= pair[0][2] + 19), "{turns:?}");
        }
        let mut lags: Vec<_> =
            executed.records.iter().map(|record| record.dispatched.since(record.scheduled)).collect();
        lags.sort_unstable();
        medians.push(lags[lags.len() / 2]);
        if medians.iter().any(|median| *median < ms(20)) {
            return;
        }
    }
    panic!("{medians:?}");
}
