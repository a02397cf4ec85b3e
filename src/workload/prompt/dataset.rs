//! Prompts taken unchanged from a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::workload::lengths::TOKEN_LIMIT;
use crate::workload::metadata::read_tag_columns;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::value::Allowed;

/// Rows of a file: more than any public dataset has, and few enough for an index in memory.
const ROWS: Allowed = Allowed::from(1.0, 100_000_000.0);

/// A file of prompts: its format, which rows are sent and in which order.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dataset {
    /// The file. In a workload file a relative path begins at the folder of that file.
    pub path: String,
    /// Its format; by default from the file name: `.json` is `sharegpt`, `.jsonl` and `.ndjson` are `jsonl`, `.csv`
    /// is `csv`.
    pub format: DatasetFormat,
    /// Order in which rows are sent.
    pub order: RowOrder,
    /// Rule that leaves rows out; none when absent.
    pub filter: Option<RowFilter>,
    /// Number of rows after which reading stops; the whole file when absent. Filtered and unusable rows do not count.
    pub rows: Option<u64>,
    /// Whether an unusable row is skipped and counted, instead of ending everything.
    pub skip_bad: bool,
    /// Whether unique words precede each prompt, so that no prefix cache holds it; costs about five tokens.
    pub salt: bool,
    /// Name of the prompt column of a CSV file.
    pub prompt_column: Option<String>,
    /// Name of the column with answer lengths of a CSV file, if it is not `output_tokens`.
    pub output_tokens_column: Option<String>,
    /// The columns, or fields, of its rows that are tags of their requests: each tag with its column. In a file also a
    /// list of columns, whose names are then the tags.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What the file was found to hold; absent until it is read.
    pub found: Option<DatasetFindings>,
}

/// Formats of datasets.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DatasetFormat {
    /// `ShareGPT`'s JSON: a list of `{"conversations": [{"from": …, "value": …}, …]}`. The first turn is the prompt;
    /// the second is the answer whose length is requested.
    Sharegpt,
    /// One JSON object per line, with `prompt` (a text) or `messages` (of a chat, sent unchanged), and optionally
    /// `output_tokens`.
    Jsonl,
    /// CSV with a header line: `prompt`, and optionally `output_tokens`.
    Csv,
}

/// Order in which rows are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RowOrder {
    /// As in the file, then from the first row again.
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
    /// What `vllm bench serve` keeps of `ShareGPT`: conversations of at least two turns, prompts of 4 to 1,024
    /// tokens, answers of at least 4 (unless the answer length is given), together at most 2,048 (vLLM,
    /// `vllm/benchmarks/datasets/utils.py`, `is_valid_sequence`).
    Vllm,
}

/// What a file of prompts was found to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetFindings {
    /// Its size, bytes.
    pub bytes: u64,
    /// SHA-256 of the whole file, hexadecimal.
    pub sha256: String,
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
    /// The tags that rows have, each combination once: the values in the order of [`Dataset::metadata`],
    /// empty where a row has none. Records name them by their place here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Vec<String>>,
}

impl DatasetFindings {
    /// Most combinations of tags: they are stored with each run, and tell groups of requests apart, not requests.
    pub const MOST_TAGS: usize = 4_096;

    /// Whether the mean lengths are ones that prompts and answers can have, and there are no more tags than a
    /// file may have.
    fn is_plausible(&self) -> bool {
        let lengths = 0.0..=f64::from(TOKEN_LIMIT);
        lengths.contains(&self.mean_input_tokens)
            && self.mean_output_tokens.is_none_or(|mean| lengths.contains(&mean))
            && self.tags.len() <= Self::MOST_TAGS
    }
}

impl DatasetFormat {
    /// The format that a file name's extension implies.
    pub fn of_name(path: &str) -> Option<Self> {
        let ending = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" => Some(Self::Sharegpt),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
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
        Self {
            path,
            format,
            order: RowOrder::File,
            filter: None,
            rows: None,
            skip_bad: false,
            salt: false,
            prompt_column: None,
            output_tokens_column: None,
            metadata: BTreeMap::new(),
            found: None,
        }
    }

    pub(crate) fn read_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let path = fields.required("path", |value| value.nonblank());
        let format = fields.option("format", |value| value.variant());
        let dataset = Self {
            order: fields.or("order", RowOrder::File, |value| value.variant()),
            filter: fields.maybe("filter", |value| value.variant()),
            rows: fields.maybe("rows", |value| value.whole(ROWS)),
            skip_bad: fields.or("skip_bad", false, |value| value.flag()),
            salt: fields.or("salt", false, |value| value.flag()),
            prompt_column: fields.maybe("prompt_column", |value| value.nonblank()),
            output_tokens_column: fields.maybe("output_tokens_column", |value| value.nonblank()),
            metadata: fields.or("metadata", BTreeMap::new(), read_tag_columns),
            found: fields.maybe("found", |value| value.stored(DatasetFindings::is_plausible)),
            ..Self::new(path?, DatasetFormat::Jsonl)
        };
        let path = &dataset.path;
        let Some(format) = format?.or_else(|| DatasetFormat::of_name(path)) else {
            let sentence = format!(
                "is {path:?}, whose extension does not imply a format; add `format`: one of sharegpt, jsonl, csv"
            );
            return fields.reject_of("path", &sentence);
        };
        let (name, csv) = (format.name(), format == DatasetFormat::Csv);
        if dataset.filter.is_some() && format != DatasetFormat::Sharegpt {
            let sentence = format!("is a rule for sharegpt, and `format` is {name}; leave one of them out");
            fields.complain_of("filter", &sentence);
        }
        for (field, given) in [
            ("prompt_column", &dataset.prompt_column),
            ("output_tokens_column", &dataset.output_tokens_column),
        ] {
            if given.is_some() && !csv {
                let sentence = format!("names a column of a csv file, and `format` is {name}; leave it out");
                fields.complain_of(field, &sentence);
            }
        }
        Some(Self { format, ..dataset })
    }

    /// Makes a relative path begin at `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.path = folder.join(&self.path).display().to_string();
    }
}
