//! The exit code of each result.

use std::process::ExitCode;

use crate::analysis::{Judgement, Summary};
use crate::experiment::matrix::{Matrix, MatrixStopped};
use crate::experiment::{AbOverall, AcrossJudgement, InvalidRuns, LoadClass, Repeats, StopReason, Sweep};
use crate::session::Exit;
use crate::session::campaign::ab::Require;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Missed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Of a run. 3 before 1: the objectives of an INVALID run say nothing. 1 where the server did not keep up, even if every
/// objective is met.
pub(in crate::cli) fn of_run(summary: &Summary, invalid: InvalidRuns) -> Exit {
    let met = summary.objectives.iter().all(Judgement::passed);
    of(summary.verdict.valid, invalid, met && !summary.verdict.is_overloaded())
}

/// Of several runs, likewise.
pub(in crate::cli) fn of_repeats(repeats: &Repeats, invalid: InvalidRuns) -> Exit {
    let met = repeats.objectives.iter().all(AcrossJudgement::passed);
    of(repeats.verdict.valid, invalid, met && !repeats.verdict.is_overloaded())
}

fn of(valid: bool, invalid: InvalidRuns, well: bool) -> Exit {
    if !valid && invalid == InvalidRuns::LeftOut {
        Exit::Invalid
    } else if well {
        Exit::Fine
    } else {
        Exit::Missed
    }
}

/// Of a sweep.
pub(in crate::cli) fn of_sweep(sweep: &Sweep, invalid: InvalidRuns) -> Exit {
    let gone = sweep.stopped == StopReason::ServerGone;
    if gone || (!sweep.valid && invalid == InvalidRuns::LeftOut) {
        return Exit::Invalid;
    }
    let passed = sweep.answer.as_ref().is_none_or(|answer| answer.passed.is_some());
    let held = sweep.sustained.as_ref().is_none_or(|sustained| sustained.held);
    // That nothing passed is not known where nothing was tried, or nothing can be told.
    let known = sweep.stopped != StopReason::Generator
        && sweep.points.iter().any(|point| point.class != LoadClass::Unknown);
    let tested = sweep.sustained.as_ref().is_none_or(|sustained| sustained.unknown.is_none());
    match (passed, held) {
        (true, true) => Exit::Fine,
        (true, false) if tested => Exit::Missed,
        (false, _) if known => Exit::Missed,
        (true | false, _) => Exit::Invalid,
    }
}

/// Of an A/B test, by what was required of B.
pub(in crate::cli) fn of_ab(verdict: AbOverall, require: Require) -> Exit {
    match (verdict, require) {
        (AbOverall::Unfinished, _) => Exit::Interrupted,
        (AbOverall::Invalid, _) => Exit::Invalid,
        (AbOverall::Better, _)
        | (AbOverall::Equivalent, Require::NotWorse | Require::Equivalent)
        | (AbOverall::Inconclusive, Require::NotWorse) => Exit::Fine,
        (AbOverall::Worse | AbOverall::Mixed, _)
        | (AbOverall::Equivalent, Require::Better)
        | (AbOverall::Inconclusive, Require::Equivalent | Require::Better) => Exit::Missed,
    }
}

