//! The tables by which results are read, embedded as TOML.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use super::document::ValueForm;
use crate::analysis::ChecklistRule;
use crate::foreign::rules::TableRule;
use crate::foreign::tool::ForeignTool;

/// Table by which the results of a tool are read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultTable {
    /// Description of a result, for the message about a wrong file.
    looks_like: String,
    /// Place of the runs of a file.
    #[serde(default)]
    pub(super) runs: RunsIn,
    /// Values of a run: our name, its form, and its paths.
    pub(super) facts: Vec<(String, ValueForm, String)>,
    /// Rules that make conditions and totals of them. They apply when it is known whether all requests are stored.
    pub(super) rules: Vec<TableRule>,
    /// Latencies: templates of our names, and the tool's names.
    pub(super) latencies: Vec<[String; 2]>,
    pub(super) requests: StoredForm,
    pub(super) reported: ReportedForm,
    /// Rules that say something of the figures. About nothing they say a reservation, about a figure why it is left
    /// out.
    pub(super) notes: Vec<TableRule>,
    /// The object whose keys are the names of figures. The whole run where there is none.
    pub(super) figures: Option<String>,
    /// Figures without an equivalent here, each with the reason or the word of one. A `*` stands for any ending.
    refused: Vec<[String; 2]>,
    /// Sentences, by one word.
    pub(super) sentences: BTreeMap<String, String>,
    /// Cure of an item of the checklist in the tool's own options.
    cures: HashMap<ChecklistRule, String>,
}

/// Place of the runs in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunsIn {
    /// Each of its values is one.
    #[default]
    EachValue,
    /// Its one value is one.
    OneValue,
    /// Its one value has them in this list.
    ListOf(String),
}

/// The form in which requests are stored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum StoredForm {
    /// Lists with one item per request, times in seconds.
    Columns {
        /// List of their ends. Without it the last chunk with text came TTFT plus all gaps after sending.
        ends: Option<String>,
        /// Whether a TTFT of 0 stands for an answer without text.
        silent_at_zero: bool,
    },
    /// A list of objects, or a file beside the result.
    Rows {
        /// The list; the file beside it where there is none.
        list: Option<String>,
        /// Values of the run that each request has too.
        of_run: Vec<String>,
        /// Values by which rules say that a request does not count.
        facts: Vec<(String, ValueForm, String)>,
        rules: Vec<TableRule>,
        /// Values of a request that counts.
        figures: Vec<(String, ValueForm, String)>,
    },
}

/// Place of the tool's own statistics of a latency; `{}` is its name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportedForm {
    pub(super) form: ValueForm,
    /// Mean, least, median, 90th, 95th, 99th and 99.9th percentile, and largest.
    pub(super) statistics: [String; 8],
    /// The number of samples; without it zeros are written for no sample.
    pub(super) count: Option<String>,
    /// Latencies in seconds.
    #[serde(default)]
    pub(super) seconds: Vec<String>,
}

/// Sentences and cures of several tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommonNotes {
    sentences: BTreeMap<String, String>,
    cures: HashMap<ChecklistRule, String>,
}

/// The tables in the order of the tools, or what is wrong with one.
static TABLES: LazyLock<Result<Vec<ResultTable>, toml::de::Error>> = LazyLock::new(|| {
    let common: CommonNotes = toml::from_str(COMMON)?;
    let read = |text| {
        let mut table: ResultTable = toml::from_str(text)?;
        for (word, sentence) in &common.sentences {
            table.sentences.entry(word.clone()).or_insert_with(|| sentence.clone());
        }
        for (rule, cure) in &common.cures {
            table.cures.entry(*rule).or_insert_with(|| cure.clone());
        }
        Ok(table)
    };
    TEXTS.into_iter().map(read).collect()
});
const COMMON: &str = include_str!("tables/common.toml");
const TEXTS: [&str; 4] = [
    include_str!("tables/vllm.toml"),
    include_str!("tables/sglang.toml"),
    include_str!("tables/guidellm.toml"),
    include_str!("tables/aiperf.toml"),
];

impl ResultTable {
    /// The sentence that a word stands for; any other text is one itself.
    pub(super) fn sentence<'t>(&'t self, text: &'t str) -> &'t str {
        self.sentences.get(text).map_or(text, String::as_str)
    }

    /// The names of figures without an equivalent here, each with the reason.
    pub(super) fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        self.refused.iter().map(|[name, why]| (name.as_str(), self.sentence(why)))
    }
}

impl ForeignTool {
    /// The table of its results.
    ///
    /// # Errors
    ///
    /// What is wrong with one of the tables, which a test rules out.
    pub(super) fn table(self) -> Result<&'static ResultTable, String> {
        let tables = TABLES.as_ref().map_err(ToString::to_string)?;
        tables.get(self as usize).ok_or_else(|| format!("{self} has no table"))
    }

    /// Description of its results, for the message about a wrong file.
    pub(in crate::foreign) fn looks_like(self) -> &'static str {
        self.table().map_or("", |table| &table.looks_like)
    }

    /// Cures of the tool, and those of every tool.
    pub(in crate::foreign) fn cures(self) -> Vec<(ChecklistRule, &'static str)> {
        let all = self.table().map(|table| table.cures.iter()).into_iter().flatten();
        all.map(|(rule, cure)| (*rule, cure.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn every_tool_has_its_table() {
        for tool in ForeignTool::iter() {
            let table = tool.table().unwrap();
            assert!(table.refused.len() > 8 && table.cures.len() > 5 && !table.looks_like.is_empty());
        }
    }
}
