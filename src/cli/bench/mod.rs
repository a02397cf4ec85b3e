//! `skyline bench`: one workload, one server, one run or several.

mod pair;
mod repeats;

use std::path::PathBuf;

use clap::Args;

use super::args::{
    DeploymentArgs, LiveArgs, MachineArgs, RunArgs, ServerArgs, ShareArgs, ValidityArgs, WorkloadArgs,
};
use super::formats::{FormatArgs, Outputs};
use super::outcome;
use super::series;
use crate::analysis::Objective;
use crate::record::RunEnding;
use crate::report::{Extras, RunReport};
use crate::session::run::{LoadOption, RunContext, check_plan};
use crate::session::settings::RunSettings;
use crate::session::{
    Exit, ExperimentDir, Interrupts, Mistakes, PlannedRun, Printer, Stop, datasets, folder, save,
};

/// Run a workload against a server and report how it did.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    deployment: DeploymentArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    share: ShareArgs,
    #[command(flatten)]
    machine: MachineArgs,

    /// Of a closed loop: run the same work in open arrivals afterwards, by a Poisson process at the rate that the users
    /// reached, and show what the closed loop hides
    #[arg(long, help_heading = "Workload")]
    paired_open: bool,

    /// Hold the run against an objective, such as `p95 ttft < 500ms`, `error_rate < 1%`, `goodput > 5/s`,
    /// `slo_attainment > 95%` or, of one class, priority, tenant or model, `p95 ttft of NAME < 500ms`, or
    /// a preset of two, such as `mlperf:llama-3.1-8b:interactive`; a miss exits with 1; may be repeated
    #[arg(long = "objective", value_name = "OBJECTIVE", help_heading = "Output")]
    objectives: Vec<Objective>,

    #[command(flatten, next_help_heading = "Output")]
    validity: ValidityArgs,

    /// Folder in which the run gets a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Output", default_value = "results")]
    out: PathBuf,

    #[command(flatten, next_help_heading = "Output")]
    format: FormatArgs,

    #[command(flatten)]
    live: LiveArgs,
}

impl BenchArgs {
    fn settings(&self) -> Result<RunSettings, Stop> {
        let mut mistakes = Mistakes::default();
        match (mistakes.note(self.server.settings()), mistakes.note(self.run.settings()), mistakes.found()) {
            (Some(server), Some(requests), None) => Ok(RunSettings {
                server,
                deployment: self.deployment.facts(),
                requests,
                machine: self.machine.settings(),
                share: self.share.settings(),
                objectives: self.objectives.clone(),
                load_option: LoadOption::OfOneRun,
                screen: self.live.screen(),
            }),
            (.., found) => Err(found.unwrap_or_else(|| Stop::usage("the run is not described"))),
        }
    }
}

pub(super) fn run(args: &BenchArgs, printer: Printer) -> Result<Exit, Stop> {
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let outputs = args.format.outputs()?;
    if args.workload.repeats > 1 {
        outputs.check_runs()?;
    } else {
        outputs.check_run()?;
    }
    let spec = args.workload.spec(printer)?;
    let (spec, datasets) = datasets::open(spec, args.run.tokenizer.as_deref(), printer)?;
    let settings = args.settings()?;
    let checked = settings.check(&spec, &datasets)?;
    let mut runs = PlannedRun::all(&spec, &datasets, args.workload.repeats)?;
    series::advise(args.workload.repeats, printer);
    for run in &runs {
        check_plan(run)?;
    }
    if let Some(shard) = args.share.shard {
        runs = runs.into_iter().map(|run| run.share(shard)).collect::<Result<_, _>>()?;
    }
    folder::base(&args.out)?;
    pair::asked(args, &spec)?;
    let context = settings.connect(&spec, datasets, checked, &interrupts, printer)?;
    match <[PlannedRun; 1]>::try_from(runs) {
        Ok([run]) => once(args, &outputs, &context, run),
        Err(runs) => {
            let engine = &context.engine().engine;
            let parent = folder::create(&args.out, &spec.name, engine, jiff::Timestamp::now())?;
            repeats::execute_all(args, &outputs, &context, runs, &ExperimentDir::unlocked(parent))
        }
    }
}

/// One run, one report.
fn once(
    args: &BenchArgs,
    outputs: &Outputs<'_>,
    context: &RunContext,
    run: PlannedRun,
) -> Result<Exit, Stop> {
    let RunContext { interrupts, printer, .. } = context;
    let pair = args.paired_open.then(|| (run.workload.clone(), run.schedule.clone()));
    if pair.is_some() {
        // Between the two runs an interrupt spares the second, and the first is reported.
        interrupts.series_begins();
    }
    let closed = context.execute(run, 1, |header| {
        folder::create(&args.out, &header.workload.name, &header.engine.engine, header.started_at)
    })?;
    let open = match pair {
        Some((workload, schedule)) => pair::execute_open(args, context, (&workload, &schedule), &closed),
        None => Ok(None),
    };
    // Whatever became of the open run, the closed one is reported.
    let paired_open = open.as_ref().ok().and_then(Option::as_ref);
    let extras = Extras { paired_open, diagnosis: Some(&closed.diagnosis) };
    let report = RunReport { log: &closed.log, summary: &closed.summary, extras };
    if let Some(format) = outputs.shown() {
        printer.data(&outcome::render(report, format)?)?;
    }
    // What was written when the closed run was over knew nothing of the open one.
    let again = paired_open.map_or(Ok(()), |_| save::run_with_extras(report, &closed.folder));
    let written = outputs.write_run(report, &closed.folder, *printer);
    let ending = closed.ending();
    closed.stored.and(open.map(drop)).and(again).and(written)?;
    let folder = closed.folder.display();
    printer.words(&format!(
        "saved to {folder} (show it again: skyline report {folder})\nreport: {}",
        closed.folder.join(save::RUN_PAGE).display()
    ));
    let interrupted = args.paired_open && interrupts.stop_is_wished();
    Ok(match ending {
        RunEnding::Finished | RunEnding::DrainLimit if !interrupted => {
            outcome::exit(&closed.summary, args.validity.policy())
        }
        _ => Exit::Interrupted,
    })
}
