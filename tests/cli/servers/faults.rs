//! Servers that are not there, not ready or not right: exit code 3, a diagnosis, a cure.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::{self, Desk, PATIENCE, Seen, answer, control, free_port, serve, serve_by_hand, stream};

/// An address of this machine at which nothing listens.
fn nobody() -> String {
    format!("http://127.0.0.1:{}", free_port())
}

/// What is said where nobody listens, and how long it took.
fn unanswered(arguments: &[&str]) -> (String, Duration) {
    let desk = Desk::new();
    let began = Instant::now();
    let run = desk.skyline(arguments).assert().code(3).stdout("");
    assert!(desk.runs().is_empty(), "no load, no run");
    (String::from_utf8(run.get_output().stderr.clone()).unwrap(), began.elapsed())
}

#[test]
fn nobody_listens() {
    let url = nobody();
    let at = url.rsplit(':').next().unwrap();
    let bench = ["bench", "quick.toml", "--engine", "vllm", "--url", &url, "--no-calibration"];
    let check = ["check", "--url", &url];
    for (said, took) in std::thread::scope(|scope| {
        let verbs = [scope.spawn(|| unanswered(&bench)), scope.spawn(|| unanswered(&check))];
        verbs.map(|verb| verb.join().unwrap())
    }) {
        assert!(took < PATIENCE, "{took:?}");
        let waiting: Vec<_> = said.lines().filter(|line| line.starts_with("waiting for")).collect();
        let reason = "refused the connection";
        assert_eq!(waiting, [format!("waiting for {url}, up to 5 s (--wait): 127.0.0.1:{at} {reason}")], "{said}");
        for part in [
            format!("error: {url} was not ready within 5 s: 127.0.0.1:{at} {reason}"),
            format!("hint: start the server: `vllm serve MODEL --port {at}`"),
            "hint: or name a server that runs: --url http://HOST:PORT".to_owned(),
            format!("hint: or start a mock, which needs no GPU: `skyline mock --port {at}`"),
        ] {
            assert!(said.contains(&part), "{part} in {said}");
        }
    }
}

#[test]
fn a_wait_that_was_asked_for_is_kept() {
    let url = nobody();
    let (said, took) = unanswered(&["check", "--url", &url, "--wait", "1s"]);
    assert!(said.contains("up to 1 s (--wait)") && said.contains("was not ready within 1 s"), "{said}");
    assert!(took < PATIENCE, "{took:?}");
    let (said, took) = unanswered(&["check", "--url", &url, "--wait", "7s"]);
    assert!(said.contains("was not ready within 7 s") && took > Duration::from_secs(6), "{took:?} {said}");
}

/// A server of one model at a path of its own, without a list of models, that also is a proxy.
fn odd(seen: &Seen) -> String {
    let listed = seen.path.ends_with("/custom/v1/chat/completions");
    if listed { stream(4) } else { answer("404 Not Found", "application/json", "{}") }
}

#[test]
fn a_server_may_have_a_path_and_a_header_of_its_own() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    let address = serve(move |seen| {
        log.lock().unwrap().push(seen.head.clone());
        odd(seen)
    });
    let desk = Desk::new();
    let url = format!("http://{address}/gate");
    let path = ["--path", "/custom/v1/chat/completions", "--session-header", "X-Session-ID"];
    let check = [&["check", "--engine", "openai", "--url", &url][..], &path].concat();
    desk.skyline(&check)
        .assert()
        .code(3)
        .stderr(contains("does not list its models (/v1/models answers 404").and(contains("--model")));
    let here = [&check[..], &["--model", "toy"]].concat();
    // What is on this machine is asked without a proxy.
    desk.skyline(&here).env("http_proxy", "http://127.0.0.1:1").assert().code(0);
    let elsewhere: Vec<_> =
        here.iter().map(|word| if *word == url { "http://gate.invalid/gate" } else { word }).collect();
    desk.skyline(&elsewhere)
        .env("HTTP_PROXY", format!("http://me:p@hunter2@{address}"))
        .env("SKYLINE_LOG", "trace")
        .assert()
        .code(0)
        .stderr(contains(format!("requests go through the proxy http://{address}")).and(contains("hunter2").not()));
    let by_name: Vec<_> = elsewhere.iter().copied().chain(["--wait", "300ms"]).collect();
    desk.skyline(&by_name)
        .env("http_proxy", format!("http://{address}"))
        .env("NO_PROXY", "gate.invalid")
        .assert()
        .code(3)
        .stderr(contains("the host `gate.invalid` cannot be found").and(contains("hint: check the host's name")));
    let heads = heads.lock().unwrap();
    for line in ["POST /gate/custom/v1/chat", "POST http://gate.invalid/gate/custom/v1/chat"] {
        let post = heads.iter().find(|head| head.starts_with(line)).unwrap_or_else(|| panic!("{line} in {heads:?}"));
        assert!(post.contains("\r\nx-session-id: "), "{post}");
    }
}

