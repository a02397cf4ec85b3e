//! Prompts taken unchanged from a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::session_file::{SessionFindings, SessionRules};
use crate::workload::answer::scoring::Scoring;
use crate::workload::lengths::TOKEN_LIMIT;
use crate::workload::metadata::read_tag_columns;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::spec_table;
use crate::workload::reading::value::{Allowed, SpecValue};
use crate::workload::trace::source::{BadLines, Trace};

/// Rows that a file may have. The most are more than any public dataset has, and few enough for an index in memory.
const ROWS: Allowed = Allowed::from(1.0, 100_000_000.0);

spec_table! {
    default
    /// A file of prompts: its format, which rows are sent and in which order.
    pub struct Dataset = "a dataset prompt" {
        /// The file, or a dataset of the Hugging Face hub as `hf:ORG/NAME[@REVISION][#SPLIT]`. In a workload file a
        /// relative path begins at the folder of that file.
        path: String = required(hub_or_path),
        /// Format of the file. By default the file name decides: `.json` is `sharegpt`, `.jsonl` and `.ndjson` are
        /// `jsonl`, `.csv` is `csv`, `.parquet` and datasets of the hub are `table`.
        format: DatasetFormat = format_of(path.as_deref()),
        /// Order in which rows are sent.
        order: RowOrder = optional(RowOrder::File, |value| value.variant()),
        /// Rule that leaves rows out; none when absent.
        filter: Option<RowFilter> = option(|value| value.variant()),
        /// Number of rows after which reading stops; the whole file when absent. Filtered and unusable rows do not
        /// count.
        rows: Option<u64> = option(|value| value.whole(ROWS)),
        /// Whether an unusable row is skipped and counted, instead of ending everything.
        skip_bad: bool = optional(false, |value| value.flag()),
        /// Whether unique words precede each prompt, so that no prefix cache holds it. They cost about five tokens.
        salt: bool = optional(false, |value| value.flag()),
        /// Name of the prompt column of a CSV file or a table.
        prompt_column: Option<String> = option(|value| value.nonblank()),
        /// Name of the column with answer lengths, if it is not `output_tokens`. That of a table may hold answers,
        /// which are counted.
        output_tokens_column: Option<String> = option(|value| value.nonblank()),
        /// Columns, or fields, of its rows that are tags of their requests. Each tag has its column. In a file also a
        /// list of columns, whose names are then the tags.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String> = optional(BTreeMap::new(), read_tag_columns),
        /// Rule by which answers are scored against what the rows expect. None is scored when absent.
        score: Option<Box<Scoring>> = option(|value| Scoring::read(value).map(Box::new)),
        /// Rules for the sessions of a file.
        sessions: Option<SessionRules> = option(SessionRules::read),
        /// Findings about the file. They are absent until it is read.
        found: Option<Box<DatasetFindings>> = option(|value| value.stored(DatasetFindings::is_plausible).map(Box::new)),
    }
    then(fitting)
}

/// Reads a name on the hub as it stands, or the path of a file.
fn hub_or_path(value: SpecValue<'_>) -> Option<String> {
    let path = value.path()?;
    value.text().filter(|text| text.starts_with(HUB)).or(Some(path))
}

fn fitting(fields: &Fields<'_>, dataset: &Dataset) -> Option<()> {
    for (field, sentence) in dataset.misfits() {
        fields.complain_of(field, &sentence);
    }
    Some(())
}

/// Beginning of the name of a dataset on the Hugging Face hub.
const HUB: &str = "hf:";

/// Formats of datasets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DatasetFormat {
    /// `ShareGPT`'s JSON: a list of `{"conversations": [{"from": …, "value": …}, …]}`. The first turn is the prompt;
    /// the second is the answer whose length is requested.
    Sharegpt,
    /// One JSON object per line. It has `prompt` (a text) or `messages` (of a chat, sent unchanged), and optionally
    /// `output_tokens`.
    #[default]
    Jsonl,
    /// CSV with a header line: `prompt`, and optionally `output_tokens`.
    Csv,
    /// Rows with columns, in Parquet or JSON. The JSON is a list, or an object a line; columns with common names are
    /// recognised.
    Table,
    /// Sessions, each a graph of requests whose texts or lengths the file has.
    Sessions,
}

/// Order in which rows are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RowOrder {
    /// The order of the file, then from the first row again.
    #[default]
    File,
    /// Shuffled by the seed: every row once, then every row again in another order.
    Shuffled,
}

/// Rules that leave rows out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RowFilter {
    /// Rows that `vllm bench serve` keeps of `ShareGPT`. They are conversations of at least two turns, prompts of 4 to
    /// 1,024 tokens, answers of at least 4 (unless the answer length is given), together at most 2,048 (vLLM,
    /// `vllm/benchmarks/datasets/utils.py`, `is_valid_sequence`).
    Vllm,
}

/// Findings in a file of prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetFindings {
    /// Its size, bytes.
    pub bytes: u64,
    /// SHA-256 of the whole file, hexadecimal; of several files that of their SHA-256.
    pub sha256: String,
    /// Commit of the hub that the files are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Files of the hub that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Rows that are sent.
    pub rows: u64,
    /// Rows that the filter left out.
    pub filtered_rows: u64,
    /// Unusable rows that were skipped.
    pub bad_rows: u64,
    /// Mean length of the prompts, tokens, as counted on this machine.
    pub mean_input_tokens: f64,
    /// Mean answer length that the rows request, tokens; absent where the class gives answer lengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_output_tokens: Option<f64>,
    /// Tags that rows have, each combination once. The values are in the order of [`Dataset::metadata`], empty where a
    /// row has none. Records name them by their place here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Vec<String>>,
    /// Findings about the sessions that the rows are, if they are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionFindings>,
}

