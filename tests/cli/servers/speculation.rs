//! Speculative decoding against the mock, whose page counts drafts.

use crate::quick::QUICK;
use crate::support::{Desk, mock};

#[test]
fn drafts_of_the_server_are_in_the_report() {
    let desk = Desk::new();
    desk.file("long.toml", &QUICK.replace("value = 8 }", "value = 100 }"));
    // Each token is accepted with 0.7 where those before it were: 0.7, 0.49, 0.343 of the drafts by position.
    let mock = mock(&["--speculative", "0.7:3", "--seed", "3"]);
    let done =
        desk.skyline(&["bench", "long.toml", "--url", &mock.url, "--no-calibration", "--allow-invalid"]).assert();
    let shown = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let summary = desk.summary();
    let found = &summary["speculation"];
    let figure = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
    assert!(figure("drafts") > 1_000.0, "{found}");
    // The last tokens of an answer come of shorter drafts, which have no third position.
    assert_eq!(found["acceptance_by_position"].as_array().map(Vec::len), Some(3), "{found}");
    for (position, expected) in [0.7, 0.49, 0.343].into_iter().enumerate() {
        let accepted = found["acceptance_by_position"][position].as_f64().unwrap();
        assert!((accepted - expected).abs() < 0.07, "{position}: {accepted}");
    }
    assert!((figure("acceptance_length") - 1.0 - 3.0 * figure("acceptance_rate")).abs() < 0.1, "{found}");
    let chunks = found["chunks"][0]["mean_tokens"].as_f64().unwrap();
    assert!((chunks - figure("acceptance_length")).abs() < 0.2, "{found}");
    assert!(shown.contains("draft tokens accepted;") && shown.contains("by position "), "{shown}");
    let kinds: Vec<_> = summary["findings"].as_array().unwrap().iter().map(|finding| &finding["kind"]).collect();
    assert!(kinds.contains(&&"meaningless_acceptance".into()), "{kinds:?}");
    desk.assert_schema("summary", &summary);
}
