//! Every path, as a client of vLLM would use it.

use std::time::Duration;

use serde_json::{Value, json};
use skyline::mock::{AnswerWords, Backend, MockOptions, PromptDetails, StopLength};
use skyline::simulator::{Admission, AdmissionGroup, Delay, EngineModel, Fleet};
use skyline::workload::Priority;

use super::support::{ask, chat, get, in_one_piece, metric, post, quick, send, start};

#[test]
fn the_small_paths_answer() {
    let server = quick(MockOptions::default());
    assert_eq!((get(&server, "/health").status, get(&server, "/health").body.as_str()), (200, ""));
    assert_eq!(get(&server, "/version").json()["version"], env!("CARGO_PKG_VERSION"));
    let model = &get(&server, "/v1/models").json()["data"][0];
    assert_eq!((&model["id"], &model["max_model_len"]), (&json!("mock"), &json!(131_072)));
    let tokenized = post(&server, "/tokenize", &json!({ "prompt": "a b c a" })).json();
    assert_eq!((&tokenized["count"], &tokenized["max_model_len"]), (&json!(4), &json!(131_072)));
    assert_eq!(tokenized["tokens"][0], tokenized["tokens"][3]);
    let messages = json!({ "messages": [{ "role": "user", "content": "a b" }, { "role": "user", "content": "c" }] });
    assert_eq!(post(&server, "/tokenize", &messages).json()["count"], 3);
    assert_eq!(post(&server, "/tokenize", &json!({})).status, 400);
    assert_eq!(post(&server, "/v1/nope", &json!({})).json(), json!({ "detail": "Not Found" }));
    let wrong = get(&server, "/v1/chat/completions");
    assert_eq!((wrong.status, wrong.json()), (405, json!({ "detail": "Method Not Allowed" })));
    assert!(wrong.head.contains("allow: post"), "{}", wrong.head);
}