#[test]
fn each_way_of_not_being_right_has_its_diagnosis() {
    let json = "application/json";
    let cases: [(&str, String, &str); 6] = [
        ("401 Unauthorized", answer("401 Unauthorized", json, r#"{"error":"Unauthorized"}"#), "--api-key-env"),
        ("404 path", answer("404 Not Found", json, r#"{"detail":"Not Found"}"#), "--endpoint"),
        (
            "404 model",
            answer("404 Not Found", json, r#"{"error":{"message":"The model `toy` does not exist."}}"#),
            "--model",
        ),
        (
            "not streaming",
            answer("200 OK", json, r#"{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}"#),
            "--no-stream",
        ),
        ("content type", answer("200 OK", "text/html", "<html>hello</html>"), "text/html"),
        (
            "error in stream",
            answer(
                "200 OK",
                "text/event-stream",
                "data: {\"error\":{\"message\":\"engine died\"}}\n\ndata: [DONE]\n\n",
            ),
            "engine died",
        ),
    ];
    for (name, reply, said) in cases {
        let address = serve(move |seen| control(seen).unwrap_or_else(|| reply.clone()));
        let url = format!("http://{address}");
        let desk = Desk::new();
        let result =
            desk.skyline(&["bench", "quick.toml", "--engine", "vllm", "--no-calibration", "--url", &url]).assert();
        let stderr = String::from_utf8(result.get_output().stderr.clone()).unwrap();
        assert_eq!(result.get_output().status.code(), Some(3), "{name}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("hint:"), "{name}: {stderr}");
        assert!(desk.runs().is_empty(), "{name}: no load, no run");
    }
}

#[test]
fn a_run_in_which_every_request_failed_is_never_fine() {
    // Only the smoke test is answered.
    let address = serve(|seen| {
        control(seen).unwrap_or_else(|| match seen.generation {
            0 => stream(4),
            _ => answer("500 Internal Server Error", "application/json", r#"{"error":{"message":"out of memory"}}"#),
        })
    });
    let desk = Desk::new();
    let url = format!("http://{address}");
    desk.skyline(&["bench", "quick.toml", "--engine", "vllm", "--no-calibration", "--url", &url])
        .assert()
        .code(3)
        .stdout(contains("INVALID").and(contains("http 500")).and(contains("out of memory")));
    assert!(desk.run().join("summary.json").exists());
}

#[test]
fn an_error_objective_judges_errors_in_place_of_the_default_bar() {
    // The first request to each server is the test request.
    let server = || {
        let address = serve(|seen| {
            control(seen).unwrap_or_else(|| match seen.generation % 4 {
                0 => stream(8),
                _ => answer("503 Service Unavailable", "application/json", r#"{"error":{"message":"busy"}}"#),
            })
        });
        format!("http://{address}")
    };
    let desk = Desk::new();
    let bench = || {
        let url = server();
        let typed = ["bench", "quick.toml", "--engine", "vllm", "--url", &url, "--no-calibration"];
        desk.skyline(&[&typed[..], &["--allow-invalid"]].concat())
    };
    // A server that refuses for want of room did not keep up, whatever a busy machine makes of the run besides.
    bench().assert().code(1);
    assert!(support::outcomes(&desk.summary()).contains(&"overloaded"), "{}", desk.summary()["verdict"]);
    bench().args(["--objective", "error_rate < 1%"]).assert().code(1);
    bench().args(["--objective", "error_rate < 90%"]).assert().code(0);
}

#[test]
fn check_tells_what_a_server_is() {
    let address = serve(|seen| control(seen).unwrap_or_else(|| stream(4)));
    Desk::new()
        .skyline(&["check", "--engine", "vllm", "--url", &format!("http://{address}")])
        .assert()
        .code(0)
        .stdout(contains("toy").and(contains("9.9")).and(contains("4096").or(contains("4,096"))));
}

#[test]
fn a_server_that_never_pauses_cannot_put_a_limit_off() {
    let address = serve_by_hand(|seen, socket| {
        if let Some(reply) = control(seen) {
            let _ = socket.write_all(reply.as_bytes());
        } else if seen.generation == 0 {
            let _ = socket.write_all(stream(4).as_bytes());
        } else {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            // Long enough that a fast client does not come to a million of them before its limit.
            let words = "w".repeat(2_000);
            let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
            let events = event.repeat(20);
            while socket.write_all(events.as_bytes()).is_ok() {}
        }
    });
    let url = format!("http://{address}");
    Desk::new()
        .skyline(&[
            "bench",
            "quick.toml",
            "--url",
            &url,
            "--requests",
            "1",
            "--timeout",
            "2s",
            "--drain",
            "60s",
            "--answer-tokens-limit",
            "1000000",
            "--answer-size-limit",
            "64GiB",
        ])
        .timeout(PATIENCE)
        .assert()
        .code(3)
        .stdout(contains("timeout in total"));
}

#[test]
fn what_a_server_says_cannot_steer_the_terminal() {
    let message = r#"{"error":{"message":"bad \u001b[31m\u001b]0;title\u0007 day"}}"#;
    let address =
        serve(move |seen| control(seen).unwrap_or_else(|| answer("400 Bad Request", "application/json", message)));
    Desk::new()
        .skyline(&["check", "--url", &format!("http://{address}")])
        .assert()
        .code(3)
        .stderr(contains("bad").and(contains('\u{1b}').not()).and(contains('\u{7}').not()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_summary_that_could_not_be_written_is_no_success() {
    let desk = Desk::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let folder = desk.file("x", "");
    let status = std::process::Command::new(assert_cmd::cargo::cargo_bin("skyline"))
        .current_dir(folder.parent().unwrap())
        .args(["bench", "quick.toml", "--allow-invalid", "--requests", "2", "--json"])
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(desk.run().join("summary.json").exists(), "it is kept all the same");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_taken_as_it_is() {
    use std::os::unix::ffi::OsStringExt;
    let name = std::ffi::OsString::from_vec(b"r\xff".to_vec());
    Desk::new()
        .skyline(&["bench", "quick.toml", "--allow-invalid", "--requests", "2", "--out"])
        .arg(name)
        .assert()
        .code(0);
}
