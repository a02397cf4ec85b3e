//! Shows how far a count of answers has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Screen, say};
use crate::units;

/// The line of a count that is on; dropping it takes it off the screen.
#[derive(Debug)]
pub struct CountLine(Option<ProgressBar>);

impl CountLine {
    /// Begins to show the count of so many answers.
    #[must_use]
    pub fn start(screen: Screen, answers: usize) -> Self {
        match screen {
            Screen::Quiet => Self(None),
            Screen::Plain => {
                say(&format!("counting the tokens of {} answers", units::count(answers as u64)));
                Self(None)
            }
            Screen::Dashboard | Screen::Line => {
                let bar = ProgressBar::with_draw_target(Some(answers as u64), ProgressDrawTarget::stderr());
                let template = "{bar:20.cyan} {human_pos}/{human_len} answers counted, {eta} to go";
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style.progress_chars("━╸─"));
                }
                Self(Some(bar))
            }
        }
    }

    /// So many are counted.
    pub fn at(&self, done: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position(done as u64);
        }
    }
}

impl Drop for CountLine {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}
