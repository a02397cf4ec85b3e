//! Holds sessions to their laws.

use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::generator::schedule::Schedule;
use crate::record::{Outcome, RequestRecord};

const TALKS: &str = r#"
name = "talks"
seed = 7
horizon_s = 60
warmup_s = 10
arrival = { kind = "constant", rate_per_s = 1 }
[[classes]]
name = "talk"
input_tokens = { kind = "uniform", min = 10, max = 20 }
output_tokens = { kind = "uniform", min = 30, max = 40 }
conversation = { turns = { kind = "uniform", min = 1, max = 6 }, think_time_s = { kind = "exponential", mean = 3 }, first_input_tokens = 100 }
"#;

const ONE_SHOT: &str = r#"
[[classes]]
name = "shot"
input_tokens = { kind = "constant", value = 5 }
output_tokens = { kind = "constant", value = 6 }
"#;

const USERS: &str = r#"arrival = { kind = "users", users = 4, think_time_s = 2, ramp_s = 8 }"#;

fn spec(toml: &str) -> WorkloadSpec {
    WorkloadSpec::from_toml(toml, "a test").unwrap()
}

/// The talks with these changes.
fn talks(changes: &[(&str, &str)]) -> WorkloadSpec {
    spec(&changes.iter().fold(TALKS.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    }))
}

fn closed(classes: &str) -> WorkloadSpec {
    spec(&format!("name = \"closed\"\nseed = 7\nhorizon_s = 60\nwarmup_s = 10\n{USERS}\n{classes}"))
}

fn openers(workload: &WorkloadSpec) -> (Vec<PlannedRequest>, SessionPlanner) {
    let schedule = Schedule::draw(workload);
    let facts = schedule.facts();
    (schedule.plan().collect(), schedule.sessions(&facts).unwrap())
}

/// The session of `opener` where each answer takes a second and has `answered` tokens.
fn turns_of(sessions: &SessionPlanner, opener: PlannedRequest, answered: u32, most: usize) -> Vec<PlannedRequest> {
    let next = |last: &PlannedRequest| sessions.after(last, end_of(last, Some(answered))).0;
    std::iter::successors(Some(opener), next).take(most).collect()
}

fn end_of(last: &PlannedRequest, answered: Option<u32>) -> TurnEnd {
    TurnEnd { at: last.scheduled.after(Duration::from_secs(1)), answered }
}

fn turn(request: &PlannedRequest) -> Turn {
    request.turn.unwrap()
}

#[test]
fn a_session_carries_on_all_that_was_said() {
    let (plan, sessions) = openers(&talks(&[]));
    let mut lengths = HashSet::new();
    for opener in plan.into_iter().take(50) {
        assert_eq!((opener.input_tokens, turn(&opener).session), (100, opener.index));
        let turns = turns_of(&sessions, opener, 33, 100);
        assert_eq!(turns.len() as u32, turn(&opener).of.unwrap());
        lengths.insert(turns.len());
        for (number, pair) in (1..).zip(turns.windows(2)) {
            let (last, next) = (&pair[0], &pair[1]);
            assert_eq!(next.index, number << 28 | opener.index);
            assert_eq!((turn(next).number, turn(next).place()), (number as u32, number as u32));
            assert_eq!(turn(next).history_tokens, last.input_tokens + 33);
            assert!((10..=20).contains(&next.new_tokens()) && (30..=40).contains(&next.output_tokens));
            assert!(next.scheduled > last.scheduled.after(Duration::from_secs(1)), "a second, and a pause");
        }
        // A failed last turn breaks nothing off.
        let last = turns.last().unwrap();
        assert_eq!(sessions.after(last, end_of(last, None)), (None, None));
    }
    assert_eq!(lengths.len(), 6, "{lengths:?}");
}

#[test]
fn plans_of_sessions_are_pinned_forever() {
    let (plan, sessions) = openers(&talks(&[]));
    let found: Vec<_> = turns_of(&sessions, plan[2], 33, 9)
        .iter()
        .map(|turn| (turn.scheduled.as_nanos(), turn.input_tokens, turn.output_tokens))
        .collect();
    // Drawn independently in Python: ChaCha8 and hashlib for the streams, math.log1p for the pauses,
    // struct.pack("<QHIIBIIHH", …) for the hashed bytes of every request and of what follows it.
    assert_eq!(
        found,
        [(3_000_000_000, 100, 34), (8_022_230_373, 150, 33), (12_048_288_736, 203, 40), (22_918_427_251, 252, 31),]
    );
    assert_eq!(
        Schedule::draw(&talks(&[])).facts().hash,
        "afa47f141faab6b6bc27b1dc6d9a5c0e845ed93cce83f199de529a4fd80ac699"
    );
}

