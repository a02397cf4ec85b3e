//! Results that one answer has for several inputs, and whether they are those that were asked for.

use crate::record::{Failure, FailureKind};

/// Results that the answer to a request must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedItems {
    /// Inputs of the request.
    pub inputs: u32,
    /// The most results that are asked for (`top_n`); `None` for one of each input.
    pub most: Option<u32>,
    /// Whether vectors come as text (base64).
    pub encoded: bool,
}

impl ExpectedItems {
    /// Whether so many bytes can be a vector in the form that is asked for.
    const fn has_form(self, value: ItemValue) -> bool {
        !matches!((value, self.encoded), (ItemValue::Encoded { .. }, false) | (ItemValue::Numbers { .. }, true))
    }
}

/// A result, as far as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemValue {
    /// A vector of so many numbers.
    Numbers {
        /// Number of them.
        count: usize,
    },
    /// A vector as text.
    Encoded {
        /// Bytes of the text.
        bytes: usize,
    },
    /// A finite score.
    Score,
}

/// Results of a document, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerItems {
    /// Place of each among the inputs, where it is said, and its value or fault.
    pub(crate) all: Vec<(Option<u64>, Result<ItemValue, ItemFault>)>,
}

/// The reason why a result is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemFault {
    /// The server says that the input failed, in these words.
    Failed(String),
    /// The vector or the score is missing, or something else is in its place.
    Unread(&'static str),
}

impl AnswerItems {
    /// Judges the results of an answer from which these were expected.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with them.
    pub(crate) fn judge(&self, expected: ExpectedItems) -> Result<(), Failure> {
        let came = self.all.len();
        let malformed = |message: String| Err(Failure::new(FailureKind::Malformed, message));
        for (place, (index, item)) in self.all.iter().enumerate() {
            let input = index.map_or(place as u64, |index| index) + 1;
            match item {
                Err(ItemFault::Failed(words)) => {
                    let message = format!("input {input} of {} failed: {words}", expected.inputs);
                    return Err(Failure::new(FailureKind::StreamError, message));
                }
                Err(ItemFault::Unread(what)) => {
                    return malformed(format!("the result of input {input} has no {what}"));
                }
                Ok(value) if !expected.has_form(*value) => {
                    let (came, asked) = if expected.encoded { NUMBERS } else { (NUMBERS.1, NUMBERS.0) };
                    return malformed(format!("vectors came as {came}, and {asked} were asked for"));
                }
                Ok(_) => {}
            }
        }
        let asked = expected.most.map_or(expected.inputs, |most| most.min(expected.inputs));
        if came > 0 && asked as usize != came {
            return malformed(format!("the answer has {came} results, and {asked} were asked for"));
        }
        if came == 0 {
            return Err(Failure::new(FailureKind::Empty, "the answer has no results"));
        }
        let mut seen: Vec<u64> = self.all.iter().filter_map(|(index, _)| *index).collect();
        seen.sort_unstable();
        let has_beyond = seen.last().is_some_and(|last| *last >= expected.inputs.into());
        if has_beyond || seen.windows(2).any(|pair| pair[0] == pair[1]) || !(seen.is_empty() || seen.len() == came) {
            return malformed(format!("the results are not of different inputs: their indexes are {seen:?}"));
        }
        let sizes = || self.all.iter().filter_map(|(_, item)| size(item.as_ref().ok()?));
        match (sizes().min(), sizes().max()) {
            (Some(least), Some(most)) if least != most => {
                malformed(format!("the vectors have different sizes, {least} and {most}"))
            }
            _ => Ok(()),
        }
    }
}

/// Forms in which vectors come.
const NUMBERS: (&str, &str) = ("numbers", "text (base64)");

const fn size(value: &ItemValue) -> Option<usize> {
    match value {
        ItemValue::Numbers { count } => Some(*count),
        ItemValue::Encoded { bytes } => Some(*bytes),
        ItemValue::Score => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ExpectedItems = ExpectedItems { inputs: 2, most: None, encoded: false };

    fn judged(expected: ExpectedItems, all: &[(Option<u64>, ItemValue)]) -> String {
        let all = all.iter().map(|(index, value)| (*index, Ok(*value))).collect();
        AnswerItems { all }.judge(expected).map_or_else(|failure| failure.to_string(), |()| "right".to_owned())
    }

    #[test]
    fn each_input_has_one_result() {
        let score = ItemValue::Score;
        let vector = |count| ItemValue::Numbers { count };
        for (expected, all, says) in [
            (ONE, &[(Some(1), score), (Some(0), score)][..], "right"),
            (ONE, &[(None, vector(8)), (None, vector(8))], "right"),
            (ONE, &[(Some(0), score)], "malformed: the answer has 1 results, and 2 were asked for"),
            (ONE, &[(Some(0), score), (Some(0), score)], "their indexes are [0, 0]"),
            (ONE, &[(Some(0), score), (Some(2), score)], "their indexes are [0, 2]"),
            (ONE, &[(Some(0), score), (None, score)], "their indexes are [0]"),
            (ONE, &[(Some(0), vector(8)), (Some(1), vector(7))], "different sizes, 7 and 8"),
            (ExpectedItems { most: Some(1), ..ONE }, &[(Some(1), score)], "right"),
            (ONE, &[], "empty answer: the answer has no results"),
            (
                ExpectedItems { encoded: true, ..ONE },
                &[(Some(0), vector(8)), (Some(1), vector(8))],
                "vectors came as numbers, and text (base64) were asked for",
            ),
        ] {
            let judged = judged(expected, all);
            assert!(judged.contains(says), "{all:?}: {judged}");
        }
    }

    #[test]
    fn an_input_that_failed_is_named_with_the_servers_words() {
        let failed = Err(ItemFault::Failed("too long".to_owned()));
        let all = vec![(Some(0), Ok(ItemValue::Score)), (Some(1), failed)];
        let failure = AnswerItems { all }.judge(ONE).unwrap_err();
        assert_eq!(failure.to_string(), "error in stream: input 2 of 2 failed: too long");
        let unread = vec![(Some(0), Ok(ItemValue::Score)), (Some(1), Err(ItemFault::Unread("score")))];
        let failure = AnswerItems { all: unread }.judge(ONE).unwrap_err();
        assert_eq!(failure.to_string(), "malformed: the result of input 2 has no score");
    }
}
