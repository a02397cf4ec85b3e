//! `skyline sweep`: one workload under rising load, and the highest load that meets the objectives.

mod args;
mod loads;
mod plan;
mod shown;

use super::command_line_to_resume;
use super::outcome::{self, Invalid};
use crate::experiment::{Experiment, LoadClass, Search, StopReason, Sweep, SweepExperiment, Swept, drive};
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::sweep::{SweepCampaign, SweepManifest};
use crate::session::run::RunContext;
use crate::session::settings::MachineCheck;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};

pub(super) use args::SweepArgs;
pub(super) use loads::{rates, users};
pub(super) use shown::show;

pub(super) fn run(args: &SweepArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    folder::base(&args.out)?;
    let context = plan.connect(&interrupts, printer)?;
    interrupts.series_begins();
    let Some((manifest, dir)) = plan.begin(args, &context)? else { return Ok(Exit::Interrupted) };
    let mut experiment = experiment(args, &manifest, &context)?;
    let progress = (!args.live.quiet).then_some(printer);
    let campaign = SweepCampaign {
        context: &context,
        workload: &manifest.workload,
        datasets: &plan.datasets,
        objectives: &args.objectives,
        pause: args.loads.pause,
        progress,
    };
    let mut executor = CampaignExecutor::new(campaign, &dir, &interrupts, progress);
    let driven = drive(&mut experiment, &mut executor);
    if driven.is_err() && !experiment.search().trials().is_empty() {
        printer.words(&format!("what was measured is kept; resume with: {}", command_line_to_resume(&dir)));
    }
    driven?;
    executor.say_what_was_read(progress);
    finish(args, &experiment.result(), &dir, printer)
}

/// The runs of the sweep.
fn experiment(
    args: &SweepArgs,
    manifest: &SweepManifest,
    context: &RunContext,
) -> Result<SweepExperiment, Stop> {
    let swept = Swept {
        started_at: jiff::Timestamp::now(),
        workload: manifest.workload.clone(),
        engine: context.engine().clone(),
        deployment: manifest.server.deployment.clone(),
    };
    let search = Search::new(manifest.plan.clone()).map_err(Stop::usage)?;
    let mut experiment = SweepExperiment::new(search, swept);
    if manifest.paired_open {
        experiment = experiment.with_pairs();
    }
    if let Some(seconds) = manifest.sustain_s {
        experiment = experiment.holding_for(seconds);
    }
    let forced = args.machine.settings() == MachineCheck::Overridden;
    Ok(if forced { experiment.forced() } else { experiment })
}

/// Shows the sweep, says where it is stored, and gives its exit code.
fn finish(args: &SweepArgs, sweep: &Sweep, dir: &ExperimentDir, printer: Printer) -> Result<Exit, Stop> {
    args.show.show(printer, |format| outcome::render_sweep(sweep, format))?;
    let folder = dir.folder().display();
    printer.words(&format!("saved to {folder} (show it again: skyline report {folder})"));
    if matches!(sweep.stopped, StopReason::Interrupted | StopReason::ServerGone) {
        printer.words(&format!("resume with: {}", command_line_to_resume(dir)));
    }
    Ok(match sweep.stopped {
        StopReason::Interrupted => Exit::Interrupted,
        _ => exit(sweep, args.validity.policy()),
    })
}

/// The exit code of a sweep.
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
    use crate::experiment::{Load, LoadAxis, SearchStep, Sustained, SweepPlan, Trial};

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
