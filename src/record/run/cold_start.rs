//! The start of a server that was started for its runs: how long until it served, and until it was warm.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{counted, joined, seconds};

/// Times of a server's start, in seconds from the command that starts it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ColdStart {
    /// Until its port takes a connection.
    pub listening_s: Option<f64>,
    /// Until it says that it is ready.
    pub ready_s: f64,
    /// Until the first token of the first test request. Of an answer in one piece it is the answer.
    pub first_token_s: Option<f64>,
    /// Until the first of three test answers in a row that are alike. The slowest of them takes at most 1.25 times as
    /// long as the fastest, or 5 ms more. Absent where no three are.
    pub warm_s: Option<f64>,
    /// Test answers that were asked for, one at a time, after the first. Absent where none could be.
    pub test_answers: Option<u64>,
}

/// Test answers in a row that show a warm server.
const IN_A_ROW: usize = 3;
/// Largest ratio of the slowest of them to the fastest.
const ALIKE: f64 = 1.25;
/// Difference that says nothing, seconds.
const TRIFLE_S: f64 = 0.005;

impl ColdStart {
    /// Most test answers that are asked for.
    pub const MOST: usize = 20;

    /// Returns the place of the test answer from which a server is warm. It goes by how long each took, in order.
    /// `None` as long as the last three are not alike.
    pub fn warm_from(took_s: &[f64]) -> Option<usize> {
        let from = took_s.len().checked_sub(IN_A_ROW)?;
        let fastest = took_s[from..].iter().copied().fold(f64::INFINITY, f64::min);
        let are_alike = took_s[from..].iter().all(|took| *took <= (fastest * ALIKE).max(fastest + TRIFLE_S));
        are_alike.then_some(from)
    }
}

impl fmt::Display for ColdStart {
    /// Writes the times, such as `2.1 s to listening, 31 s to ready`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = [
            (self.listening_s, "listening"),
            (Some(self.ready_s), "ready"),
            (self.first_token_s, "the first token"),
            (self.warm_s, "warm"),
        ];
        let said = said.into_iter().filter_map(|(time_s, what)| Some(format!("{} to {what}", seconds(time_s?))));
        f.write_str(&joined(said, ", "))?;
        match self.test_answers.filter(|_| self.warm_s.is_none()) {
            Some(answers) => write!(f, ", not warm after {}", counted(answers, "test answer")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ColdStart;

    #[test]
    fn three_answers_that_are_alike_show_a_warm_server() {
        let warm = |took: &[f64]| ColdStart::warm_from(took);
        assert_eq!(warm(&[0.1, 0.1]), None);
        assert_eq!(warm(&[0.1, 0.11, 0.12]), Some(0));
        assert_eq!(warm(&[2.0, 0.5, 0.1]), None);
        assert_eq!(warm(&[2.0, 0.5, 0.1, 0.11, 0.1]), Some(2));
        // Of answers of a few milliseconds the difference is this machine's.
        assert_eq!(warm(&[0.001, 0.004, 0.002]), Some(0));
    }

    #[test]
    fn a_start_is_in_words_as_far_as_it_is_known() {
        let start =
            ColdStart { listening_s: Some(2.1), ready_s: 31.0, first_token_s: Some(32.5), ..Default::default() };
        let warm = ColdStart { warm_s: Some(34.0), test_answers: Some(5), ..start };
        assert_eq!(warm.to_string(), "2.1 s to listening, 31 s to ready, 32.5 s to the first token, 34 s to warm");
        let cold = ColdStart { test_answers: Some(20), listening_s: None, ..start };
        assert_eq!(cold.to_string(), "31 s to ready, 32.5 s to the first token, not warm after 20 test answers");
    }
}
