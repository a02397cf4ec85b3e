//! Weka's traces: an object a session, with the moments of its requests and the blocks of their prompts.
//!
//! Sub-agents stand in lists of their own. A trace does not say which request waits for which: that follows from the
//! moments, as `AIPerf` takes them (`aiperf/dataset/loader/weka_trace.py`, 0.13.0), except that nothing begins before
//! the end of a request that it follows from.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::split::{SAME_NS, split};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::whole;
use crate::generator::datasets::sessions::blocks::{KnownPrompts, filling};
use crate::generator::datasets::sessions::recorded::{AgentGraph, RecordedAgent, RecordedRequest};
use crate::generator::datasets::sessions::rows::read_item;
use crate::generator::datasets::sessions::session::{
    FilePrompt, FileRequest, FileSession, FoundSessions, SessionReader,
};
use crate::generator::rows::{Object, excerpt, nanoseconds, tokens};
use crate::units::{count, seconds};
use crate::workload::MOST_TURNS;

/// Reader of Weka's traces.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct WekaReader {
    /// The sessions that have been read.
    names: BTreeSet<String>,
}

#[derive(Deserialize)]
struct WekaTrace {
    id: String,
    block_size: NonZeroU32,
    hash_id_scope: String,
    requests: Vec<Object<WekaEntry>>,
}

/// A request, or a sub-agent with its requests.
#[derive(Deserialize)]
struct WekaEntry {
    /// Seconds after the start of the session. In a sub-agent they may count from its own.
    t: f64,
    #[serde(rename = "type")]
    kind: EntryKind,
    model: Option<String>,
    #[serde(rename = "in")]
    input: Option<u64>,
    out: Option<u64>,
    #[serde(default)]
    hash_ids: Vec<u64>,
    /// Seconds that it took.
    api_time: Option<f64>,
    agent_id: Option<String>,
    duration_ms: Option<f64>,
    #[serde(default)]
    requests: Vec<Object<WekaEntry>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum EntryKind {
    #[serde(rename = "n")]
    Plain,
    #[serde(rename = "s")]
    Streamed,
    #[serde(rename = "subagent")]
    Subagent,
}

/// Fields that change nothing of what is sent.
const HARMLESS: [&str; 13] = [
    "models",
    "tool_tokens",
    "system_tokens",
    "totals",
    "input_types",
    "output_types",
    "stop",
    "think_time",
    "ttft",
    "subagent_type",
    "status",
    "total_tokens",
    "tool_use_count",
];
/// Reason why the requests of a sub-agent are left out.
pub(super) const NO_PARENT: &str = "of sub-agents that no request of the main agent comes before";

/// Whether a file that begins like this has such traces.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    ["\"block_size\"", "\"requests\""].iter().all(|key| head.contains(key))
}

impl SessionReader for WekaReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        let trace: WekaTrace = read_item(item, place, &HARMLESS, found)?;
        let wrong = |cause: String| whole(place, format!("session `{}`: {cause}", excerpt(&trace.id)));
        if trace.hash_id_scope != "local" {
            let scope = excerpt(&trace.hash_id_scope);
            let cause = format!("`hash_id_scope` is `{scope}`; only `local` is read, blocks that count in one session");
            return Err(wrong(cause));
        }
        if !self.names.insert(trace.id.clone()) {
            return Err(wrong("an earlier session has this `id` too; give each its own".to_owned()));
        }
        let (graph, left_out) = trace.graph().map_err(wrong)?;
        found.leave_out(NO_PARENT, left_out);
        if !graph.requests.is_empty() {
            found.sessions.push(trace.session(place, &graph, &mut found.clamped));
        }
        Ok(())
    }
}

impl WekaTrace {
    /// The agents, and the number of requests that are left out.
    fn graph(&self) -> Result<(AgentGraph<'_>, u64), String> {
        if self.requests.is_empty() {
            return Err("it has no request; leave the session out".to_owned());
        }
        let inner = self.requests.iter().map(|Object(entry)| entry.requests.len());
        let number = self.requests.len() + inner.sum::<usize>();
        if number > MOST_TURNS as usize {
            let [found, most] = [number as u64, MOST_TURNS.into()].map(count);
            return Err(format!("it has {found} requests, and a session has at most {most}; split it"));
        }
        let of_kind = |subagents: bool| {
            let entries = self.requests.iter().zip(0..).map(|(Object(entry), number)| (entry, number));
            entries.filter(move |(entry, _)| (entry.kind == EntryKind::Subagent) == subagents)
        };
        let mut graph = AgentGraph::default();
        for (entry, number) in of_kind(false) {
            let request = entry.recorded(format!("request {}", number + 1), number, 0)?;
            if let Some(before) = graph.requests.last().filter(|before| before.begin_ns > request.begin_ns) {
                let [begins, earlier] = [&request, before].map(|at| seconds(at.begin_ns as f64 / 1e9));
                let names = [&request, before].map(|request| &request.name);
                return Err(format!(
                    "{} begins at {begins}, before {} at {earlier}; put `requests` in the order of `t`",
                    names[0], names[1]
                ));
            }
            graph.requests.push(request);
        }
        let agents = split(&graph.requests).into_iter();
        graph.agents = agents.map(|requests| RecordedAgent { requests, group: 0, begun_by: 0 }).collect();
        let main: Vec<_> = graph.agents.first().into_iter().flat_map(|main| &main.requests).collect();
        let main: Vec<_> = main.iter().map(|at| (**at, graph.requests[**at].number)).collect();
        let (mut left_out, mut names) = (0, BTreeSet::new());
        for ((entry, number), group) in of_kind(true).zip(1..) {
            let name = format!("request {}, a sub-agent,", number + 1);
            let id = entry.agent_id.as_deref().ok_or_else(|| format!("{name} has no `agent_id`"))?;
            let (end_ns, requests) = entry.subagent(&name, id, number)?;
            let Some((begun_by, _)) = main.iter().rfind(|(_, before)| *before < number) else {
                left_out += requests.len() as u64;
                continue;
            };
            if !names.insert(id) {
                return Err(format!("two sub-agents have the `agent_id` `{}`; give each its own", excerpt(id)));
            }
            let comes_after =
                |(at, after): &&(usize, usize)| *after > number && graph.requests[*at].begin_ns + SAME_NS >= end_ns;
            graph.joins.extend(main.iter().find(comes_after).map(|(at, _)| (*at, group)));
            let first = graph.requests.len();
            let agents = split(&requests).into_iter().map(|agent| agent.into_iter().map(|at| first + at).collect());
            graph.agents.extend(agents.map(|requests| RecordedAgent { requests, group, begun_by: *begun_by }));
            graph.requests.extend(requests);
        }
        Ok((graph, left_out))
    }

