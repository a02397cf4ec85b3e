//! Shows how far a count of answers has come.

use super::alt_screen::say;
use super::in_place::InPlace;
use super::screen::Screen;
use crate::units;

/// The line of a count that is on; dropping it takes it off the screen.
#[derive(Debug)]
pub struct CountLine(Option<InPlace>);

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
                let template = "{bar:20.cyan} {human_pos}/{human_len} answers counted, {eta} to go";
                Self(Some(InPlace::of(template, Some(answers as u64))))
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
