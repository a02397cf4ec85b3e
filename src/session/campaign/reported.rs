//! Results of experiments: the form in which each is stored, shown and judged.

use std::path::Path;

use serde::Serialize;

use super::dir::ExperimentDir;
use crate::experiment::matrix::{Matrix, MatrixExperiment, MatrixStopped};
use crate::experiment::tune::{Tune, TuneExperiment, TuneStopped};
use crate::experiment::{
    AbExperiment, AbTest, AbVerdict, Experiment, NotRounds, Repeats, RepeatsExperiment, StopReason, Sweep,
    SweepExperiment,
};
use crate::report::render::{self, Extent};
use crate::report::{self, Document, Style, documents};
use crate::session::command_line;
use crate::session::console::{Exit, Printer, Stop};
use crate::session::exits::{self, ExitRules};
use crate::session::save::{PAGE, say_saved, text};

/// An experiment whose result is stored and shown.
pub(crate) trait Conducted: Experiment {
    /// The result of the experiment.
    type Found: Reported;

    /// Words where there is no result yet; absent: nothing is said.
    const NOTHING: Option<&str> = None;

    /// Result of its runs so far. `None`: nothing yet.
    fn found(&self) -> Result<Option<Self::Found>, Stop>;

    /// Whether there is something to resume after an error.
    fn is_resumable(&self) -> bool {
        false
    }

    /// Exit code of an experiment that was ended early. `None` where it was not, or its result says so.
    fn ended_early(&self) -> Option<Exit> {
        None
    }
}

/// A result that is stored in the folder of its runs and shown.
pub(crate) trait Reported: Serialize + Sized + 'static {
    /// Form in which it is stored, shown and judged.
    const FORM: ReportForm<Self>;

    /// Document for people.
    fn document(&self) -> Document {
        (Self::FORM.document)(self, None)
    }

    /// Exit code under these rules.
    fn exit(&self, rules: ExitRules, printer: Printer) -> Exit {
        (Self::FORM.exit)(self, rules, printer)
    }

    /// Says where the result is stored. It says how to show all of it or to go on, too.
    fn say_stored(&self, dir: &ExperimentDir, printer: Printer) {
        let ReportForm { look, lacks, .. } = Self::FORM;
        let lack = lacks(self);
        say_saved(dir.folder(), look, lack.is_none_or(|lack| lack.is_reported), printer);
        if let Some(Lack { words, left_out, .. }) = lack {
            printer.words(&format!("{words}: {}", dir.command_to_resume(left_out)));
        }
    }

    /// Writes it into the folder of its runs.
    fn store(&self, folder: &Path) -> Result<(), Stop> {
        let ReportForm { file, document, files, .. } = Self::FORM;
        let again = |left_out| command_line::again(command_line::arguments(), left_out, &[]);
        let mut texts = vec![(file, report::json(self).map_err(Stop::impossible)?)];
        match files {
            ReportFiles::Json => {}
            ReportFiles::Page => texts.insert(0, (PAGE, render::html(&self.document()))),
            ReportFiles::Decision { words, left_out } => {
                let whole = document(self, Some(&again(left_out)));
                texts.push((words, render::text(&self.document(), Style::PLAIN, Extent::Full)));
                texts.extend([("decision.md", render::markdown(&whole)), (PAGE, render::html(&whole))]);
            }
        }
        texts.into_iter().try_for_each(|(name, content)| text(&folder.join(name), &content))
    }
}

/// Form in which a result is stored, shown and judged.
pub(crate) struct ReportForm<R: 'static> {
    /// File of it for programs.
    pub(crate) file: &'static str,
    files: ReportFiles,
    /// The file to open in its folder.
    pub(crate) look: Option<&'static str>,
    /// Document for people, with the command line that decides it again where one is given.
    document: fn(&R, Option<&str>) -> Document,
    lacks: fn(&R) -> Option<Lack>,
    exit: fn(&R, ExitRules, Printer) -> Exit,
}

/// Files of a result.
enum ReportFiles {
    /// One for programs.
    Json,
    /// A page too.
    Page,
    /// A page, a text in the file `words`, and a record. Page and record say how to decide again, with the command line
    /// without the options `left_out`.
    Decision { words: &'static str, left_out: &'static [&'static str] },
}

/// Runs that a result lacks.
#[derive(Clone, Copy, Debug)]
struct Lack {
    /// Words before the command line that adds them.
    words: &'static str,
    /// Options which that leaves out.
    left_out: &'static [&'static str],
    /// Whether what there is can be reported.
    is_reported: bool,
}

impl Lack {
    const RUNS: Self = Self { words: "resume with", left_out: &[], is_reported: true };
    const REPORT: Self = Self { is_reported: false, ..Self::RUNS };
    const ROWS: Self = Self { words: "the other rows", left_out: &["--only"], is_reported: false };
}

/// Stores what was found, if anything.
pub(crate) fn store(found: Option<impl Reported>, folder: &Path) -> Result<(), Stop> {
    found.map_or(Ok(()), |found| found.store(folder))
}

impl Conducted for RepeatsExperiment {
    type Found = Repeats;

