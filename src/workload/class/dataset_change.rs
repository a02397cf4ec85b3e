//! Changes that the command line makes to the datasets of a workload.

use clap::Args;
use strum::VariantNames as _;

use super::request_class::RequestClass;
use crate::workload::answer::ending::AnswerEnding;
use crate::workload::answer::scoring::Scoring;
use crate::workload::lengths::Distribution;
use crate::workload::prompt::dataset::{Dataset, DatasetFormat, RowFilter, RowOrder};
use crate::workload::prompt::session_file::{HistorySource, SaltScope};
use crate::workload::prompt::source::PromptSource;
use crate::workload::reading::{one_of, share, since};
use crate::workload::spec::WorkloadSpec;
use crate::workload::trace::layout::SessionLayout;

/// Prompts from a file, in place of the workload's, or another use of its file.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Dataset")]
pub struct DatasetChange {
    /// Send the prompts of this file, with its lengths, in place of those of the workload's only class, or those of a
    /// dataset of the Hugging Face hub: hf:ORG/NAME[@REVISION][#SPLIT] [default: the workload's]
    #[arg(id = "dataset", long = "dataset", visible_alias = "dataset-path", value_name = "FILE|hf:ORG/NAME")]
    pub path: Option<String>,

    /// How the file is written: ShareGPT's JSON list, an object a line with `prompt` or `messages`, CSV with column
    /// names, or a table in Parquet or JSON [default: by the ending of its name: .json, .jsonl or .ndjson, .csv,
    /// .parquet]
    #[arg(id = "dataset_format", long = "dataset-format", value_name = "FORMAT",
          value_parser = one_of::<DatasetFormat>(DatasetFormat::VARIANTS))]
    pub format: Option<DatasetFormat>,

    /// Columns by their role: prompt=NAME,output=NAME,answer=NAME. The output has answers or their lengths, the answer
    /// what --score expects [default: the usual names]
    #[arg(id = "dataset_columns", long = "dataset-columns", value_name = "COLUMNS", value_parser = columns)]
    pub columns: Option<[Option<String>; 3]>,

    /// Score answers against the column that --dataset-columns names as answer. Rules are exact, number, choice,
    /// contains, pattern or pattern:REGEX, json and command:PROGRAM (`guide prompts`). Answers then end by themselves
    /// [default: the workload's, else none is scored]
    #[arg(id = "score", long = "score", value_name = "RULE", value_parser = Scoring::typed)]
    pub score: Option<Scoring>,

    /// Order of its rows: `shuffled` by the seed, or as in the file [default: file]
    #[arg(id = "dataset_order", long = "dataset-order", value_name = "ORDER",
          value_parser = one_of::<RowOrder>(RowOrder::VARIANTS))]
    pub order: Option<RowOrder>,

    /// Filter of its rows: `vllm` keeps the ShareGPT conversations that `vllm bench serve` keeps, by estimate without
    /// --tokenizer [default: none]
    #[arg(id = "dataset_filter", long = "dataset-filter", value_name = "RULE",
          value_parser = one_of::<RowFilter>(RowFilter::VARIANTS))]
    pub filter: Option<RowFilter>,

    /// Rows, or sessions, after which reading stops [default: the whole file]
    #[arg(id = "dataset_rows", long = "dataset-rows", value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rows: Option<u64>,

    /// Changes to what is made of the sessions of a file.
    #[command(flatten)]
    pub sessions: SessionChange,

    /// `--skip-bad`, which is typed beside traces.
    #[arg(skip)]
    pub skip_bad: bool,
}

/// Changes to what is made of the sessions of a file. An absent field leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Sessions of a file")]
pub struct SessionChange {
    /// `--trace-format`, which is typed beside traces.
    #[arg(skip)]
    pub layout: Option<SessionLayout>,

    /// Repeat these answers in later prompts. Recorded ones give every server the same prompts; live ones are the
    /// server's own [default: recorded, where the file has them]
    #[arg(long, value_name = "ANSWERS", value_parser = one_of::<HistorySource>(HistorySource::VARIANTS))]
    pub history: Option<HistorySource>,

