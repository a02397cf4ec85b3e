//! Flies a workload several times against one server, each run with seeds of its own.

use std::path::Path;

use super::BenchArgs;
use crate::cli::exit::{Exit, Stop};
use crate::cli::flight::{Field, Flown};
use crate::cli::outcome::Format;
use crate::cli::planned::PlannedRun;
use crate::cli::series::{Series, folder_of};
use crate::record::RunEnding;

/// Flies `runs` one after another into folders inside `parent` and reports them together. An interrupt ends the run that
/// is on, if one is, and spares the rest; what had finished is reported.
pub(super) fn fly_all(
    args: &BenchArgs,
    field: &Field<'_>,
    runs: Vec<PlannedRun>,
    parent: &Path,
) -> Result<Exit, Stop> {
    let Field { interrupts, printer, .. } = field;
    interrupts.series_begins();
    let format = if args.json { Format::Json } else { Format::Text };
    let mut series = Series::new(Some(parent), &args.objectives, *printer);
    let of = runs.len() as u64;
    for run in runs {
        let (number, seed) = (run.number(), run.workload.seed);
        if !args.quiet {
            printer.words(&format!("run {number} of {of}, seed {seed}"));
        }
        // Other texts in each run, so that the runs before have not warmed the prefix cache.
        let Flown { summary, diagnosis, stored, ending, .. } =
            field.fly(run, number, |_| folder_of(parent, number))?;
        series.add(summary, diagnosis)?;
        stored?;
        if ending == RunEnding::Interrupted || (interrupts.stop_is_wished() && number < of) {
            series.finish(format, args.validity.policy())?;
            return Ok(Exit::Interrupted);
        }
    }
    series.finish(format, args.validity.policy())
}