#[test]
fn the_part_of_the_run_is_reported_by_a_turns_own_moment() {
    let (plan, sessions) = openers(&talks(&[("kind = \"exponential\", mean = 3", "kind = \"constant\", value = 20")]));
    let parts = |opener: usize| -> Vec<_> {
        turns_of(&sessions, plan[opener], 33, 9)
            .iter()
            .map(|turn| (turn.scheduled.as_nanos() / 1_000_000_000, turn.phase))
            .collect()
    };
    let long = (0..20).find(|opener| turn(&plan[*opener]).of >= Some(4)).unwrap();
    let begin = plan[long].scheduled.as_nanos() / 1_000_000_000;
    assert!(begin < 10);
    let expected = [
        (begin, Phase::Warmup),
        (begin + 21, Phase::Measured),
        (begin + 42, Phase::Measured),
        (begin + 63, Phase::Cooldown),
    ];
    assert_eq!(parts(long)[..4], expected);
}

#[test]
fn a_turn_without_an_answer_ends_its_conversation_and_one_that_does_not_fit_is_not_sent() {
    let bounded = talks(&[("first_input_tokens = 100", "first_input_tokens = 100, max_context_tokens = 260")]);
    let (plan, sessions) = openers(&bounded);
    let opener = *plan.iter().find(|request| turn(request).of == Some(5)).unwrap();
    let broken = sessions.after(&opener, end_of(&opener, None));
    assert_eq!(broken, (None, Some(ConversationBreak::Unanswered(4))));
    // 100 and 33, some 15 and an answer of some 35 fit; the next turn has 230 and its answer.
    let turns = turns_of(&sessions, opener, 33, 9);
    assert!(turns.iter().all(|turn| turn.input_tokens + turn.output_tokens <= 260));
    let last = turns.last().unwrap();
    let left = 5 - turns.len() as u32;
    assert!(left > 0, "{turns:?}");
    assert_eq!(sessions.after(last, end_of(last, Some(33))).1, Some(ConversationBreak::Full(left)));
    let mut counts = SessionCounts::default();
    ConversationBreak::Unanswered(4).count(&mut counts);
    ConversationBreak::Full(left).count(&mut counts);
    assert_eq!((counts.broken_off, counts.full, counts.turns_not_reached), (1, 1, u64::from(4 + left)));
}

#[test]
fn nothing_else_moves_where_requests_go_on_as_conversations() {
    let with = openers(&spec(&format!("{TALKS}{ONE_SHOT}"))).0;
    let single = talks(&[(", think_time_s", ", max_context_tokens = 9000, think_time_s")]);
    let single = WorkloadSpec {
        classes: single.classes.into_iter().map(|class| RequestClass { conversation: None, ..class }).collect(),
        ..single
    };
    let mut alone = single.clone();
    alone.classes.extend(spec(&format!("{TALKS}{ONE_SHOT}")).classes.into_iter().skip(1));
    let without: Vec<PlannedRequest> = Schedule::draw(&alone).plan().collect();
    assert!(Schedule::draw(&alone).sessions(&Schedule::draw(&alone).facts()).is_none());
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(
            (with.index, with.scheduled, with.class, with.output_tokens),
            (without.index, without.scheduled, without.class, without.output_tokens)
        );
        assert_eq!(with.turn.is_some(), with.class == 0, "a request that stands by itself has no mark");
    }
}

#[test]
fn the_hash_covers_later_turns() {
    let hash = |changes: &[(&str, &str)]| Schedule::draw(&talks(changes)).facts().hash;
    let unchanged = hash(&[]);
    assert_eq!(hash(&[("name = \"talks\"", "name = \"others\"")]), unchanged);
    for change in [("mean = 3", "mean = 4"), ("max = 6", "max = 7"), ("min = 10, max = 20", "min = 10, max = 21")] {
        assert_ne!(hash(&[change]), unchanged, "{change:?}");
    }
    let users = |classes: &str| Schedule::draw(&closed(classes)).facts().hash;
    assert_ne!(users(ONE_SHOT), users(&ONE_SHOT.replace("value = 6", "value = 7")));
}

#[test]
fn users_begin_spread_out_and_go_on_until_the_end() {
    let (plan, sessions) = openers(&closed(ONE_SHOT));
    let begins: Vec<u64> = plan.iter().map(|request| request.scheduled.as_nanos() / 1_000_000).collect();
    assert_eq!(begins, [0, 2_000, 4_000, 6_000]);
    let facts = Schedule::draw(&closed(ONE_SHOT)).facts();
    assert_eq!((facts.warmup_requests, facts.measured_requests, facts.window_end.as_nanos()), (4, 0, 60_000_000_000));
    let turns = turns_of(&sessions, plan[1], 6, 30);
    assert_eq!(turns.len(), 30);
    for (k, request) in (0..).zip(&turns) {
        // A second for the answer and two to think.
        assert_eq!(request.scheduled.as_nanos(), 2_000_000_000 + k * 3_000_000_000);
        assert_eq!((turn(request).session, turn(request).of, turn(request).place()), (1, None, 0));
        assert_eq!((request.input_tokens, turn(request).history_tokens), (5, 0));
    }
}

