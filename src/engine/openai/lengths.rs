//! Finds the fields by which a server keeps the requested length of an answer.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::sleep;

use super::body::{BodyTemplates, LONG_ANSWER, SHORT_ANSWER, TEST_TOKENS};
use super::engine::OpenAiEngine;
use super::preflight::{LengthTest, SmokeError, SmokeReport};
use crate::engine::dialect_traits::{LengthFields, LengthForcing};
use crate::engine::protocols::limits::{MAX_COMPLETION_TOKENS, MAX_TOKENS, TOKEN_LIMITS};
use crate::engine::protocols::protocol::answers_asked;
use crate::engine::target::AnswerForm;
use crate::record::{Failure, FailureKind};

/// Test requests at the most, the first included.
const MOST_TRIED: usize = 5;
/// Time limits of test requests after one that was answered. A warm server answers those. The second limit is that of
/// whole answers, which may be without end.
const RETRY_LIMITS: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(5)];
/// Fields of the extra body that decide the length beside its limits. Some make one request several answers.
const LENGTH_SETTERS: [&str; 7] =
    ["min_tokens", "min_new_tokens", "ignore_eos", "n", "best_of", "stop", "stop_sequences"];

impl OpenAiEngine {
    /// Sends the test request. Where the answer has another length than requested, or the server does not
    /// take a field of the length, other fields are tried; the engine uses those that work. One 429 is waited
    /// for as the server asks; `refused` hears of that wait.
    ///
    /// # Errors
    ///
    /// What is wrong with the answer, with a hint.
    pub async fn tested(self, limit: Duration, refused: impl Fn(Duration)) -> Result<(Self, SmokeReport), SmokeError> {
        let retry = RETRY_LIMITS[usize::from(self.target.form == AnswerForm::Whole)];
        self.tested_within(limit, limit.min(retry), refused).await
    }

    /// Sends the test request as [`Self::tested`], with a limit of tries after an answered one.
    pub(super) async fn tested_within(
        self,
        limit: Duration,
        retry: Duration,
        refused: impl Fn(Duration),
    ) -> Result<(Self, SmokeReport), SmokeError> {
        let (own, natural) = (self.target.length_fields(), self.target.ends_naturally());
        let mut tests = LengthTests::new(own, natural, self.target.endpoint.forces);
        let (mut next, mut first_error) = (Some((own, tests.prompt(own))), None);
        let (mut waited, mut first_token) = (false, None);
        while let Some((fields, prompt)) = next.filter(|_| tests.tried.len() < MOST_TRIED) {
            // A refusal did not warm the model.
            let limit = if tests.best.is_some() { retry } else { limit };
            let mut result = self.with_length_fields(fields).smoke_test(prompt, limit).await;
            if let Some(wait) = result.as_ref().err().and_then(SmokeError::wait).filter(|_| !waited) {
                refused(wait);
                sleep(wait).await;
                waited = true;
                result = self.with_length_fields(fields).smoke_test(prompt, limit).await;
            }
            if self.sets_length() || self.target.endpoint.inputs.is_some() {
                return result.map(|report| (self, report));
            }
            next = tests.after((fields, prompt), &result);
            first_token = first_token.or(result.as_ref().ok().and_then(|report| report.first_token));
            first_error = first_error.or(result.err());
        }
        match (tests.best.take(), first_error) {
            (Some((fields, report)), _) => {
                let engine = if fields == own { self } else { self.with_length_fields(fields) };
                let ended = natural && report.length == LengthTest::EndsEarly;
                let length = if ended { LengthTest::NotTested } else { report.length };
                let tried = SmokeReport { changed: changed(own, fields), both_tried: tests.both_tried, ..report };
                Ok((engine, SmokeReport { length, first_token, forcing_tried: tests.forcing_in_words(), ..tried }))
            }
            (None, Some(error)) => Err(error),
            (None, None) => unreachable!("the first test request is answered or not"),
        }
    }

    /// Parameters of sampling and length that the extra body sets.
    fn fixed_parameters(&self) -> Option<&Map<String, Value>> {
        self.target.endpoint.parameters_in(&self.target.extra_body.0)
    }

    /// Whether the extra body decides how long answers are.
    pub fn sets_length(&self) -> bool {
        let sets = |name: &str| LENGTH_SETTERS.contains(&name) || TOKEN_LIMITS.contains(&name);
        self.fixed_parameters().is_some_and(|set| set.keys().any(|name| sets(name)))
    }

