//! Servers without measure: texts of megabytes, answers without end, impossible counts. Memory and files stay small.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Desk, PATIENCE, Seen, answer, control, peak_kib, serve, serve_by_hand, stream};

/// What came of a command.
struct Watched {
    code: Option<i32>,
    /// On one line, so that nothing depends on where a sentence wraps.
    stdout: String,
    stderr: String,
    took: Duration,
    /// The most memory that it had, MiB.
    peak_mib: u64,
}

/// Runs the binary and watches its memory.
fn watch(desk: &Desk, url: &str, arguments: &[&str]) -> Watched {
    let [out, err] = ["out.txt", "err.txt"].map(|name| desk.path().join(name));
    let began = Instant::now();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("skyline"))
        .current_dir(desk.path())
        .args(arguments)
        .args(["--url", url])
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let code = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        peak = peak_kib(child.id()).unwrap_or(peak);
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let on_one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let [stdout, stderr] = [out, err].map(|path| on_one_line(std::fs::read_to_string(path).unwrap()));
    Watched { code, stdout, stderr, took: began.elapsed(), peak_mib: peak >> 10 }
}

/// A run of so many requests.
fn bench(desk: &Desk, url: &str, requests: &str, more: &[&str]) -> Watched {
    let run = ["bench", "quick.toml", "--engine", "vllm", "--no-calibration", "--requests", requests];
    watch(desk, url, &[&run[..], more].concat())
}

/// Loose bounds: of memory, of time on a busy machine, of what is printed and stored.
fn assert_small(desk: &Desk, of: &Watched, most_mib: u64) {
    let Watched { stdout, stderr, took, peak_mib, .. } = of;
    assert!(*peak_mib < most_mib, "{peak_mib} MiB\n{stderr}");
    assert!(*took < PATIENCE, "{took:?}\n{stderr}");
    assert!(stdout.len() < 50_000 && stderr.len() < 5_000, "{} {}", stdout.len(), stderr.len());
    for run in desk.runs() {
        for file in ["run.jsonl", "summary.json", "report.html"] {
            let size = std::fs::metadata(run.join(file)).unwrap().len();
            assert!(size < 1_000_000, "{file}: {size} bytes");
        }
    }
}

/// A whole stream of eight tokens with one part of it replaced.
fn streamed(part: &str, by: &str) -> String {
    let whole = stream(8);
    let (_, body) = whole.split_once("\r\n\r\n").unwrap();
    answer("200 OK", "text/event-stream", &body.replace(part, by))
}

const FIVE_MB: usize = 5_000_000;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

fn event(content: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n")
}

/// A healthy server whose answers from the `first` on begin with `head` and repeat `rest` without end, with pauses.
fn endless(first: usize, head: &str, rest: &str, pause: Duration) -> String {
    let (head, rest) = (head.to_owned(), rest.to_owned());
    let address = serve_by_hand(move |seen, socket| {
        if let Some(reply) = control(seen) {
            let _ = socket.write_all(reply.as_bytes());
        } else if seen.generation < first {
            let _ = socket.write_all(stream(4).as_bytes());
        } else {
            let _ = socket.write_all(head.as_bytes());
            while socket.write_all(rest.as_bytes()).is_ok() {
                std::thread::sleep(pause);
            }
        }
    });
    format!("http://{address}")
}

#[test]
fn texts_of_megabytes_are_cut_and_the_cut_shows() {
    let address = serve(|seen: &Seen| {
        let long = "v".repeat(FIVE_MB);
        match seen.path.as_str() {
            "/version" => answer("200 OK", "application/json", &format!("{{\"version\":\"{long}\"}}")),
            "/v1/models" => answer("200 OK", "application/json", &format!("{{\"data\":[{{\"id\":\"{long}\"}}]}}")),
            _ => control(seen).unwrap_or_else(|| match seen.generation {
                0 | 1 => stream(4),
                _ => streamed("length\"", &format!("{long}\"")),
            }),
        }
    });
    let (desk, url) = (Desk::new(), format!("http://{address}"));
    let check = watch(&desk, &url, &["check", "--engine", "vllm", "--full"]);
    assert_eq!(check.code, Some(0), "{}", check.stderr);
    assert!(check.stdout.contains("bytes more)"), "{}", check.stdout);
    assert_small(&desk, &check, 250);
    let run = bench(&desk, &url, "2", &[]);
    assert_small(&desk, &run, 250);
    let reason = desk.lines("request")[0]["finish_reason"]["other"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("vvv") && reason.ends_with("(4,999,936 bytes more)"), "{reason}");
}

