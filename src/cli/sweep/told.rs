//! What a sweep says while it is under way.

use crate::analysis::wording::{counted, seconds};
use crate::experiment::{HighestLoad, JudgedObjective, Trial, TrialRequest};
use crate::live::Screen;
use crate::session::Printer;

/// The teller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) printer: Printer,
    pub(super) screen: Screen,
}

impl Told {
    fn words(self, text: &str) {
        if self.screen != Screen::Quiet {
            self.printer.words(text);
        }
    }

    /// A run is about to be flown; `answer` is what is known so far. Gives its place in the sweep in words.
    pub(super) fn begins(self, wanted: &TrialRequest, answer: Option<&HighestLoad>) -> String {
        let TrialRequest { number, load, repeat, window_s, .. } = wanted;
        let ends = answer.map(|answer| (answer.passed, answer.failed));
        let so_far = match ends {
            Some((Some(passed), Some(failed))) => format!("; so far {passed} passed, {failed} failed"),
            Some((Some(passed), None)) => format!("; so far {passed} passed"),
            Some((None, Some(failed))) => format!("; so far {failed} failed"),
            Some((None, None)) | None => String::new(),
        };
        let words = format!("run {number}: {load} for {}, its run {repeat}{so_far}", seconds(*window_s));
        self.words(&words);
        words
    }

    /// A run has come to its end.
    pub(super) fn ended(self, trial: &Trial) {
        let Trial { number, load, .. } = trial;
        let found = match (&trial.saturated, trial.is_valid()) {
            (Some(_), _) => "the server did not keep up".to_owned(),
            (None, false) => "INVALID, and does not count".to_owned(),
            (None, true) => in_words(&trial.judged),
        };
        self.words(&format!("  run {number}, {load}: {found}"));
    }

    /// The answer is about to be held. Gives that in words.
    pub(super) fn sustains(self, wanted: &TrialRequest) -> String {
        let words = format!("holding {} for {}", wanted.load, seconds(wanted.window_s));
        self.words(&words);
        words
    }

    /// All runs are there, of which so many had been flown before.
    pub(super) fn read(self, runs: u64) {
        if runs > 0 {
            self.words(&format!("{} had been flown before and were read", counted(runs, "run")));
        }
    }
}

fn in_words(judged: &[JudgedObjective]) -> String {
    if judged.is_empty() {
        return "done".to_owned();
    }
    let each = judged.iter().map(|judged| format!("{} {}", judged.objective, judged.status.word()));
    each.collect::<Vec<_>>().join(", ")
}
