//! Judges a run by an objective.

use std::cmp::Ordering;

use super::judgement::{Judgement, Status};
use super::objective::Objective;
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::Figure;
use crate::analysis::figures::quantile::SampleWarning;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::statistics::{Memory, OrderedShare};
use crate::analysis::summary::run::Summary;
use crate::analysis::wording::counted;
use crate::units::count;

impl Objective {
    /// Holds the run against each of `objectives`.
    pub(crate) fn evaluate_all(
        objectives: &[Self],
        observed: &Observed<'_>,
        summary: &Summary,
    ) -> Vec<Judgement> {
        objectives.iter().map(|one| one.judge(summary, one.over(observed, summary))).collect()
    }

    /// Holds a run that was summarised before against this objective; a percentile by its interval where it was not
    /// summarised with it.
    pub fn evaluate(&self, summary: &Summary) -> Judgement {
        let own = summary.objectives.iter().find(|judged| judged.objective == *self);
        own.cloned().unwrap_or_else(|| self.judge(summary, None))
    }

    fn judge(&self, summary: &Summary, over: Option<OrderedShare>) -> Judgement {
        let figure = self.key.read(summary);
        let interval = self.key.interval(summary);
        let warning = self.key.warning(summary);
        // A rate that is a percentile of requests, and of too few of them.
        let few = warning.filter(|(mark, _)| {
            self.key.statistic.is_none() && *mark == SampleWarning::TooFewSamples && figure.is_some()
        });
        let known = figure.filter(|_| few.is_none());
        let by_figure = known.map_or(Status::Undecided, |figure| self.status_of(figure));
        let status = match (self.most_over(), over) {
            (None, _) => by_figure,
            // Of a server that does not keep up there is no percentile that longer runs would show.
            _ if by_figure == Status::Missed && summary.verdict.is_overloaded() => Status::Missed,
            (Some(most), Some(over)) => Status::of_side(over.side_of(most)),
            (Some(_), None) => interval.map_or(Status::Undecided, |ends| self.status_of_interval(ends)),
        };
        let none = summary.why_absent(self.key.metric).unwrap_or("no such figure in this run");
        let was = figure.map_or(none.to_owned(), |figure| match figure {
            Figure::Exact(value) => format!("was {}", self.key.show(value)),
            Figure::Between { low, high } => {
                format!("was between {} and {}", self.key.show(low), self.key.show(high))
            }
            Figure::AtLeast(bound) => format!("was over {}", self.key.show(bound)),
        });
        let undecided = status == Status::Undecided && figure.is_some();
        let needed = over.zip(self.most_over()).filter(|_| undecided);
        let needed_requests = needed.and_then(|(over, most)| over.needed(most));
        let doubt = match (over, self.most_over()) {
            _ if !undecided => String::new(),
            (Some(over), _) => {
                let cure = needed_requests.map(|needed| counted(needed, "request"));
                format!("; {}", self.doubt(over, cure))
            }
            (None, Some(_)) => format!("; {}", self.doubt_of(interval)),
            (None, None) => few.map_or(String::new(), |(_, requests)| {
                format!("; {} are too few for it", counted(requests, "request"))
            }),
        };
        let open = figure.filter(|figure| figure.exact().is_none());
        Judgement {
            objective: self.clone(),
            status,
            value: figure.and_then(Figure::exact),
            at_least: open.map(Figure::at_least),
            at_most: open.and_then(Figure::at_most),
            interval,
            over_share: over.map(|over| over.share()),
            needed_requests,
            over,
            mark: warning.map(|(mark, _)| mark),
            line: format!("{}: {} ({was}{doubt})", status.word(), self.text),
        }
    }

    /// Met when both ends of what the figure can be hold, missed when neither does, else the question is open.
    fn status_of(&self, figure: Figure) -> Status {
        match self.holds(figure) {
            Some(true) => Status::Met,
            Some(false) => Status::Missed,
            None => Status::Undecided,
        }
    }

    /// Whether the figure stands to the bound as it should, whatever it is of all that it can be.
    fn holds(&self, figure: Figure) -> Option<bool> {
        let holds = |value| self.comparison.holds(value, self.bound);
        let least = holds(figure.at_least());
        (least == holds(figure.at_most().unwrap_or(f64::INFINITY))).then_some(least)
    }

