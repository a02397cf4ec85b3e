//! Shows the current step of a long computation.

use std::time::Duration;

use super::alt_screen::say;
use super::in_place::InPlace;
use super::screen::Screen;
use crate::clock::{RunClock, Timestamp};

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
    #[must_use]
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
