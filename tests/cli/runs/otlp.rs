//! `--otlp` against a small collector: what arrives, and what becomes of a push that fails. What finds a slow request
//! in the server: traces, ids, a profile, and the user's own commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::support::{Desk, free_port, mock};

/// What a collector got of one push: the lines of its head, and its body.
type Push = (Vec<String>, Value);

/// A collector that takes one push and answers with `status` and `body`: its address, and what it got.
fn collector(status: &'static str, body: &'static str) -> (String, JoinHandle<Push>) {
    let (url, got) = collector_of(1, status, body);
    (url, std::thread::spawn(move || got.join().unwrap().remove(0)))
}

/// The same, which takes so many pushes.
fn collector_of(pushes: usize, status: &'static str, body: &'static str) -> (String, JoinHandle<Vec<Push>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let take = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_ascii_lowercase());
        }
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut sent = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut sent).unwrap();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        (head, serde_json::from_slice(&sent).unwrap())
    };
    (url, std::thread::spawn(move || (0..pushes).map(|_| take()).collect()))
}

/// A stored run.
fn run() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-4").display().to_string()
}

fn pushed(url: &str) -> (i32, String) {
    let desk = Desk::new();
    let mut command = desk.skyline(&["report", &run(), "--otlp", url, "--allow-invalid"]);
    command
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%20one")
        // This machine is reached without a proxy.
        .env("http_proxy", "http://127.0.0.1:1")
        .env_remove("OTEL_EXPORTER_OTLP_METRICS_HEADERS");
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_figures_arrive_with_the_headers_of_the_environment() {
    let (url, got) = collector("200 OK", "{}");
    let (code, said) = pushed(&url);
    let (head, body) = got.join().unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("otlp: pushed to {url}/v1/metrics")), "{said}");
    assert_eq!(head[0], "post /v1/metrics http/1.1");
    assert!(head.contains(&"content-type: application/json".to_owned()), "{head:?}");
    assert!(head.contains(&"x-key: s3cret one".to_owned()), "{head:?}");
    let metrics = body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let ttft = metrics.iter().find(|metric| metric["name"] == "skyline.ttft").unwrap();
    assert_eq!(ttft["unit"], "s");
    assert!(ttft["gauge"]["dataPoints"][0]["asDouble"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_push_that_fails_is_told_and_changes_nothing() {
    let (url, got) = collector("401 Unauthorized", "the key s3cret one is unknown");
    let (code, said) = pushed(&url);
    got.join().unwrap();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("warning: the figures were not pushed") && said.contains("answers 401"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");

    let (url, got) = collector("200 OK", r#"{"partialSuccess":{"rejectedDataPoints":"3"}}"#);
    let (code, said) = pushed(&url);
    got.join().unwrap();
    assert!(code == 0 && said.contains("\"3\" points were rejected"), "{said}");

    // Nobody listens.
    let (code, said) = pushed(&format!("http://127.0.0.1:{}", free_port()));
    assert!(code == 0 && said.contains("were not pushed") && said.contains("refused"), "{said}");
}

#[test]
fn what_is_typed_wrongly_is_refused() {
    let desk = Desk::new();
    let mut command = desk.skyline(&["report", &run(), "--otlp", "http://me:s3cret@localhost"]);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("credentials do not belong in the address"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

/// The run of a mock that serves it alone, and what it leaves behind.
#[test]
fn a_slow_request_is_found_in_the_server() {
    let (desk, mock) = (Desk::new(), mock(&[]));
    let (url, got) = collector_of(2, "200 OK", "{}");
    let arguments = [
        "bench",
        "smoke",
        "2",
        "--url",
        &mock.url,
        "--traceparent",
        "--request-id-prefix=nightly-",
        "--otlp",
        &url,
        "--profile=300ms",
        "--before=echo begin $SKYLINE_URL",
        "--after=echo end $SKYLINE_FOLDER; exit 3",
    ];
    let output = desk.skyline(&arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: the after command failed: it exited with 3"), "{said}");
    assert!(said.contains("profile: the server has written it"), "{said}");
    // The commands, and what they wrote.
    let kept = std::fs::read_to_string(desk.run().join("commands.log")).unwrap();
    let (begin, end) = (format!("begin {}", mock.url), format!("end {}", desk.run().display()));
    assert!(kept.contains(&begin) && kept.contains(&end) && !kept.contains("echo"), "{kept}");
    // The profile lies after all that counts, and was stopped: it can be started.
    let (summary, requests) = (desk.summary(), desk.lines("request"));
    let (from, to) = (&summary["profile"]["from_ns"], &summary["profile"]["to_ns"]);
    let counted = requests.iter().filter(|request| request["phase"] != "cooldown");
    let last = counted.map(|request| request["ended_ns"].as_u64().unwrap()).max().unwrap();
    assert!(from.as_u64().unwrap() >= last && to.as_u64().unwrap() >= from.as_u64().unwrap() + 300_000_000);
    assert!(from.as_f64().unwrap() >= summary["window"]["end_s"].as_f64().unwrap() * 1e9, "{}", summary["profile"]);
    assert!(!summary["findings"].to_string().contains("profiled"), "{}", summary["findings"]);
    let after = requests.iter().filter_map(|request| request["dispatched_ns"].as_u64());
    assert!(after.filter(|at| *at > from.as_u64().unwrap()).count() > 0, "load goes on");
    let posted = |path: &str| {
        let mut stream = TcpStream::connect(mock.url.strip_prefix("http://").unwrap()).unwrap();
        write!(stream, "POST {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!([posted("/start_profile"), posted("/start_profile"), posted("/stop_profile")], [200, 400, 200]);
    // The spans, by the trace ids that the requests carried.
    let pushes = got.join().unwrap();
    assert_eq!(pushes[1].0[0], "post /v1/traces http/1.1");
    let spans = pushes[1].1["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let engine = &desk.lines("header")[0]["engines"][0];
    let (trace, id) = (&engine["trace_id_prefix"], engine["request_id_prefix"].as_str().unwrap());
    let is_of_run = |span: &Value| span["traceId"].as_str().unwrap().starts_with(trace.as_str().unwrap());
    assert!(spans.len() > 10 && spans.iter().all(is_of_run) && id.starts_with("nightly-"), "{id}");
}

#[test]
fn a_server_that_cannot_be_profiled_is_refused_before_the_load() {
    let (desk, mock) = (Desk::new(), mock(&[]));
    for (more, said) in [
        (&["--engine", "openai", "--profile=1s"][..], "`openai` has no profiler that a client can start"),
        (&["--profile=1s@30s"], "would last until 31 s and the window begins at"),
        (&["--before=exit 7"], "the before command failed: it exited with 7"),
    ] {
        let arguments = [&["bench", "smoke", "2", "--url", &mock.url], more].concat();
        let output = desk.skyline(&arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() != Some(0) && error.contains(said), "{error}");
    }
    assert!(desk.runs().is_empty());
}
