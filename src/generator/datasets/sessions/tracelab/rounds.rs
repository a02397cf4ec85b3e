//! `TraceLab`'s traces in JSON: a line a round, with the dates of its events.
//!
//! A round says how much of its prompt was in the provider's cache: that many blocks are taken over from the round
//! before it. No field says who began a sub-agent. It belongs to the shortest call of an agent that it lies in.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::callers::{Stretch, TimedAgent, callers};
use super::minted::MintedBlocks;
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::datasets::sessions::blocks::PromptBlocks;
use crate::generator::datasets::sessions::rows::{NamedRows, RowsBySession};
use crate::generator::datasets::sessions::session::{FileRequest, FileSession, FoundSessions, SessionReader};
use crate::generator::rows::{Object, excerpt, nanoseconds, parse_moment, tokens};

/// Reader of `TraceLab`'s traces.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct TraceLabReader(RowsBySession<Round>);

/// A line of the fields that are needed.
#[derive(Deserialize)]
struct TraceLabLine {
    #[serde(default, deserialize_with = "if_so")]
    user: Option<Box<str>>,
    #[serde(default, deserialize_with = "if_so")]
    project: Option<Box<str>>,
    #[serde(default, deserialize_with = "if_so")]
    tools: Option<Vec<Object<ToolCall>>>,
    session_id: String,
    #[serde(default)]
    round_index: u64,
    model: Option<Box<str>>,
    input_tokens_total: u64,
    prefix_tokens: u64,
    output_tokens: u64,
    timing_events: Vec<Object<TimingEvent>>,
}

#[derive(Deserialize)]
struct TimingEvent {
    event_type: String,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default, deserialize_with = "if_so")]
    tool_name: Option<String>,
    #[serde(default, deserialize_with = "if_so")]
    emitted_at: Option<String>,
    #[serde(default, deserialize_with = "if_so")]
    result_at: Option<String>,
    #[serde(default, deserialize_with = "if_so")]
    tool_wall_latency_ms: Option<f64>,
}

/// Reads a value that only says who called whom; one of another type says nothing.
fn if_so<'de, D: Deserializer<'de>, T: DeserializeOwned>(value: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(value)?).ok())
}

/// A call of another agent.
#[derive(Clone, Copy, Debug)]
enum AgentCall {
    /// From the call to its result, which is the agent's.
    Whole(Stretch),
    /// The beginning of one that is awaited apart.
    Spawn(i64),
    /// The result of one that was awaited.
    Wait(i64),
}

/// A round, with its moments in nanoseconds since 1970.
#[derive(Debug)]
struct Round {
    owner: Option<(Box<str>, Box<str>)>,
    calls: Vec<AgentCall>,
    index: u64,
    model: Option<Box<str>>,
    tokens: u32,
    /// Tokens that were in the provider's cache.
    cached: u64,
    output_tokens: u32,
    begin_ns: i64,
    end_ns: i64,
}

/// Shortest call of another agent, nanoseconds. Shorter ones only begin it, or failed.
const LEAST_CALL_NS: i64 = 10_000_000_000;
const UNDATED: &str = "without the date of an event";
const EMPTY: &str = "without a token of a prompt";

/// Whether a file that begins like this has such traces.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    ["\"round_index\"", "\"timing_events\""].iter().all(|key| head.contains(key))
}

impl SessionReader for TraceLabReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        let Object(line): Object<TraceLabLine> = serde_json::from_slice(item).map_err(|error| at(place, &error))?;
        let round = if line.input_tokens_total == 0 {
            Err(EMPTY)
        } else {
            line.round().map_err(|cause| whole(place, cause))?.ok_or(UNDATED)
        };
        match round {
            Ok(round) => self.0.add(line.session_id, place, round),
            Err(why) => found.leave_out(why, 1),
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        let mut all = self.0.drain();
        for session in &mut all {
            session.rows.sort_by_key(|round| (round.begin_ns, round.index));
        }
        let timed: Vec<_> = all.iter().map(timed).collect();
        let callers = callers(&timed);
        let mut called = vec![Vec::new(); all.len()];
        for (agent, (caller, timed)) in callers.iter().zip(&timed).enumerate() {
            if let Some((of, call)) = caller
                && let Some(called) = called.get_mut(*of)
            {
                called.push((agent, call.0, timed.lasts.1));
            }
        }
        let roots = callers.iter().zip(0..).filter(|(caller, _)| caller.is_none());
        found.sessions.extend(roots.filter_map(|(_, root)| family(&all, &called, root, &mut found.clamped)));
        Ok(())
    }
}

