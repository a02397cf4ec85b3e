//! The exit code of each result.

use std::process::ExitCode;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::analysis::{Status, Summary, Verdict};
use crate::experiment::matrix::{Matrix, MatrixStopped};
use crate::experiment::tune::{Tune, TuneStopped};
use crate::experiment::{AbVerdict, InvalidRuns, LoadClass, Repeats, StopReason, Sweep};
use crate::session::console::{Exit, Printer};
use crate::units::counted;

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

/// The user's rules on what counts as a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitRules {
    pub(crate) invalid: InvalidRuns,
    /// The outcome that an undecided objective counts as. Absent where the user does not say it.
    pub(crate) undecided: Option<Undecided>,
    /// The demand of an A/B test on B.
    pub(crate) require: Require,
}

/// What an objective counts as that is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Undecided {
    /// As missed
    Fail,
    /// As met
    Pass,
}

/// What a script requires of B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Require {
    /// Not shown to be worse: better, equivalent or inconclusive
    #[default]
    NotWorse,
    /// Shown not to be worse: better or equivalent
    Equivalent,
    /// Shown to be better
    Better,
}

impl ExitRules {
    /// Whether so many `things` that are undecided pass; says so.
    fn pass(self, number: usize, thing: &str, printer: Printer) -> bool {
        let passes = self.undecided == Some(Undecided::Pass);
        let counts = if passes {
            "counts as met (--undecided pass)"
        } else {
            "counts as missed (--undecided fail); run more requests, or give --undecided pass"
        };
        printer.words(&format!("{} undecided: {counts}", counted(number as u64, thing)));
        passes
    }

    /// Returns whether each objective passes, by its status and whether there is a figure. Without one none does.
    fn all_pass(self, objectives: impl Iterator<Item = (Status, bool)>, printer: Printer) -> bool {
        let objectives: Vec<_> = objectives.collect();
        self.check_use(objectives.is_empty(), "objective", printer);
        let open = objectives.iter().filter(|judged| **judged == (Status::Undecided, true)).count();
        let decided = objectives.iter().all(|judged| matches!(judged, (Status::Met, _) | (Status::Undecided, true)));
        (open == 0 || self.pass(open, "objective", printer)) && decided
    }

    /// Says that --undecided does nothing where there is no such `thing` to decide.
    pub(crate) fn check_use(self, is_idle: bool, thing: &str, printer: Printer) {
        if is_idle && self.undecided.is_some() {
            printer.words(&format!("note: --undecided does nothing here, because there is no {thing}"));
        }
    }
}

/// Returns the exit of a run. 3 before 1: the objectives of an INVALID run say nothing. 1 where the server did not keep
/// up, even if every objective is met, and where a circuit breaker ended the run, whatever its figures are worth. The
/// figures of a shard say nothing before it is merged, and those who wait for all shards wait for their ends.
pub(crate) fn of_run(summary: &Summary, rules: ExitRules, printer: Printer) -> Exit {
    if summary.breaker.is_some() {
        return Exit::Missed;
    }
    if let Some(shard) = summary.run.shard {
        printer.words(&format!("shard {shard} is judged once it is merged with the others (skyline merge)"));
        return Exit::Fine;
    }
    let objectives = summary.objectives.iter().map(|one| (one.status, one.value.or(one.at_least).is_some()));
    of(&summary.verdict, rules.all_pass(objectives, printer), rules)
}

/// Returns the exit of several runs, likewise.
pub(super) fn of_repeats(repeats: &Repeats, rules: ExitRules, printer: Printer) -> Exit {
    let objectives = repeats.objectives.iter().map(|one| (one.status, one.figure.is_some()));
    of(&repeats.verdict, rules.all_pass(objectives, printer), rules)
}

fn of(verdict: &Verdict, met: bool, rules: ExitRules) -> Exit {
    if !verdict.valid && rules.invalid == InvalidRuns::LeftOut {
        Exit::Invalid
    } else if met && !verdict.is_overloaded() {
        Exit::Fine
    } else {
        Exit::Missed
    }
}

