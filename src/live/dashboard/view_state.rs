//! Everything that one frame of the dashboard shows, and its styles, in the terminal's own colours.

use console::strip_ansi_codes;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use crate::analysis::Status;
use crate::clock::Timestamp;
use crate::live::watched::WatchedRun;
use crate::runner::Snapshot;
use crate::units::steers;

/// Rows from which on parts have headings and all latencies are shown.
const ROOMY: u16 = 18;

/// Everything that one frame of the dashboard shows.
pub(super) struct ViewState<'a> {
    pub(super) watched: &'a WatchedRun,
    pub(super) now: Timestamp,
    pub(super) snapshot: Snapshot,
    /// The last messages, oldest first.
    pub(super) said: Vec<String>,
    pub(super) theme: Theme,
}

impl ViewState<'_> {
    /// Seconds of the window so far.
    pub(super) fn window_s(&self) -> f64 {
        let plan = &self.watched.plan;
        self.now.min(plan.window_end).since(plan.window_start).as_secs_f64()
    }

    /// Draws lines, under a heading where there is room for it.
    pub(super) fn draw_part<'t>(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        title: impl Into<Line<'t>>,
        lines: Vec<Line<'_>>,
    ) {
        let paragraph = Paragraph::new(lines);
        if is_roomy(frame.area().height) {
            frame.render_widget(paragraph.block(self.theme.headed(title)), area);
        } else {
            frame.render_widget(paragraph, area);
        }
    }
}

pub(super) const fn is_roomy(height: u16) -> bool {
    height >= ROOMY
}

/// Removes what could steer the terminal or reverse the text beside it. Diagnostics are coloured and may repeat what a
/// server sent.
pub(super) fn plain(text: &str) -> String {
    strip_ansi_codes(text).chars().filter(|&c| !steers(c)).collect()
}

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    /// Colours, and where it matters text and weight too.
    Colours,
    /// Text and weight alone.
    Plain,
}

impl Theme {
    pub(super) fn coloured(self, colour: Color) -> Style {
        match self {
            Self::Colours => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    /// Names of figures and details.
    #[allow(clippy::unused_self)] // Called like the others.
    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    #[allow(clippy::unused_self)] // Called like the others.
    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)
    }

    /// A part of the screen under a heading.
    pub(super) fn headed<'t>(self, title: impl Into<Line<'t>>) -> Block<'t> {
        let block = Block::new().borders(Borders::TOP).border_style(self.quiet());
        block.title(title).title_style(self.heading())
    }

    /// Failures.
    pub(super) fn trouble(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A finding's status.
    pub(super) fn standing(self, standing: Status) -> Style {
        match standing {
            Status::Met => self.coloured(Color::Green),
            Status::Missed => self.trouble(),
            Status::Undecided => self.coloured(Color::Yellow),
        }
    }
}
