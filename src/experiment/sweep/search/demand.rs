//! What an objective asks of a load, as a figure that rises with the load and a limit that it must not pass.

use crate::analysis::{Comparison, FigureKey, Objective, Share, Statistic};
use crate::experiment::sweep::trial::Trial;

/// What a load has to meet, as a search sees it: an objective, or that the server keeps up.
///
/// Whole runs are averaged, so the figure is one whose mean over runs is the truth, however short they are. The p99 of a
/// run is none: its mean over runs of 1,000 requests at the rate that just meets the objective of an M/M/1 queue was 19 %
/// too low, and 83 % of the runs met it. The share of the requests over the bound is: so of a percentile of a latency that
/// each request has one of, that share is followed, and the limit is the share that the percentile leaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchDemand {
    /// Absent: that the server keeps up.
    objective: Option<Objective>,
    pub(super) scale: DemandScale,
    /// What the figure may be at most.
    pub(super) limit: f64,
}

/// How a figure varies from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemandScale {
    /// A share of the requests, between 0 and 1.
    Share,
    /// A magnitude above 0, which varies by factors.
    Magnitude,
}

/// What a run says of a demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DemandReading {
    /// Requests per second, or users.
    pub(super) load: f64,
    /// The figure that must not pass the limit.
    pub(super) figure: f64,
    /// Requests that it rests on.
    pub(super) requests: f64,
}

/// An objective that no search can follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{objective}` cannot be searched for the highest load that meets it: {problem}")]
pub struct Unsearchable {
    objective: String,
    problem: &'static str,
}

impl SearchDemand {
    /// What `objective` asks.
    ///
    /// # Errors
    ///
    /// When its figure does not get worse with the load.
    pub(super) fn of(objective: &Objective) -> Result<Self, Unsearchable> {
        let below = matches!(objective.comparison, Comparison::Below | Comparison::AtMost);
        let bound = objective.bound;
        let refused = |problem| Err(Unsearchable { objective: objective.text.clone(), problem });
        let (scale, limit) = match (objective.subject, below) {
            (FigureKey::Rate(_), _) => {
                return refused(
                    "a flow rises with the load before it falls; demand a latency or a share, such as \
                     `slo_attainment > 95%`",
                );
            }
            (FigureKey::Share(Share::SloAttainment | Share::CheckPasses | Share::ValidAnswers), false) => {
                (DemandScale::Share, 1.0 - bound)
            }
            (FigureKey::Share(Share::Errors | Share::Rejects | Share::Timeouts), true) => {
                (DemandScale::Share, bound)
            }
            (FigureKey::Latency(Statistic::Percentile(quantile), metric), true)
                if metric.is_one_per_request() =>
            {
                (DemandScale::Share, 1.0 - quantile.fraction())
            }
            (FigureKey::Latency(..), true) => (DemandScale::Magnitude, bound),
            (FigureKey::Latency(..) | FigureKey::Share(_), _) => {
                return refused("it gets easier as the load rises; turn its sign round");
            }
        };
        Ok(Self { objective: Some(objective.clone()), scale, limit })
    }

    /// That the server keeps up, which fails where most runs say that it did not.
    pub(super) const fn keeping_up() -> Self {
        Self { objective: None, scale: DemandScale::Share, limit: 0.5 }
    }

    /// As a person typed it, or would have.
    pub(crate) fn text(&self) -> &str {
        self.objective.as_ref().map_or("the server keeps up", |objective| &objective.text)
    }

    /// What `trial` says of it, `place` being that of the objective among those of the sweep; `None` where it cannot tell.
    pub(super) fn read(&self, trial: &Trial, place: usize) -> Option<DemandReading> {
        let load = trial.load.amount();
        let Some(objective) = &self.objective else {
            let figure = f64::from(u8::from(trial.saturated.is_some()));
            return Some(DemandReading { load, figure, requests: 1.0 });
        };
        let judged = trial.judged.get(place)?;
        let figure = match (objective.subject, self.scale) {
            (FigureKey::Latency(..), DemandScale::Share) => judged.over_share?,
            (FigureKey::Share(Share::SloAttainment | Share::CheckPasses | Share::ValidAnswers), _) => {
                1.0 - judged.value?
            }
            // What was cut off is at least that, which is what an overloaded server shows.
            _ => judged.value.or(judged.at_least)?,
        };
        Some(DemandReading { load, figure, requests: trial.requests as f64 })
    }

    /// Whether the figure keeps the limit.
    pub(super) fn holds(&self, figure: f64) -> bool {
        figure <= self.limit * (1.0 + 1e-9)
    }
}

/// The mean of readings, each as heavy as its requests.
pub(super) fn pooled(readings: &[DemandReading]) -> Option<f64> {
    let requests: f64 = readings.iter().map(|reading| reading.requests).sum();
    let sum: f64 = readings.iter().map(|reading| reading.figure * reading.requests).sum();
    (requests > 0.0).then(|| sum / requests)
}
