//! Goes through the runs of a sweep, keeps what is known after each, and holds the answer in the end.

use super::flights::{Fate, Flights};
use super::told::Told;
use crate::cli::exit::Stop;
use crate::cli::outcome::{self, Format};
use crate::cli::shelf::Shelf;
use crate::experiment::{
    HighestLoad, Load, PairedLoad, Search, Step, StopReason, Sustained, Sweep, Swept, Trial, Wanted,
    seed_of_run,
};
use crate::report;

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
        let (stopped, reason) = loop {
            let wanted = match self.search.next() {
                Step::Measure(wanted) => wanted,
                Step::Done(reason) => break (reason, None),
            };
            match self.flown(&wanted)? {
                Fate::Flown(_) => {}
                Fate::Interrupted => break (StopReason::Interrupted, None),
                Fate::Beyond(reason) => break (StopReason::Generator, Some(reason)),
            }
        };
        self.told.read(self.flights.read());
        let mut sweep = self.so_far(stopped);
        if stopped != StopReason::Interrupted && self.sustain(&sweep)? == Sustain::Interrupted {
            sweep = self.so_far(StopReason::Interrupted);
        }
        sweep.sustained.clone_from(&self.sustained);
        if let Some(reason) = reason {
            sweep.stopped_sentence = reason;
        }
        self.keep(&sweep)?;
        Ok(sweep)
    }

    /// Has a run flown, with its pair where one is wished, and tells the search.
    fn flown(&mut self, wanted: &Wanted) -> Result<Fate, Stop> {
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
        self.search.tell(trial);
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
        self.flights.shelf.write(Shelf::PAGE, &report::sweep_page(sweep))?;
        self.flights.shelf.write(Sweep::FILE_NAME, &outcome::render_sweep(sweep, Format::Json)?)
    }

    /// Holds the highest load that passed for as long as was asked.
    fn sustain(&mut self, sweep: &Sweep) -> Result<Sustain, Stop> {
        let load = sweep.answer.as_ref().and_then(|answer| answer.passed);
        let (Some(seconds), Some(load)) = (self.flights.asked.sustain_s, load) else {
            return Ok(Sustain::Over);
        };
        let number = self.runs() as u64 + 1;
        let wanted = Wanted {
            number,
            load,
            repeat: 1,
            seed: seed_of_run(self.search.plan().first_seed, number),
            window_s: seconds,
            run: SUSTAINED.to_owned(),
        };
        let told = &self.told;
        match self.flights.fly(&wanted, |wanted| told.sustains(wanted))? {
            Fate::Flown(run) => {
                self.sustained = Some(Sustained::of(&Trial::of(&wanted, &run)));
                Ok(Sustain::Over)
            }
            Fate::Interrupted => Ok(Sustain::Interrupted),
            Fate::Beyond(_) => Ok(Sustain::Over),
        }
    }
}

/// What became of the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sustain {
    /// It came to its end, or there was none to fly.
    Over,
    /// A person stopped it.
    Interrupted,
}
