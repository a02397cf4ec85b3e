//! Transcriptions of audio that is made, against the mock.

use serde_json::Value;

use super::endpoints::{run_at, sent};
use crate::support::{Desk, mock};

#[test]
fn audio_is_transcribed_and_its_time_is_held_against_its_length() {
    for more in [&[][..], &["--no-stream"]] {
        let typed = ["--audio", "2s", "--extra-body", r#"{"language": "en"}"#, "--objective", "rtf < 1"];
        let mock = ["--ttft", "20ms", "--itl", "5ms"];
        let (desk, beside) = run_at(("transcriptions", "transcribe"), &mock, &[&typed[..], more].concat());
        for (request, served) in beside.iter().filter(|(request, _)| request["phase"] == "measured") {
            assert_eq!(request["outcome"]["kind"], "completed", "{request}");
            assert_eq!(served["prompt_tokens"], 50, "25 for each second: {served}");
            let counted = &request["usage"]["completion_tokens"];
            assert!(if more.is_empty() { *counted == sent(served) } else { counted.is_null() }, "{request}");
            assert_eq!((&request["input_tokens_asked"], sent(served) > 0), (&Value::from(0), true), "{request}");
        }
        let summary = desk.summary();
        let rate = |name: &str| summary["rates"][name].as_f64().unwrap();
        assert!((rate("audio_seconds_per_s") - 2.0 * rate("completed_requests_per_s")).abs() < 1e-9);
        let factor = summary["real_time_factor"]["p50"].as_f64().unwrap();
        let e2e = summary["latency"]["e2e"]["p50"]["value_ms"].as_f64().unwrap();
        assert!((factor - e2e / 2e3).abs() < 1e-6, "{factor}: {}", summary["latency"]["e2e"]);
        assert_eq!(summary["latency"]["ttft"].is_object(), more.is_empty(), "a whole answer has no first token");
        let run = desk.run();
        let csv = desk.skyline(&["report", run.to_str().unwrap(), "--format", "requests.csv=-"]).assert().success();
        let csv = String::from_utf8(csv.get_output().stdout.clone()).unwrap();
        assert!(csv.lines().next().unwrap().ends_with(",audio_s,rtf"), "{csv}");
        assert!(csv.lines().nth(5).unwrap().contains(",2,0."), "{csv}");
    }
}

#[test]
fn audio_that_cannot_be_sent_or_is_refused_is_named_with_its_cure() {
    let mock = mock(&[]);
    let server = ["--url", &mock.url, "--endpoint", "transcriptions"];
    for (options, code, says) in [
        (
            &[&server[..], &["--extra-body", r#"{"response_format": "srt"}"#]].concat()[..],
            3,
            "{\"response_format\": null}",
        ),
        (&[&server[..], &["--extra-body", r#"{"file": "x"}"#]].concat(), 3, "Invalid or unsupported audio file"),
        (&["--endpoint", "chat", "--audio", "2s"], 2, "cannot carry\nhint: give --endpoint transcriptions"),
        (&["--endpoint", "transcriptions", "--input-tokens", "5"], 2, "have audio in place of texts"),
        (&["--endpoint", "transcriptions", "--golden", "basics"], 2, "does not answer texts with texts"),
        (&["--objective", "rtf < 1"], 2, "its requests have no audio; give --endpoint transcriptions"),
    ] {
        let output = Desk::new().skyline(&[&["bench", "smoke", "1"], options].concat()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{options:?}: {stderr}");
        assert!(stderr.contains(says), "{options:?}: {stderr}");
    }
    let simulated = Desk::new().skyline(&["simulate", "smoke", "1", "--audio", "2s"]).output().unwrap();
    assert!(String::from_utf8(simulated.stderr).unwrap().contains("what is simulated reads texts"));
    mock.end("-TERM");
}