#[test]
fn what_a_user_sends_depends_on_nothing_but_its_number() {
    let (plan, sessions) = openers(&closed(&format!(
        "{}{ONE_SHOT}",
        TALKS.split_once("[[classes]]").map(|(_, class)| format!("[[classes]]{class}")).unwrap()
    )));
    let sent = |answered: Option<u32>| -> Vec<PlannedRequest> {
        let next = |last: &PlannedRequest| sessions.after(last, end_of(last, answered)).0;
        std::iter::successors(Some(plan[2]), next).take(400).collect()
    };
    let (patient, unlucky) = (sent(Some(33)), sent(None));
    let talks = patient.iter().filter(|request| request.class == 0).count();
    assert!((100..390).contains(&talks), "{talks}");
    // One whose first turns fail holds other conversations to their ends never, and begins the same ones.
    for request in &unlucky {
        assert_eq!(turn(request).place(), 0);
        if let Some(same) = patient.iter().find(|other| other.index == request.index) {
            assert_eq!(
                (same.class, same.input_tokens, same.output_tokens),
                (request.class, request.input_tokens, request.output_tokens)
            );
        }
    }
    let begun: HashSet<u32> = patient.iter().map(|request| turn(request).begun).collect();
    let numbers: HashSet<u32> = unlucky.iter().map(|request| turn(request).number).collect();
    assert!(begun.is_subset(&numbers), "the same conversations begin");
    assert!(patient.iter().any(|request| turn(request).history_tokens > 0 && turn(request).begun > 0));
}

#[test]
fn a_user_goes_on_after_a_failure_and_not_at_once() {
    let hasty = USERS.replace("think_time_s = 2", "think_time_s = 0.25");
    let text = format!("name = \"closed\"\nhorizon_s = 60\n{hasty}\n{ONE_SHOT}");
    let (plan, sessions) = openers(&spec(&text));
    let after = |answered| {
        let next = sessions.after(&plan[0], end_of(&plan[0], answered)).0.unwrap();
        next.scheduled.since(plan[0].scheduled).as_millis()
    };
    assert_eq!((after(Some(6)), after(None)), (1_250, 2_000));
}

#[test]
fn a_shard_has_whole_sessions() {
    let workload = talks(&[]);
    let schedule = Schedule::draw(&workload);
    let whole: Vec<PlannedRequest> = schedule.plan().collect();
    let mut shares: Vec<PlannedRequest> = (0..3).flat_map(|shard| schedule.shard(shard, 3).unwrap().plan()).collect();
    shares.sort_by_key(|request| request.index);
    assert_eq!(shares, whole);
    let second = schedule.shard(1, 3).unwrap();
    assert_eq!(second.facts().hash, schedule.facts().hash);
    let sessions = second.sessions(&second.facts()).unwrap();
    assert!(second.plan().flat_map(|opener| turns_of(&sessions, opener, 3, 9)).all(|turn| turn.session() % 3 == 1));
}

#[test]
fn an_agent_goes_on_after_the_latest_end_in_whatever_order_ends_are_read() {
    let agents = r#"
[[classes]]
name = "agent"
input_tokens = 5
output_tokens = 6
session.steps = [{ name = "task" }, { name = "leaf", copies = 2, history = "new" }]
"#;
    let workload = closed(agents);
    let (plan, sessions) = openers(&workload);
    let mut turns = SessionTurns::new(sessions, Timestamp::from_secs_f64(1e6));
    let answered = |request: &PlannedRequest, at: f64| {
        let ended = Timestamp::from_secs_f64(at);
        RequestRecord { outcome: Outcome::Completed, ended, output_tokens: 6, ..request.record(request.scheduled) }
    };
    turns.released(&plan[0]);
    turns.ended(&plan[0], &mut answered(&plan[0], 10.0));
    let leaves: Vec<_> = std::iter::from_fn(|| turns.next_released()).collect();
    assert_eq!(leaves.len(), 2);
    for leaf in &leaves {
        turns.released(leaf);
    }
    turns.ended(&leaves[1], &mut answered(&leaves[1], 30.0));
    assert!(turns.next_released().is_none() && turns.is_open(plan[0].session()));
    turns.ended(&leaves[0], &mut answered(&leaves[0], 20.0));
    let next = turns.next_released().unwrap();
    // Two seconds of thought.
    assert_eq!((next.scheduled.as_secs_f64(), turn(&next).number, turn(&next).begun), (32.0, 3, 3));
    assert!(!turns.is_open(plan[0].session()));
}

#[test]
fn a_plan_hash_knows_the_pauses_and_the_room_of_agents() {
    let hash = |more: &str, pause: &str| {
        let steps = r#"session.steps = [{ name = "task" }, { name = "loop", turns = 2 }]"#;
        let class = "[[classes]]\nname = \"agent\"\ninput_tokens = 5\noutput_tokens = 6\n";
        let text = format!(
            "name = \"closed\"\nseed = 7\nhorizon_s = 60\nwarmup_s = 10\n{}\n{class}{more}\n{steps}\n",
            USERS.replace("think_time_s = 2", pause)
        );
        Schedule::draw(&spec(&text)).facts().hash
    };
    let usual = hash("", "think_time_s = 2");
    assert_eq!(usual, hash("", "think_time_s = 2"));
    assert_ne!(usual, hash("", "think_time_s = 3"));
    assert_ne!(usual, hash("session.max_context_tokens = 99", "think_time_s = 2"));
}
