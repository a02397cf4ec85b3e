//! Objectives as the search sees them: a figure that rises with the load, and its limit.

use crate::analysis::statistics::OrderedShare;
use crate::analysis::{FigureKind, Metric, Objective, Status, Tier};
use crate::experiment::sweep::load::Load;
use crate::experiment::sweep::trial::Trial;

/// A demand on a load: an objective, or that the server keeps up.
///
/// Figures are averaged over runs, so they must be unbiased however short the runs are. The p99 of a run is biased: its
/// mean over runs of 1,000 requests at the rate that just meets the objective of an M/M/1 queue was 19 % too low, and
/// 83 % of the runs met it. The share of the requests over the bound is not. So for a percentile of a latency that each
/// request has once, the search follows that share, and its limit is what the percentile leaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchDemand {
    /// The objective; absent: the server keeps up.
    objective: Option<Objective>,
    /// Place of the objective among those that each run is judged by.
    place: usize,
    pub(super) scale: DemandScale,
    /// The figure's maximum.
    pub(super) limit: f64,
}

/// Scale on which a figure varies from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemandScale {
    /// A share of the requests, between 0 and 1.
    Share,
    /// A magnitude above 0, which varies by factors.
    Magnitude,
}

/// The figure of one run for a demand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DemandReading {
    /// Requests per second, or users, or agents.
    pub(super) load: f64,
    /// Distance within which loads are near each other whatever their ratio. It is two agents, and no rate.
    pub(super) near: f64,
    /// The figure that must not pass the limit.
    pub(super) figure: f64,
    /// Requests behind the figure.
    pub(super) requests: f64,
    /// Natural logarithm of the rate that the run happened to have ÷ its load.
    pub(super) excess: f64,
}

/// An objective that a search cannot follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{objective}` cannot be searched for the highest load that meets it: {problem}")]
pub struct Unsearchable {
    objective: String,
    problem: &'static str,
}

/// Distance in agents within which numbers are near each other. Small ones have too few neighbours otherwise.
const NEAR: f64 = 2.0;

const EASIER: &str = "it gets easier as the load rises; reverse the comparison";

/// Milliseconds of a TPOT, times the tokens per second that it leaves a user.
const MS_PER_S: f64 = 1e3;

impl SearchDemand {
    /// The demand of `objective`.
    ///
    /// # Errors
    ///
    /// When its figure does not get worse with the load.
    pub(super) fn from_objective(objective: &Objective) -> Result<Self, Unsearchable> {
        let below = objective.comparison.is_upper();
        let bound = objective.bound;
        let refused = |problem| Err(Unsearchable { objective: objective.text.clone(), problem });
        let key = &objective.key;
        let (scale, limit) = match (key.kind(), below) {
            // It is the median TPOT in other words, which the search follows.
            (FigureKind::Rate, false) if key.metric == Metric::TokensPerUser && bound > 0.0 => {
                (DemandScale::Magnitude, MS_PER_S / bound)
            }
            (FigureKind::Rate, true) if key.metric == Metric::TokensPerUser => return refused(EASIER),
            (FigureKind::Rate, _) if matches!(key.metric, Metric::TokensPerRequest | Metric::SlowTokensPerRequest) => {
                return refused(
                    "a search follows latencies and shares, and the speed of requests is neither; use a latency, such \
                     as `p95 e2e < 10s`",
                );
            }
            (FigureKind::Rate, _) => {
                return refused(
                    "throughput rises with the load before it falls; use a latency or a share, such as `slo_attainment \
                     > 95%`",
                );
            }
            (FigureKind::Cost, _) => {
                return refused("it falls as the load rises, until the server is full; use a latency or a share");
            }
            (FigureKind::Share, false) if !key.less_is_better() => (DemandScale::Share, 1.0 - bound),
            (FigureKind::Share, true) if key.less_is_better() => (DemandScale::Share, bound),
            (FigureKind::Latency | FigureKind::Count, true) => {
                match key.quantile().filter(|_| key.metric.is_one_per_request()) {
                    Some(quantile) => (DemandScale::Share, 1.0 - quantile.fraction()),
                    None => (DemandScale::Magnitude, bound),
                }
            }
            (FigureKind::Latency | FigureKind::Share | FigureKind::Count, _) => return refused(EASIER),
        };
        Ok(Self { objective: Some(objective.clone()), place: 0, scale, limit })
    }

