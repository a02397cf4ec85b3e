//! Reads a dataset once: which rows are sent, their lengths, facts about the file.

use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::answer_key::AnswerKey;
use super::error::{BadRow, DatasetError};
use super::json_list::ItemPosition;
use super::json_rows::FoundRow;
use super::messages;
use super::parse::{AnswerLength, DatasetRow, RowParser, in_column, whole};
use super::pass;
use super::rows::{Index, RowEntry, RowStore};
use super::sessions;
use crate::generator::request::Prompt;
use crate::generator::tokens::tokenizer::TokenCounter;
use crate::units::{count, hexadecimal};
use crate::workload::{Dataset, DatasetFindings, DatasetFormat, ExpectedAnswer, RequestClass, RowFilter, TOKEN_LIMIT};

/// Tokens of a salted prompt's leading words: four words and an empty line.
const SALT_TOKENS: u32 = 5;

/// Result of reading a dataset.
pub(super) struct Survey {
    pub(super) index: Index,
    pub(super) findings: DatasetFindings,
    /// Whether some rows are chat messages.
    pub(super) has_messages: bool,
}

impl Survey {
    /// Reads the dataset of `class` through.
    pub(super) fn new(dataset: &Dataset, class: &RequestClass, counter: &TokenCounter) -> Result<Self, DatasetError> {
        if dataset.has_sessions() {
            return sessions::survey(dataset, class, counter);
        }
        let path = PathBuf::from(&dataset.path);
        let rule = RowRule { dataset, class, counter };
        let most = dataset.rows.map_or(usize::MAX, |rows| rows as usize);
        let mut entries = Vec::new();
        let (mut filtered, mut bad, mut has_messages) = (0, 0, false);
        let mut first = None;
        let mut tags = Tags::default();
        let mut held = Held::default();
        let mut key = dataset.score.as_deref().map(AnswerKey::new);
        let passed = pass::over(dataset, &mut |found: FoundRow| {
            match rule.judge(&found).and_then(|entry| rule.with_expected(entry, &found)) {
                Ok(Some((entry, expected))) => {
                    let row = found.row.as_ref().ok();
                    // A completion takes the system's text before the user's.
                    has_messages |= dataset.format != DatasetFormat::Sharegpt
                        && row.is_some_and(|row| matches!(row.prompt, Prompt::Messages(_)));
                    let tags = tags.number(row.map_or(&[], |row| &row.tags));
                    let cause = || {
                        let most = count(DatasetFindings::MOST_TAGS as u64);
                        format!(
                            "`metadata` has more than {most} combinations of values; leave out what only few rows share"
                        )
                    };
                    let tags = tags.ok_or_else(|| DatasetError::NoTag { path: path.clone(), cause: cause() })?;
                    entries.push(RowEntry { tags, ..entry });
                    if let (Some(key), Some(expected)) = (&mut key, expected)
                        && !key.keep(expected)
                    {
                        return Err(too_large(dataset, "expected answers", entries.len()));
                    }
                    if dataset.format == DatasetFormat::Table {
                        held.keep(dataset, found)?;
                    }
                }
                Ok(None) => filtered += 1,
                Err(row) if dataset.skip_bad => {
                    bad += 1;
                    first.get_or_insert(Box::new(row));
                }
                Err(row) => return Err(DatasetError::BadRow { path: path.clone(), row }),
            }
            Ok(if entries.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        if entries.is_empty() {
            let format = dataset.format.name();
            return Err(DatasetError::Empty { path, format, filtered, bad, first });
        }
        if let Some(name) = tags.unused(dataset) {
            let cause = format!("no row has a value for the tag `{name}`");
            return Err(DatasetError::NoTag { path, cause });
        }
        entries.shrink_to_fit();
        let mean = |tokens: fn(&RowEntry) -> u32| {
            entries.iter().map(|entry| f64::from(tokens(entry))).sum::<f64>() / entries.len() as f64
        };
        let findings = DatasetFindings {
            bytes: passed.bytes,
            sha256: hexadecimal(&passed.sha256),
            revision: passed.revision,
            files: passed.names,
            rows: entries.len() as u64,
            filtered_rows: filtered,
            bad_rows: bad,
            mean_input_tokens: mean(|entry| entry.input_tokens),
            mean_output_tokens: class.output_tokens.is_of_rows().then(|| mean(|entry| entry.output_tokens)),
            tags: tags.all,
            sessions: None,
        };
        let rows = match passed.parser {
            None => RowStore::Held(held.prompts),
            Some(parser) => {
                let file = File::open(&path).map_err(|cause| DatasetError::Unreadable { path, cause })?;
                // A row that is read again is read for its prompt.
                let parser = RowParser { tags: Vec::new(), expected: None, ..parser };
                RowStore::File { parser, file: Mutex::new(file) }
            }
        };
        let index = Index { path: dataset.path.clone(), entries, rows, key: key.map(Arc::new) };
        Ok(Self { index, findings, has_messages })
    }
}

/// The prompts of a table.
#[derive(Default)]
struct Held {
    prompts: Vec<Prompt>,
    bytes: usize,
}

impl Held {
    /// Most bytes of them.
    const MOST: usize = 1 << 30;

    fn keep(&mut self, dataset: &Dataset, found: FoundRow) -> Result<(), DatasetError> {
        let Ok(row) = found.row else { return Ok(()) };
        self.bytes += match &row.prompt {
            Prompt::Text(text) | Prompt::Messages(text) => text.len(),
            _ => 0,
        };
        self.prompts.push(row.prompt);
        if self.bytes <= Self::MOST {
            return Ok(());
        }
        Err(too_large(dataset, "prompts", self.prompts.len()))
    }
}

fn too_large(dataset: &Dataset, what: &str, kept: usize) -> DatasetError {
    let kept = count(kept as u64);
    DatasetError::NoTable {
        what: dataset.path.clone(),
        cause: format!("its first {kept} {what} take more than 1 GiB, and they stay in memory"),
        cure: "read fewer: set `rows` of the dataset in a workload file".to_owned(),
    }
}

/// The combinations of tags that rows have, each once, in the order of the rows.
#[derive(Default)]
struct Tags {
    all: Vec<Vec<String>>,
    places: HashMap<Vec<String>, u16>,
}

impl Tags {
    /// The number of these; `None` where there are too many.
    fn number(&mut self, tags: &[String]) -> Option<u16> {
        if tags.is_empty() {
            return Some(RowEntry::NO_TAGS);
        }
        if let Some(place) = self.places.get(tags) {
            return Some(*place);
        }
        let place = u16::try_from(self.all.len()).ok().filter(|_| self.all.len() < DatasetFindings::MOST_TAGS)?;
        self.places.insert(tags.to_vec(), place);
        self.all.push(tags.to_vec());
        Some(place)
    }

    /// The first tag that no row has.
    fn unused<'d>(&self, dataset: &'d Dataset) -> Option<&'d str> {
        let has = |place: usize| self.all.iter().any(|tags| tags.get(place).is_some_and(|tag| !tag.is_empty()));
        let mut names = dataset.metadata.keys().enumerate();
        names.find(|(place, _)| !has(*place)).map(|(_, name)| name.as_str())
    }
}

/// Rule that rows are checked against.
struct RowRule<'a> {
    dataset: &'a Dataset,
    class: &'a RequestClass,
    counter: &'a TokenCounter,
}

