//! Reads one row of a dataset from its bytes.

use std::collections::{BTreeMap, HashMap};

use csv::{ByteRecord, ReaderBuilder};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::BadRow;
use super::json_list::ItemPosition;
use super::messages;
use crate::generator::request::Prompt;
use crate::generator::rows::{Object, cause_of};
use crate::units::{count, cut};
use crate::workload::{DatasetFormat, TOKEN_LIMIT, tag_value};

/// A row that has been read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DatasetRow {
    pub(super) prompt: Prompt,
    pub(super) answer: AnswerLength,
    /// The values of its tags, in the order of [`RowParser::tags`]; empty where it has none.
    pub(super) tags: Vec<String>,
    /// The value that it expects of its answer, where answers are scored.
    pub(super) expected: Option<Value>,
}

/// Statement of a row about the length of its answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerLength {
    /// Nothing.
    Unknown,
    /// Nothing where it is looked for, and something elsewhere, as this sentence says.
    Elsewhere(String),
    /// Number of tokens.
    Tokens(u32),
    /// Text that is as long as the answer.
    Of(String),
}

/// Way in which the rows of a file are parsed.
#[derive(Clone, Debug)]
pub(super) struct RowParser {
    pub(super) format: DatasetFormat,
    pub(super) columns: CsvColumns,
    /// The columns, or fields, whose values are tags.
    pub(super) tags: Vec<String>,
    /// The column, or field, with the expected answer.
    pub(super) expected: Option<String>,
}

/// The columns of a CSV file that are read.
#[derive(Clone, Debug, Default)]
pub(super) struct CsvColumns {
    pub(super) prompt: usize,
    pub(super) prompt_name: String,
    pub(super) answer: Option<usize>,
    pub(super) answer_name: String,
    /// A column of another name that may hold the length of the answer. It is there where no column has the right name.
    pub(super) called: Option<String>,
    /// Places of the tags.
    pub(super) tags: Vec<usize>,
    /// Place of the expected answer.
    pub(super) expected: Option<usize>,
}

/// Names that others give the length of an answer.
pub(super) const LENGTH_NAMES: [&str; 6] =
    ["max_tokens", "max_completion_tokens", "output_len", "output_length", "completion_tokens", "max_new_tokens"];

/// A conversation of `ShareGPT`; other fields are ignored.
#[derive(Deserialize)]
struct SharegptRow {
    #[serde(alias = "conversation")]
    conversations: Option<Vec<Object<SharegptTurn>>>,
}

#[derive(Deserialize)]
struct SharegptTurn {
    #[serde(default)]
    from: String,
    value: String,
}

/// A line of JSONL; other fields are ignored.
#[derive(Deserialize)]
struct JsonlRow<'a> {
    prompt: Option<String>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    output_tokens: Option<f64>,
}

impl RowParser {
    /// Parses a row from its bytes, which begin at `place`.
    pub(super) fn parse(&self, bytes: &[u8], place: ItemPosition) -> Result<DatasetRow, BadRow> {
        match self.format {
            DatasetFormat::Sharegpt => self.with_fields(bytes, place, conversation(bytes, place)?),
            DatasetFormat::Jsonl => self.with_fields(bytes, place, line(bytes, place)?),
            DatasetFormat::Table | DatasetFormat::Sessions => {
                Err(whole(place, "the row of a table is read by its columns"))
            }
            DatasetFormat::Csv => {
                let mut record = ByteRecord::new();
                let mut reader = ReaderBuilder::new().has_headers(false).from_reader(bytes);
                let read = reader.read_byte_record(&mut record);
                read.map_err(|error| whole(place, error.to_string()))?;
                self.record(&record, place)
            }
        }
    }

