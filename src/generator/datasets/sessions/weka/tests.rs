//! Holds the reader of Weka's traces to what they say, and to what it refuses.

use std::time::Duration;

use serde_json::{Value, json};

use super::reader::{NO_PARENT, WekaReader, fits};
use crate::generator::datasets::sessions::session::{FilePrompt, FileSession, FoundSessions, read_items};

fn request(t: f64, took: f64, ids: &[u64]) -> Value {
    json!({"t": t, "type": "s", "model": "big", "in": ids.len() * 64, "out": 40, "hash_ids": ids, "api_time": took})
}

fn subagent(t: f64, id: &str, requests: &[Value]) -> Value {
    json!({"t": t, "type": "subagent", "agent_id": id, "subagent_type": "Explore", "status": "completed",
        "duration_ms": 4000, "models": ["small"], "requests": requests})
}

fn trace(requests: &[Value]) -> String {
    json!({"id": "s1", "models": ["big", "small"], "block_size": 64, "hash_id_scope": "local", "requests": requests})
        .to_string()
}

fn read(requests: &[Value]) -> Result<FoundSessions, String> {
    read_items(WekaReader::default(), &[&trace(requests)])
}

/// Waits of each request, in milliseconds.
fn waits(session: &FileSession) -> Vec<Vec<(usize, u64)>> {
    let ms = |(place, delay): &(usize, Duration)| (*place, delay.as_millis() as u64);
    session.requests.iter().map(|request| request.waits.iter().map(ms).collect()).collect()
}

fn agents(session: &FileSession) -> Vec<u16> {
    session.requests.iter().map(|request| request.agent).collect()
}

#[test]
fn a_sub_agent_follows_from_a_request_and_the_next_one_after_its_end_waits_for_it() {
    // As published, with line ends inside.
    let text = r#"{"id":"s1","models":["big","small"],"block_size":64,"hash_id_scope":"local","requests":[
        {"t":0.0,"type":"s","model":"big","in":256,"out":40,"hash_ids":[0,1,2,3],"stop":"tool_use","api_time":2.5,
         "ttft":0.6},
        {"t":3.0,"type":"subagent","agent_id":"explore_000","subagent_type":"Explore","status":"completed",
         "duration_ms":4000,"models":["small"],"requests":[
            {"t":3.0,"type":"n","model":"small","in":128,"out":0,"hash_ids":[9,10],"api_time":1.0}]},
        {"t":8.0,"type":"s","model":"big","in":450,"out":12,"hash_ids":[0,1,2,3,4,5,6],
         "input_types":["tool_result"],"stop":"end_turn","think_time":1.0}]}"#;
    assert!(fits(text));
    let found = read_items(WekaReader::default(), &[text]).unwrap();
    let session = &found.sessions[0];
    assert_eq!((session.name.as_str(), session.begins_ns, found.clamped), ("s1", None, 0));
    let names: Vec<_> = session.requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["request 1", "request 3", "request 1 of `explore_000`"]);
    assert_eq!(waits(session), [vec![], vec![(0, 5_500), (2, 0)], vec![(0, 500)]]);
    assert_eq!(agents(session), [0, 0, 1]);
    let (answers, models): (Vec<_>, Vec<_>) =
        session.requests.iter().map(|request| (request.output_tokens, request.model.as_deref())).unzip();
    assert_eq!((answers, models[2]), (vec![Some(40), Some(12), Some(1)], Some("small")));
    assert_eq!(session.ids(1), [0, 1, 2, 3, 4, 5, 6]);
    let FilePrompt::Blocks { tokens: 450, block_tokens: 64, is_local: true, blocks } = &session.requests[1].prompt
    else {
        panic!("{session:?}")
    };
    let FilePrompt::Blocks { blocks: first, .. } = &session.requests[0].prompt else { panic!("{session:?}") };
    assert_eq!(session.blocks.alike(*first, *blocks), 4);
    assert_eq!((found.ignored.len(), found.left_out.len()), (0, 0));
}

#[test]
fn requests_wait_for_what_had_ended_in_other_agents_and_not_for_what_that_covers() {
    // Two agents beside the main one: [0, 7, …] from 3 s to 9 s, [0, 8, …] from 4 s to 6 s.
    let found = read(&[
        request(0.0, 1.0, &[0, 1]),
        request(2.0, 1.0, &[0, 1, 2]),
        request(3.0, 1.0, &[0, 7]),
        request(4.0, 2.0, &[0, 8]),
        request(4.5, 1.0, &[0, 1, 2, 3]),
        request(6.5, 2.5, &[0, 7, 9]),
        request(10.0, 1.0, &[0, 1, 2, 3, 4]),
    ]);
    let found = found.unwrap();
    let session = &found.sessions[0];
    assert_eq!(agents(session), [0, 0, 1, 2, 0, 1, 0]);
    assert_eq!(
        waits(session),
        [
            vec![],
            vec![(0, 1_000)],
            // The main agent's second request had just ended; that of an agent's own comes first.
            vec![(1, 0)],
            vec![(2, 0)],
            vec![(1, 1_500), (2, 0)],
            vec![(2, 2_500), (4, 0), (3, 0)],
            vec![(4, 4_500), (5, 0)],
        ]
    );
    assert_eq!(found.clamped, 0);
}