    fn found(&self) -> Result<Option<Repeats>, Stop> {
        match self.result() {
            Ok(repeats) => Ok(Some(repeats)),
            Err(_) if self.is_interrupted() => Ok(None),
            Err(error) => Err(Stop::impossible(error)),
        }
    }

    fn ended_early(&self) -> Option<Exit> {
        let aborted = self.is_aborted().then_some(Exit::Missed);
        if self.is_interrupted() { Some(Exit::Interrupted) } else { aborted }
    }
}

impl Reported for Repeats {
    const FORM: ReportForm<Self> = ReportForm {
        file: "repeats.json",
        files: ReportFiles::Json,
        look: Some("one run: run-1"),
        document: |repeats, _| documents::repeats(repeats),
        lacks: |_| None,
        exit: exits::of_repeats,
    };
}

impl Conducted for SweepExperiment {
    type Found = Sweep;

    fn found(&self) -> Result<Option<Sweep>, Stop> {
        Ok(Some(self.result()))
    }

    fn is_resumable(&self) -> bool {
        !self.search().trials().is_empty()
    }

    fn ended_early(&self) -> Option<Exit> {
        (self.result().stopped == StopReason::Interrupted).then_some(Exit::Interrupted)
    }
}

impl Reported for Sweep {
    const FORM: ReportForm<Self> = ReportForm {
        file: Self::FILE_NAME,
        files: ReportFiles::Page,
        look: None,
        document: |sweep, _| documents::sweep(sweep),
        lacks: |sweep| match sweep.stopped {
            StopReason::Interrupted | StopReason::ServerGone | StopReason::Untrusted => Some(Lack::RUNS),
            _ => None,
        },
        exit: exits::of_sweep,
    };
}

impl Conducted for AbExperiment {
    type Found = AbTest;

    const NOTHING: Option<&str> = Some("no round is complete");

    fn found(&self) -> Result<Option<AbTest>, Stop> {
        match self.result() {
            Ok(test) => Ok(Some(test)),
            Err(NotRounds::Nothing) => Ok(None),
            Err(error) => Err(Stop::impossible(error)),
        }
    }

    fn is_resumable(&self) -> bool {
        true
    }

    fn ended_early(&self) -> Option<Exit> {
        self.is_aborted().then_some(Exit::Missed)
    }
}

impl Reported for AbTest {
    const FORM: ReportForm<Self> = ReportForm {
        file: "ab.json",
        files: ReportFiles::Page,
        look: Some("one run: round-1/a"),
        document: |test, _| documents::ab(test),
        lacks: |test| (test.verdict == AbVerdict::Unfinished).then_some(Lack::RUNS),
        exit: |test, rules, _| exits::of_ab(test.verdict, rules.require),
    };
}

impl Conducted for MatrixExperiment {
    type Found = Matrix;

    fn found(&self) -> Result<Option<Matrix>, Stop> {
        Ok(Some(self.result()))
    }
}

impl Reported for Matrix {
    const FORM: ReportForm<Self> = ReportForm {
        file: "matrix.json",
        files: ReportFiles::Decision { words: "matrix.txt", left_out: &["--resume", "--only"] },
        look: Some("the decision: decision.md"),
        document: documents::matrix,
        lacks: |matrix| match matrix.stopped {
            MatrixStopped::Interrupted => Some(Lack::REPORT),
            MatrixStopped::OnlySome { .. } => Some(Lack::ROWS),
            MatrixStopped::AllRun | MatrixStopped::FirstAccepted { .. } => None,
        },
        exit: |matrix, rules, _| exits::of_matrix(matrix, rules.invalid),
    };
}

impl Conducted for TuneExperiment<'_> {
    type Found = Tune;

    fn found(&self) -> Result<Option<Tune>, Stop> {
        Ok(Some(self.result()))
    }
}

impl Reported for Tune {
    const FORM: ReportForm<Self> = ReportForm {
        file: Self::FILE_NAME,
        files: ReportFiles::Decision { words: "tune.txt", left_out: &["--resume"] },
        look: Some("the decision: decision.md"),
        document: documents::tune,
        lacks: |tune| match tune.stopped {
            TuneStopped::Interrupted | TuneStopped::Refused => Some(Lack::REPORT),
            TuneStopped::Finished | TuneStopped::OutOfRuns => None,
        },
        exit: |tune, _, _| exits::of_tune(tune),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{InvalidRuns, RunOutcome};

    #[test]
    fn an_interrupt_before_the_first_repeat_is_no_error() {
        let mut experiment = RepeatsExperiment::new(3, Vec::new(), InvalidRuns::LeftOut);
        assert!(experiment.found().is_err(), "without an interrupt there is a run");
        let request = experiment.next().unwrap();
        experiment.record(&request, RunOutcome::Interrupted(None));
        assert!(matches!(experiment.found(), Ok(None)));
    }
}
