//! Hit rates that are planned by options: in the plan, in the report, and in the mock's own counters.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::{Desk, mock};

/// Tokens found in the mock's prefix cache, and those looked up, by its own page.
fn counters(url: &str) -> [f64; 2] {
    let mut socket = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    socket.read_to_string(&mut page).unwrap();
    ["hits", "queries"].map(|name| {
        let of = format!("vllm:prefix_cache_{name}_total{{");
        let values = page.lines().filter(|line| line.starts_with(&of)).map(|line| line.rsplit(' ').next().unwrap());
        values.map(|value| value.parse::<f64>().unwrap()).sum()
    })
}

#[test]
fn a_planned_hit_rate_is_what_the_cache_finds() {
    let requests = ["--cache-hit", "0.9", "--input-tokens", "1000", "--output-tokens", "4", "--requests", "40"];
    for (options, share, prefix_tokens) in [
        (&requests[..], 0.896, 896.0),
        (&["--cache-hit", "50%", "--input-tokens", "600..680", "--output-tokens", "4", "--requests", "40"], 0.5, 320.0),
    ] {
        let (desk, mock) = (Desk::new(), mock(&["--hardware", "h200"]));
        let bench = |more: &[&str]| {
            let mut command = desk.skyline(&["bench", "--rate", "20", "--url", &mock.url, "--engine", "mock"]);
            command.args(options).args(["--no-calibration", "--allow-invalid"]).args(more);
            command.assert().success()
        };
        let planned = format!("after a shared prefix of {prefix_tokens} (");
        bench(&["--dry-run"]).stdout(contains(planned));
        bench(&[]).stdout(contains("warm_cache").not());
        let cache = desk.summary()["prefix_cache"].clone();
        let [least, most] = ["expected_least", "expected_most"].map(|name| cache[name].as_f64().unwrap());
        let measured = cache["measured"]["rate"].as_f64().unwrap();
        assert_eq!(cache["measured"]["source"], "counters", "{cache}");
        assert!((least - 0.001..=most + 0.001).contains(&measured), "{cache}");
        assert!((measured - share).abs() < 0.015, "{measured} of {share}: lengths are drawn, and a template is added");
        // Only the prefix itself, and the test request before it, were looked up in vain.
        let [hits, queries] = counters(&mock.url);
        let own = hits / (queries - prefix_tokens);
        assert!((own - measured).abs() < 0.002, "{own} by the mock, {measured} by the report");
    }
}
