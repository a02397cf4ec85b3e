//! `--otlp` against a small collector: what arrives, and what becomes of a push that fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::support::{Desk, free_port};

/// A collector that takes one push and answers with `status` and `body`: its address, and what it got.
fn collector(status: &'static str, body: &'static str) -> (String, JoinHandle<(Vec<String>, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let got = std::thread::spawn(move || {
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
    });
    (url, got)
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