    /// The session of these agents. Requests that began before an end they wait for add to `clamped`.
    fn session(&self, place: ItemPosition, graph: &AgentGraph<'_>, clamped: &mut u64) -> FileSession {
        let (waits, agents) = (graph.waits(), graph.agent_of_each());
        *clamped += graph.clamped(&waits);
        let (mut known, block_tokens) = (KnownPrompts::default(), self.block_size.get());
        let first_ns = graph.requests.iter().map(|recorded| recorded.begin_ns).min().unwrap_or(0);
        let after_first = |begin_ns: i64| Duration::from_nanos(begin_ns.abs_diff(first_ns));
        let requests = graph.requests.iter().zip(waits).zip(agents);
        let requests = requests.map(|((recorded, waits), agent)| FileRequest {
            name: recorded.name.clone(),
            waits,
            begins: Some(after_first(recorded.begin_ns)),
            agent,
            prompt: FilePrompt::Blocks {
                tokens: recorded.tokens,
                block_tokens,
                blocks: known.add(filling(recorded.blocks, recorded.tokens, block_tokens)),
                is_local: true,
            },
            output_tokens: Some(recorded.output_tokens),
            model: Some(recorded.model.into()),
        });
        let (name, requests) = (self.id.clone(), requests.collect());
        FileSession { name, place, begins_ns: None, requests, blocks: Arc::new(known.tree()) }
    }
}

impl WekaEntry {
    /// The request of this name, whose times count from `zero_ns`.
    fn recorded(&self, name: String, number: usize, zero_ns: i64) -> Result<RecordedRequest<'_>, String> {
        let missing = |key: &str| format!("{name} has no `{key}`");
        let length = |key: &str, length: u64| tokens(length).map_err(|cause| format!("`{key}` of {name} says {cause}"));
        let begin_ns = zero_ns.saturating_add(self.begin_ns(&name)?);
        // AIPerf, too, takes a duration that is missing or below 0 for none.
        let took_ns = self.api_time.and_then(|took| nanoseconds(took, 1e9)).unwrap_or(0).max(0);
        Ok(RecordedRequest {
            number,
            begin_ns,
            end_ns: begin_ns.saturating_add(took_ns),
            tokens: length("in", self.input.ok_or_else(|| missing("in"))?)?,
            output_tokens: length("out", self.out.ok_or_else(|| missing("out"))?.max(1))?,
            blocks: &self.hash_ids,
            model: self.model.as_deref().ok_or_else(|| missing("model"))?,
            name,
        })
    }

    fn begin_ns(&self, name: &str) -> Result<i64, String> {
        let begin = nanoseconds(self.t, 1e9).filter(|begin| *begin >= 0);
        begin.ok_or_else(|| format!("`t` of {name} is {}; it must be a time after the start of the session", self.t))
    }

    /// The end of a sub-agent, and its requests in the order of their moments.
    fn subagent(&self, name: &str, id: &str, number: usize) -> Result<(i64, Vec<RecordedRequest<'_>>), String> {
        let spawn_ns = self.begin_ns(name)?;
        let mut requests = Vec::new();
        for (Object(inner), k) in self.requests.iter().zip(1..) {
            let name = format!("request {k} of `{}`", excerpt(id));
            if inner.kind == EntryKind::Subagent {
                return Err(format!("{name} is a sub-agent of a sub-agent, and none is known to have any"));
            }
            // In older traces times count from the start of the sub-agent.
            let is_relative = inner.begin_ns(&name)? + SAME_NS < spawn_ns;
            requests.push(inner.recorded(name, number, if is_relative { spawn_ns } else { 0 })?);
        }
        requests.sort_by_key(|request| request.begin_ns);
        let took_ns = self.duration_ms.map(|took| nanoseconds(took, 1e6).unwrap_or(0).max(0));
        let last = || requests.iter().map(|request| request.end_ns).max();
        let end_ns = took_ns.map(|took| spawn_ns.saturating_add(took)).or_else(last);
        Ok((end_ns.unwrap_or(spawn_ns), requests))
    }
}
