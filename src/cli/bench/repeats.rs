//! Executes a workload several times against one server, each run with seeds of its own.

use super::BenchArgs;
use crate::cli::formats::Outputs;
use crate::cli::{outcome, series};
use crate::experiment::{Experiment, RepeatsExperiment, drive};
use crate::report::RunReport;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::repeats::RepeatsCampaign;
use crate::session::run::{RunContext, StoredRun};
use crate::session::{Exit, ExperimentDir, PlannedRun, Stop};

/// Executes `runs` one after another into `dir` and reports them together. An interrupt ends the run that is under way and
/// spares the rest; what had ended is reported.
pub(super) fn execute_all(
    args: &BenchArgs,
    outputs: &Outputs<'_>,
    context: &RunContext,
    runs: Vec<PlannedRun>,
    dir: &ExperimentDir,
) -> Result<Exit, Stop> {
    let (interrupts, printer) = (&context.interrupts, context.printer);
    interrupts.series_begins();
    let format = outputs.check_runs()?;
    let mut experiment = RepeatsExperiment::new(runs.len() as u64, args.objectives.clone());
    let campaign = RepeatsCampaign {
        context,
        runs,
        objectives: &args.objectives,
        export: |report: RunReport<'_>, run: &StoredRun| outputs.write_run(report, &run.folder, printer),
        failure: None,
    };
    let announce = (!args.live.quiet).then_some(printer);
    drive(&mut experiment, &mut CampaignExecutor::new(campaign, dir, interrupts, announce))?;
    let repeats = experiment.result().map_err(Stop::impossible)?;
    if let Some(format) = format {
        printer.data(&outcome::render_repeats(&repeats, format)?)?;
    }
    series::say_where(dir.folder(), printer);
    Ok(if experiment.is_interrupted() {
        Exit::Interrupted
    } else {
        outcome::exit_of_repeats(&repeats, args.validity.policy())
    })
}
