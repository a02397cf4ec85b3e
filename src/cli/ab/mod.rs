//! `skyline ab`: two servers, or two configurations of one, held against each other in interleaved rounds.

mod args;
mod asked;
mod flights;
mod ground;
mod sides;

use std::path::Path;

use self::args::Require;
use self::asked::{Asked, Question};
use self::flights::{Flights, Flown};
use self::ground::Ground;
use self::sides::Sides;
use super::flight;
use super::outcome::{self, Format, Invalid};
use crate::experiment::{AbDesign, AbOverall, AbSide, AbTest, InvalidRuns, NotRounds};
use crate::report;
use crate::session::{Exit, Interrupts, PlannedRun, Printer, Shelf, Stop, command_line, datasets, folder};
use crate::workload::WorkloadSpec;

pub(super) use self::args::AbArgs;

/// What was found, in the experiment's folder.
const FILE_NAME: &str = "ab.json";

pub(super) fn run(args: &AbArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let spec = args.work.spec(&args.load.overrides(), printer)?;
    let (spec, datasets) = datasets::open(spec, args.run.tokenizer.as_deref(), printer)?;
    let design = asked::design(args, &spec)?;
    let begun = args.resume.as_deref().and_then(Question::read);
    let salt = args.run.salt.or(begun.map(|asked| asked.salt)).unwrap_or_else(rand::random);
    let sides = Sides::of(args, salt)?;
    let asked = Asked::of(args, &sides, &spec, &design, salt)?;
    for side in AbSide::BOTH {
        sides.setup(side).check(&spec, &datasets)?;
    }
    let runs = PlannedRun::all(&spec, &datasets, design.rounds())?;
    runs.iter().try_for_each(flight::check_plan)?;
    let resumed = args.resume.as_deref().map(|folder| Shelf::resume(folder, &asked)).transpose()?;
    folder::base(&args.out)?;
    advise(args, &design, &spec, printer);

    let mut ground = Ground::new(args, &sides, &spec, &datasets, &runs, &interrupts, printer);
    interrupts.series_begins();
    let shelf = if let Some(shelf) = resumed {
        shelf
    } else {
        ground.open_both()?;
        Shelf::create(&args.out, &spec.name, "ab", &asked)?
    };
    let mut flights = Flights::new(&mut ground, &shelf, &design);
    let mut flown = Flown::default();
    let mut broken = Ok(());
    for run in &runs {
        match flights.round(run) {
            Ok(Some(pair)) => flown.push(run.number(), pair),
            Ok(None) => break,
            Err(stop) => broken = Err(stop),
        }
        broken = broken.and_then(|()| store(&flown, &design, args, &shelf));
        if broken.is_err() {
            break;
        }
    }
    if broken.is_err() {
        printer.words(&format!("what was measured is kept; go on with: {}", again(&shelf)));
    }
    broken?;
    report(args, &flown, &design, &shelf, printer)
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

/// Keeps what is known so far, so that a later accident costs nothing.
fn store(flown: &Flown, design: &AbDesign, args: &AbArgs, shelf: &Shelf) -> Result<(), Stop> {
    let test = flown.judged(design, invalid(args.validity.policy())).map_err(Stop::impossible)?;
    shelf.write(Shelf::PAGE, &report::render::html(&report::documents::ab(&test)))?;
    shelf.write(FILE_NAME, &outcome::render_ab(&test, Format::Json)?)
}

fn report(
    args: &AbArgs,
    flown: &Flown,
    design: &AbDesign,
    shelf: &Shelf,
    printer: Printer,
) -> Result<Exit, Stop> {
    let folder = shelf.folder().display();
    match flown.judged(design, invalid(args.validity.policy())) {
        Ok(test) => {
            args.show.show(printer, |format| outcome::render_ab(&test, format))?;
            printer.words(&format!(
                "kept in {folder} (show it again: skyline report {folder}; one run: skyline report {folder}/round-1/a)"
            ));
            if test.verdict == AbOverall::Unfinished {
                printer.words(&format!("go on with: {}", again(shelf)));
            }
            Ok(exit(test.verdict, args.require))
        }
        Err(NotRounds::Nothing) => {
            printer.words(&format!("no round is complete; kept in {folder}; go on with: {}", again(shelf)));
            Ok(Exit::Interrupted)
        }
        Err(error @ (NotRounds::OtherPlans { .. } | NotRounds::ServerChanged { .. })) => {
            Err(Stop::impossible(error))
        }
    }
}

/// The command line that goes on with the experiment.
fn again(shelf: &Shelf) -> String {
    let folder = shelf.folder().to_string_lossy();
    command_line::again(std::env::args_os(), &[], &[("--resume", &folder)])
}

/// The experiment that `folder` holds, judged again from its logs, and what it says to a script by what was asked of it;
/// `None` where it holds none.
pub(super) fn stored(folder: &Path, policy: Invalid) -> Result<Option<(AbTest, Exit)>, Stop> {
    let Some(asked) = Question::read(folder) else { return Ok(None) };
    let design = asked.design()?;
    let flown = flights::read(folder, design.rounds())?;
    match flown.judged(&design, invalid(policy)) {
        Ok(test) => {
            let exit = exit(test.verdict, asked.require);
            Ok(Some((test, exit)))
        }
        Err(error @ NotRounds::ServerChanged { .. }) => {
            Err(Stop::impossible(error).about(&folder.display().to_string()))
        }
        Err(error @ (NotRounds::Nothing | NotRounds::OtherPlans { .. })) => Err(Stop::usage(format!(
            "{}: {error}\nhint: fly the experiment to its end with --resume",
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

/// What the verdict says to a script.
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
