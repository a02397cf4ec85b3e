//! HTTP/2 against the mock: what was spoken, and what is said of it.

use serde_json::Value;

use crate::support::{Desk, mock};

/// A run of the quick workload against a mock: its folder, and what it printed.
fn run(options: &[&str]) -> (Desk, String) {
    let (desk, server) = (Desk::new(), mock(&["--ttft", "20ms", "--itl", "2ms"]));
    let bench =
        ["bench", "quick.toml", "--engine", "vllm", "--url", &server.url, "--no-calibration", "--allow-invalid"];
    let done = desk.skyline(&[&bench[..], options].concat()).assert().success();
    let printed = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    (desk, printed)
}

#[test]
fn what_was_spoken_is_stored_and_shown() {
    let (desk, printed) = run(&["--http2", "--streams-per-connection", "7"]);
    let (summary, header) = (desk.summary(), &desk.lines("header")[0]);
    assert_eq!(summary["requests"]["completed"], summary["requests"]["planned"], "{printed}");
    assert_eq!(header["engines"][0]["http2"]["streams_per_connection"], 7, "{header}");
    assert_eq!(summary["run"]["engine"]["http2"]["streams_per_connection"], 7);
    let reads = &summary["client"]["stream_reads"];
    assert!(reads["reads"].as_u64() > Some(8) && reads["shared"].as_u64() <= reads["reads"].as_u64(), "{reads}");
    let words: Vec<_> = printed.split_whitespace().collect();
    assert!(words.join(" ").contains("HTTP/2 with up to 7 streams a connection"), "{printed}");
    desk.assert_schema("summary", &summary);
    // Without the option nothing is said of it.
    let (desk, printed) = run(&[]);
    assert_eq!((&desk.summary()["run"]["engine"]["http2"], printed.contains("HTTP/2")), (&Value::Null, false));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let desk = Desk::new();
    for (options, words) in [
        (&["--streams-per-connection", "7"][..], "--http2"),
        (&["--http2=never"], "[possible values: always, offered]"),
        (&["--http2", "--streams-per-connection", "0"], "number would be zero"),
    ] {
        let typed = [&["bench", "quick.toml", "--url", "http://127.0.0.1:1"], options].concat();
        let refused = desk.skyline(&typed).assert().code(2);
        let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(said.contains(words), "{options:?}: {said}");
    }
}
