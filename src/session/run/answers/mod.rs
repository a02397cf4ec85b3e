//! What is found out about answers: their tokens, where the server counts none, and whether they are right.

mod scores;
pub(super) mod tokens;

use super::context::RunContext;
use crate::engine::{CaptureText, Secrets, SmokeReport, Targets};
use crate::generator::TokenCounter;
use crate::runner::{AnswerJudge, CollectedRun};
use crate::session::console::Stop;
use crate::workload::WorkloadSpec;

/// Returns whether texts of answers are kept to be counted, and whether any are captured. A program that is to
/// score them must exist.
pub(super) fn kept(
    workload: &WorkloadSpec,
    smokes: &Targets<SmokeReport>,
    counter: Option<&TokenCounter>,
) -> Result<(CaptureText, CaptureText), Stop> {
    scores::check(workload)?;
    let counted = tokens::capture(smokes, counter);
    let is_scored = workload.classes.iter().any(|class| class.scoring().is_some());
    Ok((counted, if is_scored { CaptureText::Yes } else { counted }))
}

/// The judge of the answers of a run.
pub(super) fn judge(context: &RunContext, workload: &WorkloadSpec, secrets: Secrets) -> AnswerJudge {
    let judge = AnswerJudge::new(workload, secrets, context.settings.requests.save_text);
    judge.scoring_by(context.conditions.prompts.answer_keys())
}

/// Completes a run with what takes time: tokens that nothing counted, and scores by programs.
pub(super) fn complete(
    collected: &mut CollectedRun,
    workload: &WorkloadSpec,
    counter: Option<&TokenCounter>,
    context: &RunContext,
) {
    let RunContext { settings, interrupts, printer, .. } = context;
    tokens::count_answers(collected, counter, interrupts, settings.screen);
    let problem = scores::ask_programs(collected, workload, interrupts, settings.screen);
    problem.iter().for_each(|problem| printer.words(problem));
}
