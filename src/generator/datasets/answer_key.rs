//! Expected answers of the rows of a dataset, with the rule by which answers are scored.

use serde_json::Value;

use super::error::BadRow;
use super::json_rows::FoundRow;
use super::parse::{AnswerLength, whole};
use crate::workload::{Dataset, ExpectedAnswer, RequestClass, Scoring};

/// Expected answers of a dataset, row by row.
#[derive(Clone, Debug)]
pub struct AnswerKey {
    /// The rule.
    pub scoring: Scoring,
    expected: Vec<ExpectedAnswer>,
    bytes: usize,
}

impl AnswerKey {
    /// Most bytes of expected answers, which stay in memory.
    pub(super) const MOST: usize = 1 << 30;

    /// A key without rows yet.
    pub(super) fn new(scoring: &Scoring) -> Self {
        Self { scoring: scoring.clone(), expected: Vec::new(), bytes: 0 }
    }

    /// Expected answer of a row. There is nothing where answers are not scored.
    pub(super) fn expected_by(
        dataset: &Dataset,
        class: &RequestClass,
        found: &FoundRow,
    ) -> Result<Option<ExpectedAnswer>, BadRow> {
        let Some(scoring) = &dataset.score else { return Ok(None) };
        let row = found.row.as_ref().map_err(Clone::clone)?;
        if class.output_tokens.is_of_rows() && matches!(row.answer, AnswerLength::Of(_)) {
            let cause = "its answer would be cut at the length of the expected one, and is to be scored; give the \
                         class `output_tokens`, or --output-tokens, with room for the answer";
            return Err(BadRow { of_options: true, ..whole(found.place, cause) });
        }
        let expected = scoring.expected(row.expected.as_ref().unwrap_or(&Value::Null));
        expected.map(Some).map_err(|cause| whole(found.place, format!("`{}` {cause}", scoring.column)))
    }

    /// Adds what the next row expects. Returns whether there is room for it.
    pub(super) fn keep(&mut self, expected: ExpectedAnswer) -> bool {
        self.bytes += expected.bytes();
        self.expected.push(expected);
        self.bytes <= Self::MOST
    }

    /// Whether the answer to a row is right. `None` where a program decides, or the file has no such row.
    pub fn is_right(&self, row: u64, answer: &str) -> Option<bool> {
        self.scoring.is_right(self.expected.get(usize::try_from(row).ok()?)?, answer)
    }

    /// Expected answer of a row, as the row has it, for a program.
    pub fn expected(&self, row: u64) -> Value {
        let expected = usize::try_from(row).ok().and_then(|row| self.expected.get(row));
        expected.map(ExpectedAnswer::value).unwrap_or_default()
    }
}
