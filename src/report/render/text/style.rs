//! How text is written: with or without colour, over how many columns.

/// How text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are used.
    pub colour: Colour,
    /// Columns of the terminal.
    pub width: usize,
}

impl Style {
    /// No colour, 100 columns: for pipes and files.
    pub const PLAIN: Self = Self { colour: Colour::Plain, width: 100 };
}

/// Whether colours are used. Nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours.
    Ansi,
    /// None.
    Plain,
}
