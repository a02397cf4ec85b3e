//! What pages of metrics tell while a run is on, against servers whose truth is known.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use predicates::{prelude::predicate::in_iter, prelude::*, str::contains};
use serde_json::Value;
use skyline::mock::{Backend, MockOptions, MockServer};
use skyline::simulator::Delay;

use crate::support::{Desk, Seen, answer, control, mock, serve, stream};

/// What the mock says of every request that it began to answer, in its own log.
fn truth(mock: SocketAddr) -> Vec<Value> {
    let mut socket = TcpStream::connect(mock).unwrap();
    socket.write_all(b"GET /mock/truth HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    let records = body.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // What was cut off before its first token is in no histogram.
    records.filter(|record| record["writes"].as_array().is_some_and(|writes| !writes.is_empty())).collect()
}

fn nanos(record: &Value, key: &str) -> f64 {
    record[key].as_u64().unwrap() as f64
}

fn due(record: &Value) -> Vec<f64> {
    let writes = record["writes"].as_array().unwrap();
    writes.iter().map(|write| write["due_ns"].as_u64().unwrap() as f64).collect()
}

/// The mean of `value` over those of `records`, in the order of `moment`, that came after the first `before`, `n` of them.
fn mean(
    records: &[Value],
    (before, n): (f64, f64),
    moment: impl Fn(&Value) -> f64,
    value: impl Fn(&Value) -> f64,
) -> f64 {
    let mut ordered: Vec<_> = records.iter().map(|record| (moment(record), value(record))).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let counted = &ordered[before as usize..(before + n) as usize];
    counted.iter().map(|(_, value)| value).sum::<f64>() / n
}

/// One place and 60 ms for each of twenty requests a second: a queue that grows.
#[test]
fn the_server_s_times_are_those_of_its_truth_log() {
    let backend = Backend::fixed(1, Delay::Constant(0.046), Delay::Constant(0.002), 0);
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mock = MockServer::start(backend, MockOptions::default(), loopback).unwrap();
    let url = format!("http://{}", mock.address());
    let desk = Desk::new();
    let bench = ["bench", "quick.toml", "--allow-invalid", "--engine", "mock", "--metrics-interval", "200ms"];
    // Whether so short a run shows that the queue grows depends on how busy this machine is.
    desk.skyline(&bench).args(["--url", &url]).assert().code(in_iter([0, 1]));

    let server = &desk.summary()["server"];
    let readings = desk.lines("reading");
    assert_eq!(server["pages"][0]["readings"], readings.len());
    // Two seconds of window and what was waited for then, every 200 ms and at the ends: some twenty. Loosely, for machines
    // whose cores are all taken.
    assert!(readings.len() >= 5, "{}", readings.len());
    let with_times = readings.iter().filter(|reading| !reading["histograms"].is_null()).count();
    assert_eq!(with_times, 3, "the first, the last, and the one at the window's end");

    let truth = truth(mock.address());
    let time = |name: &str| &server["times"][name];
    let before = |name: &str| readings[0]["histograms"][name]["count"].as_f64().unwrap();
    let counted = |name: &str| (before(name), time(name)["count"].as_f64().unwrap());
    let ms = |nanos: f64| nanos / 1e6;
    let first = mean(&truth, counted("ttft"), |r| due(r)[0], |r| ms(due(r)[0] - nanos(r, "queued_ns")));
    assert!((time("ttft")["mean_ms"].as_f64().unwrap() - first).abs() < 1e-3, "{first} {server:#}");
    let last = |record: &Value| *due(record).last().unwrap();
    let queue = mean(&truth, counted("queue"), last, |r| ms(nanos(r, "scheduled_ns") - nanos(r, "queued_ns")));
    assert!((time("queue")["mean_ms"].as_f64().unwrap() - queue).abs() < 1e-3, "{queue} {server:#}");
    assert!(queue > 50.0, "the queue grows");
    let whole = mean(&truth, counted("e2e"), last, |r| ms(last(r) - nanos(r, "queued_ns")));
    assert!((time("e2e")["mean_ms"].as_f64().unwrap() - whole).abs() < 1e-3, "{whole} {server:#}");

    // Both sides count the same, but for what happens at the very ends, and for what a busy machine delays: loosely.
    let both = &server["accounts"];
    let apart = |what: &str| {
        let counts = &both[what];
        (counts["client"].as_f64().unwrap() - counts["server"].as_f64().unwrap()).abs()
    };
    assert!(apart("requests") <= 12.0 && apart("output_tokens") <= 96.0, "{both:#}");
    assert!(both["ttft"]["outside_ms"].is_number(), "{both:#}");
    let running = &server["gauges"]["running"];
    assert_eq!(running["max"], 1.0);
    assert!(server["gauges"]["waiting"]["max"].as_f64().unwrap() >= 2.0, "{server:#}");
}

/// Two GPUs that draw 300 and 200 W, whose counters say so.
fn exporter() -> SocketAddr {
    let begin = std::time::Instant::now();
    serve(move |_| {
        let mut page = String::new();
        for (gpu, watts) in [(0, 300.0), (1, 200.0)] {
            let labels =
                format!("gpu=\"{gpu}\",UUID=\"GPU-{gpu}\",modelName=\"NVIDIA L4\",DCGM_FI_DRIVER_VERSION=\"580.1\"");
            let millijoules = 1e9 + begin.elapsed().as_secs_f64() * watts * 1e3;
            write!(
                page,
                "DCGM_FI_DEV_POWER_USAGE{{{labels}}} {watts}\n\
                 DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{labels}}} {millijoules:.0}\n\
                 DCGM_FI_DEV_GPU_UTIL{{{labels}}} 90\nDCGM_FI_DEV_FB_USED{{{labels}}} 1024\n"
            )
            .unwrap();
        }
        answer("200 OK", "text/plain; version=0.0.4", &page)
    })
}

#[test]
fn an_exporter_beside_tells_devices_and_energy() {
    let desk = Desk::new();
    let page = format!("http://me:hunter2@{}/metrics", exporter());
    // A server of its own: of the embedded mock it is known what it models.
    let server = MockServer::start(Backend::preset().unwrap(), MockOptions::default(), "127.0.0.1:0".parse().unwrap());
    let server = server.unwrap();
    let url = format!("http://{}", server.address());
    let asserted = desk
        .skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--metrics-interval", "100ms"])
        .args(["--url", &url, "--engine", "mock", "--metrics-url", &page, "--metrics-url", &page])
        .assert()
        .code(0);
    let summary = desk.summary();
    let server = &summary["server"];
    assert_eq!(server["pages"].as_array().unwrap().len(), 2, "its own, and the exporter's once");
    let devices = server["devices"].as_array().unwrap();
    assert_eq!((&devices[0]["device"], &devices[1]["device"]), (&Value::from("0"), &Value::from("1")));
    assert!((devices[0]["utilisation"]["mean"].as_f64().unwrap() - 0.9).abs() < 1e-9);
    let energy = &server["energy"];
    assert_eq!((&energy["source"], &energy["devices"]), (&Value::from("counters"), &Value::from(2)));
    // Loosely, and not that of one: on a busy machine the page is read long after it was written.
    let power = energy["power_w"].as_f64().unwrap();
    assert!((power - 500.0).abs() < 150.0, "{energy}");
    let rate = summary["rates"]["output_tokens_per_s"].as_f64().unwrap();
    assert!((energy["per_output_token_j"].as_f64().unwrap() - power / rate).abs() < 1e-9);
    let header = &desk.lines("header")[0];
    assert_eq!(header["telemetry"][1]["hardware"], "2 × NVIDIA L4");
    assert_eq!(header["telemetry"][1]["driver"], "580.1");
    let report = &summary["reproduction"]["reported"][0];
    assert_eq!((&report["name"], &report["source"]), (&Value::from("hardware"), &Value::from("exporter")));
    // The password is in no file and on no screen.
    let output = asserted.get_output();
    let kept = std::fs::read_to_string(desk.run().join("run.jsonl")).unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(!format!("{kept}{}{}{summary}", said[0], said[1]).contains("hunter2"));
    assert!(said[0].contains("J a token"), "{}", said[0]);
    let words = said[0].split_whitespace().collect::<Vec<_>>().join(" ");
    for row in ["hardware an exporter 2 × NVIDIA L4", "driver an exporter 580.1"] {
        assert!(words.contains(row), "{row}: {}", said[0]);
    }
}

/// A machine without NVIDIA's library says so only where its GPUs are named.
#[test]
fn gpus_that_are_named_and_not_there_are_an_error() {
    if std::path::Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--metrics-url", "nvml"])
        .assert()
        .code(2)
        .stderr(contains("--metrics-url nvml: ").and(contains("hint: leave it out")));
}

#[test]
fn a_page_that_cannot_be_read_is_told_of_once_and_is_missing() {
    let desk = Desk::new();
    let nobody = serve(|_| answer("200 OK", "text/html", "<html>welcome</html>"));
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--repeats", "2"])
        .args(["--metrics-url", &format!("http://{nobody}/")])
        .assert()
        .code(0)
        .stderr(contains("/metrics is not read: it has no series").count(1).and(contains("hint: check that")));
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--no-metrics"])
        .args(["--metrics-url", &format!("http://{nobody}")])
        .assert()
        .code(0)
        .stdout(contains("could not be read, so their figures are missing: http://127.0.0.1"));
    let pages = &desk.summary()["server"]["pages"];
    assert_eq!((pages.as_array().unwrap().len(), &pages[0]["readings"]), (1, &Value::from(0)));
    // With nothing asked for there is nothing to say.
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--no-metrics"])
        .assert()
        .code(0)
        .stdout(contains("by its own metrics").not());
    assert_eq!(desk.summary()["server"], Value::Null);
    desk.skyline(&["bench", "quick.toml", "--metrics-url", "hunter2:9400"])
        .assert()
        .code(2)
        .stderr(contains("--metrics-url").and(contains("write it like")).and(contains("hunter2").not()));
}

/// A server that fails now and then, tells its own flags with a key among them, and says what it is.
#[test]
fn a_page_that_fails_now_and_then_costs_no_more_than_its_readings() {
    let looks = Arc::new(AtomicUsize::new(0));
    let address = serve(move |seen: &Seen| match seen.path.as_str() {
        "/metrics" if looks.fetch_add(1, Relaxed) % 3 == 2 => answer("500 Oops", "text/plain", ""),
        "/metrics" => answer("200 OK", "text/plain", "sglang:num_running_reqs 3\nsglang:token_usage 0.5\n"),
        "/server_info" => answer(
            "200 OK",
            "application/json",
            r#"{"tp_size": 2, "dtype": "bfloat16", "api_key": "hunter2", "version": "0.5.1"}"#,
        ),
        _ => control(seen).unwrap_or_else(|| stream(8)),
    });
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--engine", "sglang"])
        .args(["--url", &format!("http://{address}"), "--metrics-interval", "300ms"])
        .assert()
        .code(0)
        .stderr(contains("could not be read").and(contains("it answers 500")))
        .stdout(contains("running mean 3.00, max 3.00"));
    let missing = desk.summary()["reproduction"]["missing"].clone();
    for fact in ["hardware", "driver", "engine_version"] {
        assert!(missing.as_array().unwrap().contains(&fact.into()), "no {fact} in {missing}");
    }
    let header = &desk.lines("header")[0];
    let flags = serde_json::json!({"tp_size": 2, "dtype": "bfloat16", "version": "0.5.1"});
    assert_eq!(header["engines"][0]["serving_flags"], flags);
    assert!(!desk.lines("client").is_empty());
}

#[test]
fn a_page_under_two_names_is_read_once() {
    let server = mock(&[]);
    let port = server.url.rsplit(':').next().unwrap().trim_end_matches('/');
    let page = format!("http://localhost:{port}/metrics");
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--engine", "vllm"])
        .args(["--url", &server.url, "--metrics-url", &page])
        .assert()
        .code(0)
        .stderr(contains("is the same page as").and(contains("localhost")));
    assert_eq!(desk.summary()["server"]["pages"].as_array().unwrap().len(), 1);
    // Those of two servers are two, though they were started alike.
    let other = mock(&[]);
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--engine", "vllm"])
        .args(["--url", &server.url, "--metrics-url", &other.url])
        .assert()
        .code(0)
        .stderr(contains("is the same page").not());
    assert_eq!(desk.summary()["server"]["pages"].as_array().unwrap().len(), 2);
}

/// It has no metrics page at all.
#[test]
fn a_page_that_nobody_asked_for_is_no_finding() {
    let address = serve(|seen| control(seen).unwrap_or_else(|| stream(8)));
    let url = format!("http://{address}");
    for (engine, option) in
        [("vllm", None), ("sglang", Some("with --enable-metrics")), ("llamacpp", Some("with --metrics"))]
    {
        let desk = Desk::new();
        let run = desk
            .skyline(&["bench", "quick.toml", "--allow-invalid", "--no-calibration", "--requests", "4"])
            .args(["--engine", engine, "--url", &url])
            .assert()
            .code(0)
            .stdout(contains("could not be read").not())
            .stderr(contains("is not read").not());
        let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert_eq!(said.contains("exports no metrics"), option.is_some(), "{engine}: {said}");
        assert!(option.is_none_or(|option| said.contains(option)), "{engine}: {said}");
    }
}
