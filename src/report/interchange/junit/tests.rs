//! Runs as `JUnit` XML.

use super::*;
use crate::report::sample_runs::{hostile, minute, report, three};

#[test]
fn objectives_are_cases() {
    let objectives = ["p95 ttft < 500ms", "p50 ttft < 200ms", "p50 queue_wait < 1s"];
    insta::assert_snapshot!(report(&minute(), &objectives, junit).unwrap());
}

#[test]
fn an_invalid_run_is_an_error() {
    insta::assert_snapshot!(report(&three(), &[], junit).unwrap());
}

#[test]
fn foreign_text_stays_text() {
    let xml = report(&hostile(), &["p95 ttft of other < 500ms"], junit).unwrap();
    assert!(!xml.contains("<script") && !xml.contains(['\u{1b}', '\0']), "{xml}");
    // What is read back is what was written: the reader is the crate's own, which escapes nothing itself.
    let report = Report::deserialize_from_str(&xml).unwrap();
    let suite = &report.test_suites[0];
    assert!(suite.name.as_str().contains("<script>alert(1)</script> ]]> & \"q\""), "{}", suite.name.as_str());
    assert_eq!((report.tests, report.errors), (2, 2));
}
