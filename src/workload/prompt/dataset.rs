//! Prompts that are taken from a file as they stand.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::workload::lengths::distribution::TOKEN_LIMIT;
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::place::SpecValue;

/// Rows of a file: more than any public dataset has, and few enough that their index fits into memory.
const ROWS: Allowed = Allowed::from(1.0, 100_000_000.0);
/// Bytes of a file.
const BYTES: Allowed = Allowed::from(0.0, 1e15);
/// Means of token counts.
const MEAN_TOKENS: Allowed = Allowed::from(0.0, TOKEN_LIMIT as f64);

/// A file of prompts: which one, how it is read, which of its rows are sent and in which order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dataset {
    /// The file. In a workload file a relative path begins at the folder of that file.
    pub path: String,
    /// How it is written; by the ending of its name when the spec does not say: `.json` is `sharegpt`, `.jsonl` and
    /// `.ndjson` are `jsonl`, `.csv` is `csv`.
    pub format: DatasetFormat,
    /// In which order rows are sent.
    pub order: RowOrder,
    /// Rows that are left out by rule; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<RowFilter>,
    /// Rows after which the file is read no further; to its end when absent. Rows that the filter leaves out and bad
    /// ones are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Whether a row that cannot be used is passed over and counted, in place of ending everything.
    pub skip_bad: bool,
    /// Whether words of its own are put before each prompt, so that no prefix cache has it; costs about five tokens.
    pub salt: bool,
    /// Of a CSV file, the name of the column with the prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_column: Option<String>,
    /// Of a CSV file, the name of the column with the lengths of answers, if it is not `output_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_column: Option<String>,
    /// What was found when the file was read; absent until it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<DatasetFindings>,
}

/// How a dataset is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DatasetFormat {
    /// `ShareGPT`'s JSON: a list of `{"conversations": [{"from": …, "value": …}, …]}`. The first turn is the prompt,
    /// the second the answer whose length is asked for.
    Sharegpt,
    /// One JSON object a line, with `prompt` (a text) or `messages` (of a chat, sent as they stand), and where it is
    /// known `output_tokens`.
    Jsonl,
    /// CSV with a line of column names: `prompt`, and where it is known `output_tokens`.
    Csv,
}

/// In which order rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// As in the file; after the last comes the first again.
    File,
    /// Shuffled by the seed: every row once, then every row once again in another order.
    Shuffled,
}

/// Rows that are left out by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowFilter {
    /// What `vllm bench serve` keeps of `ShareGPT`: conversations of at least two turns, prompts of 4 to 1,024 tokens,
    /// answers of at least 4 (unless the length of answers is given), together at most 2,048 (vLLM,
    /// `vllm/benchmarks/datasets/utils.py`, `is_valid_sequence`).
    Vllm,
}

/// What a file of prompts was found to hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetFindings {
    /// Its size, bytes.
    pub bytes: u64,
    /// SHA-256 of all of it, hexadecimal.
    pub sha256: String,
    /// Rows that are sent.
    pub rows: u64,
    /// Rows that the filter left out.
    pub filtered_rows: u64,
    /// Rows that could not be used and were passed over.
    pub bad_rows: u64,
    /// Mean length of the prompts, tokens, as far as it could be counted here.
    pub mean_input_tokens: f64,
    /// Mean length of the answers that the rows ask for, tokens; absent where the class says how long answers are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_output_tokens: Option<f64>,
}

impl DatasetFormat {
    /// Every format with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("sharegpt", Self::Sharegpt), ("jsonl", Self::Jsonl), ("csv", Self::Csv)];

    /// The format that the ending of a file's name tells.
    #[must_use]
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
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sharegpt => "sharegpt",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }
}

impl RowOrder {
    /// Every order with its name.
    pub const ALL: [(&'static str, Self); 2] = [("file", Self::File), ("shuffled", Self::Shuffled)];
}

impl RowFilter {
    /// Every filter with its name.
    pub const ALL: [(&'static str, Self); 1] = [("vllm", Self::Vllm)];
}

impl Dataset {
    /// All of the file at `path`, in its own order, as it stands.
    #[must_use]
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
            found: None,
        }
    }

    pub(crate) fn read_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let path = fields.required("path", |place| place.said());
        let format = fields.optional("format", None, |place| place.choice(&DatasetFormat::ALL).map(Some));
        let order = fields.optional("order", RowOrder::File, |place| place.choice(&RowOrder::ALL));
        let filter = fields.optional("filter", None, |place| place.choice(&RowFilter::ALL).map(Some));
        let rows = fields.optional("rows", None, |place| place.whole(ROWS).map(Some));
        let skip_bad = fields.optional("skip_bad", false, |place| place.flag());
        let salt = fields.optional("salt", false, |place| place.flag());
        let prompt_column = fields.optional("prompt_column", None, |place| place.said().map(Some));
        let output_column = fields.optional("output_tokens_column", None, |place| place.said().map(Some));
        let found = fields.optional("found", None, |place| DatasetFindings::read(place).map(Some));
        let (path, filter, prompt_column, output_column) = (path?, filter?, prompt_column?, output_column?);
        let Some(format) = format?.or_else(|| DatasetFormat::of_name(&path)) else {
            fields.complain_of(
                "path",
                &format!(
                    "is {path:?}, whose ending does not tell the format; add `format`: one of sharegpt, jsonl, csv"
                ),
            );
            return None;
        };
        if filter.is_some() && format != DatasetFormat::Sharegpt {
            let sentence =
                format!("is a rule for sharegpt, and `format` is {}; leave one of them out", format.name());
            fields.complain_of("filter", &sentence);
        }
        for (name, given) in [("prompt_column", &prompt_column), ("output_tokens_column", &output_column)] {
            if given.is_some() && format != DatasetFormat::Csv {
                let sentence = format!("names a column of a csv file, and `format` is {}", format.name());
                fields.complain_of(name, &format!("{sentence}; leave it out"));
            }
        }
        Some(Self {
            path,
            format,
            order: order?,
            filter,
            rows: rows?,
            skip_bad: skip_bad?,
            salt: salt?,
            prompt_column,
            output_tokens_column: output_column,
            found: found?,
        })
    }

    /// Lets a relative path begin at `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.path = folder.join(&self.path).display().to_string();
    }
}

impl DatasetFindings {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("what was found in a dataset", |fields| {
            let mean = |place: SpecValue<'_>| place.number(MEAN_TOKENS);
            let count = |place: SpecValue<'_>| place.whole(BYTES);
            Some(Self {
                bytes: fields.required("bytes", count)?,
                sha256: fields.required("sha256", |place| place.said())?,
                rows: fields.required("rows", count)?,
                filtered_rows: fields.required("filtered_rows", count)?,
                bad_rows: fields.required("bad_rows", count)?,
                mean_input_tokens: fields.required("mean_input_tokens", mean)?,
                mean_output_tokens: fields
                    .optional("mean_output_tokens", None, |place| mean(place).map(Some))?,
            })
        })
    }
}
