//! Clients who leave before their answer is complete, against the mock.

use crate::support::{Desk, mock};

/// A bench of a workload whose answers take a second, with these options.
fn bench(desk: &Desk, url: &str, options: &[&str]) -> String {
    let load = ["--rate=30", "--input-tokens=20", "--output-tokens=50", "--warmup=0s", "--seed=5"];
    let usual = ["bench", "short_chat", "4", "--engine=vllm", "--url", url, "--no-calibration", "--allow-invalid"];
    let done = desk.skyline(&[&usual, &load[..], options].concat()).assert();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn those_who_leave_are_no_failures_and_in_no_latency() {
    let desk = Desk::new();
    let mock = mock(&["--ttft", "20ms", "--itl", "20ms"]);
    let shown = bench(&desk, &mock.url, &["--cancel", "40%@10tokens"]);
    let summary = desk.summary();
    let (counts, leaving) = (&summary["requests"], &summary["leaving"]);
    let (planned, left) = (counts["planned"].as_u64().unwrap(), counts["cancelled"].as_u64().unwrap());
    assert_eq!((counts["failed"].as_u64(), &leaving["left"]), (Some(0), &counts["cancelled"]), "{shown}");
    assert_eq!(counts["completed"].as_u64().unwrap() + left, planned, "{counts}");
    assert!(left > 0 && left < planned, "{counts}");
    // Each of them had read ten tokens, and the answer has fifty.
    assert_eq!(leaving["wasted_output_tokens"].as_u64(), Some(10 * left), "{leaving}");
    assert_eq!(summary["latency"]["ttft"]["n"], counts["completed"], "{shown}");
    assert!(shown.contains("Clients who leave: no latency and no SLO counts their requests"), "{shown}");
    // The server stopped, so that what it made is little more than what came.
    assert!(summary["findings"].as_array().unwrap().iter().all(|finding| finding["kind"] != "held_for_nobody"));
    for record in desk.lines("request").iter().filter(|record| record["outcome"]["kind"] == "cancelled") {
        assert_eq!((&record["leaves"], &record["output_tokens"]), (&true.into(), &10.into()), "{record}");
    }
}

#[test]
fn a_server_that_goes_on_for_nobody_is_found() {
    let desk = Desk::new();
    let mock = mock(&["--ttft", "20ms", "--itl", "20ms", "--ignore-disconnects"]);
    let shown = bench(&desk, &mock.url, &["--cancel", "90%@100ms", "--metrics-interval=250ms"]);
    let summary = desk.summary();
    assert!(summary["leaving"]["held_requests"].as_f64().unwrap() > 5.0, "{}", summary["leaving"]);
    assert!(
        summary["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == "held_for_nobody"),
        "{shown}"
    );
}

#[test]
fn answers_in_one_piece_show_no_tokens_after_which_to_leave() {
    let desk = Desk::new();
    let refused =
        desk.skyline(&["bench", "short_chat", "2", "--no-stream", "--cancel", "10%@5tokens"]).assert().code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("class `chat`") && said.contains("--no-stream"), "{said}");
    let refused = desk.skyline(&["bench", "short_chat", "2", "--cancel", "10%"]).assert().code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("write it like 10%@2s or 10%@50tokens"), "{said}");
}
