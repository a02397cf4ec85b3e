//! Definitions by which each tool counts what all call by one name: a table of tools, with the words of each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::run::ForeignRun;
use crate::analysis::{Figure, FigureKey, Metric, Quantile};

/// A part of a definition. One tool's are changed into another's in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Requests that count.
    Window,
    /// Requests that were cut off.
    CutOff,
    /// The wait for a slot in the client.
    Slot,
    /// The moment from which latency counts.
    Origin,
    /// The first token.
    First,
    /// The end of an answer.
    Last,
    /// Source of the tokens of an answer.
    Tokens,
    /// Time per output token.
    Tpot,
    /// Inter-token latency.
    Itl,
    /// Method of percentiles.
    Percentile,
    /// Time by which rates divide.
    Duration,
}

/// A way in which a tool counts. `definitions.toml` has the words of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "definitions.toml has the words")]
pub enum Definition {
    WindowAlone,
    WholeRun,
    Overlapping,
    CutOffAtLeast,
    CompletedOnly,
    SlotCounts,
    SlotLeftOut,
    FromSchedule,
    FromSend,
    FirstText,
    FirstEvent,
    LastText,
    LastEvent,
    DoneMark,
    StreamEnd,
    Usage,
    Requested,
    OwnTokenizer,
    EachAnswer,
    EachToken,
    AfterFirstChunk,
    GapPerToken,
    GapPerChunk,
    Interpolated,
    NearestRank,
    WindowRate,
    WholeDuration,
}

/// Definitions of a tool, one of each aspect that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definitions(BTreeMap<Aspect, Definition>);

/// The embedded table, which tests read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionTable {
    tools: BTreeMap<Aspect, BTreeMap<String, Definition>>,
    stored: BTreeMap<String, Vec<Definition>>,
    /// Names of the tools' own figures, by our name.
    names: BTreeMap<String, BTreeMap<String, String>>,
    titles: BTreeMap<Aspect, String>,
    words: BTreeMap<Definition, String>,
    missing: BTreeMap<Aspect, String>,
    ranges: BTreeMap<Definition, String>,
}

static TABLE: LazyLock<DefinitionTable> =
    LazyLock::new(|| toml::from_str(include_str!("definitions.toml")).unwrap_or_default());

/// Name of the column of this program.
pub(crate) const SKYLINE: &str = "skyline";

impl Definitions {
    /// The definitions of a tool, by its name.
    pub(crate) fn from_tool(name: &str) -> Self {
        let rows = TABLE.tools.iter();
        Self(rows.filter_map(|(aspect, tools)| Some((*aspect, *tools.get(name)?))).collect())
    }

    pub(crate) fn set(&mut self, aspect: Aspect, definition: Definition) {
        self.0.insert(aspect, definition);
    }

    pub(crate) fn has(&self, definition: Definition) -> bool {
        self.0.values().any(|own| *own == definition)
    }

    /// Every aspect with its definition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Aspect, Definition)> + '_ {
        self.0.iter().map(|(aspect, definition)| (*aspect, *definition))
    }

    /// Aspects in which another tool differs, each with both definitions.
    pub(crate) fn differing(&self, other: &Self) -> Vec<(Aspect, Definition, Definition)> {
        let both = self.iter().filter_map(|(aspect, own)| Some((aspect, own, *other.0.get(&aspect)?)));
        both.filter(|(_, own, other)| own != other).collect()
    }
}

impl Aspect {
    /// A few words for it.
    pub(crate) fn title(self) -> &'static str {
        TABLE.titles.get(&self).map_or("", String::as_str)
    }

    /// Returns why the requests in a file cannot be counted by another definition.
    pub(crate) fn missing(self) -> &'static str {
        TABLE.missing.get(&self).map_or("", String::as_str)
    }

    /// Whether a figure depends on it.
    pub(crate) const fn moves(self, metric: Metric) -> bool {
        let is_latency = matches!(metric, Metric::Ttft | Metric::Tpot | Metric::Itl | Metric::E2e);
        match self {
            Self::Window | Self::CutOff | Self::Percentile => is_latency,
            Self::Slot | Self::Origin => matches!(metric, Metric::Ttft | Metric::E2e),
            Self::First => matches!(metric, Metric::Ttft | Metric::Tpot),
            Self::Last => matches!(metric, Metric::Tpot | Metric::E2e),
            Self::Tokens => matches!(metric, Metric::Tpot | Metric::OutputTokens),
            Self::Tpot => matches!(metric, Metric::Tpot),
            Self::Itl => matches!(metric, Metric::Itl),
            Self::Duration => !is_latency,
        }
    }
}

