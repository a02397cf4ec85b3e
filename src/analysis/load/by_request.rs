//! What each request of a run has of a figure.

use crate::analysis::figures::{Figure, FigureKey, FigureKind, Metric};
use crate::analysis::load::rates::{arrived_tokens, output_tokens};
use crate::analysis::requests::{Measured, Observed, answered, due_tokens, is_to_be_scored};
use crate::record::{Outcome, Phase, RequestRecord, RunLog};

impl FigureKey {
    /// Returns each request's place in the plan and its value of the figure. The value is the latency, or 1 where the
    /// request counts and 0 where not, or of output tokens those that arrived while answers count. The requests are
    /// those of the window, and of rates also those of other phases that count. Those that have none are left out,
    /// which are all of a figure that is not of single requests.
    pub fn of_requests(&self, log: &RunLog) -> Vec<(u64, Figure)> {
        let observed = Observed::from_log(log);
        let flag = |holds: bool| Figure::Exact(f64::from(u8::from(holds)));
        let counts = |record: &RequestRecord| answered(record).is_some_and(|at| observed.counts_answer(at));
        let of = |request: &Measured<'_>| match self.metric {
            Metric::ErrorRate => Some(flag(matches!(request.record().outcome, Outcome::Failed(_)))),
            Metric::SloAttainment => request.slo.is_met().map(flag),
            Metric::DeadlineMissRequests => due_tokens(log, request).map(|(_, late)| flag(late > 0)),
            Metric::Goodput if observed.has_slos => {
                let is_own = request.record().phase == Phase::Measured;
                Some(flag(is_own && request.slo.is_met() == Some(true) && !request.record().is_wrong()))
            }
            Metric::Goodput => Some(flag(counts(&request.record()) && !request.record().is_wrong())),
            Metric::RequestRate => Some(flag(counts(&request.record()))),
            Metric::Accuracy => {
                let score = request.record().score.filter(|_| is_to_be_scored(&log.header.workload, &request.record()));
                score.map(|score| flag(score.right))
            }
            Metric::OutputTokens => Some(Figure::Exact(output_tokens(&observed, &request.record()))),
            Metric::ArrivedOutputTokens => Some(Figure::Exact(arrived_tokens(&observed, &request.record()))),
            Metric::OutputTokensPerGpu => {
                let gpus = log.header.deployment.gpus.filter(|&gpus| gpus > 0)?;
                Some(Figure::Exact(output_tokens(&observed, &request.record()) / f64::from(gpus)))
            }
            metric => request.latency().get(metric),
        };
        let workload = &log.header.workload;
        let meant =
            |request: &&Measured<'_>| self.part.as_ref().is_none_or(|part| part.has(workload, &request.record()));
        let is_rate = self.kind() == FigureKind::Rate;
        let requests = observed.requests.iter().chain(observed.others.iter().filter(|_| is_rate));
        requests.filter(meant).filter_map(|request| Some((request.record().index, of(request)?))).collect()
    }
}
