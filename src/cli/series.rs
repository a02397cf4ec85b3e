//! Runs that repeat one another: the folder that holds them, and what is said of them together.

use crate::session::save;
use std::path::{Path, PathBuf};

use super::outcome::{self, Format, Invalid};
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::{Diagnosis, EngineFit, Repeats};
use crate::record::RunLog;
use crate::session::{Exit, Printer, Stop, folder};

/// Name of a run's folder before its number.
pub(super) const PREFIX: &str = "run-";
/// Fewer runs make intervals too wide to be of much use.
const ADVISED: u64 = 5;

/// The runs so far.
pub(super) struct Series<'a> {
    /// Where they are kept, if they are.
    parent: Option<&'a Path>,
    objectives: &'a [Objective],
    printer: Printer,
    /// The fitted engine that predicts them, where one does.
    engine_fit: Option<&'a EngineFit>,
    runs: Vec<Summary>,
    diagnoses: Vec<Diagnosis>,
}

impl<'a> Series<'a> {
    pub(super) fn new(parent: Option<&'a Path>, objectives: &'a [Objective], printer: Printer) -> Self {
        Self { parent, objectives, printer, engine_fit: None, runs: Vec::new(), diagnoses: Vec::new() }
    }

    /// The same, of runs that a fitted engine predicts.
    pub(super) fn predicted_by(self, engine_fit: Option<&'a EngineFit>) -> Self {
        Self { engine_fit, ..self }
    }

    /// Takes one run more and keeps what is known so far, so that a later accident costs nothing.
    pub(super) fn add(&mut self, run: Summary, diagnosis: Diagnosis) -> Result<(), Stop> {
        self.runs.push(run);
        self.diagnoses.push(diagnosis);
        let Some(parent) = &self.parent else { return Ok(()) };
        save::repeats(&self.joined()?, parent)
    }

    /// Shows all of them together with `show`, which gets what renders them.
    pub(super) fn finish(
        &self,
        show: impl FnOnce(&dyn Fn(Format) -> Result<String, Stop>) -> Result<(), Stop>,
        invalid: Invalid,
    ) -> Result<Exit, Stop> {
        let repeats = self.joined()?;
        show(&|format| match (format, self.engine_fit) {
            (Format::Json, Some(fit)) => outcome::render_fitted(&repeats, fit),
            _ => outcome::render_repeats(&repeats, format),
        })?;
        if let Some(parent) = &self.parent {
            let parent = parent.display();
            self.printer.words(&format!(
                "kept in {parent} (show it again: skyline report {parent}; one run: skyline report {parent}/{PREFIX}1)"
            ));
        }
        Ok(outcome::exit_of_repeats(&repeats, invalid))
    }

    fn joined(&self) -> Result<Repeats, Stop> {
        let repeats = Repeats::of(&self.runs, self.objectives).map_err(Stop::impossible)?;
        Ok(repeats.diagnosed(&self.runs, &self.diagnoses))
    }
}

/// Creates the folder of run number `number`.
pub(super) fn folder_of(parent: &Path, number: u64) -> Result<PathBuf, Stop> {
    folder::inside(parent, &format!("{PREFIX}{number}"))
}

/// Says before they are flown when runs are too few for intervals worth having.
pub(super) fn advise(runs: u64, printer: Printer) {
    if (2..ADVISED).contains(&runs) {
        printer.words(&format!(
            "{runs} runs make wide intervals; {ADVISED} or more are advised (--repeats {ADVISED})"
        ));
    }
}

/// The folders of runs that repeat one another inside `folder`, in the order of their numbers; none if `folder` is that of
/// one run.
pub(super) fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    if folder.join(RunLog::FILE_NAME).exists() {
        return Vec::new();
    }
    let mut numbered: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
            Some((number, entry.path())).filter(|(_, path)| path.join(RunLog::FILE_NAME).exists())
        })
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// Computes from their logs again what the runs in `folders` say together, and hands each to `tell` meanwhile. Without
/// `objectives` they are held against those of the first.
pub(super) fn again(
    folders: &[PathBuf],
    objectives: &[Objective],
    mut tell: impl FnMut(&Path, &RunLog, &Summary, &Diagnosis) -> Result<(), Stop>,
) -> Result<Repeats, Stop> {
    let (mut runs, mut diagnoses) = (Vec::new(), Vec::new());
    let mut demanded = objectives.to_vec();
    for folder in folders {
        let log = RunLog::read(folder).map_err(Stop::usage)?;
        if demanded.is_empty() {
            demanded = save::objectives_of(&log.header)?;
        }
        save::check_objectives(objectives, &log.header.workload)?;
        let summary = summarise(&log, &demanded);
        let found = Diagnosis::of_run(&log, &summary);
        tell(folder, &log, &summary, &found)?;
        diagnoses.push(found);
        runs.push(summary);
    }
    let repeats = Repeats::of(&runs, &demanded).map_err(|error| {
        let folder = folders.first().and_then(|run| run.parent()).unwrap_or(Path::new("."));
        Stop::usage(format!(
            "{} does not hold runs that repeat one another: {error}\nhint: show one of them: skyline report {0}/{PREFIX}1",
            folder.display()
        ))
    })?;
    Ok(repeats.diagnosed(&runs, &diagnoses))
}
