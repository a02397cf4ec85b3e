//! Notes: what went well or wrong, why, and what to do about it; the level and the tone of a part of a document.

use crate::analysis::Status;

/// Whether something is good news. Renderers say it with a sign and with a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Neutral,
    Good,
    Bad,
}

impl Tone {
    /// The one for it of those for neutral, good and bad.
    pub(crate) const fn choose<T: Copy>(self, of: [T; 3]) -> T {
        of[self as usize]
    }
}

/// Amount of a report that must be asked for before a section is shown. The same goes for a row or a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Short form for a screen of what every fuller report says at length.
    Brief,
    /// Always shown: a terminal has it within a screen, a page has it unfolded.
    Summary,
    /// A page has it unfolded; a terminal shows it with `--full`.
    Page,
    /// A terminal shows it with `--full`, a page and Markdown fold it.
    Detail,
    /// Explanations and copies of files to look something up in; only a page holds them.
    Reference,
}

/// A sentence of its own kind, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) sentence: String,
    /// Probable cause of what the sentence says.
    pub(crate) cause: Option<String>,
    /// Statement of counters about the cause.
    pub(crate) counters: Option<String>,
    /// Evidence that would confirm the cause.
    pub(crate) confirm: Option<String>,
    /// Advice on what to do.
    pub(crate) cure: Option<String>,
}

/// Kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// A demand was met, was missed, or cannot be decided.
    Demand(Status),
    /// The result cannot be trusted, or something failed.
    Error,
    /// The result is to be read with care.
    Warning,
    /// A thing that could be better.
    Advice,
    /// Information.
    Info,
}

impl NoteKind {
    /// The sign of the kind, so that no colour is needed to see it.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Demand(status) => status.choose(["✓", "✗", "?"]),
            Self::Error => "✗",
            Self::Warning => "!",
            Self::Advice => "→",
            Self::Info => "•",
        }
    }

    /// Whether it says if a demand was met.
    pub(crate) const fn is_demand(self) -> bool {
        matches!(self, Self::Demand(_))
    }

    pub(crate) const fn tone(self) -> Tone {
        match self {
            Self::Demand(status) => status.choose([Tone::Good, Tone::Bad, Tone::Neutral]),
            Self::Error => Tone::Bad,
            Self::Warning | Self::Advice | Self::Info => Tone::Neutral,
        }
    }
}

impl From<Status> for NoteKind {
    fn from(status: Status) -> Self {
        Self::Demand(status)
    }
}

impl Note {
    pub(crate) fn new(kind: impl Into<NoteKind>, sentence: impl Into<String>) -> Self {
        let (kind, sentence) = (kind.into(), sentence.into());
        Self { kind, sentence, cause: None, counters: None, confirm: None, cure: None }
    }

    pub(crate) fn error(sentence: impl Into<String>) -> Self {
        Self::new(NoteKind::Error, sentence)
    }

    pub(crate) fn warning(sentence: impl Into<String>) -> Self {
        Self::new(NoteKind::Warning, sentence)
    }

    pub(crate) fn advice(sentence: impl Into<String>) -> Self {
        Self::new(NoteKind::Advice, sentence)
    }

    pub(crate) fn info(sentence: impl Into<String>) -> Self {
        Self::new(NoteKind::Info, sentence)
    }

    pub(crate) fn cause(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    pub(crate) fn counters(self, counters: Option<String>) -> Self {
        Self { counters, ..self }
    }

    pub(crate) fn confirm(self, confirm: impl Into<String>) -> Self {
        Self { confirm: Some(confirm.into()), ..self }
    }

    pub(crate) fn cure(self, cure: impl Into<String>) -> Self {
        Self { cure: Some(cure.into()), ..self }
    }

    /// Returns the lines that follow the sentence, each with its label. The cure's label is an arrow.
    pub(crate) fn follow_ups(&self) -> impl Iterator<Item = (&'static str, String)> {
        let lines = [
            ("likely:", self.cause.clone()),
            ("counters:", self.counters.clone()),
            ("confirm:", self.confirm.clone()),
            ("→", self.cure.clone()),
        ];
        lines.into_iter().filter_map(|(label, text)| Some((label, text?)))
    }
}
