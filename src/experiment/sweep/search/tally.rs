//! The runs of each load, tallied.

use super::curve::course;
use super::curve::crossing::{Crossing, LimitCrossing};
use super::demand::{DemandReading, SearchDemand, pooled};
use crate::analysis::Status;
use crate::analysis::statistics::mean;
use crate::experiment::spoiled::InvalidRuns;
use crate::experiment::sweep::load::Load;
use crate::experiment::sweep::point::LoadClass;
use crate::experiment::sweep::trial::Trial;

/// Tolerance for rounding at the limit.
const MET: f64 = 1.0 + 1e-9;

/// The runs of one load.
#[derive(Clone, Debug)]
pub(crate) struct LoadTally<'a> {
    pub(crate) load: Load,
    pub(crate) trials: Vec<&'a Trial>,
    /// Number of runs that count. They are those that can be trusted, or all, where none can and such loads count on
    /// request.
    pub(crate) counted: u64,
    /// Joint figure ÷ limit for each demand, in order. It is over 1 where the demand is missed. It is absent unless
    /// every run that counts has the figure.
    pub(crate) ratios: Vec<Option<f64>>,
    /// Whether the server did not keep up in most runs.
    pub(crate) saturated: bool,
    /// Whether all joint figures are within their limits; unknown ones are not.
    pub(crate) passes: bool,
    /// Whether its own runs' figure surely keeps its limit, for each demand.
    pub(crate) statuses: Vec<Status>,
}

/// The loads of `trials`, ascending.
pub(super) fn tallies<'a>(trials: &'a [Trial], demands: &[SearchDemand]) -> Vec<LoadTally<'a>> {
    let mut loads: Vec<Load> = Vec::new();
    for trial in trials {
        if !loads.contains(&trial.load) {
            loads.push(trial.load);
        }
    }
    loads.sort_by(|a, b| a.amount().total_cmp(&b.amount()));
    loads.into_iter().map(|load| LoadTally::new(load, trials, demands)).collect()
}

impl<'a> LoadTally<'a> {
    pub(super) fn new(load: Load, trials: &'a [Trial], demands: &[SearchDemand]) -> Self {
        let trials: Vec<_> = trials.iter().filter(|trial| trial.load == load).collect();
        let counted: Vec<_> = trials.iter().copied().filter(|trial| !trial.left_out).collect();
        let flagged = counted.iter().filter(|trial| trial.saturated.is_some()).count();
        let ratios: Vec<_> = demands.iter().map(|demand| ratio(&counted, demand)).collect();
        let passes = ratios.iter().all(|ratio| ratio.is_some_and(|ratio| ratio <= MET));
        let statuses = demands.iter().map(|demand| demand.status(&counted)).collect();
        Self {
            load,
            counted: counted.len() as u64,
            saturated: 2 * flagged > counted.len(),
            statuses,
            ratios,
            passes,
            trials,
        }
    }

    /// Runs that it needs yet, where `planned` are planned and spoiled ones are replaced.
    pub(super) fn wanted(&self, planned: u64) -> u64 {
        let spoiled = self.trials.iter().filter(|trial| trial.spoiled).count() as u64;
        InvalidRuns::LeftOut.last_run(planned, spoiled).saturating_sub(self.trials.len() as u64)
    }

    /// Whether no run of it can be trusted, and no spare one is left.
    pub(super) fn is_lost(&self, planned: u64) -> bool {
        self.counted == 0 && self.wanted(planned) == 0
    }

