//! Runs of sessions that are graphs, in exact, paused time; every time is worked out by hand.

use super::sessions::{counts, moments, talker, timed, turn};
use super::{Executed, PATIENT};
use crate::generator::Prompt;
use crate::record::{Predecessor, Release, RequestRecord, SessionCounts};
use crate::runner::tests::engines::{ConversationEngine, at};

/// Sessions of these steps, one every ten seconds from the tenth on.
fn agents(horizon_s: u64, steps: &str) -> String {
    format!(
        r#"
name = "agents"
horizon_s = {horizon_s}
warmup_s = 0
arrival = {{ kind = "constant", rate_per_s = 0.1 }}
[[classes]]
name = "agent"
input_tokens = {{ kind = "constant", value = 20 }}
output_tokens = {{ kind = "constant", value = 2 }}
session.steps = [{steps}]
"#
    )
}

/// A plan, two agents who explore in two turns each, and a review.
const EXPLORE: &str = r#"
    { name = "plan", input_tokens = 50 },
    { name = "explore", copies = 2, turns = 2, history = "new", delay_s = 0.5 },
    { name = "review", after = ["plan", "explore"], history = "plan", delay_s = 0.2 },
"#;

fn records(executed: &Executed, session: u64) -> Vec<&RequestRecord> {
    let mut all: Vec<_> = executed.records.iter().filter(|record| turn(record).session == session).collect();
    all.sort_by_key(|record| record.index);
    all
}

