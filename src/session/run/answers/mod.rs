//! Findings about answers: their tokens, where the server counts none, and whether they are right.

mod scores;
pub(super) mod tokens;

use crate::engine::{CaptureText, Secrets, SmokeReport, Targets};
use crate::generator::{PromptBuilder, TokenCounter};
use crate::live::Screen;
use crate::runner::{AnswerJudge, CollectedRun};
use crate::session::console::{Interrupts, Stop};
use crate::workload::WorkloadSpec;

/// Returns whether texts of answers are kept to be counted, and whether any are captured. A program that is to
/// score them must exist.
pub(super) fn kept(
    workload: &WorkloadSpec,
    smokes: &Targets<SmokeReport>,
    counter: Option<&TokenCounter>,
) -> Result<(CaptureText, CaptureText), Stop> {
    scores::check(workload)?;
    let kept = tokens::capture(smokes, counter);
    let is_scored = workload.classes.iter().any(|class| class.scoring().is_some());
    Ok((kept, if is_scored { CaptureText::Yes } else { kept }))
}

/// The judge of the answers of a run. It stores their texts if `save_text` says so.
pub(super) fn judge(
    workload: &WorkloadSpec,
    secrets: Secrets,
    save_text: bool,
    prompts: &PromptBuilder,
) -> AnswerJudge {
    AnswerJudge::new(workload, secrets, save_text).scoring_by(prompts.answer_keys())
}

/// Completes a run with what takes time: tokens that nothing counted, and scores by programs. Returns what is to be
/// said of answers that no program could score.
pub(super) fn complete(
    collected: &mut CollectedRun,
    prompts: &PromptBuilder,
    counter: Option<&TokenCounter>,
    interrupts: &Interrupts,
    screen: Screen,
) -> Option<String> {
    tokens::count_answers(collected, counter, interrupts, screen);
    scores::ask_programs(collected, prompts, interrupts, screen)
}
