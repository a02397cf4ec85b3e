//! A document: a verdict, and sections of blocks that say what is meant and never how it looks.

use std::collections::BTreeSet;

use super::chart::Chart;
use super::note::{Level, Note, Tone};
use super::table::Table;
use crate::guide::TOPICS;

/// What a result says.
#[derive(Debug)]
pub struct Document {
    /// What the document is about: the heading of a page.
    pub(crate) title: String,
    /// Whether all is well; absent where a result judges nothing.
    pub(crate) verdict: Option<VerdictLine>,
    /// The figure that answers, which a page shows as large as a headline; elsewhere the verdict says it.
    pub(crate) headline: Option<KeyFigure>,
    /// One line that says what was measured.
    pub(crate) about: Option<String>,
    /// When that was; a screen has no room for it.
    pub(crate) dated: Option<String>,
    pub(crate) sections: Vec<Section>,
}

impl Document {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            verdict: None,
            headline: None,
            about: None,
            dated: None,
            sections: Vec::new(),
        }
    }

    pub(crate) fn verdict(mut self, verdict: VerdictLine) -> Self {
        self.verdict = Some(verdict);
        self
    }

    pub(crate) fn headline(mut self, figure: Option<KeyFigure>) -> Self {
        self.headline = figure;
        self
    }

    pub(crate) fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    pub(crate) fn dated(mut self, dated: impl Into<String>) -> Self {
        self.dated = Some(dated.into());
        self
    }

    /// What was measured, and when.
    pub(crate) fn about_and_when(&self) -> impl Iterator<Item = &str> {
        self.about.as_deref().into_iter().chain(self.dated.as_deref())
    }

    /// Adds sections in their order; a section without blocks says nothing and is left out.
    pub(crate) fn add(&mut self, sections: impl IntoIterator<Item = Section>) {
        self.sections.extend(sections.into_iter().filter(|section| !section.blocks.is_empty()));
    }
}

/// The first line of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerdictLine {
    pub(crate) tone: Tone,
    /// The verdict itself, such as `VALID`: the first word of every rendering.
    pub(crate) word: String,
    /// What it rests on, without a full stop.
    pub(crate) sentence: String,
}

impl VerdictLine {
    pub(crate) fn new(tone: Tone, word: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { tone, word: word.into(), sentence: sentence.into() }
    }

    /// `VALID: 600 of 600 requests completed`.
    pub(crate) fn in_words(&self) -> String {
        let colon = if self.sentence.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.word, self.sentence)
    }
}

/// Blocks under one heading.
#[derive(Debug)]
pub(crate) struct Section {
    /// Absent: the section continues the one before it.
    pub(crate) heading: Option<String>,
    pub(crate) level: Level,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn summary(heading: impl Into<String>) -> Self {
        Self { heading: Some(heading.into()), level: Level::Summary, blocks: Vec::new() }
    }

    pub(crate) fn page(heading: impl Into<String>) -> Self {
        Self { level: Level::Page, ..Self::summary(heading) }
    }

    pub(crate) fn detail(heading: impl Into<String>) -> Self {
        Self { level: Level::Detail, ..Self::summary(heading) }
    }

    pub(crate) fn reference(heading: impl Into<String>) -> Self {
        Self { level: Level::Reference, ..Self::summary(heading) }
    }

    /// More under the heading before it, or, at the top of a document, under none.
    pub(crate) const fn continued(level: Level) -> Self {
        Self { heading: None, level, blocks: Vec::new() }
    }

    pub(crate) fn figures(&mut self, figures: Vec<KeyFigure>) {
        if !figures.is_empty() {
            self.blocks.push(Block::Figures(figures));
        }
    }

    /// Adds a named fact.
    pub(crate) fn fact(&mut self, name: impl Into<String>, value: impl Into<Statement>) {
        self.facts(name, [value]);
    }

