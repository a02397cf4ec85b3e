//! Judges a run by an objective.

use crate::analysis::figures::{Figure, Metric, SampleWarning};
use crate::analysis::judgements::Status;
use crate::analysis::requests::{Measured, Observed};
use crate::analysis::slo::judgement::Judgement;
use crate::analysis::slo::objective::Objective;
use crate::analysis::statistics::{Memory, OrderedShare};
use crate::analysis::summary::run::Summary;
use crate::units::{count, counted, seconds};

impl Objective {
    /// Holds the run against each of `objectives`.
    pub(crate) fn evaluate_all(objectives: &[Self], observed: &Observed<'_>, summary: &Summary) -> Vec<Judgement> {
        objectives.iter().map(|one| one.judge(summary, one.over(observed, summary))).collect()
    }

    /// Holds a run that was summarised before against this objective. A percentile is held by its interval where it was
    /// not summarised with the run.
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
            (Some(most), Some(over)) => over.keeps(most),
            (Some(_), None) => interval.map_or(Status::Undecided, |ends| self.status_of_interval(ends)),
        };
        let none = summary.why_absent(self.key.metric).unwrap_or("no such figure in this run");
        let was = figure.map_or(none.to_owned(), |figure| format!("was {}", self.shown(figure)));
        let undecided = status == Status::Undecided && figure.is_some();
        let needed = over.zip(self.most_over()).filter(|_| undecided);
        let needed_requests = needed.and_then(|(over, most)| over.needed(most));
        let assumed = over.filter(|_| status == Status::Met).and_then(|over| self.assumed(over));
        let (assumed, evidence) = assumed.unwrap_or_default();
        let doubt = match (over, self.most_over()) {
            _ if !undecided => evidence,
            (Some(over), _) => {
                let cure = needed_requests.map(|needed| {
                    let more = more_s(summary, over, needed);
                    let more = more.map_or(String::new(), |more_s| format!(", {} more", seconds(more_s.ceil())));
                    format!("{}{more}", counted(needed, "request"))
                });
                format!("; {}", self.doubt(over, cure))
            }
            (None, Some(_)) => format!("; {}", self.doubt_of(interval)),
            (None, None) => few.map_or(String::new(), |(_, requests)| {
                format!("; {} are too few for it", counted(requests, "request"))
            }),
        };
        let (at_least, at_most) = figure.map(Figure::bounds).unwrap_or_default();
        Judgement {
            objective: self.clone(),
            status,
            value: figure.and_then(Figure::exact),
            at_least,
            at_most,
            interval,
            over_share: over.map(|over| over.share()),
            needed_requests,
            over,
            mark: warning.map(|(mark, _)| mark),
            by_tail: !assumed.is_empty(),
            line: format!("{}: {}{assumed} ({was}{doubt})", status.word(), self.text),
            found: format!("{was}{doubt}{assumed}"),
        }
    }

    /// The figure in words, as far as it is known.
    pub(crate) fn shown(&self, figure: Figure) -> String {
        match figure {
            Figure::Exact(value) => self.key.show(value),
            Figure::Between { low, high } => {
                format!("between {} and {}", self.key.show(low), self.key.show(high))
            }
            Figure::AtLeast(bound) => format!("over {}", self.key.show(bound)),
        }
    }

    /// Returns the assumption by which it is met, with its evidence, in words. `None` where it takes none.
    pub(crate) fn assumed(&self, over: OrderedShare) -> Option<(&'static str, String)> {
        let largest = self.key.show(over.assumes(self.most_over()?)?);
        let evidence = format!("; the largest of {} was {largest}", counted(over.n, "request"));
        Some((", assuming that no rare slow requests are missing", evidence))
    }

    /// Judges a figure. It is met when both ends of what it can be hold, missed when neither does. Else the question is
    /// open.
    fn status_of(&self, figure: Figure) -> Status {
        self.holds(figure).map_or(Status::Undecided, |holds| Status::of_both(holds, holds))
    }

    /// Whether the figure stands to the bound as it should. It does so whatever it is of all that it can be.
    fn holds(&self, figure: Figure) -> Option<bool> {
        let holds = |value| self.comparison.holds(value, self.bound);
        let least = holds(figure.at_least());
        (least == holds(figure.at_most().unwrap_or(f64::INFINITY))).then_some(least)
    }

    /// Judges an interval: met when all of it holds, missed when nothing of it does.
    fn status_of_interval(&self, (low, high): (Option<f64>, Option<f64>)) -> Status {
        let holds = |end| self.comparison.holds(end, self.bound);
        Status::of_both(holds(low.unwrap_or(f64::NEG_INFINITY)), holds(high.unwrap_or(f64::INFINITY)))
    }

    /// Returns the share of requests beyond the bound from which on a percentile is missed.
    pub(crate) fn most_over(&self) -> Option<f64> {
        let below = self.key.quantile()?.fraction();
        Some(if self.comparison.is_upper() { 1.0 - below } else { below })
    }

    /// Counts the requests whose latency does not keep the bound. Only requests that have the latency count. Of one
    /// that was cut off before it could tell it is not known. `None` where this is not a percentile of a latency that
    /// each request has one of, or no request has it.
    ///
    /// Their share is a mean over requests: that of several runs is the share of all requests that ever come,
    /// however short the runs are; the mean of percentiles is not the percentile. How sure it is follows from
    /// the memory of the latency, as for the interval of a percentile. Far from the bound, where a tenth of
    /// the allowed share is over it or less, or nine of ten are, it is that of TTFT if that is shorter: a
    /// slow drift of the pace of tokens by a few percent says nothing of a bound of twice the pace. Of 165
    /// minutes of an A10G at 50 to 90 % load, with bounds on the p50, p95 and p99 of TPOT 10 % below the
    /// truth, one of 495 objectives was met so.
    fn over(&self, observed: &Observed<'_>, summary: &Summary) -> Option<OrderedShare> {
        let metric = self.key.metric;
        let most = self.most_over().filter(|_| metric.is_one_per_request())?;
        let meant = |request: &&Measured<'_>| {
            self.key.part.as_ref().is_none_or(|part| part.has(&observed.log.header.workload, &request.record()))
        };
        let of = |metric| {
            let figures = observed.requests.iter().filter(meant).filter_map(move |r| r.latency().get(metric));
            figures.collect::<Vec<Figure>>()
        };
        let at_least = |figures: &[Figure]| figures.iter().map(|figure| figure.at_least()).collect::<Vec<_>>();
        let figures = of(metric);
        let values = at_least(&figures);
        let over: Vec<_> = figures.iter().map(|figure| self.holds(*figure).map(|holds| !holds)).collect();
        let missed = over.iter().filter(|over| **over != Some(false)).count() as f64 / over.len() as f64;
        let is_far = missed <= 0.1 * most || missed >= 0.9;
        let of_queue = Some(Metric::Ttft).filter(|_| is_far);
        let of_queue = of_queue.and_then(|ttft| Memory::of_ranks(&at_least(&of(ttft))));
        let memories = Memory::of_ranks(&values).into_iter().chain(of_queue);
        let shortest = memories.min_by(|a, b| a.cautious_time.total_cmp(&b.cautious_time));
        let over = OrderedShare::new(&over, shortest)?;
        let over = if self.comparison.is_upper() { over.inside(&values, self.bound) } else { over };
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
        let worth = over.effective.map(|effective| effective.samples.round() as u64).filter(|worth| *worth < over.n);
        let worth = worth.map(|worth| format!(", worth {}", counted(worth, "independent one")));
        let (hits, n, worth) = (count(over.hits), counted(over.n, "request"), worth.unwrap_or_default());
        format!("{hits} of {n} {side}{open}{worth}; {cure}")
    }

    /// Says why a percentile that is judged by its interval is in doubt.
    fn doubt_of(&self, interval: Option<(Option<f64>, Option<f64>)>) -> String {
        let show = |end: Option<f64>| end.map_or("…".to_owned(), |end| self.key.show(end));
        match interval.filter(|ends| *ends != (None, None)) {
            Some((low, high)) => format!("95 % interval {} to {}", show(low), show(high)),
            None => "too few requests for an interval".to_owned(),
        }
    }
}

/// Returns how much longer the run takes to have as many of these requests, seconds. `None` where a longer run has no
/// more.
fn more_s(summary: &Summary, over: OrderedShare, needed: u64) -> Option<f64> {
    let all = summary.rates.requests_per_s().filter(|_| summary.window.answers_end_s.is_none())?;
    let rate = all * over.n as f64 / summary.requests.executed().max(over.n) as f64;
    needed.checked_sub(over.n).map(|more| more as f64 / rate)
}

#[cfg(test)]
mod tests;
