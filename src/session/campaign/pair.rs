//! A closed run and the open run of the same work that follows it.

use std::path::PathBuf;

use super::executor::place;
use crate::experiment::{InvalidRuns, PairedOpen, spare_for, spoiled_by};
use crate::record::{RunEnding, RunHeader};
use crate::session::console::{Printer, Stop};
use crate::session::planned::PlannedRun;
use crate::session::run::{RunContext, StoredRun};
use crate::session::settings::MachineCheck;
use crate::session::stored::open_folder;
use crate::units::three_digits;

/// How the two runs are carried out.
pub(crate) struct PairCampaign<'a> {
    pub(crate) context: &'a RunContext,
    /// Where runs are announced; absent: nowhere.
    pub(crate) announce: Option<Printer>,
    /// Whether runs that were spoiled are replaced.
    pub(crate) invalid: InvalidRuns,
    /// Whether the open run follows a closed one that stays spoiled.
    pub(crate) machine: MachineCheck,
}

impl PairCampaign<'_> {
    /// Executes `run`, or the spare one that replaces it, each in the folder that `folder` creates for it.
    pub(crate) fn closed(
        &self,
        run: &PlannedRun,
        folder: impl Fn(&RunHeader) -> Result<PathBuf, Stop>,
    ) -> Result<StoredRun, Stop> {
        self.replaced("closed run", |number| {
            let run = PlannedRun::numbered(std::slice::from_ref(run), number)?;
            self.context.execute(run, 2 * number - 1, &folder)
        })
    }

    /// Executes the open run that goes with `closed`, which ran `planned`, with prompts of its own, so that the closed run has
    /// not warmed the prefix cache; `None` where nothing came of the closed run, or one of the two was interrupted.
    pub(crate) fn open(&self, planned: &PlannedRun, closed: &StoredRun) -> Result<Option<PairedOpen>, Stop> {
        let summary = &closed.run.summary;
        let open = PairedOpen::workload(&planned.workload, summary);
        let goes_on = !self.context.interrupts.stop_is_wished() && closed.ending() != RunEnding::Aborted;
        let Some(workload) = open.filter(|_| goes_on) else { return Ok(None) };
        let replaces = self.invalid == InvalidRuns::LeftOut && self.machine != MachineCheck::Overridden;
        if let Some(why) = spoiled_by(summary).filter(|_| replaces) {
            self.say(&format!("no open run follows, because the closed one stays spoiled: {why}"));
            return Ok(None);
        }
        let rate = three_digits(workload.arrival.mean_rate_per_s());
        self.say(&format!(
            "the closed run is over; now the open one, at the {rate}/s that its users reached"
        ));
        let run = PlannedRun::like(&planned.schedule, workload)?;
        let open = self.replaced("open run", |number| {
            let run = PlannedRun::numbered(std::slice::from_ref(&run), number)?;
            let part = Some(format!("{} after the closed one, at {rate}/s", place("open run", number, 1)));
            self.context
                .execute(PlannedRun { part, ..run }, 2 * number, |_| open_folder(&closed.folder, number))
        })?;
        let whole = !matches!(open.ending(), RunEnding::Interrupted | RunEnding::Aborted);
        open.stored?;
        Ok(PairedOpen::of(summary, &open.run.summary).filter(|_| whole))
    }

    /// The run that `execute` carries out by its number, until one is not spoiled or no spare one is left.
    fn replaced(
        &self,
        noun: &str,
        mut execute: impl FnMut(u64) -> Result<StoredRun, Stop>,
    ) -> Result<StoredRun, Stop> {
        let mut number = 1;
        loop {
            let run = execute(number)?;
            let replaces = self.invalid == InvalidRuns::LeftOut && run.stored.is_ok();
            let spare = spare_for(number, &run.run.summary, noun).filter(|_| replaces);
            let Some(spare) = spare.filter(|_| !self.context.interrupts.stop_is_wished()) else {
                return Ok(run);
            };
            self.say(&spare);
            number += 1;
        }
    }

    fn say(&self, words: &str) {
        if let Some(printer) = self.announce {
            printer.words(words);
        }
    }
}
