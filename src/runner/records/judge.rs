//! Judges answers by what was asked of them: their format, and the golden prompts.

use std::sync::Arc;

use super::programs::UnscoredAnswer;
use crate::engine::{AnswerText, Secrets};
use crate::generator::AnswerKey;
use crate::record::{CheckRecord, CheckResult, FinishReason, Outcome, RequestRecord, Score, Validity};
use crate::runner::checks::FinishedCheck;
use crate::units::cut;
use crate::workload::{AnswerShape, GoldenCheck, WorkloadSpec};

/// Contents that the answers of a run must have.
#[derive(Clone, Debug)]
pub struct AnswerJudge {
    shapes: Vec<Option<AnswerShape>>,
    checks: Vec<GoldenCheck>,
    /// Expected answers of the rows of each class, where these are scored.
    keys: Vec<Option<Arc<AnswerKey>>>,
    /// Secrets that no excerpt may repeat.
    secrets: Secrets,
    /// Whether what is expected of golden answers, and what came, may be repeated.
    shows_texts: bool,
}

impl AnswerJudge {
    /// The judge of a workload's answers.
    pub fn new(workload: &WorkloadSpec, secrets: Secrets, shows_texts: bool) -> Self {
        let shapes = workload.classes.iter().map(|class| class.answer.clone()).collect();
        Self { shapes, checks: workload.checks.clone(), keys: Vec::new(), secrets, shows_texts }
    }

    /// Returns the judge that scores answers by these keys, class by class.
    #[must_use]
    pub fn scoring_by(self, keys: Vec<Option<Arc<AnswerKey>>>) -> Self {
        Self { keys, ..self }
    }

    /// Returns the record of a request, with the validity and the score of its answer. They are there where its class
    /// has an answer format, and scores answers to the rows of a dataset.
    pub fn request(&self, mut record: RequestRecord, row: Option<u64>, said: Option<&AnswerText>) -> RequestRecord {
        if let Some(Some(shape)) = self.shapes.get(usize::from(record.class)) {
            record.validity = Some(validity(shape, &record, said));
        }
        record.score = self
            .scored(&record, row, said)
            .and_then(|(key, row, said)| Some(Score { row, right: key.is_right(row.into(), &said.content)? }));
        record
    }

    /// Returns the answer of a request that a program is to score.
    pub(super) fn unscored(
        &self,
        record: &RequestRecord,
        row: Option<u64>,
        said: Option<&AnswerText>,
    ) -> Option<UnscoredAnswer> {
        let (key, row, said) = self.scored(record, row, said).filter(|(key, ..)| key.scoring.command.is_some())?;
        let (class, answer) = (record.class, said.content.clone());
        Some(UnscoredAnswer { index: record.index, class, row, expected: key.expected(row.into()), answer })
    }

    /// The complete answer of a request whose class scores answers, with its row.
    fn scored<'a>(
        &'a self,
        record: &RequestRecord,
        row: Option<u64>,
        said: Option<&'a AnswerText>,
    ) -> Option<(&'a AnswerKey, u32, &'a AnswerText)> {
        let key = self.keys.get(usize::from(record.class))?.as_deref()?;
        // Of those whose clients were to leave, only the short answers are whole.
        let said = said.filter(|_| record.outcome == Outcome::Completed && !record.leaves)?;
        Some((key, u32::try_from(row?).ok()?, said))
    }

    /// The record of a golden prompt.
    pub fn check(&self, asked: FinishedCheck) -> CheckRecord {
        let FinishedCheck { check, released, end } = asked;
        let usage = end.as_ref().and_then(|end| end.usage);
        let (result, excerpt) = match end.map(|end| (end.result, end.captured)) {
            None => (CheckResult::CutOff, None),
            Some((Err(failure), _)) => (CheckResult::Unanswered(failure), None),
            Some((Ok(()), captured)) => {
                let excerpt = |text| cut(self.secrets.hide(text), CheckRecord::EXCERPT_LIMIT);
                let said = captured.map(|captured| captured.read().content).unwrap_or_default();
                let expect = self.checks.get(usize::from(check)).map(|check| &check.expect);
                let result = match expect.and_then(|expect| expect.unmet(&said, self.shows_texts)) {
                    None => CheckResult::Passed,
                    Some(why) => CheckResult::Unmet { why: excerpt(why) },
                };
                (result, self.shows_texts.then(|| excerpt(said)))
            }
        };
        CheckRecord { check, released, result, excerpt, usage }
    }
}

fn validity(shape: &AnswerShape, record: &RequestRecord, said: Option<&AnswerText>) -> Validity {
    let (Outcome::Completed, Some(said)) = (&record.outcome, said) else { return Validity::NotCompleted };
    let calls = said.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str()));
    match shape.judge(&said.content, calls) {
        Ok(()) => Validity::Valid,
        Err(_) if record.finish_reason == Some(FinishReason::Length) => Validity::CutAtLimit,
        Err(fault) => Validity::Invalid { fault },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Datasets, TokenCounter};

    #[test]
    fn the_text_of_a_complete_answer_is_scored_as_it_came_and_its_reasoning_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "{\"prompt\": \"6 x 7?\", \"answer\": 42}\n").unwrap();
        let text = "name = \"w\"\narrival = { kind = \"poisson\", rate_per_s = 1 }\n[[classes]]\nname = \"c\"\n\
                    output_tokens = { kind = \"constant\", value = 9 }\n[classes.prompt]\nkind = \"dataset\"\n\
                    path = \"PATH\"\nscore = { rule = \"number\", column = \"answer\" }";
        let text = text.replace("PATH", path.to_str().unwrap());
        let spec = WorkloadSpec::from_toml(&text, "a test").unwrap();
        let (spec, datasets) = Datasets::open(spec, &TokenCounter::Estimate).unwrap();
        let judge = AnswerJudge::new(&spec, Secrets::default(), false).scoring_by(datasets.answer_keys());
        let score = |outcome, content: &str, row| {
            let said = AnswerText { content: content.to_owned(), reasoning: "42".to_owned(), ..AnswerText::default() };
            let finish_reason = Some(FinishReason::Length);
            let record = RequestRecord { outcome, finish_reason, ..RequestRecord::default() };
            judge.request(record, row, Some(&said)).score.map(|score| score.right)
        };
        assert_eq!(score(Outcome::Completed, "It is 42", Some(0)), Some(true), "cut, and right all the same");
        assert_eq!(score(Outcome::Completed, "It is 4", Some(0)), Some(false), "its reasoning has the number");
        assert_eq!(score(Outcome::Censored, "It is 42", Some(0)), None);
        assert_eq!(score(Outcome::Completed, "It is 42", None), None, "a later turn has no row");
    }

    #[test]
    fn an_answer_of_another_form_that_the_length_limit_cut_says_nothing() {
        let shape = AnswerShape::Json { in_slo: false };
        let judged = |content: &str, finish_reason| {
            let outcome = Outcome::Completed;
            let record = RequestRecord { outcome, finish_reason, ..RequestRecord::default() };
            let said = AnswerText { content: content.to_owned(), ..AnswerText::default() };
            validity(&shape, &record, Some(&said))
        };
        assert_eq!(judged("{\"city\": \"Os", Some(FinishReason::Length)), Validity::CutAtLimit);
        for complete in [Some(FinishReason::Stop), None] {
            let found = judged("{\"city\": \"Os", complete);
            assert!(matches!(found, Validity::Invalid { .. }), "{found:?}");
        }
        assert_eq!(judged("{\"city\": \"Oslo\"}", Some(FinishReason::Length)), Validity::Valid);
    }
}
