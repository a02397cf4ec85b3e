//! `skyline mock` as a process: where it listens, how it ends, what it refuses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Desk, PATIENCE, mock, peak_kib};

#[cfg(unix)]
#[test]
fn it_says_where_it_listens_and_at_the_end_what_it_did() {
    let desk = Desk::new();
    // Ctrl-C, and what supervisors send; as vLLM, and as a gateway.
    let gateway = &["--base-path", "/v1beta/openai", "--no-models", "--no-realtime"][..];
    for (signal, options) in [("-INT", &[][..]), ("-TERM", gateway)] {
        let mock = mock(&[&["--ttft", "5ms", "--itl", "1ms"], options].concat());
        let check = ["check", "--engine", "openai", "--url", &mock.url];
        if options.is_empty() {
            desk.skyline(&check).assert().code(0).stdout(contains("plain"));
        } else {
            assert!(mock.url.ends_with("/v1beta/openai"), "{}", mock.url);
            let nameless = desk.skyline(&check).assert().code(3);
            nameless.stderr(contains("/v1beta/openai does not list its models").and(contains("--model")));
            desk.skyline(&check).args(["--model", "plain"]).assert().code(0);
        }
        let (status, words) = mock.end(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(words.contains("2 requests: 2 finished") && words.contains("late by p50"), "{words}");
    }
}

/// As the embedded one is, whatever engine its address is given for.
#[test]
fn a_mock_that_is_reached_by_its_address_is_a_mock_in_the_report_and_the_audit() {
    for engine in ["vllm", "openai"] {
        let (mock, desk) = (mock(&["--ttft", "5ms", "--itl", "1ms"]), Desk::new());
        let run = ["bench", "quick.toml", "--engine", engine, "--url", &mock.url, "--no-calibration"];
        let _ = desk.skyline(&run).args(["--allow-invalid", "--out", "results"]).assert();
        let summary = desk.summary();
        assert_eq!(summary["run"]["engine"]["engine"], "mock", "{engine}");
        assert!(summary["reproduction"]["missing"].as_array().unwrap().is_empty(), "{}", summary["reproduction"]);
        let folder = desk.run();
        let audit = ["audit", folder.to_str().unwrap(), "--full"];
        desk.skyline(&audit).assert().stdout(contains("nothing about a real server: Skyline's mock answered"));
    }
}

/// Requests that wait, each with 1 MB that the answer does not need, and one that is small and asks for very much.
#[test]
fn the_memory_of_a_mock_is_bounded_whatever_its_clients_send() {
    let mock = mock(&["--ttft", "60s", "--itl", "1ms", "--slots", "4"]);
    let address = mock.url.trim_start_matches("http://").to_owned();
    let padding = "a".repeat(1_000_000);
    let chat = |more: &str| format!(r#"{{"messages":[{{"role":"user","content":"hi"}}],"max_tokens":4,{more}}}"#);
    let format = |schema: &str| {
        chat(&format!(r#""response_format":{{"type":"json_schema","json_schema":{{"name":"a","schema":{schema}}}}}"#))
    };
    let nested = (0..7).fold(r#"{"type":"integer"}"#.to_owned(), |items, _| {
        format!(r#"{{"type":"array","minItems":1000,"items":{items}}}"#)
    });
    let long = r#"{"type":"array","minItems":100,"items":{"type":"string","minLength":9000}}"#;
    let mut open = Vec::new();
    let mut send = |path: &str, body: &str, times: usize| {
        for _ in 0..times {
            let mut socket = TcpStream::connect(&address).unwrap();
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}",
                body.len()
            );
            socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
            open.push(socket);
        }
    };
    for body in
        [chat(&format!(r#""stop":["{padding}"]"#)), chat(&format!(r#""x":"{padding}""#)), format(&nested), format(long)]
    {
        send("/v1/chat/completions", &body, 60);
    }
    send("/v1/completions", &format!(r#"{{"prompt":[{}1],"max_tokens":4}}"#, "1,".repeat(100_000)), 60);
    let words = format!(r#"{{"prompt":"{}"}}"#, "a ".repeat(1_900_000));
    send("/tokenize", &words, 20);
    for (path, body, status, words) in [
        (
            "/v1/chat/completions",
            format!(r#"{{"messages":[{}1]}}"#, "{\"\":0},".repeat(200_000)),
            "413",
            "its JSON takes more than 32 MiB",
        ),
        (
            "/v1/completions",
            format!(r#"{{"n":128,"prompt":[{}"a"]}}"#, r#""a","#.repeat(1_000)),
            "400",
            "are more than 4096 answers",
        ),
        ("/tokenize", words, "400", "has 1900000 tokens, and at most 131072 are listed"),
        ("/v1/completions", format!(r#"{{"prompt":"{}"}}"#, "a".repeat(5_000_000)), "413", "Payload Too Large"),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}",
            body.len()
        );
        let begin = Instant::now();
        let said = loop {
            let mut socket = TcpStream::connect(&address).unwrap();
            let _ = socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
            let mut said = Vec::new();
            let _ = socket.read_to_end(&mut said);
            let said = String::from_utf8_lossy(&said).into_owned();
            // As long as what came before is still being read there is no room for more; and a refusal before the end
            // of the body may be lost with the connection.
            if !(said.is_empty() || said.starts_with("HTTP/1.1 503")) || begin.elapsed() > PATIENCE {
                break said;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")) && said.contains(words), "{path}: {said}");
    }
    let peak = peak_kib(mock.id()).unwrap();
    assert!(peak < 300_000, "{peak} KiB");
}

#[test]
fn mistakes_are_answered_with_what_is_right() {
    let desk = Desk::new();
    desk.skyline(&["mock", "--fault", "explode=0.1"])
        .assert()
        .code(2)
        .stderr(contains("there is no fault `explode`; known: http_400"));
    desk.skyline(&["mock", "--itl", "pareto:1s"]).assert().code(2).stderr(contains("log-normal:80ms:0.45"));
    desk.skyline(&["mock", "--stop-length", "0,1"]).assert().code(2).stderr(contains("such as 150,0.8"));
    desk.skyline(&["mock", "--served-model-name", ""]).assert().code(2);
    for path in ["gate", "/gate?key=1", "/{gate}"] {
        desk.skyline(&["mock", "--base-path", path]).assert().code(2).stderr(contains("write it like /gate"));
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    desk.skyline(&["mock", "--port", &port])
        .assert()
        .code(3)
        .stderr(contains(format!("127.0.0.1:{port}")).and(contains("port 0 takes a free port")));
    desk.skyline(&["mock", "--port", "0", "--truth", "no/such/folder.ndjson"])
        .assert()
        .code(3)
        .stderr(contains("no/such/folder.ndjson").and(contains("a folder that exists")));
    desk.skyline(&["mock", "--bind", "localhost"]).assert().code(2).stderr(contains("0.0.0.0 lets others in"));
}

/// A connection that posts a chat of so many bytes, of which `sent` go out.
fn posting(url: &str, length: usize, sent: usize) -> TcpStream {
    let mut socket = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    // A server that refuses a body reads no more of it.
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(&vec![b' '; sent]));
    socket
}

/// Whether one of the connections gets an answer of this status, looked for as long as a busy machine needs.
fn one_is_answered(status: &str, sockets: &[TcpStream]) -> bool {
    (0..20).any(|_| {
        sockets.iter().any(|socket| {
            let mut line = String::new();
            BufReader::new(socket).read_line(&mut line).is_ok() && line.contains(status)
        })
    })
}

#[test]
fn bodies_are_limited_each_and_together() {
    let mock = mock(&["--ttft", "5ms", "--itl", "1ms"]);
    assert!(one_is_answered("413", &[posting(&mock.url, 5 << 20, (4 << 20) + 1)]));
    let unfinished: Vec<_> = (0..20).map(|_| posting(&mock.url, 4 << 20, (4 << 20) - 1)).collect();
    assert!(one_is_answered("503", &unfinished));
    drop(unfinished);
    Desk::new().skyline(&["check", "--url", &mock.url]).assert().code(0);
}