/// Of a table. 3 before 1: INVALID figures confirm and refute nothing.
pub(in crate::cli) fn of_matrix(matrix: &Matrix, invalid: InvalidRuns) -> Exit {
    if matrix.stopped == MatrixStopped::Interrupted {
        return Exit::Interrupted;
    }
    let unbelieved = matrix.has_unbelievable_rows() && invalid == InvalidRuns::LeftOut;
    if matrix.has_failed_rows() || !matrix.unstopped.is_empty() || unbelieved {
        Exit::Invalid
    } else if matrix.is_as_hoped() {
        Exit::Fine
    } else {
        Exit::Missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{self, record};
    use crate::analysis::{Reason, Rule, Verdict, VerdictOutcome, summarise};
    use crate::experiment::{Load, LoadAxis, Search, SearchStep, Sustained, SweepPlan, Swept, Trial};

    #[test]
    fn what_a_script_asks_decides_what_passes() {
        let passes = |require| {
            [
                AbOverall::Better,
                AbOverall::Equivalent,
                AbOverall::Inconclusive,
                AbOverall::Worse,
                AbOverall::Mixed,
            ]
            .map(|verdict| of_ab(verdict, require) == Exit::Fine)
        };
        assert_eq!(passes(Require::NotWorse), [true, true, true, false, false]);
        assert_eq!(passes(Require::Equivalent), [true, true, false, false, false]);
        assert_eq!(passes(Require::Better), [true, false, false, false, false]);
        assert_eq!(of_ab(AbOverall::Invalid, Require::NotWorse), Exit::Invalid);
        assert_eq!(of_ab(AbOverall::Unfinished, Require::Better), Exit::Interrupted);
    }

    #[test]
    fn a_server_that_does_not_keep_up_is_one_and_a_run_that_cannot_be_trusted_is_three() {
        use VerdictOutcome::{Invalid, Overloaded};
        let summary = |outcomes: &[VerdictOutcome]| {
            let reason = |&outcome| Reason {
                rule: Rule::SteadyState,
                outcome,
                sentence: String::new(),
                cure: String::new(),
            };
            let log = test_runs::run(1_000, vec![record(0).build()]);
            let verdict = Verdict::of(outcomes.iter().map(reason).collect(), Vec::new());
            Summary { verdict, ..summarise(&log, &[]) }
        };
        let exits = |outcomes: &[VerdictOutcome]| {
            [InvalidRuns::LeftOut, InvalidRuns::Counted].map(|invalid| of_run(&summary(outcomes), invalid))
        };
        assert_eq!(exits(&[]), [Exit::Fine, Exit::Fine]);
        assert_eq!(exits(&[Overloaded]), [Exit::Missed, Exit::Missed]);
        assert_eq!(exits(&[Invalid]), [Exit::Invalid, Exit::Fine]);
        assert_eq!(exits(&[Overloaded, Invalid]), [Exit::Invalid, Exit::Missed]);
    }

    /// A minute of four requests a second that meets what is demanded.
    fn passed() -> Sweep {
        let records =
            (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
        let log = test_runs::run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
        let plan = SweepPlan {
            axis: LoadAxis::List { rates_per_s: vec![4.0] },
            objectives: vec!["p50 ttft < 5s".parse().unwrap()],
            repeats: 1,
            samples: 130,
            requests_per_arrival: None,
            shortest_s: None,
            longest_s: 60.0,
            fewest_users_per_s: None,
            precision: 0.05,
            most_trials: 9,
            saturated_in_a_row: 2,
            first_seed: 1,
        };
        let objectives = plan.objectives.clone();
        let mut search = Search::new(plan).unwrap();
        let SearchStep::Measure(wanted) = search.next() else { panic!("nothing is measured") };
        search.record(Trial::of(&wanted, &summarise(&log, &objectives)));
        let swept = Swept {
            started_at: jiff::Timestamp::UNIX_EPOCH,
            workload: log.header.workload,
            engine: log.header.engine,
            deployment: log.header.deployment,
        };
        Sweep::of(&search, swept, StopReason::AllMeasured)
    }

    #[test]
    fn what_is_not_known_is_not_told_as_a_failure() {
        let passed = passed();
        let of = |sweep: &Sweep| of_sweep(sweep, InvalidRuns::Counted);
        assert_eq!(of(&passed), Exit::Fine);
        let load = Load::Rate(4.0);
        let unknown = Sustained::unknown(load, 60.0, "sustained", "three runs were spoiled");
        let with = |sustained| Sweep { sustained: Some(sustained), ..passed.clone() };
        assert_eq!(of(&with(unknown.clone())), Exit::Invalid);
        assert_eq!(of(&with(Sustained { unknown: None, ..unknown })), Exit::Missed);
        assert_eq!(of(&Sweep { stopped: StopReason::ServerGone, ..passed }), Exit::Invalid);
    }
}