    /// Returns the most tokens of an answer for which so many are `planned`. It is `None` where the extra body leaves
    /// them open.
    pub(super) fn requested_tokens(&self, planned: u32) -> Option<u64> {
        requested(self.fixed_parameters().unwrap_or(&Map::new()), self.target.length_fields().limit, planned.into())
    }

    /// Whether requests send the planned prompts with the planned lengths.
    pub fn sends_planned_lengths(&self) -> bool {
        let cuts = |name: &str| {
            ["truncate_prompt_tokens", "truncation"].contains(&name) || self.target.endpoint.prompt_field == name
        };
        !self.sets_length() && !self.target.extra_body.0.keys().any(|name| cuts(name))
    }

    fn with_length_fields(&self, fields: LengthFields) -> Self {
        let mut other = self.clone();
        other.target.length = Some(fields);
        other.facts.length_fields = Some(other.target.length_words(fields));
        other.templates = BodyTemplates::new(&other.target, &other.model).into();
        other
    }
}

/// The fields of a test request, and its prompt.
type TestFields = (LengthFields, &'static str);

/// Findings of the test requests so far. A long answer shows whether the limit is kept, a short one whether its length
/// is forced. Only the dialect's own fields force what no limit may end.
struct LengthTests {
    own: LengthFields,
    /// Whether answers end by themselves, so that only the limit is tested.
    natural: bool,
    tried: Vec<TestFields>,
    /// Whether the limit of the last one is known to be kept.
    limit_kept: bool,
    /// The most forcing that the server does not refuse, and what it refused.
    most: LengthForcing,
    refused: Option<&'static str>,
    /// The most forcing that it answered.
    sent: LengthForcing,
    both_tried: bool,
    /// The fields to use, and what they showed.
    best: Option<(LengthFields, SmokeReport)>,
}

impl LengthTests {
    fn new(own: LengthFields, natural: bool, most: LengthForcing) -> Self {
        Self {
            own,
            natural,
            tried: Vec::new(),
            limit_kept: false,
            most,
            refused: None,
            sent: LengthForcing::None,
            both_tried: false,
            best: None,
        }
    }

    /// Returns the prompt that shows most. A short answer that is forced to the requested length shows that of the
    /// limit too.
    fn prompt(&self, fields: LengthFields) -> &'static str {
        if self.limit_kept || fields.forcing != LengthForcing::None { SHORT_ANSWER } else { LONG_ANSWER }
    }

    /// Returns the fields and the prompt to try after the outcome of a test request.
    fn after(&mut self, (fields, prompt): TestFields, result: &Result<SmokeReport, SmokeError>) -> Option<TestFields> {
        self.tried.push((fields, prompt));
        let unforced = LengthFields { forcing: LengthForcing::None, ..fields };
        let next = match result {
            Err(error) => {
                let next = refused(fields, &error.failure)?;
                if next.forcing != fields.forcing {
                    (self.most, self.refused) = (next.forcing, fields.forcing.fields());
                }
                next
            }
            Ok(report) => {
                self.judge(fields, report);
                match report.length {
                    LengthTest::Kept if prompt == LONG_ANSWER => {
                        self.limit_kept = true;
                        self.forced(fields)?
                    }
                    LengthTest::EndsEarly if self.limit_kept => self.forced(fields)?,
                    LengthTest::EndsEarly => unforced,
                    LengthTest::Ignored if !self.limit_kept => {
                        let other = unforced.with_other_limit();
                        let is_new = self.tried.iter().all(|(fields, _)| fields.limit != other.limit);
                        is_new.then_some(other)?
                    }
                    _ => return None,
                }
            }
        };
        let next = (next, self.prompt(next));
        (!self.tried.contains(&next)).then_some(next)
    }

    /// Returns the same limit with the least forcing that was not tried. It begins with the dialect's own.
    fn forced(&self, fields: LengthFields) -> Option<LengthFields> {
        let least = self.own.forcing.max(self.most);
        [LengthForcing::None, LengthForcing::IgnoreEos, LengthForcing::IgnoreEosAndMinTokens]
            .into_iter()
            .filter(|forcing| !self.natural && (self.most..=least).contains(forcing))
            .map(|forcing| LengthFields { forcing, ..fields })
            .find(|next| !self.tried.contains(&(*next, SHORT_ANSWER)))
    }

    /// Keeps what an answer shows, where that counts more than what came before.
    fn judge(&mut self, fields: LengthFields, report: &SmokeReport) {
        self.sent = self.sent.min(fields.forcing);
        let Some((used, best)) = &mut self.best else {
            self.best = Some((fields, report.clone()));
            return;
        };
        self.both_tried |= fields.limit != self.own.limit;
        match (best.length, report.length) {
            // An answer that ended early said nothing of the limit.
            (LengthTest::EndsEarly, LengthTest::Ignored) if !self.limit_kept => *best = report.clone(),
            // A limit that is kept forces nothing.
            (LengthTest::EndsEarly, LengthTest::Kept) if !self.limit_kept => {}
            (LengthTest::Ignored | LengthTest::Kept, LengthTest::EndsEarly) | (_, LengthTest::Kept) => {
                (*used, *best) = (fields, report.clone());
            }
            _ => {}
        }
    }

    /// How the server took the fields that force a length.
    fn forcing_in_words(&self) -> Option<String> {
        let sent = self.sent.fields().map(|fields| format!(", although it was sent {fields}"));
        sent.or_else(|| self.refused.map(|fields| format!(", and refuses {fields}")))
    }
}

