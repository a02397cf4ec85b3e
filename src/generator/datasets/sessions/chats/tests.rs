//! One small file of each format of sessions with texts: what is read from it, and what is refused.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::dag::DagReader;
use super::messages::ChatReader;
use super::mlcommons::MlcommonsReader;
use super::multi_turn::TurnsReader;
use super::spans::SpanReader;
use super::{dag, messages, mlcommons, multi_turn, spans};
use crate::generator::datasets::json_list::{ItemPosition, JsonList};
use crate::generator::datasets::sessions::session::{
    FilePrompt, FileRequest, FileSession, FoundSessions, SessionReader,
};

/// Reads a file. Its items are its lines, those of its list, or the whole: one object, or a file of a folder.
fn read(reader: &mut dyn SessionReader, name: &str, file: &str) -> Result<FoundSessions, String> {
    let mut found = FoundSessions::default();
    let mut take = |item: &[u8], place| reader.take(item, place, &mut found).map_err(|bad| bad.to_string());
    if file.starts_with('[') {
        let mut list = JsonList::new(file.as_bytes());
        while let Some((place, item)) = list.next().unwrap() {
            take(item, place)?;
        }
    } else if name.contains(".jsonl") && !name.starts_with("folder/") {
        for (line, row) in file.lines().zip(1..) {
            take(line.as_bytes(), ItemPosition { line: row, row, ..ItemPosition::FIRST })?;
        }
    } else {
        take(file.as_bytes(), ItemPosition::FIRST)?;
    }
    reader.finish(&mut found).map_err(|bad| bad.to_string())?;
    Ok(found)
}

/// Sessions as text, a request a line.
fn shown(found: &FoundSessions) -> String {
    let mut text = String::new();
    for session in &found.sessions {
        let begins = session.begins_ns.map(|at_ns| format!(" at {at_ns}")).unwrap_or_default();
        let _ = writeln!(text, "{}{begins}", session.name);
        for (request, at) in session.requests.iter().zip(0..) {
            let waits: Vec<_> =
                request.waits.iter().map(|(before, delay)| format!("{before}+{}ms", delay.as_millis())).collect();
            let _ = write!(text, "{at}: {}; agent {}; after [{}]", request.name, request.agent, waits.join(" "));
            match &request.prompt {
                FilePrompt::Messages { carries, new, answer, tools } => {
                    let carries = carries.map(|place| format!(" carries {place}")).unwrap_or_default();
                    let _ = write!(text, ";{carries} new {new}");
                    if let Some(answer) = answer {
                        let _ = write!(text, "; answer {answer}");
                    }
                    if let Some(tools) = tools {
                        let _ = write!(text, "; tools {tools}");
                    }
                }
                other => {
                    let _ = write!(text, "; {other:?}");
                }
            }
            if let Some(tokens) = request.output_tokens {
                let _ = write!(text, "; {tokens} tokens");
            }
            let _ = writeln!(text, "{}", request.model.as_ref().map(|model| format!("; {model}")).unwrap_or_default());
        }
    }
    for (field, number) in &found.ignored {
        let _ = writeln!(text, "ignored {field}: {number}");
    }
    for (reason, number) in &found.left_out {
        let _ = writeln!(text, "left out {reason}: {number}");
    }
    if found.clamped > 0 {
        let _ = writeln!(text, "clamped {}", found.clamped);
    }
    text
}

/// Whether a beginning is of a format, and its reader.
type Format = (fn(&str) -> bool, fn() -> Box<dyn SessionReader>);

const DAG: Format = (dag::fits, || Box::<DagReader>::default());
const CHATS: Format = (messages::fits, || Box::<ChatReader>::default());
const SHAREGPT: Format = (messages::fits_sharegpt, || Box::<ChatReader>::default());
const MLCOMMONS: Format = (mlcommons::fits, || Box::<MlcommonsReader>::default());
const TURNS: Format = (multi_turn::fits, || Box::<TurnsReader>::default());
const SPANS: Format = (spans::fits, || Box::<SpanReader>::default());

/// A file of a format, and what is read from it.
macro_rules! file {
    ($format:expr, $name:literal, $expected:literal) => {
        (
            $format,
            $name,
            include_str!(concat!("../../../../../tests/data/traces/sessions/", $name)),
            include_str!(concat!("../../../../../tests/data/traces/sessions/", $expected)),
        )
    };
}