    /// Adds a fact of several statements; none: there is no such fact.
    pub(crate) fn facts<V: Into<Statement>>(
        &mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) {
        let values: Vec<Statement> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return;
        }
        let entry = NamedFact { name: name.into(), values };
        match self.blocks.last_mut() {
            Some(Block::Facts(facts)) => facts.push(entry),
            _ => self.blocks.push(Block::Facts(vec![entry])),
        }
    }

    /// Adds a table, unless it has no rows.
    pub(crate) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// The section with this table.
    pub(crate) fn with_table(mut self, table: Table) -> Self {
        self.table(table);
        self
    }

    /// The section with these notes.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = Note>) -> Self {
        self.notes(notes);
        self
    }

    pub(crate) fn note(&mut self, note: Note) {
        match self.blocks.last_mut() {
            Some(Block::Notes(notes)) => notes.push(note),
            _ => self.blocks.push(Block::Notes(vec![note])),
        }
    }

    pub(crate) fn notes(&mut self, notes: impl IntoIterator<Item = Note>) {
        notes.into_iter().for_each(|note| self.note(note));
    }

    pub(crate) fn chart(&mut self, chart: Chart) {
        self.blocks.push(Block::Chart(chart));
    }

    pub(crate) fn charts(&mut self, charts: impl IntoIterator<Item = Chart>) {
        self.blocks.extend(charts.into_iter().map(Block::Chart));
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a remark: what only explains the blocks beside it.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Remark(text.into()));
    }

    /// Says which topics of the guide explain the section.
    pub(crate) fn more(&mut self, topics: impl IntoIterator<Item = &'static str>) {
        let topics: BTreeSet<_> = topics.into_iter().collect();
        debug_assert!(
            topics.iter().all(|topic| TOPICS.iter().any(|known| known.name == *topic)),
            "{topics:?}"
        );
        if !topics.is_empty() {
            let commands: Vec<_> = topics.iter().map(|topic| format!("skyline guide {topic}")).collect();
            self.remark(format!("More: {}", commands.join(", ")));
        }
    }

    pub(crate) fn command(&mut self, command: impl Into<String>) {
        self.blocks.push(Block::Command(command.into()));
    }

    pub(crate) fn attachment(&mut self, title: impl Into<String>, text: impl Into<String>) {
        self.blocks.push(Block::Attachment { title: title.into(), text: text.into() });
    }
}

/// A piece of a section.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a document holds a few hundred blocks at most")]
pub(crate) enum Block {
    /// Key figures: cards on a page, one line in a terminal.
    Figures(Vec<KeyFigure>),
    Facts(Vec<NamedFact>),
    Table(Table),
    Notes(Vec<Note>),
    Chart(Chart),
    Text(String),
    /// A text that only explains what stands beside it.
    Remark(String),
    /// A command that can be pasted into a shell.
    Command(String),
    /// The text of a file under its title.
    Attachment {
        title: String,
        text: String,
    },
}

/// A figure that matters most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyFigure {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: String,
    /// What belongs to it: its interval, its mark, what it is compared with.
    pub(crate) below: Vec<String>,
    /// Only pages have it: elsewhere a table of the same level already holds it.
    pub(crate) card_only: bool,
}

impl KeyFigure {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            unit: unit.into(),
            below: Vec::new(),
            card_only: false,
        }
    }

    pub(crate) fn below(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.below.extend(lines);
        self
    }

    pub(crate) fn card_only(mut self) -> Self {
        self.card_only = true;
        self
    }

    /// What stands between the value and its unit: nothing before `/s`.
    pub(crate) fn space(&self) -> &'static str {
        if self.unit.is_empty() || self.unit.starts_with('/') { "" } else { " " }
    }
}

/// A name with what is known under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFact {
    pub(crate) name: String,
    pub(crate) values: Vec<Statement>,
}

/// A value with the party that reported it, where that is not this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) source: Option<String>,
}

impl Statement {
    pub(crate) fn reported_by(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { text: text.into(), source: Some(source.into()) }
    }

    /// `bfloat16 (reported by the server)`.
    pub(crate) fn in_words(&self) -> String {
        match &self.source {
            Some(source) => format!("{} (reported by {source})", self.text),
            None => self.text.clone(),
        }
    }
}

impl From<String> for Statement {
    fn from(text: String) -> Self {
        Self { text, source: None }
    }
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