#[test]
fn times_in_a_sub_agent_may_count_from_its_own_start() {
    let inner = [request(0.5, 1.0, &[50]), request(2.0, 1.0, &[50, 51])];
    let absolute = [request(10.5, 1.0, &[50]), request(12.0, 1.0, &[50, 51])];
    let [relative, absolute] = [inner, absolute].map(|inner| {
        let main = [request(0.0, 1.0, &[0]), subagent(10.0, "a", &inner), request(20.0, 1.0, &[0, 1])];
        read(&main).unwrap().sessions.remove(0)
    });
    assert_eq!(relative, absolute);
    assert_eq!(waits(&relative), [vec![], vec![(0, 19_000), (3, 0)], vec![(0, 9_500)], vec![(2, 500)]]);
}

#[test]
fn what_began_before_an_end_that_it_waits_for_is_counted() {
    // The sub-agent begins inside the request that it follows from, and outlasts the session.
    let found =
        read(&[request(0.0, 5.0, &[0]), subagent(1.0, "a", &[request(1.0, 60.0, &[5])]), request(6.0, 1.0, &[0, 1])]);
    let found = found.unwrap();
    assert_eq!(waits(&found.sessions[0]), [vec![], vec![(0, 1_000), (2, 0)], vec![(0, 0)]]);
    assert_eq!(found.clamped, 2, "its stated end of 5 s is before that of its request");
    let mut background = subagent(1.0, "a", &[request(1.0, 60.0, &[5])]);
    background["duration_ms"] = Value::Null;
    let found = read(&[request(0.0, 5.0, &[0]), background, request(6.0, 1.0, &[0, 1])]).unwrap();
    assert_eq!(waits(&found.sessions[0])[1], [(0, 1_000)], "nothing waits for it");
}

#[test]
fn sub_agents_without_a_request_before_them_are_left_out_and_unknown_fields_counted() {
    let mut second = request(9.0, 1.0, &[0, 1]);
    second["temperature"] = json!(0.5);
    let found = read(&[subagent(0.0, "a", &[request(0.0, 1.0, &[5])]), request(1.0, 1.0, &[0]), second]).unwrap();
    assert_eq!(found.sessions[0].requests.len(), 2);
    assert_eq!(found.left_out.into_iter().collect::<Vec<_>>(), [(NO_PARENT, 1)]);
    assert_eq!(found.ignored.into_iter().collect::<Vec<_>>(), [("temperature".to_owned(), 1)]);
    let alone = read(&[subagent(0.0, "a", &[request(0.0, 1.0, &[5])])]).unwrap();
    assert_eq!((alone.sessions.len(), alone.left_out.len()), (0, 1));
}

#[test]
fn what_is_wrong_is_said_with_its_request() {
    let good = || request(1.0, 1.0, &[0]);
    let with = |key: &str, value: Value| {
        let mut request = good();
        request[key] = value;
        request
    };
    let without = |key: &str| {
        let mut request = good();
        request.as_object_mut().unwrap().remove(key);
        request
    };
    let nested = subagent(2.0, "a", &[subagent(2.0, "b", &[])]);
    for (requests, said) in [
        (vec![], "row 1, line 1: session `s1`: it has no request; leave the session out"),
        (vec![without("in")], "session `s1`: request 1 has no `in`"),
        (vec![good(), without("out")], "request 2 has no `out`"),
        (vec![without("model")], "request 1 has no `model`"),
        (vec![without("t")], "missing field `t`"),
        (vec![with("in", json!(0))], "`in` of request 1 says 0 tokens"),
        (vec![with("out", json!(1_u64 << 40))], "`out` of request 1 says 1099511627776 tokens"),
        (vec![with("t", json!(-1.0))], "`t` of request 1 is -1; it must be a time after the start"),
        (vec![with("type", json!("x"))], "unknown variant `x`, expected one of `n`, `s`, `subagent`"),
        (vec![with("hash_ids", json!(["ab"]))], "invalid type: string \"ab\", expected u64"),
        (vec![with("hash_ids", json!([-1]))], "invalid value: integer `-1`, expected u64"),
        (vec![json!([1.0, "n"])], "expected an object with named fields"),
        (vec![good(), with("t", json!(0.5))], "request 2 begins at 500 ms, before request 1 at 1 s; put"),
        (vec![good(), json!({"t": 2.0, "type": "subagent"})], "request 2, a sub-agent, has no `agent_id`"),
        (vec![good(), nested], "request 1 of `a` is a sub-agent of a sub-agent"),
        (vec![good(), subagent(2.0, "a", &[]), subagent(3.0, "a", &[])], "two sub-agents have the `agent_id` `a`"),
        (vec![good(); 10_001], "it has 10,001 requests, and a session has at most 10,000; split it"),
    ] {
        let error = read(&requests).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    for (old, new, said) in [
        ("\"block_size\":64", "\"block_size\":0", "invalid value: integer `0`, expected a nonzero u32"),
        ("\"local\"", "\"global\"", "`hash_id_scope` is `global`; only `local` is read"),
        ("\"id\":\"s1\",", "", "missing field `id`"),
        ("\"requests\":[", "\"requests\":[7,", "invalid type: integer `7`, expected an object"),
        ("}]}", "}]", "EOF while parsing an object"),
        ("}]}", "}]} {}", "trailing characters"),
    ] {
        let text = trace(&[good()]).replace(old, new);
        let error = read_items(WekaReader::default(), &[&text]).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let text = trace(&[good()]);
    let error = read_items(WekaReader::default(), &[&text, &text]).unwrap_err();
    assert!(error.contains("row 2, line 2: session `s1`: an earlier session has this `id` too"), "{error}");
}