/// Files with what is read from them.
const FILES: [(Format, &str, &str, &str); 14] = [
    file!(DAG, "dag.jsonl", "dag.txt"),
    file!(DAG, "dag_recorded.jsonl", "dag_recorded.txt"),
    file!(DAG, "dag_arrays.jsonl", "dag_arrays.txt"),
    file!(CHATS, "messages.jsonl", "messages.txt"),
    file!(SHAREGPT, "sharegpt.json", "sharegpt.txt"),
    file!(MLCOMMONS, "mlcommons.jsonl", "mlcommons.txt"),
    file!(SPANS, "spans.jsonl", "spans.txt"),
    file!(SPANS, "otlp.json", "otlp.txt"),
    file!(TURNS, "multi_turn.jsonl", "multi_turn.txt"),
    file!(TURNS, "mooncake_text.jsonl", "mooncake_text.txt"),
    file!(TURNS, "mooncake_messages.jsonl", "mooncake_messages.txt"),
    file!(TURNS, "folder/raw_payload.jsonl", "folder/raw_payload.txt"),
    file!(TURNS, "inputs.json", "inputs.txt"),
    file!(TURNS, "mooncake_payload.jsonl", "mooncake_payload.txt"),
];

#[test]
fn each_format_is_read() {
    for ((_, reader), name, file, expected) in FILES {
        let found = read(&mut *reader(), name, file).unwrap();
        assert_eq!(shown(&found), expected, "{name}");
    }
}

#[test]
fn a_beginning_fits_one_format() {
    for ((own, _), name, file, _) in FILES {
        let fitting = [DAG, CHATS, SHAREGPT, MLCOMMONS, TURNS, SPANS].into_iter().filter(|(fits, _)| fits(file));
        assert_eq!((fitting.count(), own(file)), (1, true), "{name}");
    }
    for other in [
        r#"{"id":"s","models":["m"],"block_size":64,"requests":[{"t":0,"type":"s","in":64,"out":4,"hash_ids":[0]}]}"#,
        r#"{"session_id":"c:1","round_index":0,"timing_events":[],"tools":[]}"#,
        r#"{"session_id":"s","timestamp":0,"input_length":1300,"output_length":52,"hash_ids":[0]}"#,
        r#"{"prompt":"x","output_tokens":3}"#,
    ] {
        assert!(!FILES.iter().any(|((fits, _), ..)| fits(other)), "{other}");
    }
}

/// Refuses each file, saying what is wrong.
fn refuse((_, reader): Format, cases: &[(String, &str)]) {
    for (file, said) in cases {
        let refused = read(&mut *reader(), "x.jsonl", file).unwrap_err();
        assert!(refused.contains(said), "{file}\n{refused}\n{said}");
    }
}