impl DatasetFindings {
    /// Most combinations of tags. They are stored with each run, and tell groups of requests apart, not requests.
    pub const MOST_TAGS: usize = 4_096;

    /// Returns whether the findings are ones that a file can have. Its mean lengths are ones that prompts and answers
    /// can have, and there are no more tags than a file may have.
    fn is_plausible(&self) -> bool {
        let lengths = 0.0..=f64::from(TOKEN_LIMIT);
        lengths.contains(&self.mean_input_tokens)
            && self.mean_output_tokens.is_none_or(|mean| lengths.contains(&mean))
            && self.tags.len() <= Self::MOST_TAGS
    }
}

impl DatasetFormat {
    /// Endings of the names of files that are compressed as a whole.
    pub const PACKED: [&'static str; 2] = [".gz", ".zst"];

    /// The format that a name implies, of a file or on the hub. Compressed ones are read as tables.
    pub fn of_name(path: &str) -> Option<Self> {
        if path.starts_with(HUB) {
            return Some(Self::Table);
        }
        if let Some(plain) = Self::PACKED.iter().find_map(|packed| path.strip_suffix(packed)) {
            return Self::of_name(plain).filter(|format| *format != Self::Csv).map(|_| Self::Table);
        }
        let ending = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" => Some(Self::Sharegpt),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Table),
            _ => None,
        }
    }

    /// Its name in specs and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Dataset {
    /// The whole file at `path`, in its own order, unchanged.
    pub fn new(path: String, format: DatasetFormat) -> Self {
        Self { path, format, ..Self::default() }
    }

    /// Whether its rows are sessions.
    pub const fn has_sessions(&self) -> bool {
        matches!(self.format, DatasetFormat::Sessions)
    }

    /// Findings about its sessions, once they are read.
    pub fn sessions_found(&self) -> Option<&SessionFindings> {
        self.found.as_ref()?.sessions.as_ref()
    }

    /// Name on the hub, `ORG/NAME[@REVISION][#SPLIT]`, if it is there.
    pub fn on_hub(&self) -> Option<&str> {
        self.path.strip_prefix(HUB)
    }

    /// The sessions of a trace, if it is a file of them.
    pub(crate) fn of_trace(trace: &Trace) -> Option<Self> {
        let rules = SessionRules { layout: trace.layout, time_scale: trace.time_scale, ..SessionRules::default() };
        let skip_bad = trace.bad_lines == BadLines::Skip;
        let dataset = Self::new(trace.path.clone(), DatasetFormat::Sessions);
        trace.has_sessions().then_some(Self { skip_bad, sessions: Some(rules), ..dataset })
    }

    /// The field by which it takes a part of its rows, or another order.
    pub(in crate::workload) fn off_order(&self) -> Option<&'static str> {
        let fields = [("rows", self.rows.is_some()), ("order", self.order != RowOrder::File)];
        fields.into_iter().find_map(|(field, given)| given.then_some(field))
    }

    /// Returns the fields that do not go with its format. Each comes with a sentence that says so.
    pub(crate) fn misfits(&self) -> Vec<(&'static str, String)> {
        let name = self.format.name();
        let filter = (self.filter.is_some() && self.format != DatasetFormat::Sharegpt)
            .then(|| ("filter", format!("is a rule for sharegpt, and `format` is {name}; leave one of them out")));
        let columns = [("prompt_column", &self.prompt_column), ("output_tokens_column", &self.output_tokens_column)];
        let has_columns = matches!(self.format, DatasetFormat::Csv | DatasetFormat::Table);
        let columns = columns.into_iter().filter(|(_, given)| given.is_some() && !has_columns);
        let sentence = format!("names a column of a csv file or a table, and `format` is {name}; leave it out");
        let format = (self.on_hub().is_some()
            && !matches!(self.format, DatasetFormat::Table | DatasetFormat::Sessions))
        .then(|| ("format", format!("is {name}, and a dataset of the hub is a table; leave it out")));
        let columns = columns.map(|(field, _)| (field, sentence.clone()));
        let sessions = (self.sessions.is_some() && !self.has_sessions()).then(|| {
            ("sessions", format!("says what is made of sessions, and `format` is {name}; leave one of them out"))
        });
        let tags = (!self.metadata.is_empty() && self.has_sessions())
            .then(|| ("metadata", "names columns, and sessions have none; leave it out".to_owned()));
        let score = (self.score.is_some() && self.has_sessions())
            .then(|| ("score", "is by a column of rows, and sessions have none; leave it out".to_owned()));
        let salt = (self.salt && self.has_sessions())
            .then(|| ("salt", "is for single prompts; give `salt` of `sessions` instead".to_owned()));
        filter.into_iter().chain(columns).chain(format).chain(sessions).chain(tags).chain(score).chain(salt).collect()
    }
}

impl Fields<'_> {
    /// Reads the format of the file at `path`. The file's name implies it where it is not given.
    fn format_of(&mut self, name: &'static str, path: Option<&str>) -> Option<DatasetFormat> {
        let given = self.option(name, |value| value.variant())?;
        let path = path?;
        given.or_else(|| DatasetFormat::of_name(path)).or_else(|| {
            let path = self.text("path")?;
            let sentence = format!(
                "is {path:?}, whose extension does not imply a format; add `format`: one of sharegpt, jsonl, csv, \
                 table, sessions"
            );
            self.reject_of("path", &sentence)
        })
    }
}