    /// Met when all of the interval holds, missed when nothing of it does.
    fn status_of_interval(&self, (low, high): (Option<f64>, Option<f64>)) -> Status {
        let holds = |end: Option<f64>| Some(self.comparison.holds(end?, self.bound));
        let (best, worst) = if self.comparison.is_upper() { (low, high) } else { (high, low) };
        match (holds(best), holds(worst)) {
            (_, Some(true)) => Status::Met,
            (Some(false), _) => Status::Missed,
            _ => Status::Undecided,
        }
    }

    /// Of a percentile: the share of the requests beyond the bound from which on it is missed.
    pub(crate) fn most_over(&self) -> Option<f64> {
        let below = self.key.quantile()?.fraction();
        Some(if self.comparison.is_upper() { 1.0 - below } else { below })
    }

    /// The requests whose latency does not keep the bound, of those that have it; of one that was cut off before it could
    /// tell it is not known. `None` where this is not a percentile of a latency that each request has one of, or no request
    /// has it.
    ///
    /// Their share is a mean over requests: that of several runs is the share of all requests that ever come, however short
    /// the runs are; the mean of percentiles is not the percentile. How sure it is follows from the memory of the latency,
    /// as for the interval of a percentile. Far from the bound, where a tenth of the allowed share is over it or less, or
    /// nine of ten are, it is that of TTFT if that is shorter: a slow drift of the pace of tokens by a few percent says
    /// nothing of a bound of twice the pace. Of 165 minutes of an A10G at 50 to 90 % load, with bounds on the p50, p95 and
    /// p99 of TPOT 10 % below the truth, one of 495 objectives was met so.
    fn over(&self, observed: &Observed<'_>, summary: &Summary) -> Option<OrderedShare> {
        let metric = self.key.metric;
        let most = self.most_over().filter(|_| metric.is_one_per_request())?;
        let meant = |request: &&Measured<'_>| {
            self.key
                .part
                .as_ref()
                .is_none_or(|part| part.has(&observed.log.header.workload, &request.record()))
        };
        let of = |metric| {
            let figures = observed.requests.iter().filter(meant).filter_map(move |r| r.latency().get(metric));
            figures.collect::<Vec<Figure>>()
        };
        let at_least =
            |figures: &[Figure]| figures.iter().map(|figure| figure.at_least()).collect::<Vec<_>>();
        let figures = of(metric);
        let values = at_least(&figures);
        let over: Vec<_> = figures.iter().map(|figure| self.holds(*figure).map(|holds| !holds)).collect();
        let missed = over.iter().filter(|over| **over != Some(false)).count() as f64 / over.len() as f64;
        let is_far = missed <= 0.1 * most || missed >= 0.9;
        let of_queue = Some(Metric::Ttft).filter(|_| is_far);
        let of_queue = of_queue.and_then(|ttft| Memory::of_ranks(&at_least(&of(ttft))));
        let memories = Memory::of_ranks(&values).into_iter().chain(of_queue);
        let shortest = memories.min_by(|a, b| a.cautious_time.total_cmp(&b.cautious_time));
        let over = OrderedShare::of(&over, shortest)?;
        let waits = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e));
        Some(over.within(waits.and_then(|row| row.correlation_times)))
    }

    /// Why the share of requests beyond the bound does not tell, and what would.
    pub(crate) fn doubt(&self, over: OrderedShare, cure: Option<String>) -> String {
        let side = if self.comparison.is_upper() { "over" } else { "under" };
        let open = if over.hits > over.certain { " or cut off" } else { "" };
        let cure = match (cure, over.effective) {
            (Some(cure), _) => format!("would take about {cure}"),
            (None, Some(_)) if over.hits > 0 => "too close to the bound to tell".to_owned(),
            (None, _) => "too few to tell".to_owned(),
        };
        let worth =
            over.effective.map(|effective| effective.samples.round() as u64).filter(|worth| *worth < over.n);
        let worth = worth.map(|worth| format!(", worth {}", counted(worth, "independent one")));
        let (hits, n, worth) = (count(over.hits), counted(over.n, "request"), worth.unwrap_or_default());
        format!("{hits} of {n} {side}{open}{worth}; {cure}")
    }

    /// The same of a percentile that is judged by its interval.
    fn doubt_of(&self, interval: Option<(Option<f64>, Option<f64>)>) -> String {
        let show = |end: Option<f64>| end.map_or("…".to_owned(), |end| self.key.show(end));
        match interval.filter(|ends| *ends != (None, None)) {
            Some((low, high)) => format!("95 % interval {} to {}", show(low), show(high)),
            None => "too few requests for an interval".to_owned(),
        }
    }
}

