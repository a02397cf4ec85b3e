//! An A/B test as an experiment: rounds of two runs, in an order that is fixed before, and a few spare rounds for those
//! that are spoiled.

use super::design::{AbDesign, AbSide};
use super::outcome::AbTest;
use super::rounds::{AbRound, NotRounds};
use crate::analysis::Summary;
use crate::experiment::driver::{Experiment, RunOutcome, RunRequest, RunSource, RunsLeft};
use crate::experiment::spoiled::InvalidRuns;

/// The rounds of an A/B test.
#[derive(Clone, Debug)]
pub struct AbExperiment {
    design: AbDesign,
    invalid: InvalidRuns,
    /// Rounds that have both runs: their numbers, and what A's and B's run found.
    rounds: Vec<(u64, [Box<Summary>; 2])>,
    /// Number of the round under way.
    round: u64,
    /// The first run of the round under way, once it is there.
    first_run: Option<Box<Summary>>,
    interrupted: bool,
    /// Reason why no more runs start, once that is so. This machine cannot be trusted with them, or a breaker ended
    /// one.
    refused: Option<String>,
    aborted: bool,
}

/// One side of a round. Both sides execute the plan of repeat number `round`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbRun {
    /// The side.
    pub side: AbSide,
    /// Number of the round, from 1.
    pub round: u64,
    /// Number of planned rounds: a spare one has a number after the last of them.
    pub of: u64,
}

impl AbExperiment {
    /// The rounds of `design`, of which none is there yet.
    pub fn new(design: AbDesign, invalid: InvalidRuns) -> Self {
        let (rounds, first_run, refused) = (Vec::new(), None, None);
        Self { design, invalid, rounds, round: 1, first_run, interrupted: false, refused, aborted: false }
    }

    /// Name of the folder of a side's run.
    pub fn folder(round: u64, side: AbSide) -> String {
        format!("{}/{}", Self::round_folder(round), side.name())
    }

    /// Number of a round's folder.
    fn round_folder(round: u64) -> String {
        format!("round-{round}")
    }

    /// The rounds that are complete.
    fn completed(&self) -> impl Iterator<Item = AbRound<'_>> {
        self.rounds.iter().map(|(number, [a, b])| AbRound { number: *number, a, b })
    }

    fn spoiled(&self) -> u64 {
        self.completed().filter(|round| round.spoiled_by().is_some()).count() as u64
    }

    /// Returns the number of the last round that may be carried out. It is what is known of it so far.
    fn last_new(&self) -> u64 {
        self.invalid.last_run(self.design.rounds, self.spoiled())
    }

    /// Whether a circuit breaker ended a run, and the test with it.
    pub const fn is_aborted(&self) -> bool {
        self.aborted
    }

    const fn is_over(&self) -> bool {
        self.interrupted || self.refused.is_some()
    }

    fn next_round(&mut self) {
        self.round += 1;
        self.first_run = None;
    }
}

impl Experiment for AbExperiment {
    type Part = AbRun;
    type Result = Result<AbTest, NotRounds>;

    fn next(&self) -> Option<RunRequest<AbRun>> {
        let (round, of) = (self.round, self.design.rounds);
        if self.is_over() || round > InvalidRuns::LeftOut.last_run(of, self.spoiled()) {
            return None;
        }
        let order = self.design.order_of(round);
        let side = if self.first_run.is_none() { order[0] } else { order[1] };
        Some(RunRequest {
            name: Self::folder(round, side),
            // Both sides of a round send the same texts.
            number: round,
            part: AbRun { side, round, of },
            source: if round > self.last_new() { RunSource::StoredOnly } else { RunSource::StoredOrNew },
            group: order.map(|side| Self::folder(round, side)).to_vec(),
        })
    }

    fn accepts_stored(&self, _request: &RunRequest<AbRun>, run: &Summary) -> bool {
        run.breaker.is_none()
    }

    fn record(&mut self, request: &RunRequest<AbRun>, outcome: RunOutcome) {
        if let RunOutcome::Completed(run) = &outcome
            && let Some(aborted) = run.summary.aborted()
        {
            self.aborted = true;
            self.refused = Some(format!("{}: {aborted}", request.name));
        }
        match (outcome, self.first_run.take()) {
            (RunOutcome::Completed(run), None) => self.first_run = Some(run.summary),
            (RunOutcome::Completed(second), Some(first)) => {
                let runs = match request.part.side {
                    AbSide::A => [second.summary, first],
                    AbSide::B => [first, second.summary],
                };
                self.rounds.push((self.round, runs));
                self.next_round();
            }
            (RunOutcome::Absent, _) => self.next_round(),
            (RunOutcome::Refused(why), _) => self.refused = Some(why),
            (RunOutcome::Interrupted(_) | RunOutcome::Failed { .. }, _) => self.interrupted = true,
        }
    }

    fn result(&self) -> Self::Result {
        let test = AbTest::new(&self.design, &self.completed().collect::<Vec<_>>(), self.invalid)?;
        Ok(match &self.refused {
            Some(why) => test.refused(why),
            None => test,
        })
    }

    fn remaining(&self) -> RunsLeft {
        let rounds = if self.is_over() { 0 } else { (self.last_new() + 1).saturating_sub(self.round) };
        RunsLeft::Exactly(2 * rounds - u64::from(self.first_run.is_some() && rounds > 0))
    }

    fn replacement(&self, request: &RunRequest<AbRun>) -> Option<String> {
        let AbRun { round, of, .. } = request.part;
        let last = self.completed().last().filter(|last| self.round > round && last.number == round)?;
        self.invalid.replacement(round, of, self.spoiled(), &last.spoiled_by()?, Self::round_folder)
    }
}