    /// `--time-scale` and `--trace-speed`, which are typed beside traces.
    #[arg(skip)]
    pub time_scale: Option<f64>,

    /// Cut longer delays between requests to this, in time of the file [default: none]
    #[arg(id = "idle_cap", long = "idle-cap", value_name = "TIME", value_parser = since)]
    pub idle_cap_s: Option<f64>,

    /// Begin the first session of each agent in its middle. The moment is drawn from this part of its length
    /// [default: the workload's, else its beginning]
    #[arg(id = "start_window", long = "start-window", value_name = "FROM..TO", value_parser = shares)]
    pub start: Option<[f64; 2]>,

    /// Let these requests have texts in common. They are those of a session, of all plays of a session of the file
    /// (trajectory), or of the run [default: session]
    #[arg(id = "salt_by", long = "salt-by", value_name = "SCOPE",
          value_parser = one_of::<SaltScope>(SaltScope::VARIANTS))]
    pub salt: Option<SaltScope>,
}

impl SessionChange {
    /// The first option that was typed.
    fn typed(&self) -> Option<&'static str> {
        let options = [
            ("--history", self.history.is_some()),
            ("--idle-cap", self.idle_cap_s.is_some()),
            ("--start-window", self.start.is_some()),
            ("--salt-by", self.salt.is_some()),
        ];
        options.into_iter().find_map(|(option, typed)| typed.then_some(option))
    }

    fn apply(&self, dataset: &mut Dataset) {
        if *self == Self::default() || !dataset.has_sessions() {
            return;
        }
        let rules = dataset.sessions.get_or_insert_default();
        rules.layout = self.layout.or(rules.layout);
        rules.history = self.history.or(rules.history);
        rules.time_scale = self.time_scale.unwrap_or(rules.time_scale);
        rules.idle_cap_s = self.idle_cap_s.or(rules.idle_cap_s);
        rules.start = self.start.or(rules.start);
        rules.salt = self.salt.unwrap_or(rules.salt);
    }
}

impl DatasetChange {
    /// Why `workload` cannot take this change: flag, value and cure.
    pub(in crate::workload) fn mistake(&self, workload: &WorkloadSpec) -> Option<String> {
        let WorkloadSpec { name, classes, .. } = workload;
        let replays = workload.arrival.trace().is_some();
        let is_of_sessions = self.format == Some(DatasetFormat::Sessions)
            || self.path.is_none() && classes.iter().any(RequestClass::has_session_file);
        if let Some(option) = self.sessions.typed().filter(|_| !is_of_sessions) {
            return Some(format!(
                "`{option}` is about a file of sessions, and `{name}` has none; give one with --trace, or with \
                 --dataset and --dataset-format sessions"
            ));
        }
        let named = self.columns.as_ref().is_some_and(|[.., answer]| answer.is_some());
        let scored = |class: &RequestClass| class.scoring().is_some() && self.path.is_none();
        if self.score.is_some() && !named && !classes.iter().all(scored) {
            return Some(
                "`--score` does not say where the expected answers are; name their column, as in --dataset-columns \
                 answer=NAME"
                    .to_owned(),
            );
        }
        if named && self.score.is_none() && !classes.iter().any(scored) {
            return Some(
                "`--dataset-columns` names a column of expected answers, and nothing says how answers are scored; add \
                 --score number, say"
                    .to_owned(),
            );
        }
        if let Some(path) = &self.path {
            if replays {
                return Some(format!(
                    "`--dataset` cannot be given for a trace, which `{name}` replays: both say how long requests are"
                ));
            }
            if classes.len() > 1 {
                return Some(format!(
                    "`--dataset` takes the place of the prompts of one class, and `{name}` has {}; give each its \
                     dataset in a workload file",
                    classes.len()
                ));
            }
            return self.format_of(path).is_none().then(|| {
                format!(
                    "`--dataset` is {path:?}, whose extension does not imply a format; add --dataset-format: one of \
                     sharegpt, jsonl, csv, table, sessions"
                )
            });
        }
        let flags = [
            ("--dataset-format", self.format.is_some()),
            ("--dataset-columns", self.columns.is_some()),
            ("--score", self.score.is_some()),
            ("--dataset-order", self.order.is_some()),
            ("--dataset-filter", self.filter.is_some()),
            ("--dataset-rows", self.rows.is_some()),
            // With a trace, the flag refers to its lines.
            ("--skip-bad", self.skip_bad && !replays),
        ];
        let (flag, _) = flags.into_iter().find(|(_, given)| *given)?;
        if replays && (self.rows.is_some() || self.order.is_some_and(|order| order != RowOrder::File)) {
            return Some(format!(
                "`{flag}` is about a dataset, and the sessions of `{name}` come at the moments of its trace; \
                 --trace-from and --trace-for take a part of them"
            ));
        }
        let has_dataset = classes.iter().any(|class| class.prompt.dataset().is_some());
        if has_dataset {
            return None;
        }
        Some(if flag == "--skip-bad" {
            format!(
                "`--skip-bad` is about a dataset or a trace, and `{name}` has neither; give one with --dataset or \
                 --trace"
            )
        } else {
            format!("`{flag}` is about a dataset, and `{name}` has none; give one with --dataset")
        })
    }

