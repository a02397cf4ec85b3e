//! A stored sweep, shown again: as it was, or judged by other objectives.

use std::path::Path;

use super::exit;
use crate::analysis::{Objective, summarise};
use crate::cli::formats::Outputs;
use crate::cli::outcome::{self, Invalid};
use crate::experiment::{Search, Sweep, SweepPlan, Swept, Trial, TrialRequest};
use crate::record::RunLog;
use crate::session::{Exit, Printer, Stop, folder, save};

/// Prints the sweep that is stored at `path`; with objectives, as its runs stand to those.
pub(in crate::cli) fn show(
    stored: Sweep,
    path: &Path,
    objectives: &[Objective],
    outputs: &Outputs<'_>,
    invalid: Invalid,
    printer: Printer,
) -> Result<Exit, Stop> {
    outputs.check_sweep()?;
    let sweep = if objectives.is_empty() { stored } else { judged_by(stored, path, objectives)? };
    if let Some(format) = outputs.shown() {
        printer.data(&outcome::render_sweep(&sweep, format)?)?;
    }
    outputs.write_sweep(&sweep, folder::of(path), printer)?;
    Ok(exit(&sweep, invalid))
}

/// The sweep as it would be with these objectives and the same runs.
fn judged_by(kept: Sweep, path: &Path, objectives: &[Objective]) -> Result<Sweep, Stop> {
    save::check_objectives(objectives, &kept.workload)?;
    let folder = folder::of(path);
    let before = kept.plan.objectives_in_words();
    let plan = SweepPlan { objectives: objectives.to_vec(), ..kept.plan };
    let mut search = Search::new(plan).map_err(Stop::usage)?;
    let mut trials: Vec<_> = kept.points.into_iter().flat_map(|point| point.trials).collect();
    trials.sort_by_key(|trial| trial.number);
    for trial in trials {
        let log = RunLog::read(&folder.join(&trial.run)).map_err(Stop::usage)?;
        let request = TrialRequest {
            number: trial.number,
            load: trial.load,
            repeat: 1,
            seed: trial.seed,
            window_s: trial.window_s,
            run: trial.run,
        };
        search.record(Trial::of(&request, &summarise(&log, objectives)));
    }
    let swept = Swept {
        started_at: kept.started_at,
        workload: kept.workload,
        engine: kept.engine,
        deployment: kept.deployment,
    };
    let sweep = Sweep::of(&search, swept, kept.stopped);
    let stopped_sentence = match before.as_str() {
        same if same == sweep.plan.objectives_in_words() => kept.stopped_sentence,
        "" => format!("run without objectives: {}", kept.stopped_sentence),
        others => format!("run for other objectives ({others}): {}", kept.stopped_sentence),
    };
    Ok(Sweep { paired: kept.paired, stopped_sentence, ..sweep })
}