    /// Returns the class of the load by the `interval` of the highest load. A load inside it is undecided whatever its
    /// own runs say, as is one outside it whose own runs contradict the curve. Where no interval is known, its own runs
    /// must be sure. `demanded` is the number of objectives.
    pub(crate) fn class(&self, demanded: usize, interval: Option<(f64, f64)>) -> LoadClass {
        let amount = self.load.amount();
        let (below, above) = match interval {
            Some((low, high)) => (amount <= low, amount >= high),
            None => (self.statuses.iter().all(|own| *own == Status::Met), self.statuses.contains(&Status::Missed)),
        };
        match (self.passes, self.saturated) {
            _ if self.counted == 0 => LoadClass::Unknown,
            (false, _) if !self.fails() => LoadClass::Unknown,
            (true, _) if below && demanded == 0 => LoadClass::Measured,
            (true, _) if below => LoadClass::Passed,
            (false, true) if above => LoadClass::Saturated,
            (false, false) if above => LoadClass::Failed,
            _ => LoadClass::Undecided,
        }
    }

    /// Whether a known figure exceeds its limit. A load that neither passes nor fails is unknown.
    fn fails(&self) -> bool {
        self.ratios.iter().flatten().any(|ratio| *ratio > MET)
    }

    /// Whether it counts although none of its runs can be trusted.
    pub(crate) fn rests_on_invalid(&self) -> bool {
        self.counted > 0 && !self.trials.iter().any(|trial| trial.is_valid())
    }

    /// Mean completed requests per second of its runs that count.
    pub(super) fn completed_per_s(&self) -> Option<f64> {
        let counted = self.trials.iter().filter(|trial| !trial.left_out);
        let rates: Vec<_> = counted.filter_map(|trial| trial.completed_per_s).collect();
        mean(&rates)
    }
}

/// The joint figure of `trials` ÷ the limit of `demand`.
fn ratio(trials: &[&Trial], demand: &SearchDemand) -> Option<f64> {
    let readings: Option<Vec<_>> = trials.iter().map(|trial| demand.read(trial)).collect();
    let figure = pooled(&readings?)?;
    Some(if figure == 0.0 { 0.0 } else { figure / demand.limit })
}

/// The demand that decides, by its index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tightest {
    /// None: each is met at every load.
    Open,
    /// Demand that is missed from the lowest load on, so that no load meets all. Of several it is the one that is
    /// missed by the most.
    Missed(usize),
    /// The one that crosses its limit first.
    Crosses(usize, Crossing),
}

impl Tightest {
    pub(crate) fn crossing(self) -> Option<Crossing> {
        match self {
            Self::Crosses(_, crossing) => Some(crossing),
            Self::Open | Self::Missed(_) => None,
        }
    }
}

/// Returns where each demand crosses its limit, in their order.
pub(crate) fn limit_crossings(trials: &[Trial], demands: &[SearchDemand]) -> Vec<LimitCrossing> {
    demands.iter().map(|demand| course(demand, &readings(trials, demand))).collect()
}

/// The demand that crosses its limit first, by its estimate. With several crossings the interval reaches
/// from the lowest of the lower ends to the lowest of the upper ones: whichever is the tightest, the highest load lies
/// there.
pub(crate) fn tightest(trials: &[Trial], demands: &[SearchDemand]) -> Tightest {
    let (mut crossings, mut missed) = (Vec::new(), Vec::new());
    for (place, crossing) in limit_crossings(trials, demands).into_iter().enumerate() {
        match crossing {
            LimitCrossing::Kept => {}
            LimitCrossing::Missed(times) => missed.push((place, times)),
            LimitCrossing::Crosses(crossing) => crossings.push((place, crossing)),
        }
    }
    if let Some((place, _)) = missed.into_iter().reduce(|most, next| if next.1 > most.1 { next } else { most }) {
        return Tightest::Missed(place);
    }
    let first = crossings.iter().copied().min_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    let Some((place, first)) = first else { return Tightest::Open };
    let intervals = crossings.iter().filter_map(|(_, crossing)| crossing.interval.ok());
    let interval = first.interval.map(|own| intervals.fold(own, |a, b| (a.0.min(b.0), a.1.min(b.1))));
    Tightest::Crosses(place, Crossing { interval, ..first })
}

fn readings(trials: &[Trial], demand: &SearchDemand) -> Vec<DemandReading> {
    trials.iter().filter(|trial| !trial.left_out).filter_map(|trial| demand.read(trial)).collect()
}