    /// Reads the row of a CSV record.
    pub(super) fn record(&self, record: &ByteRecord, place: ItemPosition) -> Result<DatasetRow, BadRow> {
        let CsvColumns { prompt, prompt_name, answer, answer_name, called, tags, expected } = &self.columns;
        let named = |name: &str, cause: String| in_column(name, whole(place, cause));
        let field = |at: usize, name: &str| {
            std::str::from_utf8(record.get(at).unwrap_or_default())
                .map_err(|error| named(name, format!("it is not UTF-8: {error}")))
        };
        let prompt = field(*prompt, prompt_name)?;
        let cell = answer.map(|at| field(at, answer_name)).transpose()?.unwrap_or_default().trim();
        let answer = if cell.is_empty() {
            called.as_deref().map_or(AnswerLength::Unknown, called_otherwise)
        } else {
            let tokens = cell.parse().map_err(|_| named(answer_name, length_mistake(&format!("{cell:?}"))))?;
            AnswerLength::Tokens(length(tokens).map_err(|cause| named(answer_name, cause))?)
        };
        let tag = |(name, at): (&String, &usize)| {
            tag_value(field(*at, name)?).map_err(|mistake| named(name, format!("it {mistake}")))
        };
        let tags = self.tags.iter().zip(tags).map(tag).collect::<Result<_, _>>()?;
        let expected = expected.zip(self.expected.as_deref());
        let expected = expected.map(|(at, name)| Ok::<_, BadRow>(Value::from(field(at, name)?))).transpose()?;
        Ok(DatasetRow { prompt: Prompt::Text(prompt.to_owned()), answer, tags, expected })
    }

    /// The row of an object, with its tags and its expected answer.
    fn with_fields(&self, bytes: &[u8], place: ItemPosition, row: DatasetRow) -> Result<DatasetRow, BadRow> {
        if self.tags.is_empty() && self.expected.is_none() {
            return Ok(row);
        }
        let Object(fields): Object<HashMap<String, &RawValue>> =
            serde_json::from_slice(bytes).map_err(|error| at(place, &error))?;
        let tag = |name: &String| {
            let value = fields.get(name.as_str()).map_or("null", |value| value.get());
            tag(value).map_err(|mistake| whole(place, format!("`{name}` {mistake}")))
        };
        let tags = self.tags.iter().map(tag).collect::<Result<_, _>>()?;
        let expected = self.expected.as_deref().map(|name| {
            if let Some(value) = fields.get(name) {
                return serde_json::from_str(value.get()).map_err(|error| at(place, &error));
            }
            let fields = fields_of(bytes);
            Err(whole(place, format!("it has no `{name}`, by which answers are scored; {fields}")))
        });
        Ok(DatasetRow { tags, expected: expected.transpose()?, ..row })
    }
}

/// A tag from the JSON of its value; empty where there is none.
pub(super) fn tag(json: &str) -> Result<String, String> {
    let text = match serde_json::from_str(json).unwrap_or_default() {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Bool(_) | Value::Number(_) => json.to_owned(),
        Value::Array(_) | Value::Object(_) => {
            return Err("is no tag: a tag is a text, a number, true or false".to_owned());
        }
    };
    tag_value(&text)
}

fn conversation(bytes: &[u8], place: ItemPosition) -> Result<DatasetRow, BadRow> {
    let Object(read): Object<SharegptRow> = serde_json::from_slice(bytes).map_err(|error| at(place, &error))?;
    let Some(conversations) = read.conversations else {
        return Err(whole(place, format!("it has no `conversations`; {}", fields_of(bytes))));
    };
    let mut turns = conversations.into_iter().map(|Object(turn)| turn).peekable();
    let system = turns.next_if(|turn| turn.from == "system").map(|turn| turn.value);
    let prompt = turns.next().map(|turn| turn.value).unwrap_or_default();
    let prompt = match system {
        Some(system) => Prompt::Messages(messages::under(&system, &prompt)),
        None => Prompt::Text(prompt),
    };
    let answer = turns.next().map_or(AnswerLength::Unknown, |turn| AnswerLength::Of(turn.value));
    Ok(DatasetRow { prompt, answer, tags: Vec::new(), expected: None })
}

/// The names of the fields of a row.
fn fields_of(bytes: &[u8]) -> String {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).unwrap_or_default();
    let names = listed(fields.keys());
    if names.is_empty() { "it has no field".to_owned() } else { format!("its fields are {names}") }
}

