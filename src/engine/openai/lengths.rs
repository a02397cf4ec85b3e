//! Finds the fields by which a server keeps the requested length of an answer.

use std::time::Duration;

use serde_json::{Map, Value};

use super::body::{BodyTemplates, TEST_TOKENS};
use super::engine::OpenAiEngine;
use super::preflight::{LengthTest, SmokeError, SmokeReport};
use crate::engine::dialect_traits::{LengthFields, LengthForcing};
use crate::record::{Failure, FailureKind};

/// Test requests at the most, the first included.
const MOST_TRIED: usize = 3;
/// Time limit of those after one that was answered, which a warm server answers.
const RETRY_LIMIT: Duration = Duration::from_secs(20);
/// Fields of the most tokens of an answer.
const LENGTH_LIMITS: [&str; 4] = ["max_tokens", "max_completion_tokens", "max_new_tokens", "n_predict"];
/// Fields of the extra body that decide the length themselves, or make one request several answers.
const LENGTH_SETTERS: [&str; 9] = [
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "ignore_eos",
    "n",
    "best_of",
    "stop",
    "max_new_tokens",
    "n_predict",
];

impl OpenAiEngine {
    /// Sends the test request. Where the answer has another length than requested, or the server does not take a field of
    /// the length, other fields are tried; the engine uses those that work.
    ///
    /// # Errors
    ///
    /// What is wrong with the answer, with a hint.
    pub async fn tested(self, limit: Duration) -> Result<(Self, SmokeReport), SmokeError> {
        let own = self.target.length_fields();
        let first = self.smoke_test(limit).await;
        let (mut tried, mut last, mut taken) = (vec![own], first.clone(), None);
        while tried.len() < MOST_TRIED && !self.sets_length() {
            let fields = tried[tried.len() - 1];
            let next = match &last {
                Ok(report) => other_than(fields, report.length),
                Err(error) => refused(fields, &error.failure),
            };
            let Some(next) = next.filter(|next| !tried.contains(next)) else { break };
            tried.push(next);
            let other = self.with_length_fields(next);
            // A refusal did not warm the model.
            let is_warm = last.is_ok() || taken.is_some();
            last = other.smoke_test(if is_warm { limit.min(RETRY_LIMIT) } else { limit }).await;
            if let Ok(report) = &last {
                let found = (other, SmokeReport { instead_of: Some(own.to_string()), ..report.clone() });
                if report.length == LengthTest::Kept {
                    return Ok(found);
                }
                taken.get_or_insert(found);
            }
        }
        match first {
            Ok(report) => {
                let both_tried = taken.is_some() && tried.iter().any(|fields| fields.limit != own.limit);
                Ok((self, SmokeReport { both_tried, ..report }))
            }
            // The server takes other fields than the dialect's own, though it keeps no length.
            Err(error) => taken.ok_or(error),
        }
    }

    /// Whether the extra body decides how long answers are.
    pub fn sets_length(&self) -> bool {
        LENGTH_SETTERS.iter().any(|name| self.target.extra_body.0.contains_key(*name))
    }

    /// The most tokens of an answer for which so many are planned; `None` where the extra body leaves them open.
    pub(super) fn requested_tokens(&self, planned: u32) -> Option<u64> {
        requested(&self.target.extra_body.0, self.target.length_fields().limit, planned.into())
    }

    /// Whether requests send the planned prompts with the planned lengths.
    pub fn sends_planned_lengths(&self) -> bool {
        let cuts = ["truncate_prompt_tokens", "truncation", "messages", "prompt"];
        !self.sets_length() && !cuts.iter().any(|name| self.target.extra_body.0.contains_key(*name))
    }

    fn with_length_fields(&self, fields: LengthFields) -> Self {
        let mut other = self.clone();
        other.target.length = Some(fields);
        other.facts.length_fields = Some(fields.to_string());
        other.templates = BodyTemplates::new(&other.target, &other.model).into();
        other
    }
}

impl SmokeReport {
    /// What the answer shows of the requested length.
    pub fn length_in_words(&self) -> String {
        let counted = self.usage.map(|usage| usage.completion_tokens).filter(|&tokens| tokens > 0);
        let came =
            counted.map_or_else(|| format!("{} chunks", self.chunks), |tokens| format!("{tokens} tokens"));
        match self.length {
            LengthTest::Kept if counted.is_none() => {
                format!("not known: {came} for {TEST_TOKENS} tokens, which the server does not count")
            }
            LengthTest::Kept => format!("kept: {came} for {TEST_TOKENS}"),
            LengthTest::Ignored => {
                let with =
                    if self.both_tried { ", with max_tokens as with max_completion_tokens" } else { "" };
                format!(
                    "the server ignores the requested length: {came} for {TEST_TOKENS} tokens{with}; choose its own \
                     --engine, or set its field with --extra-body"
                )
            }
            LengthTest::EndsEarly => {
                let sent = self
                    .forced_with
                    .map_or_else(String::new, |fields| format!(", although it was sent {fields}"));
                format!(
                    "the server does not force the requested length: the model ended its answer after {came} of \
                     {TEST_TOKENS}{sent}; answers may be shorter than planned"
                )
            }
            LengthTest::NotTested => "not tested: --extra-body sets it".to_owned(),
        }
    }
}