#[test]
fn an_error_of_megabytes_is_an_excerpt() {
    let address = serve(|seen| {
        let error = || format!("{{\"error\":{{\"message\":\"{}\"}}}}", "e".repeat(FIVE_MB));
        let in_stream = |error: String| answer("200 OK", "text/event-stream", &format!("data: {error}\n\n"));
        control(seen).unwrap_or_else(|| match seen.generation {
            0 => stream(4),
            1 => answer("500 Internal Server Error", "application/json", &error()),
            _ => in_stream(error()),
        })
    });
    let (desk, url) = (Desk::new(), format!("http://{address}"));
    let run = bench(&desk, &url, "3", &[]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_small(&desk, &run, 250);
    let whole = desk.lines("request").into_iter().map(|request| request["outcome"].to_string());
    assert!(whole.into_iter().any(|outcome| outcome.contains("eee… (4,999,740 bytes more)")), "{}", run.stdout);
}

#[test]
fn an_endless_answer_fails_at_once() {
    let server = || endless(1, HEAD, &event("w").repeat(100), Duration::ZERO);
    let desk = Desk::new();
    let run = bench(&desk, &server(), "4", &[]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_small(&desk, &run, 200);
    for request in desk.lines("request") {
        assert_eq!(request["chunks"]["gaps_ns"].as_array().unwrap().len(), 4_097);
        let said = request["outcome"].to_string();
        assert!(said.contains("more than 4,096 tokens came where 8 were requested"), "{said}");
    }
    let run = bench(&Desk::new(), &server(), "1", &["--answer-size-limit", "10KiB"]);
    assert!(run.stdout.contains("the answer does not end: more than 10 KiB came"), "{}", run.stdout);
}

#[test]
fn an_endless_answer_to_the_test_request_is_named() {
    let url = endless(0, HEAD, &event("w").repeat(100), Duration::ZERO);
    let desk = Desk::new();
    let check = watch(&desk, &url, &["check", "--engine", "vllm"]);
    assert_eq!(check.code, Some(1), "{}", check.stderr);
    assert_small(&desk, &check, 150);
    assert!(check.stdout.contains("ignores the requested length"), "{}", check.stdout);
}

#[test]
fn a_slow_answer_without_end_meets_its_time_limit() {
    let url = endless(1, HEAD, &event("w"), Duration::from_millis(5));
    let desk = Desk::new();
    let run = bench(&desk, &url, "4", &["--timeout", "2s"]);
    assert!(run.stdout.contains("timeout in total"), "{}", run.stdout);
    assert_small(&desk, &run, 150);
}

#[test]
fn an_event_or_a_head_without_end_is_not_kept() {
    let piece = "x".repeat(1 << 16);
    let long_event = || endless(1, &format!("{HEAD}data: "), &piece, Duration::ZERO);
    let long_head = || endless(1, "HTTP/1.1 200 OK\r\nx-long: ", &piece, Duration::ZERO);
    for (url, more, words, most_mib) in [
        (long_event(), &[][..], "an event of more than 16 MiB", 300),
        (long_event(), &["--answer-memory", "1MiB"], "hold more than 1 MiB of memory", 150),
        (long_head(), &[], "its head has more than 64 KiB", 150),
    ] {
        let desk = Desk::new();
        let run = bench(&desk, &url, "4", more);
        assert!(run.stdout.contains(words), "{}", run.stdout);
        assert_small(&desk, &run, most_mib);
    }
}

/// A healthy server that answers at `path`, of generation after the test request, with `begin`, 6 MB of `rest`, and `end`.
fn endlessly_many(path: &'static str, [begin, rest, end]: [&'static str; 3]) -> String {
    let address = serve(move |seen| {
        let is_faulty = seen.path == path && (!path.ends_with("completions") || seen.generation > 0);
        let body = || format!("{begin}{}{end}", rest.repeat(6_000_000 / rest.len()));
        let whole = |body: &str| answer("200 OK", "application/json", body);
        let is_streamed = seen.body.contains("\"stream\":true");
        let healthy = || if is_streamed { stream(8) } else { whole(WHOLE) };
        if is_faulty { whole(&body()) } else { control(seen).unwrap_or_else(healthy) }
    });
    format!("http://{address}")
}

const WHOLE: &str = r#"{"choices":[{"index":0,"message":{"content":"w w w w w w w w"},"finish_reason":"length"}],"usage":{"prompt_tokens":8,"completion_tokens":8}}"#;

/// Each of these took 300 MB to 1 GB when it was read whole.
#[test]
fn json_of_many_small_values_takes_little_memory() {
    const CHAT: &str = "/v1/chat/completions";
    let check = ["check", "--engine", "vllm", "--full"];
    let whole = "bench quick.toml --engine vllm --no-calibration --requests 1 --no-stream --full";
    let whole: Vec<_> = whole.split(' ').collect();
    let error = ["{\"error\":{\"message\":\"bad\",\"of\":[", "{\"\":0},", "0]}}"];
    let calls = ["{\"choices\":[{\"message\":{\"tool_calls\":[", "1,", "1]},\"finish_reason\":\"stop\"}]}"];
    let choices = ["{\"choices\":[", "{},", "{}]}"];
    let settings = ["{\"vllm_config\":[", "{\"\":0},", "0]}"];
    let tokens = ["{\"tokens\":[", "{\"\":0},", "0]}"];
    let models = ["{\"data\":[", "{\"\":0},", "{}]}"];
    for (path, body, arguments, code, words) in [
        ("/v1/models", models, &check[..], 3, "its JSON takes more than 32 MiB of memory"),
        ("/server_info", settings, &check, 0, ""),
        ("/tokenize", tokens, &check, 0, ""),
        (CHAT, error, &whole, 3, "error in stream"),
        (CHAT, calls, &whole, 3, "what came in `tool_calls` is not read"),
        (CHAT, choices, &whole, 3, "the answer has choices that are no list, or over 256"),
    ] {
        let desk = Desk::new();
        let said = watch(&desk, &endlessly_many(path, body), arguments);
        let all = format!("{path} {body:?}\n{}\n{}", said.stdout, said.stderr);
        assert_eq!(said.code, Some(code), "{all}");
        assert!(all.contains(words), "{all}");
        assert!(said.peak_mib < 180, "{} MiB: {all}", said.peak_mib);
    }
}

#[test]
fn impossible_counts_are_ignored_and_make_the_run_invalid() {
    for tokens in ["4294967296", "1099511627776", "18446744073709551615"] {
        let reply = streamed("\"completion_tokens\":8", &format!("\"completion_tokens\":{tokens}"));
        let address = serve(move |seen| {
            control(seen).unwrap_or_else(|| if seen.generation == 0 { stream(4) } else { reply.clone() })
        });
        let desk = Desk::new();
        let run = bench(&desk, &format!("http://{address}"), "6", &[]);
        assert_eq!(run.code, Some(3), "{tokens}: {}", run.stdout);
        assert!(run.stdout.contains("usage is impossible in 6 answers"), "{}", run.stdout);
        let summary = desk.summary();
        assert!(summary["findings"].to_string().contains("impossible_usage"), "{}", summary["findings"]);
        assert!(desk.checks("token_identity").iter().any(|check| check["outcome"] == "failed"));
        assert_eq!(summary["tokens"]["output"]["received_tokens"], 48);
        // What is stored can be read again.
        desk.skyline(&["report"]).assert().code(3);
        assert_eq!(desk.lines("request")[0]["impossible_usage"]["completion_tokens"].to_string(), tokens);
    }
}
