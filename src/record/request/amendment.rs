//! Amendments of a record, known only after it: tokens that are counted, and answers that are scored, later.

use serde::{Deserialize, Serialize};

use super::kinds::TokenSource;
use super::outcome::{Failure, FailureKind, Outcome, Validity};
use super::record::RequestRecord;
use super::score::Score;

/// The token count of an answer, counted by a tokenizer after the run. It is a log line after the answer's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedAnswer {
    /// Index of its request.
    pub index: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// The score of an answer that a program decided after the run. It is a log line after the answer's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoredAnswer {
    /// Index of its request.
    pub index: u64,
    /// Its score.
    pub score: Score,
}

/// Something that is known of a request only after its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amendment {
    /// The tokens of its answer, by a tokenizer.
    Counted(u64),
    /// Its score, by a program.
    Scored(Score),
    /// Other answers have finish reasons.
    OthersHaveReasons,
}

impl RequestRecord {
    /// Sets the count of a tokenizer.
    pub fn count(&mut self, tokens: u64) {
        self.output_tokens = tokens;
        self.output_tokens_source = TokenSource::Tokenizer;
        self.hidden_tokens = 0;
    }

    /// Changes it by what is known only after it.
    pub(crate) fn amend(&mut self, by: Amendment) {
        match by {
            Amendment::Counted(tokens) => self.count(tokens),
            Amendment::Scored(score) => self.score = Some(score),
            Amendment::OthersHaveReasons if self.lacks_reason() => {
                let failure = Failure::new(FailureKind::Truncated, Failure::WITHOUT_REASON);
                (self.outcome, self.whole_answer) = (Outcome::Failed(failure.into()), None);
                (self.validity, self.score) = (self.validity.map(|_| Validity::NotCompleted), None);
            }
            Amendment::OthersHaveReasons => {}
        }
    }
}