#[test]
fn graphs_that_cannot_be_sent_are_refused() {
    let dag = |turns: &str| format!(r#"{{"session_id":"a","turns":[{turns}]}}"#);
    let said = |role: &str| format!(r#"{{"messages":[{{"role":"{role}","content":"x"}}]}}"#);
    let with = |field: &str| format!(r#"{{"messages":[{{"role":"user","content":"x"}}],{field}}}"#);
    let started = |id: &str, child: &str| format!(r#"{{"session_id":"{id}","turns":[{}]}}"#, with(child));
    let b = r#"{"session_id":"b","turns":[{"messages":[{"role":"user","content":"x"}]}]}"#;
    let result = r#"{"role":"tool","tool_call_id":"c","content":"3"}"#;
    refuse(
        DAG,
        &[
            ("{\"session_id\"".to_owned(), "row 1, line 1, column 13: EOF while parsing an object"),
            (format!("{b}\n{b}"), "row 2, line 2: the `session_id` `b` occurs twice; give one of them another"),
            (dag(""), "`turns` of `a` is empty; a conversation has at least one"),
            (dag("{}"), "turn 0 of `a`: it has no `messages`"),
            (dag(&said("robot")), "turn 0 of `a`: message 1: the role `robot` is unknown"),
            (dag(&with(r#""max_tokens":true"#)), "in `max_tokens`: invalid type: boolean `true`"),
            (dag(&with(r#""delay":-1"#)), "`delay` is -1; it must be a duration that is not negative"),
            (dag(&with(r#""spawns":["c"]"#)), "`a` starts `c`, and no line has this `session_id`: add it"),
            (dag(&with(r#""spawns":["c","c"]"#)), "`c` is started twice; a turn starts a conversation once"),
            (dag(&with(r#""spawns":[3]"#)), "in `spawns`: neither a `session_id` nor an object with `children`"),
            (dag(&with(r#""forks":[{"chidl":"c"}]"#)), "in `forks`: neither a `session_id` nor an object with `child`"),
            (
                dag(&with(r#""spawns":[{"children":["b"],"join_at":1}]"#)),
                "`join_at` is 1; it must be a turn after 0, and the last is 0",
            ),
            (dag(&format!("{},{}", with(r#""forks":["b"]"#), said("user"))), "the fork `b` ends its parent, and turns"),
            (r#"{"session_id":"o","orchestrator":true,"spawns":["b"]}"#.to_owned(), "`o` is an `orchestrator`"),
            (
                r#"{"session_id":"o","context_mode":"message_array_without_responses","turns":[]}"#.to_owned(),
                "in `context_mode`: unknown variant `message_array_without_responses`, expected one of `deltas_without",
            ),
            (
                format!(
                    "{b}\n{}",
                    started("a", r#""forks":["b"]"#)
                        .replace("\"turns", "\"context_mode\":\"deltas_with_responses\",\"turns")
                ),
                "row 2, line 2: `a` forks `b`, which cannot carry on its history with its `context_mode`",
            ),
            (
                format!("{b}\n{}\n{}", started("c", r#""spawns":["d"]"#), started("d", r#""forks":["c"]"#)),
                "conversations start each other in a circle: `c` starts `d` starts `c`; break it",
            ),
            (
                dag(&format!(r#"{{"messages":[{result}]}}"#)),
                "turn 0 of `a`: it is the result of the tool call `c`, and the message of the assistant",
            ),
        ],
    );
}

#[test]
fn chats_that_cannot_be_sent_are_refused() {
    let row = |turn: u32, rest: &str| format!(r#"{{"conversation_id":"c","turn":{turn},{rest}}}"#);
    let user = r#""role":"user","content":"x""#;
    let result = r#"{"role":"tool","tool_call_id":"c","content":"3"}"#;
    refuse(
        CHATS,
        &[
            (r#"{"prompt":"x"}"#.to_owned(), "it has neither `messages` nor `conversations`"),
            (r#"{"messages":{}}"#.to_owned(), "`messages` is no list"),
            (r#"{"messages":[{"role":"user"}]}"#.to_owned(), "message 1: it has no `content`"),
            (format!(r#"{{"messages":[{result}]}}"#), "message 1: it is the result of the tool call `c`"),
            (r#"{"conversations":[{"from":"x","value":"y"}]}"#.to_owned(), "entry 1: `from` is `x`; human, user"),
            (r#"{"conversations":[{"from":"gpt"}]}"#.to_owned(), "in `conversations`: missing field `value`"),
        ],
    );
    refuse(
        MLCOMMONS,
        &[
            (r#"{"turn":1}"#.to_owned(), "it has no `conversation_id`"),
            (format!("{}\n{}", row(2, user), row(2, user)), "row 2, line 2: `turn` is 2 after 2: the turns"),
            (row(1, r#""role":"robot""#), "the role `robot` is unknown: user, assistant and tool are known"),
            (
                format!("{}\n{}\n{}", row(1, user), row(1, user).replace("\"c\"", "\"d\""), row(2, user)),
                "row 3, line 3: the rows of `c` do not stand together: sort the file by `conversation_id`",
            ),
            (
                row(1, r#""role":"tool","tool_results":[{"tool_call_id":"c","content":"x"}]"#),
                "it is the result of the tool call `c`",
            ),
        ],
    );
}

#[test]
fn spans_and_turns_that_cannot_be_sent_are_refused() {
    let span = |id: &str, from: &str, attributes: &str| {
        format!(
            "{{\"trace_id\":\"t\",\"span_id\":\"{id}\",\"name\":\"chat m\",\"start_time\":{from},\
             \"end_time\":\"2026-01-01T00:00:02Z\",\"attributes\":{{{attributes}}}}}"
        )
    };
    let tokens = r#""gen_ai.usage.input_tokens":3"#;
    let early = r#""2026-01-01T00:00:01Z""#;
    refuse(
        SPANS,
        &[
            (r#"{"trace_id":"t"}"#.to_owned(), "a span has no `span_id`"),
            (span("a", "\"soon\"", tokens), "span `a`: `start_time` is \"soon\", neither a date nor nanoseconds"),
            (span("a", r#""2026-01-01T00:00:03Z""#, tokens), "span `a`: it ends before it begins"),
            (format!("{0}\n{0}", span("a", early, tokens)), "row 2, line 2: span `a`: it occurs twice in the trace"),
            (span("a", early, ""), "it has no `gen_ai.input.messages` and no number of tokens: record the contents"),
            (
                span("a", early, r#""gen_ai.input.messages":"hello""#),
                "in `gen_ai.input.messages`: it is no list of messages",
            ),
        ],
    );
    refuse(
        TURNS,
        &[
            (r#"{"turns":[{"image":"x.png","text":"y"}]}"#.to_owned(), "turn 1: `image` cannot be sent"),
            (r#"{"turns":[{"role":"assistant","text":"y"}]}"#.to_owned(), "the role `assistant` is not sent in a turn"),
            (
                r#"{"turns":[{"text":"y","timestamp":5},{"text":"z","timestamp":4}]}"#.to_owned(),
                "turn 2: `timestamp` is 4 after 5 in the turn of `conversation 1` before it: put the turns in order",
            ),
        ],
    );
}

#[test]
fn what_is_skipped_takes_its_conversation_with_it() {
    let row = |id: &str, turn: &str, role: &str| {
        format!("{{\"conversation_id\":\"{id}\",\"turn\":{turn},\"role\":\"{role}\",\"content\":\"x\"}}")
    };
    let turn = |id: &str, text: &str| format!("{{\"session_id\":\"{id}\",\"text_input\":{text}}}");
    let span = |trace: &str, id: &str, end: &str| {
        format!(
            "{{\"trace_id\":\"{trace}\",\"span_id\":\"{id}\",\"name\":\"chat\u{20}m\",\"start_time\":1,\
             \"end_time\":{end},\"attributes\":{{\"gen_ai.usage.input_tokens\":3}}}}"
        )
    };
    for ((_, reader), rows) in [
        (MLCOMMONS, [row("a", "1", "user"), row("a", "2", "robot"), row("a", "3", "user"), row("b", "1", "user")]),
        (TURNS, [turn("a", "\"x\""), turn("a", "3"), turn("a", "\"x\""), turn("b", "\"x\"")]),
        (SPANS, [span("a", "1", "2"), span("a", "2", "0"), span("a", "3", "2"), span("b", "1", "2")]),
    ] {
        let (mut reader, mut found, mut bad) = (reader(), FoundSessions::default(), 0);
        for row in rows {
            bad += u32::from(reader.take(row.as_bytes(), ItemPosition::FIRST, &mut found).is_err());
        }
        reader.finish(&mut found).unwrap();
        let names: Vec<_> = found.sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!((bad, names.as_slice()), (1, &["b"][..]));
    }
}

/// The messages of the prompt at `place`, with those that it carries on.
fn said(requests: &[FileRequest], place: usize) -> Vec<Value> {
    let FilePrompt::Messages { carries, new, .. } = &requests[place].prompt else { panic!("it has no messages") };
    let mut messages = Vec::new();
    if let Some(before) = *carries {
        messages = said(requests, before);
        let FilePrompt::Messages { answer, .. } = &requests[before].prompt else { panic!("it has no messages") };
        let live = || json!({ "answer of": requests[before].name });
        messages.push(answer.as_ref().map_or_else(live, |answer| serde_json::from_str(answer).unwrap()));
    }
    messages.extend(serde_json::from_str::<Vec<Value>>(&format!("[{new}]")).unwrap());
    messages
}

/// Files of `dag_jsonl` and what `AIPerf` sends for them. `tests/interop/clients/aiperf_dag.py` writes them into the
/// folder that `SKYLINE_AIPERF_DAG` names.
#[test]
#[ignore = "it needs what tests/interop/clients/aiperf_dag.py writes"]
fn graphs_are_those_of_aiperf() {
    let folder = std::env::var("SKYLINE_AIPERF_DAG").unwrap();
    let (mut files, mut compared) = (0, 0);
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|kind| kind != "jsonl") {
            continue;
        }
        let found = read(&mut DagReader::default(), "x.jsonl", &std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut ours: Vec<String> = Vec::new();
        for FileSession { requests, .. } in &found.sessions {
            for (request, place) in requests.iter().zip(0..) {
                let named = |(at, delay): &(usize, Duration)| (&requests[*at].name, delay.as_nanos() as f64 / 1e6);
                let mut after: Vec<_> = request.waits.iter().map(named).collect();
                after.sort_by(|one, other| one.partial_cmp(other).unwrap());
                let FilePrompt::Messages { tools, .. } = &request.prompt else { panic!("{request:?}") };
                let tools: Option<Value> = tools.as_ref().map(|tools| serde_json::from_str(tools).unwrap());
                let (messages, most) = (said(requests, place), request.output_tokens);
                ours.push(
                    json!({ "name": request.name, "after": after, "messages": messages, "tools": tools,
                    "model": request.model, "max_tokens": most })
                    .to_string(),
                );
            }
        }
        let theirs = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let theirs: Vec<Value> = serde_json::from_str(&theirs).unwrap();
        let mut theirs: Vec<String> = theirs.iter().map(Value::to_string).collect();
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{}", path.display());
        (files, compared) = (files + 1, compared + ours.len());
    }
    assert!(files > 0);
    println!("{compared} requests of {files} files");
}