    /// Returns the demand of the objective at `place` among those of each run.
    pub(super) fn at(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// Demands of all `objectives`, and last that the server keeps up.
    pub(super) fn all(objectives: &[Objective]) -> Result<Vec<Self>, Unsearchable> {
        let each = objectives.iter().enumerate().map(|(place, of)| Ok(Self::from_objective(of)?.at(place)));
        each.chain([Ok(Self::keeping_up())]).collect()
    }

    /// Demands of `tier` among `all`, and last that the server keeps up.
    pub(super) fn of_tier(tier: &Tier, all: &[Self]) -> Result<Vec<Self>, Unsearchable> {
        let problem = "its tier has it, and the runs are not judged by it";
        let of = |objective: &Objective| {
            let known = all.iter().find(|demand| demand.objective() == Some(objective)).cloned();
            known.ok_or_else(|| Unsearchable { objective: objective.text.clone(), problem })
        };
        tier.objectives.iter().map(of).chain([Ok(Self::keeping_up())]).collect()
    }

    /// Returns the demand that the server keeps up. It fails where the server does not in most runs.
    pub(super) const fn keeping_up() -> Self {
        Self { objective: None, place: 0, scale: DemandScale::Share, limit: 0.5 }
    }

    /// The objective; absent: the server keeps up.
    pub(crate) fn objective(&self) -> Option<&Objective> {
        self.objective.as_ref()
    }

    /// The objective as typed.
    pub(crate) fn text(&self) -> &str {
        self.objective.as_ref().map_or("the server keeps up", |objective| &objective.text)
    }

    /// The figure of `trial`; `None` where it is unknown.
    pub(super) fn read(&self, trial: &Trial) -> Option<DemandReading> {
        let load = trial.load.amount();
        let near = if matches!(trial.load, Load::Agents(_)) { NEAR } else { 0.0 };
        let Some(objective) = &self.objective else {
            let figure = f64::from(u8::from(trial.saturated.is_some()));
            return Some(DemandReading { load, near, figure, requests: 1.0, excess: 0.0 });
        };
        let judged = trial.judged.get(self.place)?;
        let key = &objective.key;
        let figure = match (key.kind(), self.scale) {
            (FigureKind::Latency, DemandScale::Share) => judged.over_share?,
            (FigureKind::Share, _) if !key.less_is_better() => 1.0 - judged.value?,
            (FigureKind::Rate, _) => MS_PER_S / judged.value.filter(|rate| *rate > 0.0)?,
            // Requests that were cut off took at least that long, as with an overloaded server.
            _ => judged.value.or(judged.at_least)?,
        };
        Some(DemandReading { load, near, figure, requests: trial.requests as f64, excess: trial.excess })
    }

    /// Whether a trial has a figure of it.
    pub(crate) fn has_figure(&self, trial: &Trial) -> bool {
        self.read(trial).is_some()
    }

    /// Judges whether the figure of all `trials` surely keeps the limit. For a percentile it is by the requests of all,
    /// else where each trial by itself agrees.
    pub(super) fn status(&self, trials: &[&Trial]) -> Status {
        let shares = trials.iter().map(|trial| trial.judged.get(self.place).and_then(|judged| judged.over));
        if let (DemandScale::Share, Some(shares)) = (self.scale, shares.collect::<Option<Vec<_>>>()) {
            let all = OrderedShare::pooled(&shares);
            return all.map_or(Status::Undecided, |all| all.by_count().keeps(self.limit));
        }
        let holds = |trial: &&Trial| Some(self.holds(self.read(trial)?.figure));
        let each: Option<Vec<bool>> = trials.iter().map(holds).collect();
        each.filter(|each| !each.is_empty())
            .map_or(Status::Undecided, |each| Status::of_both(each.iter().all(|holds| *holds), each.contains(&true)))
    }

    /// Whether it is on how long requests wait, which a queue decides.
    pub(super) fn is_of_waits(&self) -> bool {
        let key = self.objective.as_ref().map(|objective| &objective.key);
        let others = [Metric::SloAttainment, Metric::TokensPerUser];
        key.is_some_and(|key| key.kind() == FigureKind::Latency || others.contains(&key.metric))
    }

    /// The limit of a share strictly between 0 and 1.
    pub(super) fn share_limit(&self) -> Option<f64> {
        (self.scale == DemandScale::Share && self.limit > 0.0 && self.limit < 1.0).then_some(self.limit)
    }

    /// Whether the figure keeps the limit.
    pub(super) fn holds(&self, figure: f64) -> bool {
        figure <= self.limit * (1.0 + 1e-9)
    }
}

/// The mean of readings, weighted by requests.
pub(super) fn pooled(readings: &[DemandReading]) -> Option<f64> {
    let requests: f64 = readings.iter().map(|reading| reading.requests).sum();
    let sum: f64 = readings.iter().map(|reading| reading.figure * reading.requests).sum();
    (requests > 0.0).then(|| sum / requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::sweep::trial::{JudgedObjective, TrialRequest};

    #[test]
    fn the_speed_that_a_user_sees_is_searched_as_the_median_tpot() {
        let objective: Objective = "tokens_per_s_per_user >= 40/s".parse().unwrap();
        let demand = SearchDemand::from_objective(&objective).unwrap();
        assert_eq!((demand.scale, demand.limit), (DemandScale::Magnitude, 25.0));
        for (value, keeps) in [(50.0, true), (40.0, true), (30.0, false)] {
            let judged = JudgedObjective {
                objective: objective.clone(),
                status: Status::Met,
                value: Some(value),
                at_least: None,
                over_share: None,
                mark: None,
                over: None,
            };
            let load = Load::Rate(3.0);
            let wanted = TrialRequest { number: 1, load, repeat: 1, seed: 1, window_s: 60.0, run: String::new() };
            let trial = Trial { judged: vec![judged], ..Trial::kept_up(&wanted) };
            let figure = demand.read(&trial).unwrap().figure;
            assert!((figure - 1e3 / value).abs() < 1e-9, "{figure}");
            assert_eq!(demand.holds(figure), keeps, "{value}");
        }
        let reversed: Objective = "tokens_per_s_per_user < 40/s".parse().unwrap();
        assert!(SearchDemand::from_objective(&reversed).unwrap_err().to_string().contains("reverse the comparison"));
    }
}
