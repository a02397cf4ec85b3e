//! How many of a run's requests do not keep the bound of an objective on a percentile.

use super::objective::Objective;
use crate::analysis::figures::percentile::Figure;
use crate::analysis::figures::subject::{FigureKey, Statistic};
use crate::analysis::latency::table::reading;
use crate::analysis::requests::observed::Observed;

impl Objective {
    /// The share of the requests whose latency does not keep the bound, of those that have it, between 0 and 1; one that
    /// was cut off before it could tell counts as over, as nothing unknown passes. `None` where this is not a percentile
    /// of a latency that each request has one of, or no request has it.
    ///
    /// Its mean over runs is the share of all requests that ever come, however short the runs are; that of a percentile
    /// is not the percentile.
    pub(crate) fn over_share(&self, observed: &Observed<'_>) -> Option<f64> {
        let FigureKey::Latency(Statistic::Percentile(_), metric) = self.subject else { return None };
        if !metric.is_one_per_request() {
            return None;
        }
        let meant = |request: &&crate::analysis::requests::observed::Measured<'_>| {
            self.scope.as_ref().is_none_or(|scope| scope.has(&observed.log.header.workload, request.record))
        };
        let figures = observed.requests.iter().filter(meant).filter_map(|r| reading(&r.latency, metric));
        let keeps =
            |figure: Figure| figure.at_most().is_some_and(|most| self.comparison.holds(most, self.bound));
        let (mut over, mut all) = (0_u64, 0_u64);
        for figure in figures {
            all += 1;
            over += u64::from(!keeps(figure));
        }
        (all > 0).then(|| over as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::slo::objective::Objective;
    use crate::analysis::summary::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::workload::Priority;

    #[test]
    fn what_is_over_the_bound_is_counted() {
        // First tokens after 100, 200, … 500 ms; the last request is cut off after 300 ms without one.
        let mut records: Vec<_> = (0..5)
            .map(|i| {
                record(i)
                    .class(u16::from(i > 2), Priority::High)
                    .sent_at(0, 0, 0)
                    .paced(100 + i * 100, 10, 3)
                    .build()
            })
            .collect();
        records.push(record(5).class(1, Priority::High).sent_at(0, 0, 0).censored(300).build());
        let mut log = run(1_000, records);
        log.header.workload.classes = vec![class("chat", &[]), class("batch", &[])];
        let over = |text: &str| {
            let objective: Objective = text.parse().unwrap();
            summarise(&log, &[objective]).objectives[0].over_share
        };
        assert_eq!(over("p99 ttft < 450ms"), Some(2.0 / 6.0));
        assert_eq!(over("p50 ttft < 300ms"), Some(4.0 / 6.0));
        assert_eq!(over("p50 ttft <= 300ms"), Some(3.0 / 6.0));
        assert_eq!(over("p50 ttft of chat <= 200ms"), Some(1.0 / 3.0));
        assert_eq!(over("p95 ttft of class batch < 450ms"), Some(2.0 / 3.0));
        for none in ["mean ttft < 1s", "p99 itl < 1s", "error_rate < 1%"] {
            assert_eq!(over(none), None, "{none}");
        }
    }
}
