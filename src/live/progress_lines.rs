//! Lines on standard error that are redrawn in place: the progress of a count, and the step of a computation.

use std::ops::Deref;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::alt_screen;
use super::alt_screen::say;
use super::screen::Screen;
use crate::clock::{RunClock, Timestamp};
use crate::units;

/// The line, on standard error; dropping it removes it. There is one at a time.
#[derive(Debug)]
pub(super) struct InPlace(ProgressBar);

impl InPlace {
    /// A line of this template for progress up to `length`.
    pub(super) fn of(template: &str, length: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        *alt_screen::progress_bar() = Some(bar.clone());
        Self(bar)
    }
}

impl Deref for InPlace {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.0
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        *alt_screen::progress_bar() = None;
        self.0.finish_and_clear();
    }
}

/// The progress line of a count; dropping it removes it.
#[derive(Debug)]
pub struct CountLine(Option<InPlace>);

impl CountLine {
    /// Starts to show the count of `answers` answers.
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

/// How often a step is printed where there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

/// The line of the current step; dropping it removes it.
#[derive(Debug)]
pub struct StepLine(Shown);

#[derive(Debug)]
enum Shown {
    InPlace(InPlace),
    Printed { clock: RunClock, last: Timestamp },
    Nowhere,
}

impl StepLine {
    /// Starts before the first step.
    pub fn start(screen: Screen) -> Self {
        Self(match screen {
            Screen::Quiet => Shown::Nowhere,
            Screen::Plain => {
                Shown::Printed { clock: RunClock::starting_in(Duration::ZERO), last: Timestamp::ZERO }
            }
            Screen::Dashboard | Screen::Line => {
                let bar = InPlace::of("{spinner} {wide_msg}", None);
                bar.enable_steady_tick(Duration::from_millis(200));
                Shown::InPlace(bar)
            }
        })
    }

    /// Shows `step` as the current one.
    pub fn at(&mut self, step: &str) {
        match &mut self.0 {
            Shown::InPlace(bar) => bar.set_message(step.to_owned()),
            Shown::Printed { clock, last } => {
                let now = clock.now();
                if now.since(*last) >= PRINT {
                    *last = now;
                    say(step);
                }
            }
            Shown::Nowhere => {}
        }
    }
}
