//! Judges a run by an objective.

use super::judgement::{Judgement, Status};
use super::objective::Objective;
use crate::analysis::figures::percentile::Figure;
use crate::analysis::figures::quantile::SampleWarning;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::summary::run::Summary;
use crate::units::count;

impl Objective {
    /// Holds the run against each of `objectives`, and counts the requests that are over its bound.
    pub(crate) fn evaluate_all(
        objectives: &[Self],
        observed: &Observed<'_>,
        summary: &Summary,
    ) -> Vec<Judgement> {
        let judged = |one: &Self| Judgement { over_share: one.over_share(observed), ..one.evaluate(summary) };
        objectives.iter().map(judged).collect()
    }

    /// Holds the run against this objective.
    pub fn evaluate(&self, summary: &Summary) -> Judgement {
        let figure = self.key.read(summary);
        let status = figure.map_or(Status::Unresolvable, |figure| self.judge(figure));
        let mark = self.key.warning(summary);
        let was = figure.map_or("no such figure in this run".to_owned(), |figure| match figure {
            Figure::Exact(value) => format!("was {}", self.key.show(value)),
            Figure::Between { low, high } => {
                format!("was between {} and {}", self.key.show(low), self.key.show(high))
            }
            Figure::AtLeast(bound) => format!("was over {}", self.key.show(bound)),
        });
        let word = status.word();
        let reservation = match mark {
            Some((SampleWarning::TooFewSamples, n)) => format!("; too few samples: {}", count(n)),
            Some((SampleWarning::Indicative, n)) => format!("; indicative: {} samples", count(n)),
            None => String::new(),
        };
        let interval = self.key.interval(summary);
        // An interval without an end holds every bound on that side, and says nothing.
        let close = interval.and_then(|(low, high)| Some((low?, high?)));
        let close = close.filter(|(low, high)| (*low..=*high).contains(&self.bound));
        let doubt = close.map_or(String::new(), |(low, high)| {
            let (low, high) = (self.key.show(low), self.key.show(high));
            format!("; may be chance: its 95 % interval, {low} to {high}, includes the bound")
        });
        let open = figure.filter(|figure| figure.exact().is_none());
        Judgement {
            objective: self.clone(),
            status,
            value: figure.and_then(Figure::exact),
            at_least: open.map(Figure::at_least),
            at_most: open.and_then(Figure::at_most),
            interval,
            close: close.is_some(),
            over_share: None,
            mark: mark.map(|(mark, _)| mark),
            line: format!("{word}: {} ({was}{reservation}{doubt})", self.text),
        }
    }

    /// Met when both ends of what the figure can be hold, missed when neither does, else the question is open.
    fn judge(&self, figure: Figure) -> Status {
        let holds = |value| self.comparison.holds(value, self.bound);
        match (holds(figure.at_least()), holds(figure.at_most().unwrap_or(f64::INFINITY))) {
            (true, true) => Status::Met,
            (false, false) => Status::Missed,
            (true, false) | (false, true) => Status::Unresolvable,
        }
    }

    /// The share of the requests whose latency does not keep the bound, of those that have it, between 0 and 1; one that
    /// was cut off before it could tell counts as over, as nothing unknown passes. `None` where this is not a percentile
    /// of a latency that each request has one of, or no request has it.
    ///
    /// Its mean over runs is the share of all requests that ever come, however short the runs are; that of a percentile
    /// is not the percentile.
    fn over_share(&self, observed: &Observed<'_>) -> Option<f64> {
        let metric = self.key.metric;
        if self.key.quantile().is_none() || !metric.is_one_per_request() {
            return None;
        }
        let meant = |request: &&Measured<'_>| {
            self.key.part.as_ref().is_none_or(|part| part.has(&observed.log.header.workload, request.record))
        };
        let figures = observed.requests.iter().filter(meant).filter_map(|r| r.latency.get(metric));
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
    use super::*;
    use crate::analysis::summary::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::workload::Priority;