/// Returns the exit of a sweep.
pub(super) fn of_sweep(sweep: &Sweep, rules: ExitRules, printer: Printer) -> Exit {
    rules.check_use(sweep.answer.is_none(), "objective", printer);
    let gone = sweep.stopped == StopReason::ServerGone;
    if gone || (!sweep.valid && rules.invalid == InvalidRuns::LeftOut) {
        return Exit::Invalid;
    }
    let of_class = |class| sweep.points.iter().filter(|point| point.class == class).count();
    // A load above one that failed is not the highest that passes, whatever it is.
    let below = sweep.points.iter().take_while(|point| !point.class.fails());
    let open = below.filter(|point| point.class == LoadClass::Undecided).count();
    let passed = sweep
        .answer
        .as_ref()
        .is_none_or(|answer| answer.passed.is_some() || (open > 0 && rules.pass(open, "load", printer)));
    let held = sweep
        .sustained
        .as_ref()
        .is_none_or(|sustained| sustained.held || (sustained.undecided && rules.pass(1, "sustained load", printer)));
    // That nothing passed is not known where nothing was tried, or nothing is decided.
    let known = sweep.stopped != StopReason::Generator && of_class(LoadClass::Unknown) < sweep.points.len();
    let tested = sweep.sustained.as_ref().is_none_or(|sustained| sustained.unknown.is_none());
    match (passed, held) {
        (true, true) => Exit::Fine,
        (true, false) if tested => Exit::Missed,
        (false, _) if known => Exit::Missed,
        (true | false, _) => Exit::Invalid,
    }
}

/// Returns the exit of an A/B test, by what was required of B.
pub(super) fn of_ab(verdict: AbVerdict, require: Require) -> Exit {
    match (verdict, require) {
        (AbVerdict::Unfinished, _) => Exit::Interrupted,
        (AbVerdict::Invalid, _) => Exit::Invalid,
        (AbVerdict::Better, _)
        | (AbVerdict::Equivalent, Require::NotWorse | Require::Equivalent)
        | (AbVerdict::Inconclusive, Require::NotWorse) => Exit::Fine,
        (AbVerdict::Worse | AbVerdict::Mixed, _)
        | (AbVerdict::Equivalent, Require::Better)
        | (AbVerdict::Inconclusive, Require::Equivalent | Require::Better) => Exit::Missed,
    }
}

