//! Flies a workload several times against one server, each run with seeds of its own.

use std::path::Path;

use super::BenchArgs;
use crate::cli::outcome::Format;
use crate::cli::flight::{Field, Flown};
use crate::cli::formats::Outputs;
use crate::cli::series::{Series, folder_of};
use crate::record::RunEnding;
use crate::report::{Beside, Told};
use crate::session::{Exit, PlannedRun, Stop};

/// Flies `runs` one after another into folders inside `parent` and reports them together. An interrupt ends the run that
/// is on, if one is, and spares the rest; what had finished is reported.
pub(super) fn fly_all(
    args: &BenchArgs,
    outputs: &Outputs<'_>,
    field: &Field<'_>,
    runs: Vec<PlannedRun>,
    parent: &Path,
) -> Result<Exit, Stop> {
    let Field { interrupts, printer, .. } = field;
    interrupts.series_begins();
    let format = outputs.check_runs()?;
    let show = |render: &dyn Fn(Format) -> Result<String, Stop>| {
        format.map_or(Ok(()), |format| printer.data(&render(format)?))
    };
    let mut series = Series::new(Some(parent), &args.objectives, *printer);
    let of = runs.len() as u64;
    for run in runs {
        let (number, seed) = (run.number(), run.workload.seed);
        let part = format!("run {number} of {of}, seed {seed}");
        if !args.live.quiet {
            printer.words(&part);
        }
        // Other texts in each run, so that the runs before have not warmed the prefix cache.
        let run = run.shown_as(part);
        let flown = field.fly(run, number, |_| folder_of(parent, number))?;
        let beside = Beside { paired_open: None, diagnosis: Some(&flown.diagnosis) };
        let told = Told { log: &flown.log, summary: &flown.summary, beside };
        let written = outputs.write_run(told, &flown.folder, *printer);
        let Flown { summary, diagnosis, stored, ending, .. } = flown;
        series.add(summary, diagnosis)?;
        stored.and(written)?;
        if ending == RunEnding::Interrupted || (interrupts.stop_is_wished() && number < of) {
            series.finish(show, args.validity.policy())?;
            return Ok(Exit::Interrupted);
        }
    }
    series.finish(show, args.validity.policy())
}
