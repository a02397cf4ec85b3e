//! A document: a verdict, and sections of blocks that say what is meant and never how it looks.

use std::collections::BTreeSet;

use super::chart::Chart;
use super::fact::{NamedFact, Statement};
use super::note::{Level, Note, Tone};
use super::table::Table;
use crate::guide::TOPICS;
use crate::units::listed;

/// Content of a reported result.
#[derive(Debug)]
pub struct Document {
    /// Subject of the document: the heading of a page.
    pub(crate) title: String,
    /// Whether all is well; absent where a result judges nothing.
    pub(crate) verdict: Option<VerdictLine>,
    /// The figure that answers, which a page shows as large as a headline. Elsewhere the verdict says it.
    pub(crate) headline: Option<KeyFigure>,
    /// One line that says what was measured.
    pub(crate) about: Option<String>,
    /// Time of the measurement; a screen has no room for it.
    pub(crate) dated: Option<String>,
    pub(crate) sections: Vec<Section>,
}

impl Document {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), verdict: None, headline: None, about: None, dated: None, sections: Vec::new() }
    }

    pub(crate) fn verdict(self, verdict: VerdictLine) -> Self {
        Self { verdict: Some(verdict), ..self }
    }

    pub(crate) fn headline(self, figure: Option<KeyFigure>) -> Self {
        Self { headline: figure, ..self }
    }

    pub(crate) fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    pub(crate) fn dated(self, dated: impl Into<String>) -> Self {
        Self { dated: Some(dated.into()), ..self }
    }

    /// Returns what was measured, and when.
    pub(crate) fn about_and_when(&self) -> impl Iterator<Item = &str> {
        self.about.as_deref().into_iter().chain(self.dated.as_deref())
    }

    /// Adds sections in their order; a section without blocks says nothing and is left out.
    pub(crate) fn with<S: Into<Option<Section>>>(mut self, sections: impl IntoIterator<Item = S>) -> Self {
        let sections = sections.into_iter().filter_map(Into::into);
        self.sections.extend(sections.filter(|section| !section.blocks.is_empty()));
        self
    }
}

/// The first line of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerdictLine {
    pub(crate) tone: Tone,
    /// The verdict itself, such as `VALID`: the first word of every rendering.
    pub(crate) word: String,
    /// Grounds of the verdict, without a full stop.
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
    /// Heading of the section; absent where it continues the one before it.
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

    /// Returns a section that continues the one before it. At the top of a document it is under no heading.
    pub(crate) const fn continued(level: Level) -> Self {
        Self { heading: None, level, blocks: Vec::new() }
    }

    /// The section at another level.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    fn with(mut self, blocks: impl IntoIterator<Item = Block>) -> Self {
        self.blocks.extend(blocks);
        self
    }

    pub(crate) fn figures(self, figures: Vec<KeyFigure>) -> Self {
        self.with((!figures.is_empty()).then_some(Block::Figures(figures)))
    }

    /// Adds a named fact.
    pub(crate) fn fact(self, name: impl Into<String>, value: impl Into<Statement>) -> Self {
        self.facts(name, [value])
    }

    /// Adds a fact of several statements; none: there is no such fact.
    pub(crate) fn facts<V: Into<Statement>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values: Vec<Statement> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return self;
        }
        let fact = NamedFact { name: name.into(), values };
        match self.blocks.last_mut() {
            Some(Block::Facts(facts)) => facts.push(fact),
            _ => self.blocks.push(Block::Facts(vec![fact])),
        }
        self
    }

    /// Adds each of these facts, unless it has no statement.
    pub(crate) fn named<N: Into<String>, V: IntoIterator<Item: Into<Statement>>>(
        self,
        facts: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        facts.into_iter().fold(self, |section, (name, values)| section.facts(name, values))
    }

    /// Adds a table, unless it has no rows.
    pub(crate) fn table(self, table: impl Into<Table>) -> Self {
        self.tables([table])
    }

    /// Adds the tables that have rows.
    pub(crate) fn tables<T: Into<Table>>(self, tables: impl IntoIterator<Item = T>) -> Self {
        let tables = tables.into_iter().map(Into::into);
        self.with(tables.filter(|table| !table.rows.is_empty()).map(Block::Table))
    }

    pub(crate) fn notes(mut self, notes: impl IntoIterator<Item = Note>) -> Self {
        for note in notes {
            match self.blocks.last_mut() {
                Some(Block::Notes(notes)) => notes.push(note),
                _ => self.blocks.push(Block::Notes(vec![note])),
            }
        }
        self
    }

    pub(crate) fn charts(self, charts: impl IntoIterator<Item = Chart>) -> Self {
        self.with(charts.into_iter().map(Block::Chart))
    }

    /// Adds a paragraph for each text.
    pub(crate) fn text(self, texts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.with(texts.into_iter().map(|text| Block::Text(text.into())))
    }

    /// Adds remarks: what only explains the blocks beside them.
    pub(crate) fn remark(self, texts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.with(texts.into_iter().map(|text| Block::Remark(text.into())))
    }

    /// Adds the topics of the guide that explain the section.
    pub(crate) fn more(self, topics: impl IntoIterator<Item = &'static str>) -> Self {
        let topics: BTreeSet<_> = topics.into_iter().collect();
        let is_known = |topic: &&str| TOPICS.iter().any(|known| known.name == *topic);
        debug_assert!(topics.iter().all(is_known), "{topics:?}");
        let commands = listed(topics.iter().map(|topic| format!("skyline guide {topic}")), ", ");
        self.remark(commands.map(|commands| format!("More: {commands}")))
    }

    pub(crate) fn command(self, commands: impl IntoIterator<Item: Into<String>>) -> Self {
        self.with(commands.into_iter().map(|command| Block::Command(command.into())))
    }

    pub(crate) fn attachment(self, title: impl Into<String>, text: impl Into<String>) -> Self {
        self.with([Block::Attachment { title: title.into(), text: text.into() }])
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

impl Block {
    /// Its chart, if it is one.
    pub(crate) fn chart(&self) -> Option<&Chart> {
        if let Self::Chart(chart) = self { Some(chart) } else { None }
    }

    /// Whether anything of it can be written without pictures and cards.
    pub(crate) fn has_text(&self) -> bool {
        match self {
            Self::Figures(figures) => figures.iter().any(|figure| !figure.card_only),
            Self::Chart(chart) => chart.bars.as_ref().is_some_and(|chart| !chart.bars.is_empty()),
            Self::Attachment { .. } => false,
            _ => true,
        }
    }
}

/// A figure that matters most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyFigure {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: String,
    /// Lines that belong to the figure: its interval, its mark, what it is compared with.
    pub(crate) below: Vec<String>,
    /// Whether only pages have it: elsewhere a table of the same level already holds it.
    pub(crate) card_only: bool,
}

impl KeyFigure {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), unit: unit.into(), below: Vec::new(), card_only: false }
    }

    pub(crate) fn below(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.below.extend(lines);
        self
    }

    pub(crate) fn card_only(self) -> Self {
        Self { card_only: true, ..self }
    }

    /// Returns what stands between the value and its unit: nothing before `/s`.
    pub(crate) fn space(&self) -> &'static str {
        if self.unit.is_empty() || self.unit.starts_with('/') { "" } else { " " }
    }
}
