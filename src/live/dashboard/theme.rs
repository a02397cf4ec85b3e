//! The dashboard's styles, in the terminal's own colours.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders};

use crate::live::provisional::Standing;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    /// Colours, and where it matters text and weight too.
    Colours,
    /// Text and weight alone.
    Plain,
}

impl Theme {
    fn coloured(self, colour: Color) -> Style {
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

    pub(super) fn time(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// A part of the screen under a heading.
    pub(super) fn headed<'t>(self, title: impl Into<Line<'t>>) -> Block<'t> {
        let block = Block::new().borders(Borders::TOP).border_style(self.quiet());
        block.title(title).title_style(self.heading())
    }

    /// Offered load.
    pub(super) fn load(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// Completed work.
    pub(super) fn work(self) -> Style {
        self.coloured(Color::Green)
    }

    /// Latency.
    pub(super) fn wait(self) -> Style {
        self.coloured(Color::Magenta)
    }

    /// Failures.
    pub(super) fn trouble(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A finding's status.
    pub(super) fn standing(self, standing: Standing) -> Style {
        match standing {
            Standing::Good => self.coloured(Color::Green),
            Standing::Bad => self.trouble(),
            Standing::Open => self.coloured(Color::Yellow),
        }
    }
}
