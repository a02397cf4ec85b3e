//! Flies the runs that a search wants, or reads those that were flown before.

use std::sync::Arc;
use std::time::Duration;

use super::MORE;
use super::asked::Asked;
use super::at_load::at_load;
use crate::analysis::{Objective, Rule, Summary, summarise};
use crate::cli::flight::Field;
use crate::experiment::{PairedOpen, Trial, TrialRequest};
use crate::generator::Datasets;
use crate::record::RunEnding;
use crate::session::{PlannedRun, Shelf, Stop, pair};

/// What this machine can do wrong to a run's load; a server is not to be judged by such a run.
const OWN: [Rule; 3] = [Rule::DeliveredArrivals, Rule::ScheduleLag, Rule::ClientStarved];
/// Runs, one after another, that this machine may spoil before the sweep ends.
const SPOILED: u64 = 3;

/// What is added to the number of a run's texts for those of the open run beside it.
const OF_PAIRS: u64 = 1 << 32;

/// Where the runs of a sweep are flown.
pub(super) struct Flights<'a> {
    pub(super) field: &'a Field<'a>,
    pub(super) shelf: &'a Shelf,
    pub(super) asked: &'a Asked,
    pub(super) datasets: &'a Arc<Datasets>,
    pub(super) objectives: &'a [Objective],
    pub(super) pause: Duration,
    /// Whether runs are flown that this machine cannot be trusted with.
    pub(super) forced: bool,
    pub(super) course: Course,
}

/// What became of a run that was wanted.
pub(super) enum Fate {
    /// It came to its end.
    Flown(Box<Summary>),
    /// A person stopped it, or wished that it does not begin.
    Interrupted,
    /// This machine cannot be trusted with it, for the reason given.
    Beyond(String),
    /// The server was gone before its end, which this shows: it is flown again when the sweep is gone on with.
    Gone(String),
}

/// What has become of the runs so far.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Runs flown now.
    flown: u64,
    /// Runs read, which had been flown before.
    read: u64,
    /// Runs that this machine has spoiled, one after another.
    spoiled: u64,
    /// What the last of them has against it, once they are too many.
    beyond: Option<String>,
}

impl Flights<'_> {
    /// Runs that were not flown again: a sweep that was interrupted had kept them.
    pub(super) fn read(&self) -> u64 {
        self.course.read
    }

    /// The run that is wanted, read where it was flown before; `announce` is called before it is flown, and gives its place
    /// in the sweep in words.
    pub(super) fn fly(
        &mut self,
        wanted: &TrialRequest,
        announce: impl FnOnce(&TrialRequest) -> String,
    ) -> Result<Fate, Stop> {
        if let Some(reason) = &self.course.beyond {
            return Ok(Fate::Beyond(reason.clone()));
        }
        let workload = at_load(&self.asked.workload, wanted)?;
        let run = PlannedRun::alone(workload, self.datasets, MORE)?;
        if let Some(summary) = self.kept(&wanted.run, &run.plan.hash, self.objectives)? {
            self.course.read += 1;
            return Ok(self.judged(Box::new(summary)));
        }
        if self.field.interrupts.stop_is_wished() {
            return Ok(Fate::Interrupted);
        }
        if let Err(stop) = self.field.bears(&run.workload) {
            let first = stop.message().lines().next().unwrap_or_default().to_owned();
            return Ok(Fate::Beyond(first));
        }
        if self.course.flown > 0 {
            self.field.let_rest(self.pause);
            if self.field.interrupts.stop_is_wished() {
                return Ok(Fate::Interrupted);
            }
        }
        let run = run.shown_as(announce(wanted));
        self.course.flown += 1;
        let flown = self.field.fly(run, wanted.number, |_| self.shelf.place(&wanted.run))?;
        flown.stored?;
        if flown.ending == RunEnding::Interrupted {
            return Ok(Fate::Interrupted);
        }
        if let Some(reason) = Trial::server_gone(&flown.summary) {
            return Ok(Fate::Gone(reason));
        }
        Ok(self.judged(Box::new(flown.summary)))
    }

    /// What the run called `name` said when it was flown; `None` where it was not, or its server was gone.
    fn kept(&self, name: &str, plan_hash: &str, objectives: &[Objective]) -> Result<Option<Summary>, Stop> {
        let log = self.shelf.kept(name, plan_hash)?;
        let summary = log.map(|log| summarise(&log, objectives));
        Ok(summary.filter(|summary| Trial::server_gone(summary).is_none()))
    }

    /// A run that came to its end; several that this machine spoiled end the sweep.
    fn judged(&mut self, run: Box<Summary>) -> Fate {
        let reason = run.verdict.reasons.iter().find(|reason| OWN.contains(&reason.rule));
        self.course.spoiled = reason.map_or(0, |_| self.course.spoiled + 1);
        if let (Some(reason), SPOILED.., false) = (reason, self.course.spoiled, self.forced) {
            let sentence = &reason.sentence;
            self.course.beyond =
                Some(format!("{SPOILED} runs in a row were spoiled by this machine: {sentence}"));
        }
        Fate::Flown(run)
    }

    /// The open run that goes with a closed one, likewise read where it was flown before; `None` where nothing came of the
    /// closed run, a person stopped it, or the server was gone.
    pub(super) fn pair(
        &mut self,
        wanted: &TrialRequest,
        closed: &Summary,
    ) -> Result<Option<PairedOpen>, Stop> {
        let workload = at_load(&self.asked.workload, wanted)?;
        let Some(workload) = PairedOpen::workload(&workload, closed) else { return Ok(None) };
        let run = PlannedRun::alone(workload, self.datasets, MORE)?;
        let name = format!("{}/{}", wanted.run, pair::FOLDER);
        let open = if let Some(summary) = self.kept(&name, &run.plan.hash, &[])? {
            summary
        } else {
            if self.field.interrupts.stop_is_wished() {
                return Ok(None);
            }
            self.field.let_rest(self.pause);
            self.course.flown += 1;
            // Other texts, so that the closed run has not warmed the prefix cache.
            let flown = self.field.fly(run, wanted.number + OF_PAIRS, |_| self.shelf.place(&name))?;
            flown.stored?;
            flown.summary
        };
        let gone = Trial::server_gone(&open).is_some();
        Ok(if gone { None } else { PairedOpen::of(closed, &open) })
    }
}
