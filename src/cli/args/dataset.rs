//! Prompts from a file, in place of the workload's.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use crate::workload::{DatasetChange, DatasetFormat, RowFilter, RowOrder};

/// The dataset and its use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Dataset")]
pub(in crate::cli) struct DatasetArgs {
    /// Send the prompts of this file, with its lengths, in place of those of the workload's only class [default: the
    /// workload's]
    #[arg(long, value_name = "FILE")]
    dataset: Option<String>,

    /// How the file is written: ShareGPT's JSON list, an object a line with `prompt` or `messages`, or CSV with column
    /// names [default: by the ending of its name: .json, .jsonl or .ndjson, .csv]
    #[arg(long, value_name = "FORMAT", hide_possible_values = false,
          value_parser = PossibleValuesParser::new(DatasetFormat::VARIANTS)
              .try_map(|name| name.parse::<DatasetFormat>()))]
    dataset_format: Option<DatasetFormat>,

    /// Order of its rows: `shuffled` by the seed, or as in the file [default: file]
    #[arg(long, value_name = "ORDER",
          value_parser = PossibleValuesParser::new(RowOrder::VARIANTS)
              .try_map(|name| name.parse::<RowOrder>()))]
    dataset_order: Option<RowOrder>,

    /// Rows to leave out by rule: `vllm` keeps the conversations that `vllm bench serve` keeps of ShareGPT, by estimate
    /// where there is no --tokenizer [default: none]
    #[arg(long, value_name = "RULE",
          value_parser = PossibleValuesParser::new(RowFilter::VARIANTS)
              .try_map(|name| name.parse::<RowFilter>()))]
    dataset_filter: Option<RowFilter>,

    /// Ask for answers of N tokens, in every class [default: the dataset's lengths, else the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) output_tokens: Option<u32>,
}

impl DatasetArgs {
    /// What is changed; `skip_bad` is typed beside traces.
    pub(super) fn change(&self, skip_bad: bool) -> DatasetChange {
        DatasetChange {
            path: self.dataset.clone(),
            format: self.dataset_format,
            order: self.dataset_order,
            filter: self.dataset_filter,
            skip_bad,
        }
    }
}
