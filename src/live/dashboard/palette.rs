//! The few ways in which things are set off from each other: in the terminal's own colours, which its owner can read.

use ratatui::style::{Color, Modifier, Style};

use crate::live::provisional::Standing;

/// How things are set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// By colours, and where it matters by words and weight too.
    Colours,
    /// By words and weight alone.
    Plain,
}

impl Ink {
    fn coloured(self, colour: Color) -> Style {
        match self {
            Self::Colours => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    /// Names of figures, and what matters less.
    #[allow(clippy::unused_self)] // Asked for like the others.
    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Headings.
    #[allow(clippy::unused_self)] // Asked for like the others.
    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)
    }

    /// How much of the time is over.
    pub(super) fn time(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// What is asked of the server.
    pub(super) fn load(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// What it does.
    pub(super) fn work(self) -> Style {
        self.coloured(Color::Green)
    }

    /// How long it takes.
    pub(super) fn wait(self) -> Style {
        self.coloured(Color::Magenta)
    }

    /// What goes wrong.
    pub(super) fn trouble(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// How something stands.
    pub(super) fn standing(self, standing: Standing) -> Style {
        match standing {
            Standing::Good => self.coloured(Color::Green),
            Standing::Bad => self.trouble(),
            Standing::Open => self.coloured(Color::Yellow),
        }
    }
}