    /// Makes the change.
    pub(in crate::workload) fn apply(&self, classes: &mut [RequestClass]) {
        for class in classes {
            let file = self.path.as_ref().and_then(|path| Some((path, self.format_of(path)?)));
            if let Some((path, format)) = file {
                let before = class.prompt.dataset().filter(|_| format == DatasetFormat::Sessions);
                let rules = before.and_then(|dataset| dataset.sessions.clone());
                class.prompt = PromptSource::Dataset(Dataset { sessions: rules, ..Dataset::new(path.clone(), format) });
                class.input_tokens = Distribution::Dataset { mean: None };
                class.output_tokens = Distribution::Dataset { mean: None };
                if format == DatasetFormat::Sessions {
                    // The file says how requests continue, and what they have in common.
                    (class.conversation, class.session, class.shared_prefix) = (None, None, None);
                }
            }
            if let PromptSource::Dataset(dataset) = &mut class.prompt {
                dataset.format = self.format.unwrap_or(dataset.format);
                dataset.order = self.order.unwrap_or(dataset.order);
                dataset.filter = self.filter.or(dataset.filter);
                dataset.skip_bad |= self.skip_bad;
                dataset.rows = self.rows.or(dataset.rows);
                self.sessions.apply(dataset);
                let [prompt, output, answer] = self.columns.clone().unwrap_or_default();
                if let Some(scoring) = &self.score {
                    let column = dataset.score.take().map(|before| before.column).unwrap_or_default();
                    dataset.score = Some(Box::new(Scoring { column, ..scoring.clone() }));
                    class.length = AnswerEnding::Natural;
                }
                if let (Some(scoring), Some(answer)) = (&mut dataset.score, answer) {
                    scoring.column = answer;
                }
                dataset.prompt_column = prompt.or(dataset.prompt_column.take());
                dataset.output_tokens_column = output.or(dataset.output_tokens_column.take());
            }
        }
    }

    fn format_of(&self, path: &str) -> Option<DatasetFormat> {
        self.format.or_else(|| DatasetFormat::of_name(path))
    }
}

/// Reads two shares of a whole.
fn shares(text: &str) -> Result<[f64; 2], String> {
    let ends = text.split_once("..").and_then(|(from, to)| Some([share(from)?, share(to)?]));
    ends.filter(|[from, to]| 0.0 <= *from && from <= to && *to <= 1.0)
        .ok_or_else(|| "it must be two shares from 0 to 1, the lower one first, as in 0.25..0.75".to_owned())
}

/// Reads which columns have prompts and answers.
fn columns(text: &str) -> Result<[Option<String>; 3], String> {
    let mut columns = [None, None, None];
    for pair in text.split(',') {
        let (role, name) = pair.split_once('=').unwrap_or((pair, ""));
        let place = ["prompt", "output", "answer"].iter().position(|known| *known == role.trim());
        let column = place.and_then(|place| columns.get_mut(place)).filter(|_| !name.trim().is_empty());
        *column.ok_or("it must name columns as in prompt=question,output=answer")? = Some(name.trim().to_owned());
    }
    Ok(columns)
}
