//! `TraceLab`'s traces: a line a round of an agent, with the dates of its events and the lengths of its prompt.
//!
//! A round says how much of its prompt was in the provider's cache: that many blocks are taken over from the round
//! before it. Sub-agents are sessions of their own, for no field says who began them.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::blocks::{BlockTree, PromptBlocks};
use super::rows::{NamedRows, RowsBySession};
use super::session::{FilePrompt, FileRequest, FileSession, FoundSessions, SessionReader};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, whole};
use crate::generator::rows::{Object, excerpt, parse_moment, tokens};

/// Reader of `TraceLab`'s traces.
#[derive(Debug, Default)]
pub(super) struct TraceLabReader(RowsBySession<Round>);

/// A line; what it says of tools and projects is not needed.
#[derive(Deserialize)]
struct TraceLabLine {
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

/// A round, with its moments in nanoseconds since 1970.
#[derive(Debug)]
struct Round {
    index: u64,
    model: Option<Box<str>>,
    tokens: u32,
    /// Tokens that were in the provider's cache.
    cached: u64,
    output_tokens: u32,
    begin_ns: i64,
    end_ns: i64,
}

/// Tokens of the blocks that are taken over or new.
const BLOCK_TOKENS: u32 = 64;
const UNDATED: &str = "without the date of an event";
const EMPTY: &str = "without a token of a prompt";

/// Whether a file that begins like this has such traces.
pub(super) fn fits(head: &str) -> bool {
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
        let sessions = self.0.drain().into_iter().map(|rows| session(rows, &mut found.clamped));
        found.sessions.extend(sessions);
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

fn session(NamedRows { name, place, mut rows }: NamedRows<Round>, clamped: &mut u64) -> FileSession {
    rows.sort_by_key(|round| (round.begin_ns, round.index));
    let mut requests = Vec::with_capacity(rows.len());
    let (mut tree, mut held) = (BlockTree::default(), PromptBlocks::default());
    let (mut minted, mut before) = (0, None);
    let begins_ns = rows.first().map(|round| round.begin_ns);
    for (round, at) in rows.into_iter().zip(0_usize..) {
        let blocks = round.tokens / BLOCK_TOKENS;
        let kept = (round.cached / u64::from(BLOCK_TOKENS)).min(blocks.min(held.len).into()) as u32;
        let new = minted..minted + u64::from(blocks - kept);
        minted = new.end;
        held = tree.extend(held, kept, new);
        let pause = |end_ns: i64| Duration::from_nanos(round.begin_ns.saturating_sub(end_ns).max(0) as u64);
        requests.push(FileRequest {
            name: format!("round {}", round.index),
            waits: before.map(|end_ns| (at.saturating_sub(1), pause(end_ns))).into_iter().collect(),
            begins: begins_ns.map(|first_ns| Duration::from_nanos(round.begin_ns.abs_diff(first_ns))),
            agent: 0,
            prompt: FilePrompt::Blocks {
                tokens: round.tokens,
                block_tokens: BLOCK_TOKENS,
                blocks: held,
                is_local: true,
            },
            output_tokens: Some(round.output_tokens),
            model: round.model,
        });
        *clamped += u64::from(before.is_some_and(|end_ns| end_ns > round.begin_ns));
        before = Some(round.end_ns);
    }
    FileSession { name, place, begins_ns, requests, blocks: Arc::new(tree) }
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