impl Status {
    /// By the side of its limit on which the share of requests beyond a bound lies.
    pub(crate) fn of_side(side: Option<Ordering>) -> Self {
        match side {
            Some(Ordering::Less) => Self::Met,
            Some(Ordering::Greater) => Self::Missed,
            Some(Ordering::Equal) | None => Self::Undecided,
        }
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
            (
                "p50 ttft < 500ms",
                "cannot tell: p50 ttft < 500ms (was 350 ms; 1 of 4 requests over; too few to tell)",
            ),
            ("max ttft < 500ms", "missed: max ttft < 500ms (was 500 ms)"),
            ("max ttft <= 500ms", "met: max ttft <= 500ms (was 500 ms)"),
            ("mean itl <= 10ms", "met: mean itl <= 10ms (was 10.0 ms)"),
            ("error_rate < 1%", "met: error_rate < 1% (was 0 %)"),
            ("goodput > 5/s", "missed: goodput > 5/s (was 4.00/s)"),
            ("p95 queue_wait < 1s", "cannot tell: p95 queue_wait < 1s (no such figure in this run)"),
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
            ("max ttft < 9s", "cannot tell: max ttft < 9s (was over 5,000 ms)"),
            ("max ttft > 4s", "met: max ttft > 4s (was over 5,000 ms)"),
            ("mean ttft < 9s", "cannot tell: mean ttft < 9s (no such figure in this run)"),
        ] {
            assert_eq!(line(objective, &log), expected);
        }
    }

    /// TTFT 1 … `n` ms in no order, the requests a millisecond apart.
    fn shuffled(n: u64) -> Vec<crate::record::RequestRecord> {
        let ttft = |i: u64| 1 + (i * 337) % n;
        (0..n).map(|i| record(i).sent_at(i, i, i).paced(i + ttft(i), 10, 11).build()).collect()
    }

    #[test]
    fn one_request_censored_early_decides_nothing_about_the_median() {
        // One request that the end of the run cut off 2 ms after its moment.
        let mut records = shuffled(546);
        records.push(record(546).sent_at(998, 998, 998).censored(1_000).build());
        let log = run(1_000, records);
        for (objective, expected) in [
            ("p50 ttft < 350ms", "met: p50 ttft < 350ms (was between 273 ms and 274 ms)"),
            ("p50 ttft < 200ms", "missed: p50 ttft < 200ms (was between 273 ms and 274 ms)"),
            (
                "p50 ttft < 274ms",
                "cannot tell: p50 ttft < 274ms (was between 273 ms and 274 ms; 274 of 547 requests over or cut off; too close",
            ),
            ("p50 ttft > 200ms", "met: p50 ttft > 200ms (was between 273 ms and 274 ms)"),
            ("p50 ttft >= 350ms", "missed: p50 ttft >= 350ms (was between 273 ms and 274 ms)"),
        ] {
            let said = line(objective, &log);
            assert!(said.starts_with(expected.trim_end_matches(')')), "{said}");
        }
    }

    #[test]
    fn a_percentile_is_judged_by_how_many_requests_are_over_the_bound() {
        let log = run(500, shuffled(500));
        let objective = |text: &str| summarise(&log, &[text.parse().unwrap()]).objectives.remove(0);
        for (text, expected) in [
            ("p50 ttft < 400ms", "met: p50 ttft < 400ms (was 250 ms)"),
            ("p95 ttft < 490ms", "met: p95 ttft < 490ms (was 475 ms)"),
            ("p95 ttft < 400ms", "missed: p95 ttft < 400ms (was 475 ms)"),
            (
                "p50 ttft < 251ms",
                "cannot tell: p50 ttft < 251ms (was 250 ms; 250 of 500 requests over, worth 368 independent ones; too close to the bound to tell)",
            ),
            ("p50 ttft > 400ms", "missed: p50 ttft > 400ms (was 250 ms)"),
            ("p50 ttft > 100ms", "met: p50 ttft > 100ms (was 250 ms)"),
        ] {
            assert_eq!(objective(text).line, expected);
        }
        let open = objective("p99 ttft < 499ms");
        let needed = open.needed_requests.unwrap();
        assert!((600..1_200).contains(&needed), "{needed}");
        let expected = format!(
            "cannot tell: p99 ttft < 499ms (was 495 ms; 2 of 500 requests over, worth 474 independent ones; would take about {} requests)",
            count(needed)
        );
        assert_eq!((open.line, open.over_share), (expected, Some(0.004)));
        // The same run, asked later about an objective with which it was not summarised: by the interval.
        let summary = summarise(&log, &[]);
        let later = |text: &str| text.parse::<Objective>().unwrap().evaluate(&summary);
        assert_eq!(later("p50 ttft < 400ms").status, Status::Met);
        assert_eq!(later("p50 ttft < 100ms").status, Status::Missed);
        let inside = later("p50 ttft < 251ms");
        assert_eq!((inside.status, inside.over_share), (Status::Undecided, None));
        assert!(inside.line.contains("(was 250 ms; 95 % interval 2"), "{}", inside.line);
    }

    /// A pace of tokens that drifts slowly, of requests that do not wait for one another.
    #[test]
    fn far_from_the_bound_a_slow_drift_of_the_pace_decides_nothing() {
        let paced = |i: u64| {
            let first = i * 20 + 1 + (i * 337) % 800;
            record(i).sent_at(i * 20, i * 20, i * 20).paced(first, 25 + i / 200, 11).build()
        };
        let log = run(16_000, (0..800).map(paced).collect());
        for quantile in ["p50", "p95", "p99"] {
            let status = |bound: u64| {
                let said = line(&format!("{quantile} tpot < {bound}ms"), &log);
                said.split(':').next().unwrap().to_owned()
            };
            assert_eq!([60, 10].map(status), ["met", "missed"], "{quantile}");
        }
        let near = line("p50 tpot < 27ms", &log);
        assert!(
            near.starts_with("cannot tell") && near.contains("400 of 800 requests over, worth "),
            "{near}"
        );
    }

    #[test]
    fn a_smoke_run_cannot_tell_a_tail_and_says_what_would() {
        let records = (0..20).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + 50 + (i * 7) % 20, 10, 11).build()
        });
        let said = line("p99 ttft < 500ms", &run(2_000, records.collect()));
        assert!(said.starts_with("cannot tell: p99 ttft < 500ms (was 68.8 ms"), "{said}");
        assert!(said.contains("; 0 of 20 requests over; would take about 3"), "{said}");
    }

    #[test]
    fn latencies_that_a_request_has_many_of_are_judged_by_their_interval() {
        let records = (0..400).map(|i| {
            record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 50, 10 + (i * 181) % 11, 11).build()
        });
        let log = run(8_000, records.collect());
        assert_eq!(line("p50 itl < 20ms", &log), "met: p50 itl < 20ms (was 15.0 ms)");
        assert_eq!(line("p50 itl < 12ms", &log), "missed: p50 itl < 12ms (was 15.0 ms)");
        let open = line("p50 itl < 15ms", &log);
        assert!(open.starts_with("cannot tell: p50 itl < 15ms (was 15.0 ms; 95 % interval 1"), "{open}");
    }

    /// Its latencies grow as long as it runs: that they depend on one another does not excuse it.
    #[test]
    fn a_server_that_does_not_keep_up_misses_what_the_run_misses() {
        let records = (0..300).map(|i| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + 100 + i * 80, 10, 11).build()
        });
        let log = run(30_000, records.collect());
        let objective = |text: &str| text.parse::<Objective>().unwrap();
        let summary = summarise(&log, &["p50 ttft < 5s", "p50 ttft < 1min"].map(objective));
        assert!(summary.verdict.is_overloaded(), "{:?}", summary.verdict);
        let status: Vec<_> = summary.objectives.iter().map(|judged| judged.status).collect();
        assert_eq!(status, [Status::Missed, Status::Undecided]);
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
