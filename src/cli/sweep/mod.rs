//! `skyline sweep`: one workload under rising load, and the highest load that meets what is demanded.

mod args;
mod asked;
mod at_load;
mod climb;
mod flights;
mod loads;
mod shown;
mod told;

use std::sync::Arc;
use std::time::Duration;

use self::asked::{Asked, Begun};
use self::climb::Climb;
use self::flights::{Course, Flights};
use self::told::Told;
use super::flight::Field;
use super::outcome::{self, Format, Invalid};
use crate::experiment::{Load, LoadAxis, LoadClass, Search, SearchStep, StopReason, Sweep, TrialRequest};
use crate::generator::Datasets;
use crate::session::{Exit, Interrupts, PlannedRun, Printer, Shelf, Stop, command_line, datasets, folder};
use crate::workload::{ArrivalPattern, Overrides, WorkloadSpec};

pub(super) use args::SweepArgs;
pub(super) use at_load::at_load;
pub(super) use loads::{rates, sweepable, users};
pub(super) use shown::show;

/// What gives a run of a sweep more to measure.
const MORE: &str =
    "give its runs more time (--max-seconds), or begin at a higher load (--rates, --start-rate, --users)";

/// Where the length and the load of its runs come from.
const TYPED: &str = "in a sweep the loads are those of --rates, --start-rate or --users, and no run is longer than --max-seconds";

/// A rate of an automatic search before it is known where that begins, requests per second.
const ANY_RATE: f64 = 1.0;

pub(super) fn run(args: &SweepArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let spec = args.workload.spec(&Overrides::default(), printer)?;
    let (spec, datasets) = datasets::open(spec, args.run.tokenizer.as_deref(), printer)?;
    let begun = args.resume.as_deref().map(Begun::of).transpose()?.unwrap_or_default();
    let typed = args.loads.rates.as_ref().or(args.loads.users.as_ref()).cloned();
    let from_per_s = args.loads.start_rate.or(begun.from_per_s);
    let search_from = |from_per_s| LoadAxis::Automatic { from_per_s };
    let axis = typed.clone().unwrap_or_else(|| search_from(from_per_s.unwrap_or(ANY_RATE)));
    let lowest = check(args, &spec, &axis, &datasets)?;
    let setup = args.setup();
    let checked = setup.check(&lowest.workload, &datasets)?;
    folder::base(&args.out)?;
    let field = setup.open(&lowest.workload, Arc::clone(&datasets), checked, &interrupts, printer)?;
    interrupts.series_begins();
    let mut asked = Asked::of(args, &spec, axis, &field)?;
    asked.plan.fewest_users_per_s = begun.fewest_users_per_s;
    let resumed = args.resume.as_deref().map(|folder| Shelf::resume(folder, &asked)).transpose()?;
    field.warm_server(&lowest.schedule, args.loads.warmup_requests as usize);
    if typed.is_none() && from_per_s.is_none() {
        match start_of_search(args, &field, &lowest)? {
            Some(from_per_s) => asked.plan.axis = search_from(from_per_s),
            None => return Ok(Exit::Interrupted),
        }
    }
    if let (LoadAxis::Users { users }, None) = (&asked.plan.axis, &resumed) {
        let fewest = users.first().copied().unwrap_or(1);
        match pace_of_users(fewest, &field, &spec, &lowest)? {
            Some(per_s) => asked.plan.fewest_users_per_s = Some(per_s),
            None => return Ok(Exit::Interrupted),
        }
    }
    let engine = &field.session.engine.facts().engine;
    let create = || Shelf::create(&args.out, &format!("{}-sweep", spec.name), engine, &asked);
    let shelf = resumed.map_or_else(create, Ok)?;
    let told = Told { printer, screen: args.live.screen() };
    let flights = Flights {
        field: &field,
        shelf: &shelf,
        asked: &asked,
        datasets: &datasets,
        objectives: &args.objectives,
        pause: args.loads.pause,
        forced: args.machine.force,
        course: Course::default(),
    };
    let mut climb = Climb::new(flights, told)?;
    let climbed = climb.go_up();
    if climbed.is_err() && climb.runs() > 0 {
        printer.words(&format!("what was measured is kept; go on with: {}", again(&shelf)));
    }
    let sweep = climbed?;
    args.show.show(printer, |format| outcome::render_sweep(&sweep, format))?;
    let folder = shelf.folder().display();
    printer.words(&format!("kept in {folder} (show it again: skyline report {folder})"));
    if matches!(sweep.stopped, StopReason::Interrupted | StopReason::ServerGone) {
        printer.words(&format!("go on with: {}", again(&shelf)));
    }
    Ok(match sweep.stopped {
        StopReason::Interrupted => Exit::Interrupted,
        _ => exit(&sweep, args.validity.policy()),
    })
}

/// The command line that goes on with the sweep.
fn again(shelf: &Shelf) -> String {
    let folder = shelf.folder().to_string_lossy();
    command_line::again(std::env::args_os(), &[], &[("--resume", &folder)])
}

