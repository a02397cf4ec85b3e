//! A Prometheus that is asked after a run, played by a server that samples the mock.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Desk, Seen, answer, mock, serve};

/// The time between two samples.
const EVERY: Duration = Duration::from_millis(100);

/// How much its clock is ahead of this machine's.
const AHEAD: f64 = 1_000.0;

/// How much earlier the moment is that some answer about, and call now.
const BEHIND: f64 = 30.0;

/// Stretches whose samples are more bytes than a client reads, and more than the server reads, in seconds.
const TOO_LONG: (f64, f64) = (2.0, 1.0);

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64() + AHEAD
}

/// The pages of a server, with the moments at which they were sampled.
type Samples = Arc<Mutex<Vec<(f64, String)>>>;

fn sample(url: &str) -> Samples {
    let samples = Samples::default();
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let into = Arc::clone(&samples);
    std::thread::spawn(move || {
        loop {
            let at = now();
            // Without chunks, as HTTP/1.0 has none; until the server ends.
            let Ok(mut socket) = TcpStream::connect(&host) else { return };
            let mut text = String::new();
            socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            if socket.read_to_string(&mut text).is_ok() {
                into.lock().unwrap().push((at, text));
            }
            std::thread::sleep(EVERY);
        }
    });
    samples
}

/// The series of pages, as an answer about all their samples.
fn series(pages: &[(f64, String)]) -> Vec<Value> {
    let label = regex::Regex::new(r#"(\w+)="([^"]*)""#).unwrap();
    let mut found: Vec<(&str, Vec<Value>)> = Vec::new();
    for (at, page) in pages {
        for line in page.lines().filter(|line| line.starts_with("vllm:")) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let sample = json!([(at * 1e3).round() / 1e3, value]);
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, samples)) => samples.push(sample),
                None => found.push((name, vec![sample])),
            }
        }
    }
    let place = json!({"namespace": "bench", "pod": "a", "instance": "10.0.0.7:8000", "job": "pods"});
    let series = |(line, samples): (&str, Vec<Value>)| {
        let mut metric = place.clone();
        metric["__name__"] = line.split('{').next().into();
        for found in label.captures_iter(line) {
            metric[&found[1]] = found[2].into();
        }
        json!({"metric": metric, "values": samples})
    };
    let own: Vec<_> = found.into_iter().map(series).collect();
    // Another job samples the same page; its moments are those of scrapes that took long.
    let again = own.clone().into_iter().map(|mut series| {
        series["metric"]["job"] = "services".into();
        for sample in series["values"].as_array_mut().unwrap() {
            sample[0] = (((sample[0].as_f64().unwrap() - 0.15) * 1e3).round() / 1e3).into();
        }
        series
    });
    // A router counts what its replicas have.
    let values: Vec<_> = pages.iter().map(|(at, _)| json!([(at * 1e3).round() / 1e3, "1000"])).collect();
    let metric = json!({"__name__": "vllm:num_requests_running", "pod": "router", "server": "http://10.0.0.7:8000"});
    let router = json!({"metric": metric, "values": values});
    own.iter().cloned().chain(again).chain([router]).collect()
}

/// Answers a query as a Prometheus with these samples does.
fn answered(samples: &Samples, seen: &Seen) -> String {
    let target = seen.head.split_whitespace().nth(1).unwrap();
    let url = reqwest::Url::parse(&format!("http://p{target}")).unwrap();
    let asked = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let (query, at) = (asked("query").unwrap(), asked("time").map_or_else(now, |time| time.parse().unwrap()));
    let result = if query == "vector(time())" {
        json!([{"metric": {}, "value": [at, (at - BEHIND).to_string()]}])
    } else if query.contains("nowhere") {
        json!([])
    } else if query.starts_with("count by") {
        json!([{"metric": {"model_name": "toy", "namespace": "bench", "pod": "a"}, "value": [at, "1"]}])
    } else {
        let length = query.rsplit_once('[').filter(|_| query.ends_with(']')).and_then(|(_, range)| {
            let (number, unit) =
                range.trim_end_matches(']').split_at(range.find(|letter: char| letter.is_alphabetic())?);
            Some(number.parse::<f64>().unwrap() * if unit == "ms" { 1e-3 } else { 1.0 })
        });
        // The time from one sample to the next is asked for in whole seconds.
        let stretch = length.filter(|_| query.ends_with("ms]")).unwrap_or_default();
        if stretch > TOO_LONG.0 {
            return answer("200 OK", "application/json", &" ".repeat(17 << 20));
        } else if stretch > TOO_LONG.1 {
            let why = "query processing would load too many samples into memory in query execution";
            let refusal = json!({"status": "error", "errorType": "execution", "error": why});
            return answer("422 Unprocessable Entity", "application/json", &refusal.to_string());
        }
        let samples = samples.lock().unwrap();
        let until = samples.partition_point(|(moment, _)| *moment <= at);
        let from = length.map_or(until - 1, |length| samples.partition_point(|(moment, _)| *moment < at - length));
        let mut found = series(&samples[from..until]);
        if length.is_none() {
            for series in &mut found {
                series["value"] = series["values"][0].take();
                series.as_object_mut().unwrap().remove("values");
            }
        }
        Value::from(found)
    };
    let body = json!({"status": "success", "data": {"result": result}});
    answer("200 OK", "application/json", &body.to_string())
}

