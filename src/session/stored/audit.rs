//! What a stored result bears: of a run, of repeats, of a sweep, or of another tool.

use std::path::{Path, PathBuf};

use super::open::{Stored, one_result, open};
use crate::analysis::{Audit, Evidence, Reason, Summary, VerdictOutcome};
use crate::experiment::{Sweep, Trial};
use crate::foreign::{ForeignRun, ForeignTool};
use crate::report::documents;
use crate::session::console::Stop;
use crate::session::folder;
use crate::session::stored_run::{JudgedRun, repeats_again};

/// Audits what is stored at `path`: one result, or each run of another tool's file. With `tool` it has to be
/// a result of that tool.
pub(crate) fn audits(path: &Path, tool: Option<ForeignTool>) -> Result<Vec<Audit>, Stop> {
    let path = &one_result(path)?;
    let name = path.display().to_string();
    let evidence = match open(path, tool)? {
        Stored::Foreign(runs) => return Ok(foreign(&name, &runs)),
        Stored::Run => {
            let run = JudgedRun::read(path, &[])?;
            Evidence::of_run(&run.log, &run.summary)
        }
        Stored::Repeats(runs) => repeats(&runs)?,
        Stored::Sweep(sweep) => swept(&sweep, path)?,
        other @ (Stored::AbTest | Stored::Matrix(_) | Stored::Tune(_) | Stored::Results(_)) => {
            let part = match other {
                Stored::AbTest => "round-1/a",
                Stored::Matrix(_) => "row-A/run-1",
                _ => "FOLDER",
            };
            return Err(Stop::usage(format!(
                "{name} is {other}, and a run, repeats or a sweep are audited\nhint: audit one of its runs: skyline \
                 audit {name}/{part}"
            )));
        }
    };
    Ok(vec![Audit::new(name, &evidence)])
}

/// The runs of a file, each beside the others.
fn foreign(name: &str, runs: &[ForeignRun]) -> Vec<Audit> {
    let named = |run: &ForeignRun| match runs {
        [_] => name.to_owned(),
        _ => format!("{name}:{}", run.number),
    };
    let audit = |run: &ForeignRun| {
        let words = documents::foreign_in_words(run);
        Audit::new(format!("{} ({words})", named(run)), &run.evidence(runs))
    };
    runs.iter().map(audit).collect()
}

/// Reads runs that repeat one another. Returns the first one that counts, with the figures of all that do.
fn repeats(folders: &[PathBuf]) -> Result<Evidence, Stop> {
    let mut runs: Vec<(Evidence, Summary)> = Vec::new();
    let joined = repeats_again(folders, &[], |_, run| {
        runs.push((Evidence::of_run(&run.log, &run.summary), run.summary.clone()));
        Ok(())
    })?;
    runs.retain(|(_, run)| joined.counts(run));
    let counted: Vec<&Summary> = runs.iter().map(|(_, run)| run).collect();
    let Some((first, _)) = runs.first() else {
        return Err(Stop::usage("no run of these repeats came to its end\nhint: run them again"));
    };
    let reason = joined.verdict.reasons.first().map(Reason::in_words);
    Ok(Evidence { outcome: Some(joined.verdict.outcome), reason, ..first.clone().across(&counted) })
}

/// Returns the run of a sweep at the highest load that passed. Else it is that at the highest load that the server kept
/// up with, else the first.
fn swept(sweep: &Sweep, path: &Path) -> Result<Evidence, Stop> {
    let passed = sweep.answer.as_ref().and_then(|answer| answer.passed);
    let is_good = |trial: &&Trial| trial.invalid.is_empty() && trial.saturated.is_none();
    let trials = || sweep.points.iter().flat_map(|point| &point.trials);
    let at_passed = trials().filter(|trial| Some(trial.load) == passed).find(is_good);
    let kept_up = || trials().rfind(is_good);
    let Some(trial) = at_passed.or_else(kept_up).or_else(|| trials().next()) else {
        return Err(Stop::usage(format!("{} has no finished run\nhint: resume it: --resume", path.display())));
    };
    let run = JudgedRun::read(&folder::of(path).join(&trial.run), &[])?;
    let own = Evidence::of_run(&run.log, &run.summary);
    let (outcome, reason) = if sweep.valid {
        (own.outcome, own.reason)
    } else {
        (Some(VerdictOutcome::Invalid), sweep.reasons.first().cloned())
    };
    let runs = trials().filter(|other| other.load == trial.load).filter(is_good).count() as u64;
    // A saturated trial can be trusted: it shows where the bend is.
    let trusted = sweep.points.iter().filter(|point| point.trials.iter().any(|trial| trial.invalid.is_empty()));
    let capacity = sweep.answer.as_ref().filter(|answer| answer.passed.is_some());
    Ok(Evidence {
        outcome,
        reason,
        runs: runs.max(1),
        loads: trusted.count() as u64,
        capacity: capacity.map(|answer| answer.sentence.clone()),
        ..own
    })
}