impl RowRule<'_> {
    /// The row's position and lengths; `None` where the filter leaves it out.
    fn judge(&self, found: &FoundRow) -> Result<Option<RowEntry>, BadRow> {
        let place = found.place;
        let row = found.row.as_ref().map_err(Clone::clone)?;
        if self.dataset.filter == Some(RowFilter::Vllm) && !self.vllm_keeps(row) {
            return Ok(None);
        }
        let input = self.input_tokens(&row.prompt);
        let answer_tokens = match &row.answer {
            AnswerLength::Unknown | AnswerLength::Elsewhere(_) => None,
            AnswerLength::Tokens(tokens) => Some(*tokens),
            AnswerLength::Of(answer) => Some(self.counter.count(answer)),
        };
        if input == 0 {
            return Err(self.empty(place, &row.prompt));
        }
        let input_tokens = input + if self.dataset.salt { SALT_TOKENS } else { 0 };
        if input_tokens > TOKEN_LIMIT {
            let (counted, most) = (count(input_tokens.into()), count(TOKEN_LIMIT.into()));
            return Err(whole(place, format!("the prompt has {counted} tokens; the most is {most}")));
        }
        if self.class.images.is_some() && matches!(row.prompt, Prompt::Messages(_)) {
            let cause = "it has `messages`, and the images of the class go along with a `prompt` only";
            return Err(whole(place, cause));
        }
        let (offset, bytes) = (place.offset, found.length);
        let tags = RowEntry::NO_TAGS;
        let entry = |output_tokens| RowEntry { offset, bytes, input_tokens, output_tokens, tags };
        if !self.class.output_tokens.is_of_rows() {
            return Ok(Some(entry(0)));
        }
        if let Some(output_tokens) = answer_tokens.filter(|tokens| (1..=TOKEN_LIMIT).contains(tokens)) {
            Ok(Some(entry(output_tokens)))
        } else {
            let called = match &row.answer {
                AnswerLength::Elsewhere(sentence) => format!(" ({sentence})"),
                _ => String::new(),
            };
            let cure = "give the class `output_tokens`, or --output-tokens";
            Err(whole(place, format!("it does not say how long its answer is{called}; {cure}")))
        }
    }

    /// The entry of a row with what the row expects of its answer.
    fn with_expected(
        &self,
        entry: Option<RowEntry>,
        found: &FoundRow,
    ) -> Result<Option<(RowEntry, Option<ExpectedAnswer>)>, BadRow> {
        let expected = |entry| Ok((entry, AnswerKey::expected_by(self.dataset, self.class, found)?));
        entry.map(expected).transpose()
    }

    /// Tokens of a prompt's texts, without the unknown chat template.
    fn input_tokens(&self, prompt: &Prompt) -> u32 {
        match prompt {
            Prompt::Text(text) => self.counter.count(text),
            Prompt::Dialogue(dialogue) => self.input_tokens(&Prompt::Messages(dialogue.list())),
            Prompt::Messages(list) => {
                messages::texts(list).unwrap_or_default().iter().map(|text| self.counter.count(text)).sum()
            }
            Prompt::Conversation(said) => said.iter().map(|text| self.counter.count(text)).sum(),
            Prompt::TokenIds(ids) => ids.len() as u32,
            Prompt::Audio(_) => 0,
            Prompt::Inputs { query, texts } => query.iter().chain(texts).map(|text| self.counter.count(text)).sum(),
        }
    }

    /// The error for a row whose prompt has no token.
    fn empty(&self, place: ItemPosition, prompt: &Prompt) -> BadRow {
        let cause = match (self.dataset.format, prompt) {
            (DatasetFormat::Sharegpt, _) => "`conversations` has no turn, or its first says nothing",
            (DatasetFormat::Jsonl, Prompt::Messages(_)) => "`messages` hold no text",
            (DatasetFormat::Jsonl, _) => "`prompt` is empty",
            (DatasetFormat::Csv | DatasetFormat::Table | DatasetFormat::Sessions, _) => "the prompt is empty",
        };
        let bad = whole(place, cause);
        if self.dataset.format != DatasetFormat::Csv {
            return bad;
        }
        in_column(self.dataset.prompt_column.as_deref().unwrap_or("prompt"), bad)
    }

    /// vLLM's `is_valid_sequence`, with a given answer length in place of the conversation's. It counts
    /// `tokenizer(text).input_ids`, special tokens included.
    fn vllm_keeps(&self, row: &DatasetRow) -> bool {
        /// Tokens of the shortest prompt, and of the shortest answer.
        const LEAST: u32 = 4;
        /// Tokens of the longest prompt.
        const PROMPT: u32 = 1_024;
        /// Most tokens of prompt and answer together.
        const TOGETHER: u32 = 2_048;
        let AnswerLength::Of(answer) = &row.answer else { return false };
        let prompt = match &row.prompt {
            Prompt::Text(prompt) => self.counter.count_with_special(prompt),
            other => self.input_tokens(other),
        };
        let given = &self.class.output_tokens;
        let (answer, least) = if given.is_of_rows() {
            (self.counter.count_with_special(answer), LEAST)
        } else {
            (given.mean().round() as u32, 0)
        };
        (LEAST..=PROMPT).contains(&prompt) && answer >= least && prompt.saturating_add(answer) <= TOGETHER
    }
}
