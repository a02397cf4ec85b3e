//! The model in virtual time and the model behind real sockets: one engine, so one answer.

use serde_json::Value;

use crate::support::Desk;

/// One deployment for both verbs, busy but keeping up, for twelve seconds.
const RUN: [&str; 8] = ["short_chat", "12", "--rate", "4", "--warmup", "2s", "--hardware", "a10g"];

/// What the sockets, the prompts' texts and this machine's own delays may add to a median.
///
/// Loose, as machines that run tests are busy ones: with others compiling beside it, three runs were within 0.03.
const SHARE: f64 = 0.1;

#[test]
fn simulate_and_the_mock_agree_on_median_ttft_and_tpot() {
    let desk = Desk::new();
    let simulated = &summary(&desk, "simulate", &[])["summary"];
    let flown = summary(&desk, "bench", &["--quiet"]);
    assert_eq!(flown["run"]["plan_hash"], simulated["run"]["plan_hash"], "not the same requests");
    assert_eq!(flown["requests"]["completed"], simulated["requests"]["completed"]);
    for metric in ["ttft", "tpot"] {
        let [virtual_time, real_time] =
            [simulated, &flown].map(|summary| summary["latency"][metric]["p50"]["value_ms"].as_f64().unwrap());
        let off = real_time / virtual_time - 1.0;
        assert!(off.abs() <= SHARE, "{metric}: {virtual_time} ms simulated, {real_time} ms flown, off by {off:.3}");
    }
}

fn summary(desk: &Desk, verb: &str, options: &[&str]) -> Value {
    let out = desk.skyline(&[&[verb], &RUN[..], &["--json", "--allow-invalid"], options].concat()).assert().success();
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}
