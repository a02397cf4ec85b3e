//! Spans of `OpenTelemetry` about generative AI: in OTLP's JSON, one a line, or a trace a line.
//!
//! The calls of models in a trace are a session, or those of all traces of one conversation. What a call waited for is
//! known from time alone: from the calls that had ended when it began.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::chain::SessionPrompts;
use super::chat::ChatMessage;
use super::fields::{JsonFields, key_paths, values};
use super::span_attributes::{Attributes, attributes, instructions, messages, tools as tools_of};
use crate::generator::datasets::error::BadRow;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::parse::{at, number_tokens, whole};
use crate::generator::datasets::sessions::rows::{NamedRows, RowsBySession};
use crate::generator::datasets::sessions::session::{
    FilePrompt, FileRequest, FileSession, FoundSessions, SessionReader,
};
use crate::generator::rows::parse_moment;
use crate::units::cut;

/// Reader of spans. A trace is complete at the end of the file.
#[derive(Debug, Default)]
pub(in crate::generator::datasets::sessions) struct SpanReader {
    calls: RowsBySession<Call>,
    /// Traces and spans of calls.
    seen: HashSet<(String, String)>,
    /// Traces and conversations that are left out, because one of their spans is wrong.
    broken: HashSet<String>,
    /// The conversations of each trace.
    conversations: HashMap<String, BTreeSet<String>>,
}

/// A call of a model.
#[derive(Debug)]
struct Call {
    span: String,
    began_ns: i64,
    ended_ns: i64,
    messages: Vec<ChatMessage>,
    answer: Option<ChatMessage>,
    tools: Option<Arc<str>>,
    model: Option<Box<str>>,
    /// Agent that made it, where the span says so.
    agent: Option<String>,
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

/// Whether the beginning of a file looks like spans.
pub(in crate::generator::datasets::sessions) fn fits(head: &str) -> bool {
    let keys = key_paths(head);
    ["resourceSpans", "span_id", "spans.span_id", "spans.spanId"].into_iter().any(|key| keys.contains(key))
}

impl SessionReader for SpanReader {
    fn take(&mut self, item: &[u8], place: ItemPosition, found: &mut FoundSessions) -> Result<(), BadRow> {
        for json in values(item) {
            let json = json.map_err(|error| at(place, &error))?;
            self.spans_in(json, None, place, found).map_err(|cause| whole(place, cause))?;
        }
        Ok(())
    }

    fn finish(&mut self, found: &mut FoundSessions) -> Result<(), BadRow> {
        let mut sessions: RowsBySession<Call> = RowsBySession::default();
        for NamedRows { name, place, rows } in self.calls.drain() {
            for call in rows {
                sessions.add(self.session_of(&name).to_owned(), place, call);
            }
        }
        let broken: HashSet<&str> = self.broken.iter().map(|name| self.session_of(name)).collect();
        for calls in sessions.drain().into_iter().filter(|session| !broken.contains(session.name.as_str())) {
            let session = to_session(calls, found);
            found.sessions.push(session);
        }
        Ok(())
    }
}

impl SpanReader {
    /// The only conversation of the trace with this name, else the name itself.
    fn session_of<'n>(&'n self, name: &'n str) -> &'n str {
        let only = self.conversations.get(name).filter(|of| of.len() == 1).and_then(BTreeSet::first);
        only.map_or(name, String::as_str)
    }

    /// Takes the spans of an object: itself, or those in its lists.
    fn spans_in(
        &mut self,
        json: &RawValue,
        trace: Option<&str>,
        place: ItemPosition,
        found: &mut FoundSessions,
    ) -> Result<(), String> {
        let mut fields = JsonFields::of_object(json)?;
        for list in ["resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans"] {
            if let Some(items) = fields.take::<Vec<&RawValue>>(list)? {
                let trace: Option<String> = fields.take("trace_id")?;
                return items.into_iter().try_for_each(|item| self.spans_in(item, trace.as_deref(), place, found));
            }
        }
        let span: String = either(&mut fields, ["span_id", "spanId"])?.ok_or("a span has no `span_id`")?;
        let shown = cut(span.clone(), 40);
        self.span(fields, span, trace, place, found).map_err(|cause| format!("span `{shown}`: {cause}"))
    }