/// Returns the exit of a table. 3 before 1: INVALID figures confirm and refute nothing.
pub(super) fn of_matrix(matrix: &Matrix, invalid: InvalidRuns) -> Exit {
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

/// Returns the exit of a tuning.
pub(super) fn of_tune(tune: &Tune) -> Exit {
    let none_ran = tune.variants.iter().all(|variant| variant.trials.is_empty());
    match tune.stopped {
        TuneStopped::Interrupted => Exit::Interrupted,
        TuneStopped::Refused => Exit::Invalid,
        _ if none_ran || !tune.unstopped.is_empty() => Exit::Invalid,
        _ if tune.decision.is_none() && tune.variants.iter().any(|variant| variant.failed.is_some()) => Exit::Invalid,
        _ if tune.decision.is_none() => Exit::Missed,
        TuneStopped::Finished | TuneStopped::OutOfRuns => Exit::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{self, record};
    use crate::analysis::{Reason, Rule, Verdict, VerdictOutcome, summarise};
    use crate::experiment::{Load, LoadAxis, Search, SearchStep, Sustained, SweepPlan, Swept, Trial};
    use crate::session::campaign::reported::Reported as _;

    #[test]
    fn what_a_script_asks_decides_what_passes() {
        let passes = |require| {
            [AbVerdict::Better, AbVerdict::Equivalent, AbVerdict::Inconclusive, AbVerdict::Worse, AbVerdict::Mixed]
                .map(|verdict| of_ab(verdict, require) == Exit::Fine)
        };
        assert_eq!(passes(Require::NotWorse), [true, true, true, false, false]);
        assert_eq!(passes(Require::Equivalent), [true, true, false, false, false]);
        assert_eq!(passes(Require::Better), [true, false, false, false, false]);
        assert_eq!(of_ab(AbVerdict::Invalid, Require::NotWorse), Exit::Invalid);
        assert_eq!(of_ab(AbVerdict::Unfinished, Require::Better), Exit::Interrupted);
    }

    #[test]
    fn a_server_that_does_not_keep_up_is_one_and_a_run_that_cannot_be_trusted_is_three() {
        use VerdictOutcome::{Invalid, Overloaded};
        let summary = |outcomes: &[VerdictOutcome]| {
            let reason = |&outcome| Reason {
                rule: Rule::SteadyState,
                outcome,
                runs: None,
                sentence: String::new(),
                cure: String::new(),
            };
            let log = test_runs::run(1_000, vec![record(0).build()]);
            let verdict = Verdict::new(outcomes.iter().map(reason).collect(), Vec::new());
            Summary { verdict, ..summarise(&log, &[]) }
        };
        let exits = |outcomes: &[VerdictOutcome]| {
            let rules = |invalid| ExitRules { invalid, undecided: None, require: Require::NotWorse };
            [InvalidRuns::LeftOut, InvalidRuns::Counted]
                .map(|invalid| of_run(&summary(outcomes), rules(invalid), Printer))
        };
        assert_eq!(exits(&[]), [Exit::Fine, Exit::Fine]);
        assert_eq!(exits(&[Overloaded]), [Exit::Missed, Exit::Missed]);
        assert_eq!(exits(&[Invalid]), [Exit::Invalid, Exit::Fine]);
        assert_eq!(exits(&[Overloaded, Invalid]), [Exit::Invalid, Exit::Missed]);
    }

    /// A minute of four requests a second that meets what is demanded.
    fn passed() -> Sweep {
        let records = (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
        let log = test_runs::run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
        let plan = SweepPlan {
            axis: LoadAxis::List { rates_per_s: vec![4.0] },
            objectives: vec!["p50 ttft < 5s".parse().unwrap()],
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
            most_trials: 9,
            saturated_in_a_row: 2,
            first_seed: 1,
        };
        let objectives = plan.objectives.clone();
        let mut search = Search::new(plan).unwrap();
        let SearchStep::Measure(wanted) = search.next() else { panic!("nothing is measured") };
        search.record(Trial::new(&wanted, &summarise(&log, &objectives)));
        let swept = Swept {
            started_at: jiff::Timestamp::UNIX_EPOCH,
            engine: log.header.engine().clone(),
            workload: log.header.workload,
            deployment: log.header.deployment,
        };
        Sweep::new(&search, swept, StopReason::AllMeasured)
    }

    #[test]
    fn a_sweep_is_stored_with_its_page_and_judged_by_its_form() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = passed();
        sweep.store(folder.path()).unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["report.html", "sweep.json"]);
        let rules = ExitRules { invalid: InvalidRuns::Counted, undecided: None, require: Require::NotWorse };
        assert_eq!(sweep.exit(rules, Printer), of_sweep(&sweep, rules, Printer));
    }

    #[test]
    fn what_is_not_known_is_not_told_as_a_failure() {
        let passed = passed();
        let rules = |undecided| ExitRules { invalid: InvalidRuns::Counted, undecided, require: Require::NotWorse };
        let of = |sweep: &Sweep| of_sweep(sweep, rules(None), Printer);
        assert_eq!(of(&passed), Exit::Fine);
        let load = Load::Rate(4.0);
        let unknown = Sustained::unknown(load, 60.0, "sustained", "three runs were spoiled");
        let with = |sustained| Sweep { sustained: Some(sustained), ..passed.clone() };
        assert_eq!(of(&with(unknown.clone())), Exit::Invalid);
        assert_eq!(of(&with(Sustained { unknown: None, ..unknown.clone() })), Exit::Missed);
        assert_eq!(of(&Sweep { stopped: StopReason::ServerGone, ..passed.clone() }), Exit::Invalid);
        // What is undecided is as the user says.
        let lenient = |sweep: &Sweep| of_sweep(sweep, rules(Some(Undecided::Pass)), Printer);
        let open = Sustained { unknown: None, undecided: true, ..unknown };
        let mut undecided = with(open);
        assert_eq!((of(&undecided), lenient(&undecided)), (Exit::Missed, Exit::Fine));
        undecided.sustained = None;
        undecided.points[0].class = LoadClass::Undecided;
        undecided.answer.as_mut().unwrap().passed = None;
        assert_eq!((of(&undecided), lenient(&undecided)), (Exit::Missed, Exit::Fine));
        let higher = undecided.points[0].clone();
        undecided.points[0].class = LoadClass::Failed;
        assert_eq!((of(&undecided), lenient(&undecided)), (Exit::Missed, Exit::Missed));
        // That a higher load is undecided excuses none that failed; an undecided one below it counts.
        undecided.points.push(higher);
        assert_eq!((of(&undecided), lenient(&undecided)), (Exit::Missed, Exit::Missed));
        undecided.points.reverse();
        assert_eq!((of(&undecided), lenient(&undecided)), (Exit::Missed, Exit::Fine));
    }

    #[test]
    fn the_user_says_what_an_undecided_objective_counts_as() {
        let exit = |objectives: &[(Status, bool)], undecided| {
            let rules = ExitRules { invalid: InvalidRuns::LeftOut, undecided, require: Require::NotWorse };
            rules.all_pass(objectives.iter().copied(), Printer)
        };
        let of = |objectives: &[(Status, bool)]| {
            [None, Some(Undecided::Fail), Some(Undecided::Pass)].map(|undecided| exit(objectives, undecided))
        };
        let (met, missed, open) = ((Status::Met, true), (Status::Missed, true), (Status::Undecided, true));
        assert_eq!(of(&[met, met]), [true; 3]);
        assert_eq!(of(&[met, open]), [false, false, true]);
        assert_eq!(of(&[missed, open]), [false; 3]);
        assert_eq!(of(&[(Status::Undecided, false)]), [false; 3], "nothing that no run has passes");
    }
}