/// Returns in words what requests do otherwise than with the dialect's own fields.
fn changed(own: LengthFields, fields: LengthFields) -> Option<String> {
    let added = match (own.forcing, fields.forcing) {
        _ if own.limit != fields.limit => None,
        (LengthForcing::None, forcing) => forcing.fields(),
        (LengthForcing::IgnoreEos, LengthForcing::IgnoreEosAndMinTokens) => Some("min_tokens"),
        _ => None,
    };
    let in_words = match added {
        Some(added) => {
            format!("answers are kept to their length with {added} too (with {own} alone the model may end them early)")
        }
        None => format!("the server does not go by {own}: requests ask for their lengths with {fields}"),
    };
    (own != fields).then_some(in_words)
}

impl SmokeReport {
    /// Returns in words what the answer shows of the requested length.
    pub fn length_in_words(&self) -> String {
        let counted = self.usage.and_then(|usage| usage.completion());
        let came = counted.map_or_else(|| format!("{} chunks", self.chunks), |tokens| format!("{tokens} tokens"));
        match self.length {
            LengthTest::Kept if counted.is_none() => {
                format!("not known: {came} for {TEST_TOKENS} tokens, which the server does not count")
            }
            LengthTest::Kept => format!("kept: {came} for {TEST_TOKENS}"),
            LengthTest::Ignored => {
                let both = || format!(", with {MAX_TOKENS} as with {MAX_COMPLETION_TOKENS}");
                let with = if self.both_tried { both() } else { String::new() };
                format!(
                    "the server ignores the requested length: {came} for {TEST_TOKENS} tokens{with}; choose its own \
                     --engine, or set its field with --extra-body"
                )
            }
            LengthTest::EndsEarly => {
                let sent = self.forcing_tried.as_deref().unwrap_or_default();
                format!(
                    "the server does not force the requested length: the model ended its answer after {came} of \
                     {TEST_TOKENS}{sent}; answers may be shorter than planned"
                )
            }
            LengthTest::NotTested => "not tested: --extra-body sets it, or answers end by themselves".to_owned(),
        }
    }
}

/// Returns the most tokens of an answer to a request with this extra body. `own` is the field of the planned length.
fn requested(extra: &Map<String, Value>, own: &str, planned: u64) -> Option<u64> {
    let named = TOKEN_LIMITS.iter().filter_map(|name| extra.get(*name)).filter(|value| !value.is_null());
    let planned = (!extra.contains_key(own)).then_some(Some(planned));
    // A length that is no number of tokens, such as -1, is no limit.
    let limits: Option<Vec<u64>> = named.map(Value::as_u64).chain(planned).collect();
    Some(limits?.into_iter().max()?.saturating_mul(answers_asked(extra)))
}

/// Returns the fields to try after a refusal that names one of these.
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

    const PLAIN: LengthFields = LengthFields { limit: MAX_COMPLETION_TOKENS, forcing: LengthForcing::None };
    const FORCED: LengthFields = LengthFields { limit: MAX_TOKENS, forcing: LengthForcing::IgnoreEosAndMinTokens };

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
            refused(fields, &Failure::new(FailureKind::HttpStatus(status), message)).map(|next| next.to_string())
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
