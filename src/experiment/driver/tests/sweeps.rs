//! Sweeps that are driven with known outcomes.

use super::*;
use crate::experiment::sweep::{LoadAxis, Search, StopReason, SweepExperiment, SweepPlan, SweepRun, Swept};

fn sweep() -> SweepExperiment {
    sweep_of(LoadAxis::List { rates_per_s: vec![4.0, 8.0] })
}

fn sweep_of(axis: LoadAxis) -> SweepExperiment {
    let objective = "p50 ttft < 5s";
    let plan = SweepPlan {
        axis,
        objectives: vec![objective.parse().unwrap()],
        tiers: Vec::new(),
        repeats: 1,
        samples: 130,
        first_samples: None,
        requests_per_arrival: None,
        shortest_s: None,
        longest_s: 60.0,
        fewest_users_per_s: None,
        precision: 0.05,
        within_s: None,
        sized_for_s: None,
        between_s: 0.0,
        most_trials: 4,
        saturated_in_a_row: 2,
        first_seed: 1,
    };
    let header = run(1_000, Vec::new()).header;
    let swept = Swept {
        started_at: header.started_at,
        engine: header.engine().clone(),
        workload: header.workload,
        deployment: header.deployment,
    };
    SweepExperiment::new(Search::new(plan).unwrap(), swept).holding_for(600.0)
}

/// A minute of four requests a second that meets the objective.
fn minute() -> Summary {
    let records = (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
    let log = run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
    summarise(&log, &["p50 ttft < 5s".parse().unwrap()])
}

#[test]
fn the_highest_load_that_passed_is_held_in_the_end() {
    let mut executor = Scripted::new(|_: &SweepRun| found(minute()));
    let mut sweep = sweep();
    assert_eq!(sweep.remaining(), RunsLeft::AtMost(3));
    let Ok(()) = drive(&mut sweep, &mut executor);
    assert_eq!(executor.ran, ["run-001", "run-002", "sustained"]);
    let result = sweep.result();
    assert_eq!((result.stopped, result.points.len()), (StopReason::AllMeasured, 2));
    assert!(result.sustained.is_some_and(|sustained| sustained.held && sustained.run == "sustained"));
}

#[test]
fn a_disturbed_run_that_holds_the_answer_is_repeated_up_to_twice() {
    let disturbed = || Summary { verdict: summary(true).verdict, ..minute() };
    for (spoiled, ran, unknown) in [(0, 3, false), (1, 4, false), (2, 5, false), (3, 5, true)] {
        let mut executor = Scripted::new(|run: &SweepRun| match run {
            SweepRun::Sustained(wanted) if wanted.repeat <= spoiled => found(disturbed()),
            _ => found(minute()),
        });
        let mut sweep = sweep();
        let Ok(()) = drive(&mut sweep, &mut executor);
        let all = ["run-001", "run-002", "sustained", "sustained-2", "sustained-3"];
        assert_eq!(executor.ran, all[..ran], "{spoiled} disturbed");
        let sustained = sweep.result().sustained.unwrap();
        assert_eq!((sustained.run.as_str(), sustained.held), (all[ran - 1], !unknown), "{spoiled} disturbed");
        assert_eq!(sustained.unknown.is_some(), unknown);
    }
}

#[test]
fn a_search_that_could_trust_no_run_of_a_load_is_tried_again() {
    let search = || sweep_of(LoadAxis::search_from(4.0));
    let disturbed = || Summary { verdict: summary(true).verdict, ..minute() };
    let mut executor = Scripted::new(|_: &SweepRun| found(disturbed()));
    let mut sweep = search();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let names = ["run-001", "run-002", "run-003"];
    assert_eq!((executor.ran, sweep.result().stopped), (names.map(String::from).into(), StopReason::Untrusted));
    let stored = BTreeMap::from(names.map(|name| (name.to_owned(), disturbed())));
    for (find, ran, stopped) in [
        (minute as fn() -> Summary, &["run-003", "run-004", "sustained"][..], StopReason::TrialsSpent),
        (disturbed, &["run-003"], StopReason::Untrusted),
    ] {
        let mut executor = Scripted { stored: stored.clone(), ..Scripted::new(|_: &SweepRun| found(find())) };
        let mut sweep = search();
        let Ok(()) = drive(&mut sweep, &mut executor);
        assert_eq!((executor.ran, sweep.result().stopped), (ran.iter().copied().map(str::to_owned).collect(), stopped));
    }
}

#[test]
fn a_refused_run_ends_a_sweep_and_the_answer_is_not_held() {
    let mut executor = Scripted::new(|run: &SweepRun| match run {
        SweepRun::Load(wanted) if wanted.number == 1 => found(minute()),
        _ => RunOutcome::Refused("this machine sends late".to_owned()),
    });
    let mut sweep = sweep();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let result = sweep.result();
    assert_eq!((result.stopped, result.stopped_sentence.as_str()), (StopReason::Generator, "this machine sends late"));
    let unknown = result.sustained.and_then(|sustained| sustained.unknown);
    assert_eq!(unknown.as_deref(), Some("it was not run: this machine sends late"));
}

#[test]
fn an_interrupted_sweep_is_not_held() {
    let mut executor = Scripted { stops_after: 1, ..Scripted::new(|_: &SweepRun| found(minute())) };
    let mut sweep = sweep();
    let Ok(()) = drive(&mut sweep, &mut executor);
    let result = sweep.result();
    assert_eq!((executor.ran.len(), result.stopped), (1, StopReason::Interrupted));
    assert!(result.sustained.is_none() && result.points.len() == 1);
}
