//! Flies the rounds, or reads those that were flown before.

use std::path::Path;

use super::ground::Ground;
use crate::analysis::{Summary, summarise};
use crate::experiment::{AbDesign, AbRound, AbSide, AbTest, InvalidRuns, NotRounds};
use crate::record::{RunEnding, RunLog};
use crate::session::{PlannedRun, Shelf, Stop};

/// The rounds that both sides have flown.
#[derive(Default)]
pub(super) struct Flown {
    rounds: Vec<(u64, Box<[Summary; 2]>)>,
}

impl Flown {
    pub(super) fn push(&mut self, round: u64, runs: [Summary; 2]) {
        self.rounds.push((round, Box::new(runs)));
    }

    /// What they say.
    pub(super) fn judged(&self, design: &AbDesign, invalid: InvalidRuns) -> Result<AbTest, NotRounds> {
        let rounds = self.rounds.iter().map(|(number, runs)| {
            let [a, b] = &**runs;
            AbRound { number: *number, a, b }
        });
        AbTest::of(design, &rounds.collect::<Vec<_>>(), invalid)
    }
}

/// The folder of a side's run inside that of the experiment.
pub(super) fn folder_of(round: u64, side: AbSide) -> String {
    format!("round-{round}/{}", side.name())
}

/// Whether a run was flown, or a person wished that it is not.
pub(super) enum Fate {
    /// It is there.
    There(Box<Summary>),
    /// It is not to be.
    Interrupted,
}

/// Flies runs into a shelf.
pub(super) struct Flights<'g, 'a> {
    pub(super) ground: &'g mut Ground<'a>,
    pub(super) shelf: &'g Shelf,
    pub(super) design: &'g AbDesign,
    /// Whose run was the last that was flown now.
    last: Option<AbSide>,
    /// Whether some had been flown before.
    some_read: bool,
}

impl<'g, 'a> Flights<'g, 'a> {
    pub(super) fn new(ground: &'g mut Ground<'a>, shelf: &'g Shelf, design: &'g AbDesign) -> Self {
        Self { ground, shelf, design, last: None, some_read: false }
    }

    /// Both runs of a round, in its order; `None` where a person stopped it.
    ///
    /// A run whose other half is missing is moved aside and flown anew: of a round that was broken off the two would not
    /// have been flown one after the other.
    pub(super) fn round(&mut self, run: &PlannedRun) -> Result<Option<[Summary; 2]>, Stop> {
        let names = AbSide::BOTH.map(|side| folder_of(run.number(), side));
        let kept = [self.shelf.kept(&names[0], &run.plan.hash)?, self.shelf.kept(&names[1], &run.plan.hash)?];
        if let [Some(a), Some(b)] = kept {
            self.some_read = true;
            return Ok(Some([a, b].map(|log| summarise(&log, &[]))));
        }
        names.iter().try_for_each(|name| self.shelf.set_aside(name))?;
        let mut runs = Vec::new();
        for side in AbSide::order(run.number()) {
            match self.side(run, side)? {
                Fate::There(summary) => runs.push((side, *summary)),
                Fate::Interrupted => return Ok(None),
            }
        }
        runs.sort_by_key(|(side, _)| *side == AbSide::B);
        let runs: Vec<_> = runs.into_iter().map(|(_, summary)| summary).collect();
        Ok(<[Summary; 2]>::try_from(runs).ok())
    }

    /// The run of one side.
    fn side(&mut self, run: &PlannedRun, side: AbSide) -> Result<Fate, Stop> {
        let round = run.number();
        let name = folder_of(round, side);
        let (interrupts, printer) = (self.ground.interrupts, self.ground.printer);
        if interrupts.stop_is_wished() {
            return Ok(Fate::Interrupted);
        }
        if let Some(before) = self.last {
            self.ground.rest(before);
        }
        let quiet = self.ground.args.live.quiet;
        let field = self.ground.ready(side, self.shelf.folder())?;
        if interrupts.stop_is_wished() {
            return Ok(Fate::Interrupted);
        }
        let (of, seed) = (self.design.rounds(), run.workload.seed);
        let part = format!("round {round} of {of}, {side}, seed {seed}");
        if !quiet {
            printer.words(&part);
        }
        // The same texts on both sides of a round, and others in each round.
        let flown = field.fly(run.clone().shown_as(part), round, |_| self.shelf.place(&name))?;
        flown.stored?;
        if flown.ending == RunEnding::Interrupted {
            return Ok(Fate::Interrupted);
        }
        let first = self.last.replace(side).is_none() && !self.some_read;
        if first
            && !quiet
            && let Some(guess) = self.design.first_guess(&flown.summary)
        {
            printer.words(&guess);
        }
        Ok(Fate::There(Box::new(flown.summary)))
    }
}

/// The rounds in `folder` that both sides have flown to their end, read again.
pub(super) fn read(folder: &Path, rounds: u64) -> Result<Flown, Stop> {
    let mut flown = Flown::default();
    for round in 1..=rounds {
        let logs = AbSide::BOTH.map(|side| folder.join(folder_of(round, side)));
        if logs.iter().any(|log| !log.join(RunLog::FILE_NAME).exists()) {
            continue;
        }
        let [a, b] = logs.map(|log| RunLog::read(&log).map_err(Stop::usage));
        let runs = [a?, b?];
        let whole = |log: &RunLog| {
            let ending = log.footer.as_ref().map(|footer| footer.ending);
            matches!(ending, Some(RunEnding::Finished | RunEnding::DrainLimit))
        };
        if runs.iter().all(whole) {
            flown.push(round, runs.map(|log| summarise(&log, &[])));
        }
    }
    Ok(flown)
}
