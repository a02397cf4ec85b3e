//! Judges answers by what was asked of them: their format, and the golden prompts.

use crate::engine::{AnswerText, Secrets};
use crate::record::{CheckRecord, CheckResult, FinishReason, Outcome, RequestRecord, Validity};
use crate::runner::checks::FinishedCheck;
use crate::units::cut;
use crate::workload::{AnswerShape, GoldenCheck, WorkloadSpec};

/// Contents that the answers of a run must have.
#[derive(Clone, Debug)]
pub struct AnswerJudge {
    shapes: Vec<Option<AnswerShape>>,
    checks: Vec<GoldenCheck>,
    /// Secrets that no excerpt may repeat.
    secrets: Secrets,
    /// Whether what is expected of golden answers, and what came, may be repeated.
    shows_texts: bool,
}

impl AnswerJudge {
    /// The judge of a workload's answers.
    pub fn new(workload: &WorkloadSpec, secrets: Secrets, shows_texts: bool) -> Self {
        let shapes = workload.classes.iter().map(|class| class.answer.clone()).collect();
        Self { shapes, checks: workload.checks.clone(), secrets, shows_texts }
    }

    /// Returns the record of a request, with the validity of its answer. The validity is there where its class has an
    /// answer format.
    pub fn request(&self, mut record: RequestRecord, said: Option<&AnswerText>) -> RequestRecord {
        if let Some(Some(shape)) = self.shapes.get(usize::from(record.class)) {
            record.validity = Some(validity(shape, &record, said));
        }
        record
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
