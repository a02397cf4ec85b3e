//! `skyline ab`: compares two servers, or two configurations of one, in interleaved rounds.

mod args;
mod plan;
mod sides;

use std::path::Path;

use self::args::Require;
use self::plan::Question;
use super::command_line_to_resume;
use super::outcome::{self, Invalid};
use crate::experiment::{
    AbDesign, AbExperiment, AbOverall, AbTest, Experiment, InvalidRuns, NotRounds, drive,
};
use crate::session::campaign::ab::AbTargets;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::stored::StoredRuns;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};
use crate::workload::WorkloadSpec;

pub(super) use self::args::AbArgs;

pub(super) fn run(args: &AbArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let (plan, design, manifest) = args.plan(printer)?;
    let resumed =
        args.resume.as_deref().map(|folder| ExperimentDir::resume(folder, &manifest)).transpose()?;
    folder::base(&args.out)?;
    advise(args, &design, &plan.workload, printer);

    let mut targets = AbTargets::new(&plan, design.clone(), &interrupts, printer, args.live.quiet);
    interrupts.series_begins();
    let dir = if let Some(dir) = resumed {
        dir
    } else {
        targets.connect_both()?;
        ExperimentDir::create(&args.out, &plan.workload.name, "ab", &manifest)?
    };
    targets.logging_to(&dir);
    let announce = (!args.live.quiet).then_some(printer);
    let mut experiment = AbExperiment::new(design, invalid(args.validity.policy()));
    let driven = drive(&mut experiment, &mut CampaignExecutor::new(targets, &dir, &interrupts, announce));
    if driven.is_err() {
        printer.words(&format!("what was measured is kept; resume with: {}", command_line_to_resume(&dir)));
    }
    driven?;
    finish(args, experiment.result(), &dir, printer)
}

/// Says what the rounds will be able to tell, and what may spoil them.
fn advise(args: &AbArgs, design: &AbDesign, workload: &WorkloadSpec, printer: Printer) {
    if !args.live.quiet {
        printer.words(&design.announcement(args.experiment.expected_spread));
    }
    let classes: Vec<_> = workload.classes.iter().map(|class| class.name.clone()).collect();
    if let Some(note) = design.too_few_for_classes(&classes) {
        printer.words(&note);
    }
    let one_server = args.sides.are_one_address();
    if one_server && !args.run.reset_cache && args.sides.reset_cmd.is_none() {
        printer.words(
            "note: --a and --b are one server, which is asked the same twice in each round: a prefix cache is warm the \
             second time; --reset-cache empties it before each run",
        );
    }
    if design.rounds() % 2 == 1 {
        printer
            .words("note: of an odd number of rounds one side goes first once more; an even number is fair");
    }
}

/// Shows what was found, says where it is stored, and gives the exit code.
fn finish(
    args: &AbArgs,
    found: Result<AbTest, NotRounds>,
    dir: &ExperimentDir,
    printer: Printer,
) -> Result<Exit, Stop> {
    let folder = dir.folder().display();
    let again = command_line_to_resume(dir);
    match found {
        Ok(test) => {
            args.show.show(printer, |format| outcome::render_ab(&test, format))?;
            printer.words(&format!(
                "saved to {folder} (show it again: skyline report {folder}; one run: skyline report {folder}/round-1/a)"
            ));
            if test.verdict == AbOverall::Unfinished {
                printer.words(&format!("resume with: {again}"));
            }
            Ok(exit(test.verdict, args.require))
        }
        Err(NotRounds::Nothing) => {
            printer.words(&format!("no round is complete; saved to {folder}; resume with: {again}"));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(Stop::impossible(error)),
    }
}

/// The test that `folder` holds, judged again from its logs, and its exit code by what was asked of it.
pub(super) fn read(folder: &Path, policy: Invalid) -> Result<(AbTest, Exit), Stop> {
    let question = Question::read(folder).ok_or_else(|| {
        Stop::usage(format!("{}: the manifest of its A/B test cannot be read", folder.display()))
    })?;
    let mut experiment = AbExperiment::new(question.design()?, invalid(policy)).stored_only();
    drive(&mut experiment, &mut StoredRuns(folder))?;
    match experiment.result() {
        Ok(test) => {
            let exit = exit(test.verdict, question.require);
            Ok((test, exit))
        }
        Err(error @ NotRounds::ServerChanged { .. }) => {
            Err(Stop::impossible(error).about(&folder.display().to_string()))
        }
        Err(error) => Err(Stop::usage(format!(
            "{}: {error}\nhint: run the experiment to its end with --resume",
            folder.display()
        ))),
    }
}

const fn invalid(policy: Invalid) -> InvalidRuns {
    match policy {
        Invalid::Refused => InvalidRuns::LeftOut,
        Invalid::Allowed => InvalidRuns::Counted,
    }
}

/// The exit code of a verdict.
fn exit(verdict: AbOverall, require: Require) -> Exit {
    match (verdict, require) {
        (AbOverall::Unfinished, _) => Exit::Interrupted,
        (AbOverall::Invalid, _) => Exit::Invalid,
        (AbOverall::Better, _)
        | (AbOverall::Equivalent, Require::NotWorse | Require::Equivalent)
        | (AbOverall::Inconclusive, Require::NotWorse) => Exit::Fine,
        (AbOverall::Worse | AbOverall::Mixed, _)
        | (AbOverall::Equivalent, Require::Better)
        | (AbOverall::Inconclusive, Require::Equivalent | Require::Better) => Exit::Missed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_asks_decides_what_passes() {
        let passes = |require| {
            [
                AbOverall::Better,
                AbOverall::Equivalent,
                AbOverall::Inconclusive,
                AbOverall::Worse,
                AbOverall::Mixed,
            ]
            .map(|verdict| exit(verdict, require) == Exit::Fine)
        };
        assert_eq!(passes(Require::NotWorse), [true, true, true, false, false]);
        assert_eq!(passes(Require::Equivalent), [true, true, false, false, false]);
        assert_eq!(passes(Require::Better), [true, false, false, false, false]);
        assert_eq!(exit(AbOverall::Invalid, Require::NotWorse), Exit::Invalid);
        assert_eq!(exit(AbOverall::Unfinished, Require::Better), Exit::Interrupted);
    }
}
