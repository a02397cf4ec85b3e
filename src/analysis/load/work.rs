//! The work that a server does, beside what is offered to it.

use serde::Serialize;

use crate::analysis::load::equal_sections::EqualSections;
use crate::analysis::load::served::{LEAST_SERVED, SLOWER, first_stay};
use crate::analysis::requests::Observed;
use crate::analysis::statistics::{CONFIDENCE, mean, slope, student_t_quantile, variance};
use crate::clock::Timestamp;
use crate::record::RequestRecord;

/// Parts of a window. The first is not judged, as a new load fills the server.
const PARTS: usize = 3;
/// Answers in whose time more requests come.
const ANSWERS: f64 = 2.0;
/// Nanoseconds in which an answer that came whole was done.
const INSTANT: u64 = 1_000;
/// Share of the offered work that a section has at the least.
const LEAST: f64 = 1e-3;

/// The share of offered work done in the last two thirds of a window.
///
/// Work is answer tokens, which a request does evenly between its first token and its end; offered are those of as many
/// requests as were to arrive. Where a queue is there by chance, the server works at its limit, which is more than is
/// offered, however long the queue lasts: so chance does not look like an overload. A load that is new does:
/// batches are not full yet. There more requests at once do more work. The time in which all that are present
/// are served once, N/X, rises with their number N along a line: level while the server has room, by 1/μ for
/// each where it does μ at the most. It is judged where that line has come to when so many more are there as
/// would come with two more answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Work {
    /// Work done, as a share of what was offered, on average over the sections.
    pub(crate) share: f64,
    /// The upper end of its 95 % interval. It takes the spread of the sections and that of the tokens of a request.
    pub(crate) at_most: f64,
    /// Work offered, as a multiple of what would be done with more requests present.
    pub(crate) offered_to_more: f64,
    /// The larger of `offered_to_more` and 75 % of the work offered ÷ the most done. Whatever more requests would
    /// change, who does so little is far behind, unless answers take so long that the server still fills.
    pub(crate) behind: f64,
}

impl Work {
    /// Returns the work done in the last two thirds of these sections. Each has so many requests `present`.
    pub(super) fn in_sections(observed: &Observed<'_>, sections: &EqualSections, present: &[f64]) -> Option<Self> {
        let tokens = |record: &RequestRecord| record.output_tokens.max(1) as f64;
        let done = sections.levels(observed, |record| {
            let began = record.chunks.first_at().filter(|first| *first < record.ended);
            let began = began.unwrap_or(Timestamp::from_nanos(record.ended.as_nanos().saturating_sub(INSTANT)));
            (began, tokens(record) / record.ended.since(began).as_secs_f64())
        });
        // Not of the load before and after, much of which is cut off.
        let each: Vec<f64> = observed.requests.iter().map(|request| tokens(&request.record())).collect();
        let each_mean = mean(&each)?;
        let offered = sections.expected(observed) / sections.length_s() * each_mean;
        let late = sections.sections / PARTS;
        let shares: Vec<f64> = done[late..].iter().map(|done| (done / offered).max(LEAST)).collect();
        let share = mean(&shares)?;
        let error = |values: &[f64], mean: f64| {
            let n = values.len() as f64;
            let error = libm::sqrt(variance(values).unwrap_or(0.0) / n) / mean;
            student_t_quantile(f64::midpoint(1.0, CONFIDENCE), (n - 1.0).max(1.0)) * error
        };
        let at_most = share * (1.0 + libm::hypot(error(&shares, share), error(&each, each_mean)));
        let points: Vec<_> = present[late..].iter().zip(&shares).map(|(n, share)| (*n, n / share)).collect();
        let middle = |of: fn(&(f64, f64)) -> f64| mean(&points.iter().map(of).collect::<Vec<_>>());
        let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let answers = first_stay(observed)?.0.as_secs_f64() / sections.length_s();
        let more = most * (1.0 + ANSWERS * answers);
        let rise = slope(&points).map_or(0.0, |line| line.value);
        let offered_to_more = (middle(|point| point.1)? + rise * (more - middle(|point| point.0)?)) / more;
        // In two thirds of a window that is no longer than an answer, the server is still filling.
        let is_full = answers * SLOWER * SLOWER < 1.0;
        let behind = if is_full { offered_to_more.max(LEAST_SERVED / at_most) } else { offered_to_more };
        Some(Self { share, at_most, offered_to_more, behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::Phase;

    /// Ten requests a second for a minute, and as many after it. Each of the first answers from a moment on, with
    /// chunks so far apart. Those after it are cut off before they answer.
    fn work(answers: impl Fn(u64) -> (u64, u64, u64)) -> Work {
        let records = (0..600).map(|i| {
            let (from, apart, chunks) = answers(i);
            record(i).sent_at(i * 100, i * 100, i * 100).paced(from, apart, chunks).build()
        });
        let mut log = run(60_000, records.collect());
        let after = (600..1_200).map(|i| record(i).phase(Phase::Cooldown).sent_at(i * 100, i * 100, i * 100));
        log.records.extend(after.map(|request| request.censored(120_000).build()));
        let observed = Observed::from_log(&log);
        let sections = EqualSections::judged(&observed).unwrap();
        Work::in_sections(&observed, &sections, &sections.present(&observed)).unwrap()
    }

    /// Five a second are done, however many wait: twice as much is offered.
    #[test]
    fn a_server_at_its_limit_does_no_more_for_more() {
        let full = work(|i| (i * 200, 200, 2));
        assert!((full.share - 0.5).abs() < 0.01 && full.at_most < 0.52, "{full:?}");
        assert!((full.offered_to_more - 2.0).abs() < 0.1, "{full:?}");
        assert!(full.behind >= full.offered_to_more && full.behind > 1.4, "{full:?}");
    }

    /// A run whose answers take 40 s each. In the end 400 are there: half as much as offered is done after 20 s, all
    /// after 40 s.
    #[test]
    fn a_server_that_fills_does_more_for_more() {
        let filling = work(|i| (i * 100, 10_000, 5));
        assert!((filling.share - 0.856).abs() < 0.02 && filling.at_most < 1.0, "{filling:?}");
        assert!(filling.offered_to_more < 0.5, "{filling:?}");
        // Each takes 80 s: in this minute none is done, and half of what is offered.
        let longer = work(|i| (i * 100, 20_000, 5));
        assert!(longer.at_most < 0.75 && longer.behind < 1.0, "{longer:?}");
    }
}
