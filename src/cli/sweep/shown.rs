//! A sweep that was kept, shown again: as it was, or held against other objectives by its runs.

use crate::session::save;
use std::path::Path;

use super::exit;
use crate::analysis::{Objective, summarise};
use crate::cli::formats::Outputs;
use crate::cli::outcome::{self, Invalid};
use crate::experiment::{Search, Sweep, SweepPlan, Swept, Trial, TrialRequest};
use crate::record::RunLog;
use crate::session::{Exit, Printer, Stop, folder};

/// Prints the sweep in `path`, its folder or file; with objectives, as its runs stand to those.
pub(in crate::cli) fn show(
    path: &Path,
    objectives: &[Objective],
    outputs: &Outputs<'_>,
    invalid: Invalid,
    printer: Printer,
) -> Result<Exit, Stop> {
    outputs.check_sweep()?;
    let kept = Sweep::read(path).map_err(Stop::usage)?;
    let sweep = if objectives.is_empty() { kept } else { held_against(kept, path, objectives)? };
    if let Some(format) = outputs.shown() {
        printer.data(&outcome::render_sweep(&sweep, format)?)?;
    }
    outputs.write_sweep(&sweep, folder::of(path), printer)?;
    Ok(exit(&sweep, invalid))
}

/// The sweep as it would have been told with these objectives, its runs being those that were flown.
fn held_against(kept: Sweep, path: &Path, objectives: &[Objective]) -> Result<Sweep, Stop> {
    save::check_objectives(objectives, &kept.workload)?;
    let folder = folder::of(path);
    let texts = objectives.iter().map(ToString::to_string).collect();
    let flown_for = kept.plan.objectives.join("; ");
    let plan = SweepPlan { objectives: texts, ..kept.plan };
    let mut search = Search::new(plan, objectives).map_err(Stop::usage)?;
    let mut trials: Vec<_> = kept.points.into_iter().flat_map(|point| point.trials).collect();
    trials.sort_by_key(|trial| trial.number);
    for trial in trials {
        let log = RunLog::read(&folder.join(&trial.run)).map_err(Stop::usage)?;
        let flown = TrialRequest {
            number: trial.number,
            load: trial.load,
            repeat: 1,
            seed: trial.seed,
            window_s: trial.window_s,
            run: trial.run,
        };
        search.record(Trial::of(&flown, &summarise(&log, objectives)));
    }
    let swept = Swept {
        started_at: kept.started_at,
        workload: kept.workload,
        engine: kept.engine,
        deployment: kept.deployment,
    };
    let sweep = Sweep::of(&search, swept, kept.stopped);
    let stopped_sentence = match flown_for.as_str() {
        same if same == sweep.plan.objectives.join("; ") => kept.stopped_sentence,
        "" => format!("flown without objectives: {}", kept.stopped_sentence),
        others => format!("flown for other objectives ({others}): {}", kept.stopped_sentence),
    };
    Ok(Sweep { paired: kept.paired, stopped_sentence, ..sweep })
}
