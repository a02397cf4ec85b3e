//! What each request of a run has of a figure.

use super::observed::{Measured, Observed};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::key::FigureKey;
use crate::analysis::figures::percentile::Figure;
use crate::record::{Outcome, RunLog};

impl FigureKey {
    /// What the requests of the window have of the figure, each with its place in the plan, in order of arrival: the
    /// latency, or 1 where it counts and 0 where not. Those that have none are left out, which are all of a figure that is
    /// not of single requests.
    pub fn of_requests(&self, log: &RunLog) -> Vec<(u64, Figure)> {
        let observed = Observed::of(log);
        let flag = |holds: bool| Figure::Exact(f64::from(u8::from(holds)));
        let of = |request: &Measured<'_>| match self.metric {
            Metric::ErrorRate => Some(flag(matches!(request.record.outcome, Outcome::Failed(_)))),
            Metric::SloAttainment => request.slo.is_met().map(flag),
            Metric::Goodput if observed.has_slos => Some(flag(request.slo.is_met() == Some(true))),
            Metric::Goodput => Some(flag(request.record.outcome == Outcome::Completed)),
            metric => request.latency.get(metric),
        };
        let meant = |request: &Measured<'_>| {
            self.part.as_ref().is_none_or(|part| part.has(&log.header.workload, request.record))
        };
        let requests = observed.requests.iter().filter(|request| meant(request));
        requests.filter_map(|request| Some((request.record.index, of(request)?))).collect()
    }
}
