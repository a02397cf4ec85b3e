//! Whole sweeps, as a person sees them.

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{record, run};
use crate::experiment::{Load, Search, Step, StopReason, Sustained, SweepPlan, Swept, Trial};
use crate::record::{DeploymentFacts, RunEnding, RunLog};
use crate::workload::ArrivalPattern;

/// A minute of so many requests a second, evenly, whose first tokens take from 100 ms up to `slowest`.
fn minute(per_s: u64, slowest: u64) -> RunLog {
    let records = (0..60 * per_s).map(|i| {
        let at = i * 1_000 / per_s;
        let first = at + 100 + (i * 37) % (slowest - 100);
        record(i).sent_at(at, at, at).paced(first, 20 + i % 5, 40).usage(112, 40).build()
    });
    let mut log = run(60_000, records.collect());
    log.header.workload.arrival = ArrivalPattern::Constant { rate_per_s: per_s as f64 };
    log.header.deployment = DeploymentFacts { gpus: Some(2), ..DeploymentFacts::default() };
    log
}

/// Loads of 4, 8 and 20 a second, two runs each, with these slowest first tokens in milliseconds.
fn swept(slowest: [u64; 3], objectives: &[&str], spoil: impl Fn(u64, &mut RunLog)) -> (Sweep, Trial) {
    let plan = SweepPlan {
        axis: LoadAxis::List { rates_per_s: vec![4.0, 8.0, 20.0] },
        objectives: objectives.iter().map(ToString::to_string).collect(),
        repeats: 2,
        samples: 130,
        longest_s: 60.0,
        precision: 0.05,
        most_trials: 60,
        saturated_in_a_row: 2,
        first_seed: 1,
    };
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let mut search = Search::new(plan, &objectives).unwrap();
    let mut last = None;
    while let Step::Measure(wanted) = search.next() {
        let place = [4.0, 8.0, 20.0].iter().position(|rate| Load::Rate(*rate) == wanted.load).unwrap();
        let mut log = minute([4, 8, 20][place], slowest[place] + wanted.repeat);
        spoil(wanted.number, &mut log);
        let trial = Trial::of(&wanted, &summarise(&log, &objectives));
        last = Some(trial.clone());
        search.tell(trial);
    }
    let header = minute(4, 200).header;
    let swept = Swept {
        started_at: jiff::Timestamp::UNIX_EPOCH,
        workload: header.workload,
        engine: header.engine,
        deployment: header.deployment,
    };
    (Sweep::of(&search, swept, StopReason::AllMeasured), last.unwrap())
}

fn shown(sweep: &Sweep) -> String {
    sweep_text(sweep, Style::PLAIN)
}

#[test]
fn an_answer_with_its_curve() {
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p50 tpot < 50ms"], |_, _| {});
    insta::assert_snapshot!(shown(&sweep));
    let narrow = sweep_text(&sweep, Style { width: 80, ..Style::PLAIN });
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn no_objective_and_no_load_that_passes() {
    let (curve, _) = swept([300, 350, 900], &[], |_, _| {});
    let text = shown(&curve);
    assert!(!text.contains("objectives") && !text.contains("passed"), "{text}");
    assert!(text.contains("p99 TTFT by load, ms\n"), "{text}");
    let (nothing, _) = swept([300, 350, 900], &["p95 ttft < 20ms"], |_, _| {});
    let text = shown(&nothing);
    assert!(text.contains("met at no load") && text.contains("failed"), "{text}");
}

#[test]
fn what_held_and_what_did_not() {
    let (mut sweep, trial) = swept([300, 350, 450], &["p95 ttft < 500ms"], |_, _| {});
    sweep.sustained = Some(Sustained::of(&trial));
    assert!(shown(&sweep).contains("✓ 20.0/s held for 1 min: every objective was met"), "{}", shown(&sweep));
    let (mut sweep, trial) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    sweep.sustained = Some(Sustained::of(&trial));
    assert!(shown(&sweep).contains("✗ 20.0/s did not hold for 1 min: p95 ttft < 500ms was missed"));
}

#[test]
fn runs_that_do_not_count_are_told() {
    // The first of all runs was stopped in its window.
    let broken = |number: u64, log: &mut RunLog| {
        if number == 1 {
            log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
            log.records.truncate(100);
        }
    };
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], broken);
    let text = shown(&sweep);
    assert!(sweep.valid && text.contains("1 of 7 runs cannot be trusted and do not count"), "{text}");
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, log| broken(1, log));
    let text = shown(&sweep);
    assert!(text.starts_with("INVALID: 12 of 12 runs cannot be trusted"), "{text}");
    assert!(text.contains("more reasons, in sweep.json") && text.contains("unknown"), "{text}");
}
