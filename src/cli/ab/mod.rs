//! `skyline ab`: compares two servers, or two configurations of one, in interleaved rounds.

mod args;
mod plan;

use self::plan::PlannedAb;
use super::output::{exits, say_saved};
use crate::experiment::{AbDesign, AbExperiment, AbOverall, AbTest, Experiment, NotRounds, drive};
use crate::report::documents;
use crate::session::campaign::ab::AbTargets;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, folder};
use crate::workload::WorkloadSpec;

pub(super) use self::args::AbArgs;

pub(super) fn run(args: &AbArgs, printer: Printer) -> Result<Exit, Stop> {
    let campaign = &args.campaign;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let PlannedAb { runs, design, manifest } = args.plan(printer)?;
    let workload = &manifest.question.workload;
    let resumed = campaign.resume.as_deref().map(|folder| ExperimentDir::resume(folder, &manifest));
    let resumed = resumed.transpose()?;
    folder::base(&campaign.out)?;
    let empties_cache = runs.sides[0].settings.requests.reset_cache || runs.reset.is_some();
    advise(args, &design, workload, empties_cache, printer);

    let announce = campaign.live.announce(printer);
    let mut targets = AbTargets::new(&runs, design.clone(), &interrupts, printer, announce);
    interrupts.series_begins();
    let dir = if let Some(dir) = resumed {
        dir
    } else {
        targets.connect_both()?;
        ExperimentDir::create(&campaign.out, &workload.name, "ab", &manifest)?
    };
    targets.logging_to(&dir);
    let mut experiment = AbExperiment::new(design, campaign.validity.invalid_runs());
    let driven = drive(&mut experiment, &mut CampaignExecutor::new(targets, &dir, &interrupts, announce));
    if driven.is_err() {
        printer.words(&format!("what was measured is stored; resume with: {}", dir.command_to_resume(&[])));
    }
    driven?;
    finish(args, experiment.result(), &dir, printer)
}

/// Says what the rounds will be able to show, and what may spoil them.
fn advise(args: &AbArgs, design: &AbDesign, workload: &WorkloadSpec, empties_cache: bool, printer: Printer) {
    if let Some(printer) = args.campaign.live.announce(printer) {
        printer.words(&design.announcement(args.design.expected_spread));
    }
    let classes: Vec<_> = workload.classes.iter().map(|class| class.name.clone()).collect();
    if let Some(note) = design.too_few_for_classes(&classes) {
        printer.words(&note);
    }
    if args.sides.are_one_address() && !empties_cache {
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
    match found {
        Ok(test) => {
            args.campaign.show.result(printer, &test, || documents::ab(&test))?;
            say_saved(dir.folder(), Some("round-1/a"), printer);
            if test.verdict == AbOverall::Unfinished {
                printer.words(&format!("resume with: {}", dir.command_to_resume(&[])));
            }
            Ok(exits::of_ab(test.verdict, args.require))
        }
        Err(NotRounds::Nothing) => {
            let (folder, again) = (dir.folder().display(), dir.command_to_resume(&[]));
            printer.words(&format!("no round is complete; saved to {folder}; resume with: {again}"));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(Stop::impossible(error)),
    }
}