/// The first of these names, for a message.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<_> = names.take(MOST_NAMED).map(|name| format!("`{}`", cut(name.clone(), 40))).collect();
    names.join(", ")
}

/// Fields of a row that are named.
const MOST_NAMED: usize = 12;

fn line(bytes: &[u8], place: ItemPosition) -> Result<DatasetRow, BadRow> {
    let Object(read): Object<JsonlRow<'_>> = serde_json::from_slice(bytes).map_err(|error| at(place, &error))?;
    let prompt = match (read.prompt, read.messages) {
        (Some(prompt), None) => Prompt::Text(prompt),
        (None, Some(list)) => {
            let list = list.get();
            // Offset of the list inside the line.
            let before = (list.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize) as u64;
            let inner = ItemPosition { column: place.column + before, ..place };
            messages::texts(list).map_err(|error| {
                let bad = at(inner, &error);
                BadRow { cause: format!("in `messages`: {}", bad.cause), ..bad }
            })?;
            Prompt::Messages(list.to_owned())
        }
        (Some(_), Some(_)) => {
            return Err(whole(place, "it has both `prompt` and `messages`; leave one of them out"));
        }
        (None, None) => {
            let fields = fields_of(bytes);
            return Err(whole(place, format!("it has neither `prompt` nor `messages`; {fields}: rename the prompt's")));
        }
    };
    let answer = match read.output_tokens {
        None => {
            let has = |name: &&&str| memchr::memmem::find(bytes, format!("\"{name}\"").as_bytes()).is_some();
            LENGTH_NAMES.iter().find(has).map_or(AnswerLength::Unknown, |name| called_otherwise(name))
        }
        Some(tokens) => number_length(tokens).map_err(|cause| whole(place, format!("`output_tokens` {cause}")))?,
    };
    Ok(DatasetRow { prompt, answer, tags: Vec::new(), expected: None })
}

fn called_otherwise(name: &str) -> AnswerLength {
    AnswerLength::Elsewhere(format!("`{name}` is not read: call it `output_tokens`"))
}

/// The length that a number of JSON says.
pub(super) fn number_length(tokens: f64) -> Result<AnswerLength, String> {
    number_tokens(tokens).map(AnswerLength::Tokens)
}

/// The tokens that a number of JSON says.
pub(super) fn number_tokens(tokens: f64) -> Result<u32, String> {
    // Python writes whole numbers of a column with gaps as 128.0.
    if tokens.fract() == 0.0 && tokens >= 0.0 {
        length(tokens as u64)
    } else {
        Err(length_mistake(&tokens.to_string()))
    }
}

fn length(tokens: u64) -> Result<u32, String> {
    u32::try_from(tokens)
        .ok()
        .filter(|tokens| (1..=TOKEN_LIMIT).contains(tokens))
        .ok_or_else(|| length_mistake(&tokens.to_string()))
}

fn length_mistake(found: &str) -> String {
    format!("is {found}; it must be a whole number from 1 to {}", count(TOKEN_LIMIT.into()))
}

/// A JSON error in a row that begins at `place`.
pub(super) fn at(place: ItemPosition, error: &serde_json::Error) -> BadRow {
    let (line, column) = (error.line() as u64, error.column() as u64);
    let column = if line <= 1 { place.column + column.saturating_sub(1) } else { column };
    BadRow {
        row: place.row,
        line: place.line + line.saturating_sub(1),
        column: format!(", column {column}"),
        cause: cause_of(error),
        of_options: false,
    }
}

/// A mistake of the whole row, at its beginning.
pub(super) fn whole(place: ItemPosition, cause: impl Into<String>) -> BadRow {
    // Rows that are lines begin in the first column, which says nothing.
    let column = if place.column > 1 { format!(", column {}", place.column) } else { String::new() };
    BadRow { row: place.row, line: place.line, column, cause: cause.into(), of_options: false }
}

/// The mistake in the column of a CSV file with this name.
pub(super) fn in_column(name: &str, bad: BadRow) -> BadRow {
    BadRow { column: format!(", column `{name}`"), ..bad }
}