impl Definition {
    /// A few words for it.
    pub(crate) fn words(self) -> &'static str {
        TABLE.words.get(&self).map_or("", String::as_str)
    }

    /// Returns why figures by it are ranges.
    pub(crate) fn range(self) -> Option<&'static str> {
        TABLE.ranges.get(&self).map(String::as_str)
    }

    /// Whether the requests in the files of a tool can be counted by it.
    pub(crate) fn is_stored_by(self, tool: &str) -> bool {
        [tool, "every_tool"].iter().any(|name| TABLE.stored.get(*name).is_some_and(|all| all.contains(&self)))
    }
}

/// Definitions of a run of Skyline that was written in the form of a tool.
const OF_EXPORTS: [(Aspect, Definition); 4] = [
    (Aspect::Window, Definition::WindowAlone),
    (Aspect::First, Definition::FirstText),
    (Aspect::Last, Definition::LastText),
    (Aspect::Duration, Definition::WindowRate),
];

impl ForeignRun {
    /// The definitions of its figures. They are its tool's, as far as its file shows no others.
    pub(crate) fn definitions(&self) -> Definitions {
        let mut own = Definitions::from_tool(self.tool.name());
        let has = |metric| self.latency.iter().any(|latency| latency.metric == metric);
        if has(Metric::Itl) {
            own.set(Aspect::Itl, Definition::GapPerToken);
        }
        if has(Metric::TpotAdjusted) {
            own.set(Aspect::Tpot, Definition::AfterFirstChunk);
        }
        if self.is_export {
            for (aspect, definition) in OF_EXPORTS {
                own.set(aspect, definition);
            }
        }
        // Only a chat has a role chunk.
        if self.conditions.endpoint.as_deref().is_some_and(|endpoint| endpoint != "chat") {
            own.set(Aspect::First, Definition::FirstText);
        }
        own
    }

    /// Returns what the tool itself reports under the name of a figure. It is computed from its requests where its
    /// file does not have it.
    pub(crate) fn under_one_name(&self, key: &FigureKey) -> Option<Figure> {
        let totals = &self.whole_run;
        match key.metric {
            Metric::RequestRate => return totals.completed_requests_per_s.map(Figure::Exact),
            Metric::OutputTokens => return totals.output_tokens_per_s.map(Figure::Exact),
            Metric::E2e => {}
            // All of an answer that came whole is its first token.
            _ if self.conditions.streamed == Some(false) => return None,
            _ => {}
        }
        let quantile: Quantile = key.quantile()?;
        let name = TABLE.names.get(key.metric.name())?.get(self.tool.name())?;
        let reported = self.own.get(name.as_str()).and_then(|own| own.percentile(quantile)).map(Figure::Exact);
        let computed = || self.latency.iter().find(|latency| latency.theirs == name)?.figures.statistic(key.statistic?);
        reported.or_else(computed)
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;
    use crate::foreign::ForeignTool;

    #[test]
    fn every_definition_of_a_tool_has_words_and_every_aspect_all_tools() {
        let table: DefinitionTable = toml::from_str(include_str!("definitions.toml")).unwrap();
        assert_eq!(table.tools.len(), 11);
        let tools: Vec<&str> = ForeignTool::iter().map(ForeignTool::name).chain([SKYLINE]).collect();
        for (aspect, row) in &table.tools {
            assert!(table.titles.contains_key(aspect) && table.missing.contains_key(aspect), "{aspect:?}");
            let silent: Vec<_> = tools.iter().filter(|tool| !row.contains_key(**tool)).collect();
            assert!(silent.is_empty() || (*aspect, silent[0]) == (Aspect::Itl, &"guidellm"), "{aspect:?}: {silent:?}");
        }
        let named = table.tools.values().flat_map(BTreeMap::values).chain(table.stored.values().flatten());
        for definition in named.chain(table.ranges.keys()) {
            assert!(table.words.contains_key(definition), "{definition:?}");
        }
        assert!(table.stored.keys().all(|name| name == "every_tool" || tools.contains(&name.as_str())));
    }
}
