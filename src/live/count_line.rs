//! Shows the progress of counting tokens.

use super::alt_screen::say;
use super::in_place::InPlace;
use super::screen::Screen;
use crate::units;

/// The progress line of a count; dropping it removes it.
#[derive(Debug)]
pub struct CountLine(Option<InPlace>);

impl CountLine {
    /// Starts to show the count of `answers` answers.
    #[must_use]
    pub fn start(screen: Screen, answers: usize) -> Self {
        match screen {
            Screen::Quiet => Self(None),
            Screen::Plain => {
                say(&format!("counting the tokens of {} answers", units::count(answers as u64)));
                Self(None)
            }
            Screen::Dashboard | Screen::Line => {
                let template = "{bar:20.cyan} {human_pos}/{human_len} answers counted, {eta} to go";
                Self(Some(InPlace::of(template, Some(answers as u64))))
            }
        }
    }

    /// `done` answers are counted.
    pub fn at(&self, done: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position(done as u64);
        }
    }
}