/// The most tokens of an answer to a request with this extra body; `own` is the field of the planned length.
fn requested(extra: &Map<String, Value>, own: &str, planned: u64) -> Option<u64> {
    let named = LENGTH_LIMITS.iter().filter_map(|name| extra.get(*name)).filter(|value| !value.is_null());
    let planned = (!extra.contains_key(own)).then_some(Some(planned));
    // A length that is no number of tokens, such as -1, is no limit.
    let limits: Option<Vec<u64>> = named.map(Value::as_u64).chain(planned).collect();
    let answers = ["n", "best_of"].iter().filter_map(|name| extra.get(*name)?.as_u64());
    Some(limits?.into_iter().max()?.saturating_mul(answers.max().unwrap_or(1).max(1)))
}

/// What to try after an answer to a request with these fields.
fn other_than(fields: LengthFields, length: LengthTest) -> Option<LengthFields> {
    match (length, fields.forcing) {
        (LengthTest::Ignored, _) => Some(fields.with_other_limit()),
        (LengthTest::EndsEarly, LengthForcing::None) => {
            Some(LengthFields { forcing: LengthForcing::IgnoreEos, ..fields })
        }
        (LengthTest::EndsEarly, LengthForcing::IgnoreEos) => {
            Some(LengthFields { forcing: LengthForcing::IgnoreEosAndMinTokens, ..fields })
        }
        _ => None,
    }
}

/// What to try after a refusal that names one of these fields.
fn refused(fields: LengthFields, failure: &Failure) -> Option<LengthFields> {
    if !matches!(failure.reason, FailureKind::HttpStatus(400 | 422)) {
        return None;
    }
    let names = |field: &str| failure.message.contains(field);
    match fields.forcing {
        LengthForcing::IgnoreEosAndMinTokens | LengthForcing::IgnoreEos if names("ignore_eos") => {
            Some(LengthFields { forcing: LengthForcing::None, ..fields })
        }
        LengthForcing::IgnoreEosAndMinTokens if names("min_tokens") => {
            Some(LengthFields { forcing: LengthForcing::IgnoreEos, ..fields })
        }
        _ => names(fields.limit).then(|| fields.with_other_limit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: LengthFields = LengthFields { limit: "max_completion_tokens", forcing: LengthForcing::None };
    const FORCED: LengthFields =
        LengthFields { limit: "max_tokens", forcing: LengthForcing::IgnoreEosAndMinTokens };

    #[test]
    fn the_extra_body_says_how_many_tokens_are_requested() {
        for (extra, expected) in [
            ("{}", Some(8)),
            (r#"{"max_tokens": 9000}"#, Some(9000)),
            (r#"{"max_tokens": null}"#, None),
            (r#"{"max_tokens": null, "max_completion_tokens": 64}"#, Some(64)),
            (r#"{"max_new_tokens": 64, "n": 4}"#, Some(256)),
            (r#"{"n": 2, "best_of": 3}"#, Some(24)),
            (r#"{"n_predict": -1}"#, None),
            (r#"{"ignore_eos": true, "n": null}"#, Some(8)),
        ] {
            let body = serde_json::from_str(extra).unwrap();
            assert_eq!(requested(&body, "max_tokens", 8), expected, "{extra}");
        }
    }

    #[test]
    fn a_refusal_that_names_a_field_says_what_to_try() {
        let after = |fields, status, message: &str| {
            refused(fields, &Failure::new(FailureKind::HttpStatus(status), message))
                .map(|next| next.to_string())
        };
        let openai = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                      'max_completion_tokens' instead.";
        let expected = Some("max_completion_tokens, ignore_eos and min_tokens".to_owned());
        assert_eq!(after(FORCED, 400, openai), expected);
        // transformers serve, word for word.
        let unexpected = "Unexpected fields in the request: {'ignore_eos', 'min_tokens'}";
        assert_eq!(after(FORCED, 422, unexpected), Some("max_tokens".to_owned()));
        let unknown = "extra fields not permitted: min_tokens";
        assert_eq!(after(FORCED, 400, unknown), Some("max_tokens and ignore_eos".to_owned()));
        assert_eq!(after(PLAIN, 400, "no such model"), None);
        assert_eq!(after(PLAIN, 500, "max_completion_tokens"), None);
    }
}
