//! Golden prompts and forms of answers, counted by hand.

use super::*;
use crate::analysis::judgements::{FindingKind, Status};
use crate::analysis::slo::objective::Objective;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{record, run};
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind};
use crate::workload::{Expectation, GoldenCheck};

fn asked(check: u16, released: Option<u64>, result: CheckResult) -> CheckRecord {
    let released = released.map(|ms| Timestamp::from_nanos(ms * 1_000_000));
    CheckRecord { check, released, result, excerpt: Some("It is".to_owned()), usage: None }
}

fn unmet() -> CheckResult {
    CheckResult::Unmet { why: "does not contain \"Paris\"".to_owned() }
}

/// A run with these checks, of which there are two.
fn sample_run(checks: Vec<CheckRecord>) -> RunLog {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 1, 1).build()]);
    let check = |name: &str| GoldenCheck {
        name: name.to_owned(),
        slice: None,
        prompt: Some("?".to_owned()),
        messages: None,
        max_tokens: 8,
        expect: Expectation::default(),
    };
    log.header.workload.checks = vec![check("capital"), check("year")];
    log.checks = checks;
    log
}

#[test]
fn passes_are_counted_apart_and_what_was_cut_off_is_not_judged() {
    let timeout = CheckResult::Unanswered(Failure::new(FailureKind::TimeoutTotal, "no more than 1 s allowed"));
    let log = sample_run(vec![
        asked(0, None, CheckResult::Passed),
        asked(1, None, unmet()),
        asked(0, Some(100), CheckResult::Passed),
        asked(1, Some(200), unmet()),
        asked(0, Some(300), unmet()),
        asked(1, Some(400), CheckResult::CutOff),
        asked(0, Some(500), timeout),
    ]);
    let quality = Quality::from_log(&log).unwrap();
    assert_eq!((quality.before.pass_rate, quality.under_load.pass_rate), (Some(0.5), Some(0.25)));
    assert_eq!(quality.pass_rate, Some(2.0 / 6.0));
    let capital = &quality.checks[0];
    let under = capital.under_load;
    assert_eq!((under.requested, under.passed, under.unmet, under.unanswered, under.cut_off), (3, 1, 1, 1, 0));
    assert_eq!(capital.examples.len(), 2);
    assert_eq!(
        (capital.examples[0].released_s, capital.examples[0].why.as_str()),
        (Some(0.3), "the answer does not contain \"Paris\"")
    );
    assert_eq!(quality.checks[1].under_load.cut_off, 1);
    let objectives = ["check_pass_rate >= 30%", "check_pass_rate > 40%"].map(|text| text.parse().unwrap());
    let summary = summarise(&log, &objectives);
    assert_eq!(summary.objectives.iter().map(crate::analysis::Judgement::passed).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_run_without_checks_says_nothing_of_them() {
    let mut log = sample_run(Vec::new());
    assert_eq!(Quality::from_log(&log).unwrap().pass_rate, None, "none was asked");
    log.header.workload.checks.clear();
    assert_eq!(Quality::from_log(&log), None);
    let judged = summarise(&log, &["check_pass_rate > 1%".parse().unwrap()]).objectives.remove(0);
    assert_eq!(judged.status, Status::Undecided);
}

#[test]
fn what_passed_before_and_fails_under_load_is_a_finding() {
    let said = |checks| {
        let findings = summarise(&sample_run(checks), &[]).findings;
        findings.into_iter().find(|finding| finding.kind == FindingKind::WorseUnderLoad).map(|found| found.sentence)
    };
    let before = asked(0, None, CheckResult::Passed);
    let worse = said(vec![before.clone(), asked(0, Some(1), unmet()), asked(0, Some(2), CheckResult::Passed)]);
    assert!(worse.unwrap().ends_with("`capital` failed in 1 of 2 answers under load"));
    assert_eq!(said(vec![before, asked(0, Some(1), CheckResult::Passed)]), None);
    assert_eq!(said(vec![asked(1, None, unmet()), asked(1, Some(1), unmet())]), None, "it failed before too");
}

/// Two checks of arithmetic and one of safety, and one without a slice.
fn sliced() -> RunLog {
    let mut log = sample_run(Vec::new());
    let check = |name: &str, slice: Option<&str>| {
        let slice = slice.map(str::to_owned);
        GoldenCheck { name: name.to_owned(), slice, ..log.header.workload.checks[0].clone() }
    };
    let checks = [
        check("sum", Some("arithmetic")),
        check("harm", Some("safety")),
        check("capital", None),
        check("product", Some("arithmetic")),
    ];
    log.header.workload.checks = checks.to_vec();
    let passed = CheckResult::Passed;
    log.checks = vec![
        asked(0, None, passed.clone()),
        asked(1, None, passed.clone()),
        asked(2, None, passed.clone()),
        asked(3, None, unmet()),
        asked(0, Some(100), passed.clone()),
        asked(1, Some(200), unmet()),
        asked(2, Some(300), passed.clone()),
        asked(3, Some(400), passed.clone()),
        asked(1, Some(500), unmet()),
        asked(1, Some(600), CheckResult::CutOff),
    ];
    log
}

#[test]
fn each_slice_has_a_pass_rate_with_its_interval() {
    let quality = Quality::from_log(&sliced()).unwrap();
    let [arithmetic, safety] = quality.slices.as_slice() else { panic!("{:?}", quality.slices) };
    assert_eq!((arithmetic.name.as_str(), safety.name.as_str()), ("arithmetic", "safety"));
    // Arithmetic: 1 of 2 before, 2 of 2 under load. Safety: 1 of 1 before, 0 of 2, and one cut off.
    assert_eq!((arithmetic.pass_rate, safety.pass_rate), (Some(0.75), Some(1.0 / 3.0)));
    assert_eq!((arithmetic.before.pass_rate, arithmetic.under_load.pass_rate), (Some(0.5), Some(1.0)));
    let under = safety.under_load;
    assert_eq!((under.requested, under.unmet, under.cut_off, under.pass_rate), (3, 2, 1, Some(0.0)));
    // Wilson with z² = 3.8415: of 0 of 2 from 0 to z²/(2 + z²), of 2 of 2 the rest of it.
    let (low, high) = (under.interval_low.unwrap(), under.interval_high.unwrap());
    assert!(low.abs() < 1e-9 && (high - 0.657_6).abs() < 1e-3, "{low} {high}");
    let low = arithmetic.under_load.interval_low.unwrap();
    assert!((low - 0.342_4).abs() < 1e-3, "{low}");
    assert_eq!(quality.checks[2].slice, None);
    assert!(!serde_json::to_string(&Quality::from_log(&sample_run(Vec::new()))).unwrap().contains("slice"));
}

#[test]
fn a_slice_has_a_gate_of_its_own() {
    let log = sliced();
    let objectives = [
        "check_pass_rate >= 60%",
        "check_pass_rate of slice safety >= 95%",
        "check_pass_rate of arithmetic >= 70%",
        "check_pass_rate of slice safety > 50%",
    ]
    .map(|text| text.parse::<Objective>().unwrap());
    for objective in &objectives {
        objective.check(&log.header.workload).unwrap();
    }
    let summary = summarise(&log, &objectives);
    let status: Vec<_> = summary.objectives.iter().map(|judged| judged.status).collect();
    assert_eq!(status, [Status::Met, Status::Missed, Status::Met, Status::Missed]);
    assert_eq!(summary.objectives[1].line, "missed: check_pass_rate of slice safety >= 95% (was 33.3 %)");
}

#[test]
fn a_slice_that_no_check_has_is_refused_with_the_nearest() {
    let log = sliced();
    let refusal = |text: &str| {
        let objective: Objective = text.parse().unwrap();
        objective.check(&log.header.workload).unwrap_err().to_string()
    };
    let unknown = refusal("check_pass_rate of slice safty >= 95%");
    assert!(
        unknown.contains(
            "no check belongs to `slice safty`; known: slice arithmetic, slice safety; did you mean `safety`?"
        ),
        "{unknown}"
    );
    assert!(refusal("check_pass_rate of format >= 95%").contains("no check belongs to `slice format`"));
    for (text, problem) in [
        ("p95 ttft of slice safety < 1s", "`p95 ttft` has no slices; check_pass_rate has"),
        ("check_pass_rate of class chat > 1%", "checks have no class; write `check_pass_rate of slice chat`"),
    ] {
        let error = text.parse::<Objective>().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