/// The address of a Prometheus that samples the server at this one.
pub(crate) fn prometheus_of(url: &str) -> String {
    let samples = sample(url);
    let address = serve(move |seen| answered(&samples, seen));
    std::thread::sleep(5 * EVERY);
    format!("http://{address}")
}

#[test]
fn a_prometheus_tells_what_the_page_would_have() {
    let server = mock(&[]);
    let samples = sample(&server.url);
    let heads: Arc<Mutex<String>> = Arc::default();
    let seen_heads = Arc::clone(&heads);
    let address = serve(move |seen| {
        let _ = writeln!(seen_heads.lock().unwrap(), "{}", seen.head.to_ascii_lowercase());
        answered(&samples, seen)
    });
    std::thread::sleep(5 * EVERY);
    let desk = Desk::new();
    let bench =
        ["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--engine", "vllm", "--url", &server.url];
    let prometheus = format!("http://me:hunter2@{address}/select/0");
    let asserted = desk
        .skyline(&bench)
        .env("OPENAI_API_KEY", "sk-of-the-server")
        .args(["--prometheus", &prometheus, "--prometheus-match", "namespace=\"bench\""])
        .assert()
        .code(0)
        .stderr(contains("asked after the run").and(contains("pod=\"a\"")))
        .stderr(contains("router").not().and(contains("counts nowhere").not()).and(contains("has not given").not()))
        .stdout(contains("Server, by its own metrics"));
    let summary = desk.summary();
    let reported = &summary["server"];
    let page = &reported["pages"][0];
    assert_eq!(reported["pages"].as_array().unwrap().len(), 1, "the server's own page is not read too");
    let place = r#"{namespace="bench", pod="a", instance="10.0.0.7:8000"}"#;
    assert_eq!(
        (&page["url"], &page["kind"]),
        (&format!("http://***@{address}/select/0 {place}").into(), &"vllm".into())
    );
    assert!(page["readings"].as_u64().unwrap() >= 5, "{page}");
    // The clock of Prometheus is far ahead, and yet the client counts the same between two of its samples.
    let accounts = &reported["accounts"];
    let (client, server) = (&accounts["output_tokens"]["client"], &accounts["output_tokens"]["server"]);
    let (client, server) = (client.as_f64().unwrap(), server.as_f64().unwrap());
    assert!(server > 0.0 && (client - server).abs() <= 0.1 * server + 20.0, "{accounts}");
    assert!(reported["gauges"]["running"]["max"].as_f64().unwrap() < 1_000.0, "{reported}");
    assert!(reported["times"]["ttft"]["count"].as_f64().unwrap() > 0.0, "{reported}");
    let readings = desk.lines("reading");
    let whole = readings.iter().filter(|reading| !reading["histograms"].is_null()).count();
    assert!((3..=6).contains(&whole), "{whole} of {}", readings.len());
    // Secrets go where they were meant, and nowhere else.
    let heads = heads.lock().unwrap().clone();
    assert!(heads.contains("authorization: basic") && !heads.contains("sk-of-the-server"), "{heads}");
    let output = asserted.get_output();
    let kept = std::fs::read_to_string(desk.run().join("run.jsonl")).unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(!format!("{kept}{}{}{summary}", said[0], said[1]).contains("hunter2"));
    // A stored run is as any other.
    let folder = desk.run();
    desk.skyline(&["report", folder.to_str().unwrap()]).assert().stdout(contains("Server, by its own metrics"));

    let refused = |more: &[&str]| desk.skyline(&bench).args(more).assert();
    let nothing = ["--prometheus", &prometheus, "--prometheus-match", "namespace=\"nowhere\""];
    let cure =
        contains("no series matches").and(contains(r#"hint: it has series of {model_name="toy", namespace="bench""#));
    refused(&nothing).code(2).stderr(cure);
    let twice = ["--prometheus", &prometheus, "--metrics-url", bench[bench.len() - 1]];
    refused(&twice).code(2).stderr(contains("would count twice"));
    refused(&["--prometheus", bench[bench.len() - 1]]).code(3).stderr(contains("does not answer as a Prometheus does"));
    refused(&["--prometheus", "hunter2:9090"]).code(2).stderr(contains("write it like").and(contains("hunter2").not()));
    assert_eq!(desk.runs().len(), 1, "nothing was sent");
}