impl TraceLabLine {
    /// The round; `None` where no event has a date.
    fn round(&self) -> Result<Option<Round>, String> {
        let moments = |kinds: &[&str]| {
            let events = self.timing_events.iter().filter(|Object(event)| kinds.contains(&event.event_type.as_str()));
            let dates = events.filter_map(|Object(event)| event.timestamp.as_deref()).map(|date| {
                let example = "2026-01-31T12:00:00.5Z";
                parse_moment(date)
                    .ok_or_else(|| format!("`timestamp` is {:?}, no date such as {example}", excerpt(date)))
            });
            dates.collect::<Result<Vec<_>, _>>()
        };
        // A prompt was complete when the last tool had answered.
        let inputs = moments(&["user_message", "tool_result"])?;
        let outputs = moments(&["text", "reasoning", "tool_call"])?;
        let Some(begin_ns) = inputs.iter().max().or(outputs.iter().min()).copied() else { return Ok(None) };
        let length = |key: &str, length: u64| tokens(length).map_err(|cause| format!("`{key}` says {cause}"));
        Ok(Some(Round {
            owner: self.user.clone().zip(self.project.clone()),
            calls: self.tools.iter().flatten().filter_map(|Object(tool)| tool.agent_call()).collect(),
            index: self.round_index,
            model: self.model.clone(),
            tokens: length("input_tokens_total", self.input_tokens_total)?,
            cached: self.prefix_tokens,
            output_tokens: length("output_tokens", self.output_tokens.max(1))?,
            begin_ns,
            end_ns: outputs.into_iter().max().unwrap_or(begin_ns).max(begin_ns),
        }))
    }
}

impl ToolCall {
    /// The call of another agent, if it is one.
    fn agent_call(&self) -> Option<AgentCall> {
        let moment = |text: &Option<String>| text.as_deref().and_then(parse_moment);
        let (from, to) = (moment(&self.emitted_at), moment(&self.result_at));
        match self.tool_name.as_deref()? {
            "Agent" | "Task" => {
                let took = || Some(from?.saturating_add(nanoseconds(self.tool_wall_latency_ms?, 1e6)?));
                let call = (from?, to.or_else(took)?);
                (call.1.saturating_sub(call.0) >= LEAST_CALL_NS).then_some(AgentCall::Whole(call))
            }
            "spawn_agent" => from.map(AgentCall::Spawn),
            "wait_agent" => to.map(AgentCall::Wait),
            _ => None,
        }
    }
}

/// The agent of a session whose rounds are in order.
fn timed(NamedRows { rows, .. }: &NamedRows<Round>) -> TimedAgent {
    let calls = || rows.iter().flat_map(|round| round.calls.iter().copied());
    let spawned = calls().filter_map(|call| if let AgentCall::Spawn(at) = call { Some(at) } else { None }).min();
    let awaited = calls().filter_map(|call| if let AgentCall::Wait(at) = call { Some(at) } else { None }).max();
    let whole = calls().filter_map(|call| if let AgentCall::Whole(call) = call { Some(call) } else { None });
    TimedAgent {
        owner: rows.first().and_then(|round| round.owner.clone()),
        lasts: (
            rows.first().map_or(0, |round| round.begin_ns),
            rows.iter().map(|round| round.end_ns).max().unwrap_or_default(),
        ),
        calls: whole.chain(spawned.zip(awaited)).collect(),
    }
}

