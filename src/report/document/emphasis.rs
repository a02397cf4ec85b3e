//! How a part of a document stands out: for whom it is, and whether it is good news.

/// Whether something is good news. Renderers say it with a sign and with a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Neutral,
    Good,
    Bad,
}

/// Who needs a section, a row or a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Everybody: a terminal shows it within a screen, a page shows it unfolded.
    Summary,
    /// Who asks: a terminal shows it with `--full`, a page and Markdown fold it.
    Detail,
    /// Who looks something up: explanations and copies of files, which only a page holds.
    Reference,
}
