//! `skyline sweep`: one workload under rising load, and the highest load that meets the objectives.

mod args;
mod plan;

use super::output::{exits, say_saved};
use crate::experiment::{Experiment, Search, StopReason, Sweep, SweepExperiment, Swept, drive};
use crate::report::documents;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::sweep::{SweepCampaign, SweepManifest};
use crate::session::run::RunContext;
use crate::session::settings::MachineCheck;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};

pub(super) use self::args::SweepArgs;

pub(super) fn run(args: &SweepArgs, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    folder::base(&args.campaign.out)?;
    let context = plan.checked.connect(&interrupts, printer)?;
    interrupts.series_begins();
    let Some((manifest, dir)) = plan.begin(args, &context)? else { return Ok(Exit::Interrupted) };
    let settings = &plan.checked.settings;
    let forced = settings.machine == MachineCheck::Overridden;
    let mut experiment = experiment(forced, &manifest, &context)?;
    let progress = args.campaign.live.announce(printer);
    let campaign = SweepCampaign {
        context: &context,
        workload: &manifest.workload,
        datasets: &plan.checked.datasets,
        objectives: &settings.objectives,
        pause: args.campaign.pause,
        progress,
    };
    let mut executor = CampaignExecutor::new(campaign, &dir, &interrupts, progress);
    let driven = drive(&mut experiment, &mut executor);
    if driven.is_err() && !experiment.search().trials().is_empty() {
        printer.words(&format!("what was measured is stored; resume with: {}", dir.command_to_resume(&[])));
    }
    driven?;
    executor.say_what_was_read(progress);
    finish(args, &experiment.result(), &dir, printer)
}

/// The runs of the sweep.
fn experiment(forced: bool, manifest: &SweepManifest, context: &RunContext) -> Result<SweepExperiment, Stop> {
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
    Ok(if forced { experiment.forced() } else { experiment })
}

/// Shows the sweep, says where it is stored, and gives its exit code.
fn finish(args: &SweepArgs, sweep: &Sweep, dir: &ExperimentDir, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.result(printer, sweep, || documents::sweep(sweep))?;
    say_saved(dir.folder(), None, printer);
    if matches!(sweep.stopped, StopReason::Interrupted | StopReason::ServerGone) {
        printer.words(&format!("resume with: {}", dir.command_to_resume(&[])));
    }
    Ok(match sweep.stopped {
        StopReason::Interrupted => Exit::Interrupted,
        _ => exits::of_sweep(sweep, args.campaign.validity.invalid_runs()),
    })
}
