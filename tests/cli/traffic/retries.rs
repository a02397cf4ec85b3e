//! Clients that retry and hedge, against the mock.

use crate::support::{Desk, mock};

/// A bench of the quick workload against a server, with these options.
fn bench(desk: &Desk, url: &str, options: &[&str]) -> String {
    let usual = ["bench", "quick.toml", "--engine=vllm", "--url", url, "--no-calibration", "--allow-invalid"];
    let done = desk.skyline(&[&usual, options].concat()).assert();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn refused_requests_are_sent_again_until_all_are_answered_and_the_report_says_so() {
    let desk = Desk::new();
    let mock = mock(&["--fault", "http_429=0.3", "--seed", "3"]);
    let shown = bench(&desk, &mock.url, &["--retries=30", "--backoff=10ms"]);
    let summary = desk.summary();
    assert_eq!(summary["requests"]["completed"], summary["requests"]["planned"], "{shown}");
    let attempts = &summary["attempts"];
    // 1 / (1 − 0.3) = 1.43; the mean of 40 such numbers has a standard deviation of 0.12.
    let amplification = attempts["amplification"].as_f64().unwrap();
    assert!((1.1..1.8).contains(&amplification), "{attempts}");
    assert_eq!(attempts["retried_failures"][0]["kind"], "http 429");
    assert_eq!(attempts["retried_requests"], attempts["recovered_requests"]);
    assert!(shown.contains("per request") && shown.contains("after http 429"), "{shown}");
    // The mock asks for a second, and that second is in the latency.
    let measured = desk.lines("request").into_iter().filter(|record| record["phase"] == "measured");
    let retried: Vec<_> = measured.filter(|record| record["attempts"].is_array()).collect();
    assert_eq!(retried.len() as u64, attempts["retried_requests"].as_u64().unwrap());
    for record in &retried {
        let waited = record["chunks"]["gaps_ns"][0].as_u64().unwrap() - record["scheduled_ns"].as_u64().unwrap();
        assert!(waited > 1_000_000_000, "{record}");
    }
}

#[test]
fn a_hedge_takes_tokens_of_the_server_and_spoils_no_account() {
    let desk = Desk::new();
    let mock = mock(&["--ttft", "150ms", "--itl", "2ms"]);
    bench(&desk, &mock.url, &["--hedge-after=50ms"]);
    let summary = desk.summary();
    let attempts = &summary["attempts"];
    assert_eq!((&attempts["hedges"], &attempts["amplification"]), (&attempts["requests"], &2.0.into()), "{attempts}");
    for check in desk.checks("counter_identity") {
        assert_ne!(check["outcome"], "failed", "{check}");
    }
    let shown = desk.skyline(&["report", desk.run().to_str().unwrap(), "--allow-invalid"]).assert();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    assert!(shown.contains("a hedge after 50.0 ms without a token"), "{shown}");
}

#[test]
fn a_run_without_retries_has_no_word_of_them() {
    let desk = Desk::new();
    let mock = mock(&["--fault", "http_429=0.3", "--seed", "3"]);
    let shown = bench(&desk, &mock.url, &[]);
    let summary = desk.summary();
    assert!(summary["requests"]["failed"].as_u64().unwrap() > 0, "{shown}");
    assert!(summary["attempts"].is_null() && !shown.contains("attempts"), "{shown}");
    assert!(desk.lines("request").iter().all(|record| record["attempts"].is_null()));
}
