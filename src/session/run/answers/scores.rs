//! Scores of answers: the programs of users that decide some of them, after the load.

use std::ops::ControlFlow;

use crate::generator::PromptBuilder;
use crate::live::{Screen, StepLine};
use crate::runner::{CollectedRun, missing_program};
use crate::session::console::{Interrupts, Stop};
use crate::units::counted;
use crate::workload::{RequestClass, Scoring, WorkloadSpec};

/// Refuses a workload whose answers a program is to score that does not exist.
pub(super) fn check(spec: &WorkloadSpec) -> Result<(), Stop> {
    if !spec.has_answer_tokens() && spec.classes.iter().any(|class| class.scoring().is_some()) {
        return Err(Stop::usage(
            "answers of this endpoint are no texts, and nothing of them can be scored; leave --score out",
        ));
    }
    let missing = programs(spec).into_iter().flatten().find_map(|words| missing_program(&words));
    missing.map_or(Ok(()), |missing| {
        Err(Stop::usage(format!("{missing}\nhint: give its path, or install it; the rule is `command` of `score`")))
    })
}

/// Lets programs score answers, unless the user wants to leave. Returns what is to be said of those that they could not
/// score.
pub(super) fn ask_programs(
    collected: &mut CollectedRun,
    prompts: &PromptBuilder,
    interrupts: &Interrupts,
    screen: Screen,
) -> Option<String> {
    let all = collected.unscored() as u64;
    if all == 0 {
        return None;
    }
    let line = StepLine::counting(screen, "scoring answers", all);
    // Of the keys, since a stored workload does not have the commands.
    let keys = prompts.answer_keys();
    let programs: Vec<_> = keys.iter().map(|key| key.as_ref().and_then(|key| key.scoring.program())).collect();
    let (failed, why) = collected.score(&programs, |done| {
        line.done(done as u64);
        if interrupts.leave_is_wished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Some(format!("warning: {} could not be scored, the first because {why}", counted(failed as u64, "answer")))
}

/// The program of each class that has one.
fn programs(spec: &WorkloadSpec) -> Vec<Option<Vec<String>>> {
    let program = |class: &RequestClass| class.scoring().and_then(Scoring::program);
    spec.classes.iter().map(program).collect()
}
