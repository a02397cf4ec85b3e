//! Where progress is shown.

use std::io::{self, IsTerminal};

use console::Term;

use super::echo_guard;

/// Smallest terminal for a dashboard: rows and columns.
const SMALLEST: (u16, u16) = (12, 60);

/// Place where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    /// A dashboard on the whole terminal, while a run is on.
    Dashboard,
    /// One line on standard error, redrawn in place.
    Line,
    /// One line every five seconds on standard error.
    Plain,
    /// Nowhere.
    Quiet,
}

impl Screen {
    /// Returns the most that standard error allows. Nothing is redrawn in a pipe, on a terminal that only prints
    /// (`TERM=dumb`), or in the background of a terminal.
    pub(crate) fn detect() -> Self {
        let term = std::env::var_os("TERM");
        if !io::stderr().is_terminal() || term.is_none_or(|term| term.is_empty() || term == "dumb") {
            Self::Plain
        } else if echo_guard::is_in_foreground() {
            Self::Dashboard
        } else {
            Self::Plain
        }
    }

    /// A line in place of a dashboard.
    #[must_use]
    pub(crate) fn in_a_line(self) -> Self {
        match self {
            Self::Dashboard => Self::Line,
            other => other,
        }
    }

    /// Whether what is shown is redrawn in place.
    pub(crate) const fn is_redrawn(self) -> bool {
        matches!(self, Self::Dashboard | Self::Line)
    }

    /// Returns the screen for the terminal as it is now. It is a line where that is too small for a dashboard, and
    /// nothing is redrawn where this process has moved to the background.
    pub(super) fn fitting(self) -> Self {
        if self.is_redrawn() && !echo_guard::is_in_foreground() {
            return Self::Plain;
        }
        let (rows, columns) = Term::stderr().size();
        if fits(columns, rows) { self } else { self.in_a_line() }
    }
}

/// Whether a dashboard fits.
pub(super) const fn fits(columns: u16, rows: u16) -> bool {
    rows >= SMALLEST.0 && columns >= SMALLEST.1
}

/// Whether this is a terminal that wants colours (<https://no-color.org>).
pub(crate) fn wants_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dashboard_needs_room_and_a_line_does_not() {
        assert!(fits(60, 12) && !fits(59, 24) && !fits(80, 11));
        let screens = [Screen::Dashboard, Screen::Line, Screen::Plain, Screen::Quiet];
        let in_a_line = [Screen::Line, Screen::Line, Screen::Plain, Screen::Quiet];
        assert_eq!(screens.map(Screen::in_a_line), in_a_line);
    }
}