    fn span(
        &mut self,
        mut fields: JsonFields<'_>,
        span: String,
        trace: Option<&str>,
        place: ItemPosition,
        found: &mut FoundSessions,
    ) -> Result<(), String> {
        let trace: Option<String> = either(&mut fields, ["trace_id", "traceId"])?.or_else(|| trace.map(str::to_owned));
        let trace = trace.ok_or("it has no `trace_id`")?;
        let name: Option<String> = fields.take("name")?;
        let attributes = fields.raw("attributes").map(attributes).transpose()?.unwrap_or_default();
        let is_call = match attributes.get("gen_ai.operation.name") {
            Some(kind) => ["chat", "generate", "generate_content", "text_completion"].contains(&kind.as_str()),
            None => name.is_some_and(|name| name.starts_with("chat ")),
        };
        if !is_call {
            return Ok(());
        }
        let status: Option<Value> = fields.take("status")?;
        let code = status.as_ref().and_then(|status| status.get("code"));
        if code.is_some_and(|code| *code == 2 || code.as_str().is_some_and(|code| code.ends_with("ERROR"))) {
            found.leave_out("calls that failed", 1);
            return Ok(());
        }
        let read = if self.seen.insert((trace.clone(), span.clone())) {
            Call::read(fields, &attributes, span, found)
        } else {
            Err(format!("it occurs twice in the trace `{}`", cut(trace.clone(), 40)))
        };
        let conversation = attributes.get("gen_ai.conversation.id").filter(|id| !id.is_empty());
        if let Some(conversation) = conversation {
            self.conversations.entry(trace.clone()).or_default().insert(conversation.clone());
        }
        let session = conversation.cloned().unwrap_or(trace);
        if read.is_err() {
            self.broken.insert(session.clone());
        }
        self.calls.add(session, place, read?);
        Ok(())
    }
}

impl Call {
    fn read(
        mut fields: JsonFields<'_>,
        attributes: &Attributes,
        span: String,
        found: &mut FoundSessions,
    ) -> Result<Self, String> {
        let began_ns = moment(&mut fields, ["start_time", "startTimeUnixNano"])?;
        let ended_ns = moment(&mut fields, ["end_time", "endTimeUnixNano"])?;
        if ended_ns < began_ns {
            return Err("it ends before it begins: correct `end_time`".to_owned());
        }
        let first = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, attributes.get(*name)?)));
        let tokens = |names: &[&'static str]| {
            let read = |(name, text): (&'static str, &String)| {
                // An answer without tokens is asked for as one of a single token.
                let number = text.parse().map(|number: f64| if number == 0.0 { 1.0 } else { number });
                let tokens =
                    number.map_err(|_| format!("is {}, no number", cut(text.clone(), 40))).and_then(number_tokens);
                tokens.map_err(|cause| format!("`{name}` {cause}"))
            };
            first(names).map(read).transpose()
        };
        let mut read = |name: &'static str, read: fn(&str, &mut FoundSessions) -> Result<Vec<ChatMessage>, String>| {
            let listed = attributes.get(name).map(|list| read(list, found)).transpose();
            listed.map(Option::unwrap_or_default).map_err(|cause| format!("in `{name}`: {cause}"))
        };
        let mut said = read("gen_ai.system_instructions", instructions)?;
        said.extend(read("gen_ai.input.messages", messages)?);
        let mut answer = read("gen_ai.output.messages", messages)?.into_iter().next();
        if let Some((_, text)) = first(&["gen_ai.output.text", "gen_ai.completion", "gen_ai.output"]) {
            let said = || ChatMessage::of_value(&json!({ "role": "assistant", "content": text }));
            answer = Some(answer.map_or_else(said, Ok)?);
        }
        let input_tokens = tokens(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"])?;
        if said.is_empty() && input_tokens.is_none() {
            let cure = "record the contents, or `gen_ai.usage.input_tokens`";
            return Err(format!("it has no `gen_ai.input.messages` and no number of tokens: {cure}"));
        }
        let defined = attributes.get("gen_ai.tool.definitions").map(|list| tools_of(list)).transpose();
        Ok(Self {
            span,
            began_ns,
            ended_ns,
            messages: said,
            answer,
            tools: defined.map_err(|cause| format!("in `gen_ai.tool.definitions`: {cause}"))?.map(Arc::from),
            model: attributes.get("gen_ai.request.model").map(|model| model.as_str().into()),
            agent: first(&["gen_ai.agent.id", "gen_ai.agent.name"]).map(|(_, name)| name.clone()),
            input_tokens,
            output_tokens: tokens(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"])?,
        })
    }
}