/// The session of an agent, of those that it called, and so on. Each of these has the moments of its call and its end.
fn family(
    all: &[NamedRows<Round>],
    called: &[Vec<(usize, i64, i64)>],
    root: usize,
    clamped: &mut u64,
) -> Option<FileSession> {
    let NamedRows { name, place, rows } = all.get(root)?;
    let (mut requests, mut blocks): (Vec<FileRequest>, _) = (Vec::new(), MintedBlocks::default());
    let begins_ns = rows.first().map(|round| round.begin_ns);
    // Agents, each with the place and the end of the request that calls it, and the place of the one that awaits it.
    let mut left = vec![(root, None, None)];
    let mut agent = 0_u16;
    while let Some((which, begun_by, awaited_by)) = left.pop() {
        let own = all.get(which)?;
        let (mut held, mut before, first) = (PromptBlocks::default(), begun_by, requests.len());
        let of = if which == root { String::new() } else { format!(" of `{}`", excerpt(&own.name)) };
        for (round, at) in own.rows.iter().zip(first..) {
            let pause = |end_ns: i64| Duration::from_nanos(round.begin_ns.saturating_sub(end_ns).max(0) as u64);
            requests.push(FileRequest {
                name: format!("round {}{of}", round.index),
                waits: before.map(|(place, end_ns)| (place, pause(end_ns))).into_iter().collect(),
                begins: begins_ns.map(|first_ns| Duration::from_nanos(round.begin_ns.abs_diff(first_ns))),
                agent,
                prompt: blocks.prompt(&mut held, round.tokens, round.cached),
                output_tokens: Some(round.output_tokens),
                model: round.model.clone(),
            });
            *clamped += u64::from(before.is_some_and(|(_, end_ns)| end_ns > round.begin_ns));
            before = Some((at, round.end_ns));
        }
        let last = requests.len().checked_sub(1)?;
        if let Some(request) = awaited_by.and_then(|place: usize| requests.get_mut(place)) {
            request.waits.push((last, Duration::ZERO));
        }
        for (other, call_ns, end_ns) in called.get(which)?.iter().rev() {
            let calls = own.rows.partition_point(|round| round.begin_ns <= *call_ns).saturating_sub(1);
            // What began before its end did not wait for it.
            let awaits = own.rows.partition_point(|round| round.begin_ns < *end_ns).max(calls + 1) + first;
            let begun_by = (first + calls, own.rows.get(calls)?.end_ns);
            left.push((*other, Some(begun_by), Some(awaits).filter(|place| *place <= last)));
        }
        agent = agent.saturating_add(1);
    }
    Some(FileSession { name: name.clone(), place: *place, begins_ns, requests, blocks: blocks.tree() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::generator::datasets::sessions::session::read_items;

    fn line(session: &str, index: u64, [total, prefix]: [u64; 2], events: &[(&str, &str)]) -> String {
        let event =
            |(kind, time): &(&str, &str)| json!({"event_type": kind, "timestamp": format!("2026-01-01T00:{time}Z")});
        let events: Vec<Value> = events.iter().map(event).collect();
        json!({"provider": "claude", "session_id": session, "round_index": index, "round_id": "m1", "model": "x",
            "input_tokens_total": total, "prefix_tokens": prefix, "newly_append_tokens": total - prefix,
            "output_tokens": 40, "timing_events": events, "tools": []})
        .to_string()
    }

    fn read(lines: &[String]) -> Result<FoundSessions, String> {
        read_items(TraceLabReader::default(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn rounds_follow_the_answer_before_them_and_take_over_what_was_cached() {
        let first = line("claude:1", 0, [900, 512], &[("user_message", "00:00"), ("tool_call", "00:04")]);
        assert!(fits(&first));
        let found = read(&[
            line("claude:1", 2, [640, 128], &[("user_message", "01:00.5"), ("text", "01:02")]),
            first,
            line("claude:2", 0, [64, 0], &[("text", "00:30")]),
            // Both tools must have answered.
            line("claude:1", 1, [1_500, 900], &[("tool_result", "00:05"), ("tool_result", "00:06"), ("text", "00:09")]),
        ]);
        let found = found.unwrap();
        let names: Vec<_> = found.sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["claude:1", "claude:2"]);
        let session = &found.sessions[0];
        assert_eq!(session.begins_ns, Some(1_767_225_600_000_000_000));
        assert_eq!(session.place.line, 1);
        let names: Vec<_> = session.requests.iter().map(|request| request.name.as_str()).collect();
        assert_eq!(names, ["round 0", "round 1", "round 2"]);
        let waits: Vec<_> = session.requests.iter().map(|request| request.waits.clone()).collect();
        let after = |place, ms| vec![(place, Duration::from_millis(ms))];
        assert_eq!(waits, [vec![], after(0, 2_000), after(1, 51_500)]);
        // Of 900 tokens 14 blocks are whole, all of which the next round takes over; the last round keeps two.
        assert_eq!(session.ids(0), (0..14).collect::<Vec<u64>>());
        assert_eq!(session.ids(1), (0..23).collect::<Vec<u64>>());
        assert_eq!(session.ids(2), [0, 1].into_iter().chain(23..31).collect::<Vec<u64>>());
        assert_eq!(found.sessions[1].requests[0].output_tokens, Some(40));
    }

    /// A call of 50 s, in which another session of the same user lies.
    #[test]
    fn a_sub_agent_lies_in_the_call_that_began_it() {
        let of = |user: &str, line: String, tools: Value| {
            let mut line: Value = serde_json::from_str(&line).unwrap();
            (line["user"], line["project"], line["tools"]) = (json!(user), json!("p"), tools);
            line.to_string()
        };
        let task = |name: &str, from: &str, to: &str| {
            let [emitted, result] = [from, to].map(|time| format!("2026-01-01T00:{time}Z"));
            json!([{"tool_name": name, "emitted_at": emitted, "result_at": result}])
        };
        let parent = |name: &str, ends: &str| {
            [
                of(
                    "u",
                    line("claude:1", 0, [640, 0], &[("user_message", "00:00"), ("text", "00:04")]),
                    task(name, "00:03", ends),
                ),
                of("u", line("claude:1", 1, [640, 640], &[("tool_result", "00:55"), ("text", "00:59")]), json!([])),
            ]
        };
        let child = [
            of("u", line("claude:2", 0, [128, 0], &[("user_message", "00:06"), ("text", "00:08")]), json!([])),
            of("u", line("claude:2", 1, [192, 128], &[("tool_result", "00:09"), ("text", "00:40")]), json!([])),
        ];
        let stranger =
            of("v", line("claude:3", 0, [64, 0], &[("user_message", "00:07"), ("text", "00:08")]), json!([]));
        let all: Vec<_> = parent("Task", "00:53").into_iter().chain(child.clone()).chain([stranger]).collect();
        let found = read(&all).unwrap();
        let names: Vec<_> = found.sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["claude:1", "claude:3"]);
        let requests = &found.sessions[0].requests;
        let waits: Vec<_> = requests.iter().map(|request| request.waits.clone()).collect();
        let s = Duration::from_secs;
        assert_eq!(waits, [vec![], vec![(0, s(51)), (3, s(0))], vec![(0, s(2))], vec![(2, s(1))]]);
        assert_eq!(requests.iter().map(|request| request.agent).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!(requests[3].name, "round 1 of `claude:2`");
        assert_eq!(found.sessions[0].ids(3), [10, 11, 12], "its blocks are no other's");
        // Short calls only begin an agent, and other tools none.
        for (name, ends) in [("Task", "00:12"), ("Bash", "00:53")] {
            let all: Vec<_> = parent(name, ends).into_iter().chain(child.clone()).collect();
            assert_eq!(read(&all).unwrap().sessions.len(), 2, "{name}");
        }
        // Begun by one round, awaited by another: what lies between did not wait.
        let rounds = [
            (0, [("user_message", "00:00"), ("text", "00:04")], task("spawn_agent", "00:03", "00:03")),
            (1, [("tool_result", "00:05"), ("text", "00:07")], task("wait_agent", "00:07", "00:50")),
            (2, [("tool_result", "00:50"), ("text", "00:52")], json!([])),
        ];
        let rounds = rounds.map(|(at, events, tools)| of("u", line("codex:1", at, [640, 0], &events), tools));
        let found = read(&rounds.into_iter().chain(child).collect::<Vec<_>>()).unwrap();
        let waits: Vec<_> = found.sessions[0].requests.iter().map(|request| request.waits.clone()).collect();
        let expected = [vec![], vec![(0, s(1))], vec![(1, s(43)), (4, s(0))], vec![(0, s(2))], vec![(3, s(1))]];
        assert_eq!(waits, expected);
    }

    #[test]
    fn rounds_without_a_date_or_a_prompt_are_left_out_and_rounds_that_overlap_do_not_pause() {
        let found = read(&[
            line("a", 0, [64, 0], &[("user_message", "00:00"), ("text", "00:09")]),
            line("a", 1, [128, 64], &[("user_message", "00:05"), ("text", "00:04")]),
            line("a", 2, [128, 64], &[("usage_report", "00:05")]),
            line("a", 3, [0, 0], &[("user_message", "00:20")]),
        ]);
        let found = found.unwrap();
        assert_eq!(found.left_out.into_iter().collect::<Vec<_>>(), [(EMPTY, 1), (UNDATED, 1)]);
        assert_eq!(found.sessions[0].requests[1].waits, [(0, Duration::ZERO)]);
        assert_eq!(found.clamped, 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let good = line("a", 0, [64, 0], &[("user_message", "00:00")]);
        for (old, new, said) in [
            ("\"session_id\":\"a\",", "", "row 1, line 1, column "),
            ("\"session_id\":\"a\",", "", "missing field `session_id`"),
            ("\"prefix_tokens\":0,", "", "missing field `prefix_tokens`"),
            ("2026-01-01T00:00:00Z", "yesterday", "`timestamp` is \"yesterday\", no date such as"),
            ("\"input_tokens_total\":64", "\"input_tokens_total\":-64", "invalid value: integer `-64`, expected u64"),
            ("\"output_tokens\":40", "\"output_tokens\":4000000000000", "`output_tokens` says 4000000000000 tokens"),
        ] {
            let error = read(&[good.replace(old, new)]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