/// Finds what is wrong with the loads, and plans the first run.
fn check(
    args: &SweepArgs,
    spec: &WorkloadSpec,
    axis: &LoadAxis,
    datasets: &Arc<Datasets>,
) -> Result<PlannedRun, Stop> {
    sweepable(spec, axis, "--users")?;
    let longest_s = args.loads.max_seconds.as_secs_f64();
    if let Some(shortest_s) = args.workload.seconds().filter(|shortest_s| *shortest_s > longest_s) {
        return Err(Stop::usage(format!(
            "[seconds] is {shortest_s}, the shortest run, and --max-seconds, the longest, is {longest_s}\n\
             hint: raise --max-seconds"
        )));
    }
    let search = Search::new(asked::plan(args, spec, axis.clone()), &args.objectives).map_err(Stop::usage)?;
    let SearchStep::Measure(lowest) = search.next() else {
        return Err(Stop::usage("there is no load to measure\nhint: name one with --rates"));
    };
    let highest = match axis {
        LoadAxis::List { rates_per_s } => rates_per_s.last().copied().map(Load::Rate),
        LoadAxis::Geometric { to_per_s, .. } => Some(Load::Rate(*to_per_s)),
        LoadAxis::Users { users } => users.last().copied().map(Load::Users),
        LoadAxis::Automatic { .. } => None,
    };
    let planned = |wanted: &TrialRequest| {
        at_load(spec, wanted).map_err(|stop| Stop::usage(format!("{}\nhint: {TYPED}", stop.message())))
    };
    if let Some(load) = highest {
        planned(&TrialRequest { load, ..lowest.clone() })?;
    }
    PlannedRun::alone(planned(&lowest)?, datasets, MORE)
}

/// The rate at which about half a request is in flight, rounded down to 1, 2 or 5 times a power of ten; `None` where a person
/// stopped it.
fn start_of_search(args: &SweepArgs, field: &Field<'_>, lowest: &PlannedRun) -> Result<Option<f64>, Stop> {
    let stay = field.alone(&lowest.schedule, args.loads.warmup_requests as usize)?;
    Ok(stay.map(|stay| round_down(0.5 / stay.as_secs_f64().max(1e-3))))
}

/// Requests per second of so many users, by a few answers to each, so that the first run is as long as its samples need;
/// `None` where a person stopped it. Rounded, so that it is read again as it was written.
fn pace_of_users(
    users: u64,
    field: &Field<'_>,
    spec: &WorkloadSpec,
    lowest: &PlannedRun,
) -> Result<Option<f64>, Stop> {
    // A schedule has the first request of each user, and no more: more users have as many as are needed.
    let asking = Overrides { users: Some(Field::asked_by(users)), ..Overrides::default() };
    let asking = PlannedRun::like(&lowest.schedule, spec.clone().with(&asking).map_err(Stop::usage)?)?;
    let think_s = match &lowest.workload.arrival {
        ArrivalPattern::Users { think_time_s, .. } => think_time_s.mean_s(),
        _ => 0.0,
    };
    let answered = field.shared(&asking.schedule, users)?;
    let per_s = |answered: Duration| users as f64 / (answered.as_secs_f64() + think_s).max(1e-3);
    Ok(answered.map(|answered| (per_s(answered) * 1e3).round().max(1.0) / 1e3))
}

/// The largest of 1, 2 and 5 times a power of ten that is no larger.
fn round_down(rate: f64) -> f64 {
    let power = libm::pow(10.0, rate.log10().floor());
    let step = [5.0, 2.0].into_iter().find(|step| step * power <= rate).unwrap_or(1.0);
    step * power
}

/// What a sweep says to a script.
pub(super) fn exit(sweep: &Sweep, invalid: Invalid) -> Exit {
    let gone = sweep.stopped == StopReason::ServerGone;
    if gone || (!sweep.valid && invalid == Invalid::Refused) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{self, record};
    use crate::experiment::{Sustained, SweepPlan, Swept, Trial};

    #[test]
    fn a_search_begins_at_a_round_rate() {
        let rounded = [0.0123, 0.999, 1.0, 1.9, 4.99, 5.1, 73.0].map(round_down);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let expected = [0.01, 0.5, 1.0, 1.0, 2.0, 5.0, 50.0];
        assert!(rounded.iter().zip(expected).all(|(a, b)| close(*a, b)), "{rounded:?}");
    }

    /// A minute of four requests a second that meets what is demanded.
    fn passed() -> Sweep {
        let records =
            (0..240).map(|i| record(i).sent_at(i * 250, i * 250, i * 250).paced(i * 250 + 100, 20, 9));
        let log = test_runs::run(60_000, records.map(|record| record.asked(9).usage(9, 9).build()).collect());
        let plan = SweepPlan {
            axis: LoadAxis::List { rates_per_s: vec![4.0] },
            objectives: vec!["p50 ttft < 5s".to_owned()],
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
        let objectives = ["p50 ttft < 5s".parse().unwrap()];
        let mut search = Search::new(plan, &objectives).unwrap();
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
        let of = |sweep: &Sweep| exit(sweep, Invalid::Allowed);
        assert_eq!(of(&passed), Exit::Fine);
        let load = Load::Rate(4.0);
        let unknown = Sustained::unknown(load, 60.0, "sustained", "three runs were spoiled");
        let with = |sustained| Sweep { sustained: Some(sustained), ..passed.clone() };
        assert_eq!(of(&with(unknown.clone())), Exit::Invalid);
        assert_eq!(of(&with(Sustained { unknown: None, ..unknown })), Exit::Missed);
        assert_eq!(of(&Sweep { stopped: StopReason::ServerGone, ..passed }), Exit::Invalid);
    }
}