/// The session of these calls. Each waits for the calls that had ended when it began, except for those that
/// one of them had waited for.
fn to_session(calls: NamedRows<Call>, found: &mut FoundSessions) -> FileSession {
    let NamedRows { name, place, rows: mut calls } = calls;
    calls.sort_by_key(|call| (call.began_ns, call.ended_ns));
    let mut ends: Vec<usize> = (0..calls.len()).collect();
    ends.sort_by_key(|at| (calls[*at].ended_ns, *at));
    let (mut ended, mut latest_ns, mut frontier) = (0, i64::MIN, Vec::new());
    let (mut agents, mut prompts) = (Vec::new(), SessionPrompts::default());
    let mut requests: Vec<FileRequest> = Vec::with_capacity(calls.len());
    let begins_ns = calls.first().map(|call| call.began_ns);
    for (call, here) in calls.iter().zip(0..) {
        while let Some(at) = ends.get(ended).filter(|at| **at < here && calls[**at].ended_ns <= call.began_ns) {
            latest_ns = latest_ns.max(calls[*at].began_ns);
            frontier.push(*at);
            ended += 1;
        }
        frontier.retain(|at| calls[*at].ended_ns > latest_ns || calls[*at].began_ns == latest_ns);
        let delay = |at: &usize| Duration::from_nanos(call.began_ns.abs_diff(calls[*at].ended_ns));
        let mut waits: Vec<_> = frontier.iter().map(|at| (*at, delay(at))).collect();
        if waits.is_empty() && here > 0 {
            // It ran beside the first call, and a session begins with one.
            waits.push((0, Duration::ZERO));
            found.clamped += 1;
        }
        let agent = call.agent.as_ref();
        let agent = agents.iter().position(|known| *known == agent).unwrap_or_else(|| {
            agents.push(agent);
            agents.len() - 1
        });
        let before = |at: usize| calls[at].ended_ns <= call.began_ns && calls[at].model == call.model && at < here;
        prompts.add_whole(&call.messages, call.answer.clone(), call.tools.clone(), before);
        requests.push(FileRequest {
            name: format!("span {}", call.span),
            waits,
            begins: begins_ns.map(|first_ns| Duration::from_nanos(call.began_ns.abs_diff(first_ns))),
            agent: u16::try_from(agent).unwrap_or(u16::MAX),
            output_tokens: call.output_tokens,
            model: call.model.clone(),
            ..FileRequest::default()
        });
    }
    prompts.fill(&mut requests);
    for (request, call) in requests.iter_mut().zip(&calls).filter(|(_, call)| call.messages.is_empty()) {
        request.prompt = FilePrompt::Text { carries: None, tokens: call.input_tokens.unwrap_or(1) };
    }
    FileSession { name, place, begins_ns, requests, blocks: Arc::default() }
}

/// The first of two fields that is there. The second is OTLP's name.
fn either<'j, T: serde::Deserialize<'j>>(fields: &mut JsonFields<'j>, names: [&str; 2]) -> Result<Option<T>, String> {
    let found = fields.take(names[0])?;
    if found.is_some() { Ok(found) } else { fields.take(names[1]) }
}

/// The moment in a field: a date, or nanoseconds since 1970.
fn moment(fields: &mut JsonFields<'_>, names: [&str; 2]) -> Result<i64, String> {
    let value: Value = either(fields, names)?.ok_or_else(|| format!("it has no `{}`", names[0]))?;
    let read = match &value {
        Value::String(text) => text.parse().ok().or_else(|| parse_moment(text)),
        other => other.as_i64(),
    };
    read.ok_or_else(|| format!("`{}` is {value}, neither a date nor nanoseconds since 1970", names[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::datasets::sessions::session::read_items;

    fn span(trace: &str, span: &str, second: u32, conversation: Option<&str>) -> String {
        let mut attributes = json!({ "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 9 });
        if let Some(id) = conversation {
            attributes["gen_ai.conversation.id"] = id.into();
        }
        let [start, end] = [second, second + 1].map(|second| format!("2026-01-01T00:00:{second:02}Z"));
        json!({ "trace_id": trace, "span_id": span, "start_time": start, "end_time": end, "attributes": attributes })
            .to_string()
    }

    #[test]
    fn a_conversation_goes_over_several_traces() {
        let lines = [
            span("t1", "a", 0, None),
            span("t1", "b", 2, Some("c")),
            span("t2", "d", 8, Some("c")),
            span("t3", "e", 9, None),
            // Of a trace of two conversations each span is of its own.
            span("t4", "f", 10, Some("c")),
            span("t4", "g", 12, Some("d")),
            span("t4", "h", 14, None),
        ];
        let found = read_items(SpanReader::default(), &lines.each_ref().map(String::as_str)).unwrap();
        let sessions = found.sessions.iter().map(|session| {
            (session.name.as_str(), session.requests.iter().map(|request| request.name.as_str()).collect::<Vec<_>>())
        });
        let expected = [
            ("c", vec!["span a", "span b", "span d", "span f"]),
            ("t3", vec!["span e"]),
            ("d", vec!["span g"]),
            ("t4", vec!["span h"]),
        ];
        assert_eq!(sessions.collect::<Vec<_>>(), expected);
        assert_eq!(found.sessions[0].requests[2].waits, [(1, Duration::from_secs(5))]);
    }

    #[test]
    fn a_conversation_with_a_wrong_span_is_left_out_whole() {
        let mut reader = SpanReader::default();
        let mut found = FoundSessions::default();
        let wrong = span("t1", "a", 0, None).replace("\"end_time\":\"2026", "\"end_time\":\"2020");
        for (line, row) in [wrong, span("t1", "b", 2, Some("c")), span("t2", "d", 8, None)].iter().zip(1..) {
            let read = reader.take(line.as_bytes(), ItemPosition { row, ..ItemPosition::FIRST }, &mut found);
            assert_eq!(read.is_err(), row == 1, "{read:?}");
        }
        reader.finish(&mut found).unwrap();
        let names: Vec<_> = found.sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["t2"]);
    }
}