    fn line(objective: &str, log: &crate::record::RunLog) -> String {
        let objective = objective.parse().unwrap();
        summarise(log, &[objective]).objectives.remove(0).line
    }

    #[test]
    fn figures_are_held_against_their_bounds() {
        let records = (0..4).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + 200 + i * 100, 10, 11).build()
        });
        let log = run(1_000, records.collect());
        for (objective, expected) in [
            ("p50 ttft < 500ms", "met: p50 ttft < 500ms (was 350 ms)"),
            ("max ttft < 500ms", "missed: max ttft < 500ms (was 500 ms)"),
            ("max ttft <= 500ms", "met: max ttft <= 500ms (was 500 ms)"),
            ("p95 ttft < 400ms", "missed: p95 ttft < 400ms (was 485 ms; too few samples: 4)"),
            ("mean itl <= 10ms", "met: mean itl <= 10ms (was 10.0 ms)"),
            ("error_rate < 1%", "met: error_rate < 1% (was 0 %)"),
            ("goodput > 5/s", "missed: goodput > 5/s (was 4.00/s)"),
            ("p95 queue_wait < 1s", "unresolvable: p95 queue_wait < 1s (no such figure in this run)"),
        ] {
            assert_eq!(line(objective, &log), expected);
        }
    }

    #[test]
    fn a_limit_decides_only_what_it_can() {
        let mut records: Vec<_> =
            (0..3).map(|i| record(i).sent_at(0, 0, 0).paced(100, 10, 11).build()).collect();
        records.push(record(3).sent_at(0, 0, 0).censored(5_000).build());
        let log = run(1_000, records);
        for (objective, expected) in [
            ("max ttft < 5s", "missed: max ttft < 5s (was over 5,000 ms)"),
            ("max ttft < 9s", "unresolvable: max ttft < 9s (was over 5,000 ms)"),
            ("max ttft > 4s", "met: max ttft > 4s (was over 5,000 ms)"),
            ("mean ttft < 9s", "unresolvable: mean ttft < 9s (no such figure in this run)"),
        ] {
            assert_eq!(line(objective, &log), expected);
        }
    }

    #[test]
    fn one_request_censored_early_decides_nothing_about_the_median() {
        // TTFT 1 … 546 ms, and one request that the end of the run cut off 2 ms after its moment.
        let mut records: Vec<_> =
            (0..546).map(|i| record(i).sent_at(0, 0, 0).paced(i + 1, 10, 11).build()).collect();
        records.push(record(546).sent_at(998, 998, 998).censored(1_000).build());
        let log = run(1_000, records);
        for (objective, expected) in [
            ("p50 ttft < 300ms", "met: p50 ttft < 300ms (was between 273 ms and 274 ms)"),
            ("p50 ttft < 273ms", "missed: p50 ttft < 273ms (was between 273 ms and 274 ms)"),
            ("p50 ttft < 274ms", "unresolvable: p50 ttft < 274ms (was between 273 ms and 274 ms)"),
            ("p50 ttft > 272ms", "met: p50 ttft > 272ms (was between 273 ms and 274 ms)"),
            ("p50 ttft >= 275ms", "missed: p50 ttft >= 275ms (was between 273 ms and 274 ms)"),
        ] {
            let said = line(objective, &log);
            assert!(said.starts_with(expected.trim_end_matches(')')), "{said}");
        }
    }

    #[test]
    fn a_bound_inside_the_interval_is_told() {
        // TTFT 1 … 500 ms in no order: the median is 250.5, its interval by sections about 30 ms either way.
        let records =
            (0..500).map(|i| record(i).sent_at(i, i, i).paced(i + 1 + (i * 181) % 500, 10, 11).build());
        let log = run(500, records.collect());
        let objective = |text: &str| summarise(&log, &[text.parse().unwrap()]).objectives.remove(0);
        let close = objective("p50 ttft < 251ms");
        assert!(close.close && close.passed(), "{close:?}");
        assert!(close.line.contains("may be chance: its 95 % interval, 2"), "{}", close.line);
        assert!(!objective("p50 ttft < 400ms").close);
    }

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
