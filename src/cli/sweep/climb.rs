//! Goes through the runs of a sweep, keeps what is known after each, and holds the answer in the end.

use super::flights::{Fate, Flights};
use super::told::Told;
use crate::analysis::Summary;
use crate::cli::outcome::{self, Format};
use crate::experiment::{
    HighestLoad, Load, PairedLoad, Search, SearchStep, StopReason, Sustained, Sweep, Swept, Trial,
    TrialRequest, seed_of_run,
};
use crate::report;
use crate::session::{Shelf, Stop};

/// Folder of the run that holds the answer.
const SUSTAINED: &str = "sustained";

/// A sweep under way.
pub(super) struct Climb<'a> {
    flights: Flights<'a>,
    search: Search,
    told: Told,
    swept: Swept,
    paired: Vec<PairedLoad>,
    sustained: Option<Sustained>,
    /// What is known so far.
    answer: Option<HighestLoad>,
}

impl<'a> Climb<'a> {
    pub(super) fn new(flights: Flights<'a>, told: Told) -> Result<Self, Stop> {
        let asked = flights.asked;
        let swept = Swept {
            started_at: jiff::Timestamp::now(),
            workload: asked.workload.clone(),
            engine: flights.field.session.engine.facts().clone(),
            deployment: asked.server.deployment.clone(),
        };
        let search = Search::new(asked.plan.clone(), flights.objectives).map_err(Stop::usage)?;
        Ok(Self { flights, search, told, swept, paired: Vec::new(), sustained: None, answer: None })
    }

    /// Runs that came to their end.
    pub(super) fn runs(&self) -> usize {
        self.search.trials().len()
    }

    /// All of it.
    pub(super) fn go_up(&mut self) -> Result<Sweep, Stop> {
        let mut end = loop {
            let wanted = match self.search.next() {
                SearchStep::Measure(wanted) => wanted,
                SearchStep::Done(reason) => break End { stopped: reason, sentence: None },
            };
            match End::of(self.flown(&wanted)?) {
                Ok(_) => {}
                Err(end) => break end,
            }
        };
        self.told.read(self.flights.read());
        if !matches!(end.stopped, StopReason::Interrupted | StopReason::ServerGone) {
            let found = self.so_far(end.stopped);
            end = self.sustain(&found)?.unwrap_or(end);
        }
        let mut sweep = self.so_far(end.stopped);
        sweep.sustained.clone_from(&self.sustained);
        if let Some(sentence) = end.sentence {
            sweep.stopped_sentence = sentence;
        }
        self.keep(&sweep)?;
        Ok(sweep)
    }

    /// Has a run flown, with its pair where one is wished, and tells the search.
    fn flown(&mut self, wanted: &TrialRequest) -> Result<Fate, Stop> {
        let (told, answer) = (&self.told, self.answer.as_ref());
        let fate = self.flights.fly(wanted, |wanted| told.begins(wanted, answer))?;
        let Fate::Flown(run) = &fate else { return Ok(fate) };
        if self.search.trials().is_empty() {
            self.swept.started_at = run.run.started_at;
            self.swept.engine = run.run.engine.clone();
        }
        let trial = Trial::of(wanted, run);
        self.told.ended(&trial);
        if let (Load::Users(users), true) = (wanted.load, self.flights.asked.paired_open)
            && self.paired.iter().all(|paired| paired.users != users || !paired.pair.both_valid)
            && let Some(pair) = self.flights.pair(wanted, run)?
        {
            self.paired.retain(|paired| paired.users != users);
            self.paired.push(PairedLoad { users, run: wanted.run.clone(), pair });
        }
        self.search.record(trial);
        // Until it is over, it is as if somebody had stopped it here.
        let so_far = self.so_far(StopReason::Interrupted);
        self.keep(&so_far)?;
        self.answer = so_far.answer;
        Ok(fate)
    }

    fn so_far(&self, stopped: StopReason) -> Sweep {
        let mut sweep = Sweep::of(&self.search, self.swept.clone(), stopped);
        sweep.paired.clone_from(&self.paired);
        sweep
    }

    /// Keeps what is known.
    fn keep(&self, sweep: &Sweep) -> Result<(), Stop> {
        self.flights.shelf.write(Shelf::PAGE, &report::render::html(&report::documents::sweep(sweep)))?;
        self.flights.shelf.write(Sweep::FILE_NAME, &outcome::render_sweep(sweep, Format::Json)?)
    }

    /// Holds the highest load that passed for as long as was asked; gives what broke that off, if anything did.
    fn sustain(&mut self, sweep: &Sweep) -> Result<Option<End>, Stop> {
        let load = sweep.answer.as_ref().and_then(|answer| answer.passed);
        let (Some(seconds), Some(load)) = (self.flights.asked.sustain_s, load) else {
            return Ok(None);
        };
        let number = self.runs() as u64 + 1;
        let wanted = TrialRequest {
            number,
            load,
            repeat: 1,
            seed: seed_of_run(self.search.plan().first_seed, number),
            window_s: seconds,
            run: SUSTAINED.to_owned(),
        };
        let told = &self.told;
        match End::of(self.flights.fly(&wanted, |wanted| told.sustains(wanted))?) {
            Ok(run) => {
                self.sustained = Some(Sustained::of(&Trial::of(&wanted, &run)));
                Ok(None)
            }
            // The search is over all the same: only how its answer holds is not known.
            Err(End { stopped: StopReason::Generator, sentence }) => {
                let reason = format!("it was not flown, for {}", sentence.unwrap_or_default());
                self.sustained = Some(Sustained::unknown(load, seconds, SUSTAINED, &reason));
                Ok(None)
            }
            Err(end) => Ok(Some(end)),
        }
    }
}

/// What ended a sweep, and why where that is not the search's doing.
struct End {
    stopped: StopReason,
    sentence: Option<String>,
}

impl End {
    /// The run that was flown, or how it ended the sweep.
    fn of(fate: Fate) -> Result<Box<Summary>, Self> {
        let end = |stopped, sentence| Err(Self { stopped, sentence });
        match fate {
            Fate::Flown(run) => Ok(run),
            Fate::Interrupted => end(StopReason::Interrupted, None),
            Fate::Beyond(reason) => end(StopReason::Generator, Some(reason)),
            Fate::Gone(reason) => end(
                StopReason::ServerGone,
                Some(format!("the server is gone, or answers nothing more: {reason}")),
            ),
        }
    }
}