#[test]
fn a_stream_has_the_shape_of_vllms() {
    let server = quick(MockOptions::default());
    let seen = post(&server, "/v1/chat/completions", &chat(5));
    assert_eq!(seen.status, 200);
    assert!(seen.head.contains("text/event-stream") && seen.body.ends_with("data: [DONE]\n\n"), "{seen:?}");
    let events = seen.events();
    assert_eq!(events.len(), 7, "a role, five tokens, the usage");
    assert_eq!(events[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[6]["choices"], json!([]));
    let usage = json!({ "prompt_tokens": 4, "total_tokens": 9, "completion_tokens": 5 });
    assert_eq!(events[6]["usage"], usage);
    assert_eq!(seen.text(), " the quick answer to your");

    let whole = post(&server, "/v1/chat/completions", &in_one_piece(chat(5))).json();
    assert_eq!(whole["choices"][0]["message"]["content"], " the quick answer to your");
    assert_eq!((&whole["usage"], &whole["object"]), (&usage, &json!("chat.completion")));
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn usage_can_be_in_every_event_and_ids_beside_the_text() {
    let server = quick(MockOptions::default());
    let more = json!({ "stream_options": { "include_usage": true, "continuous_usage_stats": true },
                       "return_token_ids": true });
    let events = post(&server, "/v1/chat/completions", &with(chat(3), &more)).events();
    let counts: Vec<_> = events.iter().map(|event| event["usage"]["completion_tokens"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 1, 2, 3, 3]);
    let ids = post(&server, "/tokenize", &json!({ "prompt": "the quick" })).json()["tokens"].clone();
    assert_eq!(events[1]["choices"][0]["token_ids"], json!([ids[0]]));
    assert_eq!(events[2]["choices"][0]["token_ids"], json!([ids[1]]));
}

#[test]
fn several_prompts_with_several_answers_each_come_under_their_own_index() {
    let server = quick(MockOptions { words: AnswerWords::Echo, ..MockOptions::default() });
    let body = json!({ "prompt": ["a b c", "x y"], "n": 2, "max_tokens": 3, "ignore_eos": true });
    let whole = post(&server, "/v1/completions", &body).json();
    let texts: Vec<_> = whole["choices"].as_array().unwrap().iter().map(|choice| &choice["text"]).collect();
    assert_eq!(texts, [" a b c", " a b c", " x y x", " x y x"]);
    assert_eq!(whole["usage"], json!({ "prompt_tokens": 5, "total_tokens": 17, "completion_tokens": 12 }));

    let streamed = post(&server, "/v1/completions", &with(body, &json!({ "stream": true }))).events();
    let of = |index: u64| {
        let choices = streamed.iter().map(|event| &event["choices"][0]).filter(|c| c["index"] == index);
        choices.map(|choice| choice["text"].as_str().unwrap()).collect::<String>()
    };
    assert_eq!((of(0), of(3)), (" a b c".to_owned(), " x y x".to_owned()));
    let ids = json!({ "prompt": [7, 8, 9], "max_tokens": 4, "ignore_eos": true });
    let whole = post(&server, "/v1/completions", &ids).json();
    assert_eq!(
        (&whole["choices"][0]["text"], &whole["usage"]["prompt_tokens"]),
        (&json!(" <7> <8> <9> <7>"), &json!(3))
    );
}

#[test]
fn answers_that_may_stop_do_so_and_the_same_seed_stops_alike() {
    let options = MockOptions { stop_length: StopLength { median: 8.0, sigma: 0.5 }, ..MockOptions::default() };
    let server = quick(options);
    let ask = |seed: u64, max: u32, min: u32| {
        let body = json!({ "prompt": "a", "max_tokens": max, "min_tokens": min, "seed": seed });
        let answer = post(&server, "/v1/completions", &body).json();
        let tokens = answer["usage"]["completion_tokens"].as_u64().unwrap();
        (tokens, answer["choices"][0]["finish_reason"].as_str().unwrap().to_owned())
    };
    let (tokens, finish) = ask(3, 500, 0);
    assert!(tokens > 1 && tokens < 500 && finish == "stop", "{tokens} {finish}");
    assert_eq!(ask(3, 500, 0).0, tokens);
    assert_eq!(ask(3, 2, 0), (2, "length".to_owned()));
    assert_eq!(ask(3, 500, 60), (60, "stop".to_owned()));
}

#[test]
fn errors_are_vllms() {
    let server = quick(MockOptions::default());
    let refused = |body: &str| {
        let seen = ask(&server, "POST", "/v1/chat/completions", "", body);
        (seen.status, seen.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    let (status, words) = refused(&with(chat(4), &json!({ "model": "other" })).to_string());
    assert_eq!((status, words.as_str()), (404, "The model `other` does not exist. Valid aliases: mock."));
    assert_eq!(refused(r#"{"messages": ["#).0, 400);
    assert!(refused(&chat(0).to_string()).1.starts_with("max_tokens must be at least 1, got 0."));
    let (status, words) = refused(&chat(200_000).to_string());
    assert_eq!(status, 400);
    assert!(words.contains("max_tokens=200000 cannot be greater than max_model_len=131072"), "{words}");
    let long = json!({ "messages": [{ "role": "user", "content": "a ".repeat(131_072) }] });
    assert!(refused(&long.to_string()).1.contains("your prompt contains at least 131073 input tokens"));
    // vLLM takes a priority first come, first served, and passes over it.
    let urgent = with(chat(4), &json!({ "priority": 3 }));
    assert_eq!(post(&server, "/v1/chat/completions", &urgent).status, 200);
}

#[test]
fn a_repeated_prompt_hits_the_prefix_cache_until_it_is_reset() {
    let server = start(Backend::preset().unwrap(), MockOptions::default());
    let text = (0..100).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let body = json!({ "prompt": text, "max_tokens": 2, "ignore_eos": true });
    let hits = || {
        assert_eq!(post(&server, "/v1/completions", &body).status, 200);
        metric(&server, "prefix_cache_hits_total")
    };
    assert_eq!((hits(), hits()), (0.0, 96.0), "six full blocks of sixteen");
    assert_eq!(ask(&server, "POST", "/reset_prefix_cache", "", "").status, 200);
    assert_eq!((hits(), hits()), (96.0, 192.0));
    assert_eq!(metric(&server, "prefix_cache_queries_total"), 400.0);
}

#[test]
fn stop_texts_end_answers_streamed_or_not() {
    let server = quick(MockOptions::default());
    let stop = json!({ "stop": ["swer to"] });
    let whole = post(&server, "/v1/chat/completions", &in_one_piece(with(chat(9), &stop)));
    let choice = &whole.json()["choices"][0];
    assert_eq!(choice["message"]["content"], " the quick an");
    assert_eq!((&choice["finish_reason"], &choice["stop_reason"]), (&json!("stop"), &json!("swer to")));
    assert_eq!(whole.json()["usage"]["completion_tokens"], 4, "the tokens that complete the stop text count");
    let streamed = post(&server, "/v1/chat/completions", &with(chat(9), &stop));
    assert_eq!(streamed.text(), " the quick an");
    let last = &streamed.events()[4]["choices"][0];
    assert_eq!((&last["finish_reason"], &last["stop_reason"]), (&json!("stop"), &json!("swer to")));
}

#[test]
fn usage_tells_of_cached_tokens_where_that_is_on() {
    let text = (0..40).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let body = json!({ "prompt": [text, text], "n": 2, "max_tokens": 2, "ignore_eos": true });
    let options = MockOptions { prompt_details: PromptDetails::Shown, ..MockOptions::default() };
    let server = start(Backend::preset().unwrap(), options);
    post(&server, "/v1/completions", &body);
    let usage = post(&server, "/v1/completions", &body).json()["usage"].clone();
    // Two full blocks of sixteen of each prompt; each counts once, however many answers it has.
    assert_eq!(usage["prompt_tokens_details"], json!({ "cached_tokens": 64 }));
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(80), &json!(8)));
    let streaming = with(body, &json!({ "stream": true, "stream_options": { "include_usage": true } }));
    let events = post(&server, "/v1/completions", &streaming).events();
    assert_eq!(events.last().unwrap()["usage"], usage);
    // Two prompts in each of three requests, two answers to each.
    assert_eq!((metric(&server, "request_params_n_count"), metric(&server, "request_params_n_sum")), (6.0, 12.0));
}

#[test]
fn tokenize_knows_its_model() {
    let server = quick(MockOptions::default());
    let of = |model: &str| post(&server, "/tokenize", &json!({ "model": model, "prompt": "a" })).status;
    assert_eq!((of("mock"), of("other")), (200, 404));
}

/// Every line of `/metrics` is one that Prometheus reads, and every histogram adds up.
#[test]
fn metrics_are_in_prometheus_format() {
    let server = quick(MockOptions::default());
    post(&server, "/v1/chat/completions", &chat(5));
    let page = get(&server, "/metrics");
    assert!(page.head.contains("text/plain; version=0.0.4"), "{}", page.head);
    let (mut family, mut kind) = (String::new(), String::new());
    let mut bucket: Option<f64> = None;
    for line in page.body.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap();
            assert!(!words.is_empty() && !page.body.contains(&format!("# HELP {name}\n")), "{line}");
            assert_eq!(page.body.matches(&format!("# TYPE {name} ")).count(), 1, "{name}");
            name.clone_into(&mut family);
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').unwrap();
            assert_eq!(name, family);
            of.clone_into(&mut kind);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap();
        let value: f64 = value.parse().unwrap();
        assert!(labels.ends_with('}') && value >= 0.0, "{line}");
        match (kind.as_str(), name.strip_prefix(&family).unwrap()) {
            ("gauge" | "counter", "") | ("histogram", "_sum") => {}
            ("histogram", "_bucket") => {
                assert!(bucket.is_none_or(|before| before <= value), "{line}");
                bucket = Some(value);
            }
            ("histogram", "_count") => assert_eq!(bucket.take(), Some(value), "{line}"),
            other => panic!("{other:?}: {line}"),
        }
    }
    assert!(page.body.lines().count() > 200);
}

#[test]
fn a_full_server_refuses_with_429_and_says_when_to_come_again() {
    let engine = EngineModel::Plain { slots: 9, ttft: Delay::Constant(60.0), itl: Delay::Constant(0.0) };
    let limits = [(AdmissionGroup::All, 2), (AdmissionGroup::Priority(Priority::Low), 1)];
    let admission =
        Admission { limits: limits.to_vec(), retry_after: Some(Duration::from_secs(2)), ..Admission::default() };
    let fleet = Fleet { admission, ..Fleet::of_one(engine, 0) };
    let backend = Backend {
        server: fleet.server().unwrap(),
        ..Backend::fixed(9, Delay::Constant(60.0), Delay::Constant(0.0), 0)
    };
    let server = start(backend, MockOptions::default());
    let of = |priority: i32| with(chat(3), &json!({ "priority": priority }));
    let path = "/v1/chat/completions";
    let held = || metric(&server, "num_requests_running") as u64;
    let low = send(&server, "POST", path, "", &of(1).to_string());
    while held() < 1 {}
    let refused = post(&server, path, &of(1));
    assert_eq!((refused.status, refused.json()["error"]["code"].as_u64()), (429, Some(429)));
    assert!(refused.head.contains("retry-after: 2"), "{}", refused.head);
    let high = send(&server, "POST", path, "", &of(-1).to_string());
    while held() < 2 {}
    assert_eq!(post(&server, path, &of(-1)).status, 429, "two in all");
    // Whoever leaves frees a place.
    drop(low);
    while held() > 1 {}
    let again = send(&server, "POST", path, "", &of(1).to_string());
    while held() < 2 {}
    drop((high, again));
}