#[tokio::test(start_paused = true)]
async fn agents_work_side_by_side_and_a_join_waits_for_all() {
    let engine = talker(1_500);
    let executed = timed(&agents(15, EXPLORE), &engine, PATIENT, &[]).await;
    // The plan ends at 11.5 s, the explorers' turns at 13.5 and 15.5 s, and the review leaves 0.2 s after that.
    let moment = |begin: u64| [begin, begin, begin + 1_500];
    let expected = [moment(10_000), moment(12_000), moment(12_000), moment(14_000), moment(14_000)];
    assert_eq!(moments(&executed, 0), expected, "the review is of the cool-down");
    let executed = timed(&agents(16, EXPLORE), &engine, PATIENT, &[]).await;
    let asked: Vec<_> = records(&executed, 0)
        .iter()
        .map(|record| {
            let turn = turn(record);
            let graph = turn.graph.unwrap();
            (graph.agent, turn.depth(), graph.carries, turn.history_tokens, record.input_tokens_asked)
        })
        .collect();
    assert_eq!(
        asked,
        [
            (0, 0, None, 0, 50),
            (1, 0, None, 0, 20),
            (1, 1, Some(1), 22, 42),
            (2, 0, None, 0, 20),
            (2, 1, Some(3), 22, 42),
            (0, 1, Some(0), 52, 72),
        ]
    );
    let review = records(&executed, 0)[5];
    assert_eq!(review.scheduled, at(15_700));
    let released = review.release.as_deref().map(|release| release.predecessors().len());
    assert_eq!(released, Some(3), "the plan and the last turn of each explorer");
    assert_eq!(counts(&executed), SessionCounts { measured_turns: 5, ..SessionCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_prompt_says_what_was_said_on_its_own_path() {
    let engine = talker(1_500);
    timed(&agents(16, EXPLORE), &engine, PATIENT, &[]).await;
    let asked = |place: u64| engine.asked(place << 28);
    let Prompt::Text(plan) = asked(0) else { panic!("the opener is a text") };
    let Prompt::Text(first) = asked(1) else { panic!("an agent with a history of its own begins with a text") };
    let Prompt::Conversation(second) = asked(2) else { panic!("a conversation") };
    let Prompt::Conversation(review) = asked(5) else { panic!("a conversation") };
    assert_eq!((second.len(), &*second[0], &*second[1]), (3, &*first, "answer 268435456"));
    assert_eq!((review.len(), &*review[0], &*review[1]), (3, &*plan, "answer 0"));
    let Prompt::Text(other) = asked(3) else { panic!("a text") };
    assert_ne!(first, other, "each explorer has a text of its own");
}

#[tokio::test(start_paused = true)]
async fn the_first_of_any_lets_a_session_go_on() {
    let steps = r#"{ name = "ask" }, { name = "quick" }, { name = "deep", after = "ask", turns = 3 },
        { name = "answer", after = { any = ["quick", "deep"] }, history = "ask", delay_s = 0.1 }"#;
    let executed = timed(&agents(15, steps), &talker(1_500), PATIENT, &[]).await;
    let begun: Vec<_> = records(&executed, 0).iter().map(|record| record.scheduled).collect();
    // Places: ask, quick, deep 1 to 3, answer. The quick one ends at 13 s, as the first deep one does.
    assert_eq!(begun, [10_000, 11_500, 11_500, 13_000, 14_500, 13_100].map(at));
    let answer = records(&executed, 0)[5].release.as_deref();
    let quick = Predecessor { index: 1 << 28, delay_ns: 100_000_000 };
    assert_eq!(answer, Some(&Release::Any(vec![quick])), "the one that came first");
    // Where that fails, the other counts: it ends at 16 s.
    let engine = ConversationEngine { fails: vec![1], ..talker(1_500) };
    let executed = timed(&agents(17, steps), &engine, PATIENT, &[]).await;
    let answer = records(&executed, 0)[5];
    assert_eq!((answer.scheduled, counts(&executed).broken_off), (at(16_100), 0));
    let deep = Predecessor { index: 4 << 28, delay_ns: 100_000_000 };
    assert_eq!(answer.release.as_deref(), Some(&Release::Any(vec![deep])));
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_failed_request_is_not_sent_and_counted_once() {
    // The second requests of the explorers fail, so that the review lacks what it waits for.
    let engine = ConversationEngine { fails: vec![2], ..talker(1_500) };
    let executed = timed(&agents(16, EXPLORE), &engine, PATIENT, &[]).await;
    assert_eq!(records(&executed, 0).len(), 5);
    let expected = SessionCounts { measured_turns: 4, broken_off: 1, turns_not_reached: 1, ..SessionCounts::default() };
    assert_eq!(counts(&executed), expected);
    // Where the plan fails, all that follows is lost.
    let engine = ConversationEngine { fails: vec![0], ..talker(1_500) };
    let executed = timed(&agents(16, EXPLORE), &engine, PATIENT, &[]).await;
    let expected = SessionCounts { broken_off: 1, turns_not_reached: 5, ..SessionCounts::default() };
    assert_eq!((counts(&executed), records(&executed, 0).len()), (expected, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_room_is_not_sent() {
    // The review would have 72 tokens and two of answer.
    let toml = agents(16, EXPLORE).replace("session.steps", "session.max_context_tokens = 73\nsession.steps");
    let executed = timed(&toml, &talker(1_500), PATIENT, &[]).await;
    let expected = SessionCounts { measured_turns: 4, full: 1, turns_not_reached: 1, ..SessionCounts::default() };
    assert_eq!((counts(&executed), records(&executed, 0).len()), (expected, 5));
    assert!(records(&executed, 0)[0].context_full, "there was no room after the plan");
}

#[tokio::test(start_paused = true)]
async fn an_agent_begins_its_next_session_when_one_is_over() {
    let toml = agents(16, EXPLORE).replace(
        r#"kind = "constant", rate_per_s = 0.1"#,
        r#"kind = "users", users = 2, think_time_s = 1, ramp_s = 0"#,
    );
    let executed = timed(&toml, &talker(1_500), PATIENT, &[]).await;
    let begun: Vec<_> = records(&executed, 1)
        .iter()
        .filter(|record| turn(record).place() == 0)
        .map(|record| record.scheduled)
        .collect();
    // A session ends 7.2 s after it begins: 1.5, twice 0.5 + 1.5, 0.2 + 1.5. Then the agent waits a second.
    assert_eq!(begun, [0, 8_200].map(at));
    let numbers: Vec<_> = records(&executed, 1).iter().map(|record| turn(record).number).collect();
    assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
}
