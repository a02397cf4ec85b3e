//! Every answer of a run with its concurrency: requests in flight when it was sent, and those ahead of it.

use crate::clock::Timestamp;
use crate::record::{Phase, RecordRef, Records, RequestRecord, RunLog};
use crate::units::millis;

/// Prompts of so many times the usual length are long.
const LONG: f64 = 4.0;
/// Answers whose every gap is looked at; a run may have a million.
const ENOUGH: usize = 4_000;
/// Answers that are looked at; of a longer run an even sample.
const MOST: usize = if cfg!(test) { 400 } else { 400_000 };

/// The answers of a run's window with their concurrency.
pub(super) struct ConcurrencyContext<'a> {
    /// Answers of the window that got a first token, in the order of sending. There are at most [`MOST`] of them.
    pub(super) answers: Vec<AnswerInContext<'a>>,
    /// Number of them in all.
    pub(super) all: usize,
    /// Prompts that wait or are being computed, of every phase.
    waiting: Stays,
    /// Middle length of the window's prompts, tokens.
    pub(super) usual_prompt: f64,
}

/// An answer that got a first token.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerInContext<'a> {
    records: &'a Records,
    place: u32,
    sent: Timestamp,
    /// Tokens of the prompt that had to be computed: reported cache hits left out.
    pub(super) prompt: f64,
    /// First token − sent, milliseconds.
    pub(super) ttft_ms: f64,
    /// Time per output token, milliseconds, from five tokens on: of fewer it is mostly chance.
    pub(super) tpot_ms: Option<f64>,
    /// Other requests in flight when it was sent.
    pub(super) others: f64,
    /// Other requests in flight without a first token when it was sent.
    pub(super) ahead: f64,
    /// Tokens of the prompts of those without a first token.
    pub(super) tokens_ahead: f64,
    /// Tokens of long prompts among `tokens_ahead`.
    pub(super) long_tokens_ahead: f64,
    /// Mean number of answers that came at a time while its own did, itself included. It is 1 for an answer of one
    /// token.
    pub(super) company: f64,
}

impl<'a> AnswerInContext<'a> {
    pub(super) fn record(&self) -> RecordRef<'a> {
        self.records.at(self.place as usize)
    }

    /// Tokens of context while it was decoded, on average.
    pub(super) fn context(&self) -> u32 {
        let record = self.record();
        u32::try_from(record.prompt_tokens() + record.output_tokens / 2).unwrap_or(u32::MAX)
    }
}

impl<'a> ConcurrencyContext<'a> {
    pub(super) fn from_log(log: &'a RunLog) -> Self {
        let sent = || log.records.iter().filter(|record| record.own_sent().is_some());
        let measured = |record: &RecordRef<'_>| record.phase == Phase::Measured;
        let mut lengths: Vec<f64> = sent().filter(measured).map(|record| prompt(&record)).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        let usual_prompt = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);

        let until_first = |record: &RequestRecord| seconds(record.chunks.first_at().unwrap_or(record.ended));
        let mut answers: Vec<AnswerInContext<'a>> = Vec::new();
        drop(lengths);
        let answered = |record: &RecordRef<'_>| measured(record) && !record.chunks.is_empty();
        let all = sent().filter(answered).count();
        let sampled = (0..).zip(log.records.iter()).filter(|(_, record)| answered(record));
        for (place, record) in sampled.step_by(all.div_ceil(MOST).max(1)) {
            let (Some(sent), Some(first)) = (record.own_sent(), record.chunks.first_at()) else { continue };
            let last = record.chunks.last_at().unwrap_or(first);
            answers.push(AnswerInContext {
                records: &log.records,
                place,
                sent,
                prompt: prompt(&record),
                ttft_ms: millis(first.since(sent)),
                tpot_ms: (record.output_tokens >= 5)
                    .then(|| millis(last.since(first)) / (record.output_tokens - 1) as f64)
                    .filter(|&tpot| tpot > 0.0),
                others: 0.0,
                ahead: 0.0,
                tokens_ahead: 0.0,
                long_tokens_ahead: 0.0,
                company: 1.0,
            });
        }
        // One after the other: each takes as much memory as the answers, of which a run may have millions.
        let in_flight = Stays::from_stays(sent().map(|r| (sent_s(&r), seconds(r.ended), 1.0)));
        for answer in &mut answers {
            answer.others = (in_flight.at(seconds(answer.sent)) - 1.0).max(0.0);
        }
        drop(in_flight);
        let tokens = Stays::from_stays(sent().map(|r| (sent_s(&r), until_first(&r), prompt(&r))));
        for answer in &mut answers {
            answer.tokens_ahead = (tokens.at(seconds(answer.sent)) - answer.prompt).max(0.0);
        }
        drop(tokens);
        let long_ones = sent().filter(|record| prompt(record) >= LONG * usual_prompt);
        let long_tokens = Stays::from_stays(long_ones.map(|r| (sent_s(&r), until_first(&r), prompt(&r))));
        for answer in &mut answers {
            let own = if answer.prompt >= LONG * usual_prompt { answer.prompt } else { 0.0 };
            answer.long_tokens_ahead = (long_tokens.at(seconds(answer.sent)) - own).max(0.0);
        }
        drop(long_tokens);
        let begun = sent().filter_map(|r| Some((seconds(r.chunks.first_at()?), seconds(r.ended), 1.0)));
        let coming = Stays::from_stays(begun);
        for answer in &mut answers {
            let record = answer.record();
            let ends = record.chunks.first_at().zip(record.chunks.last_at());
            let mean = ends.and_then(|(first, last)| coming.mean(seconds(first), seconds(last)));
            answer.company = mean.unwrap_or(1.0).max(1.0);
        }
        drop(coming);
        let waiting = Stays::from_stays(sent().map(|r| (sent_s(&r), until_first(&r), 1.0)));
        for answer in &mut answers {
            answer.ahead = (waiting.at(seconds(answer.sent)) - 1.0).max(0.0);
        }
        answers.sort_unstable_by_key(|answer| (answer.sent, answer.place));
        Self { answers, all, waiting, usual_prompt }
    }

    /// Says that not all answers are looked at, to follow a number of them. It is empty where all are.
    pub(super) fn sampled(&self) -> &'static str {
        if self.answers.len() < self.all { " in an even sample" } else { "" }
    }

    /// A sample of the answers, evenly over the window, large enough for statistics of gaps.
    pub(super) fn some(&self) -> impl Iterator<Item = &AnswerInContext<'a>> {
        self.answers.iter().step_by(self.answers.len().div_ceil(ENOUGH).max(1))
    }

    /// Whether a prompt is long beside the usual ones.
    pub(super) fn is_long(&self, answer: &AnswerInContext<'_>) -> bool {
        answer.prompt >= LONG * self.usual_prompt
    }

    /// Returns whether the prompt of another was computed between `from` and `to` (seconds). The other had waited by
    /// then: its first token came in between, or it waited through all of it.
    pub(super) fn prompts_between(&self, from: f64, to: f64) -> bool {
        self.waiting.left(from, to) > 0.0 || self.waiting.at(to) > 0.0
    }
}

/// Tokens of its prompt that had to be computed.
fn prompt(record: &RequestRecord) -> f64 {
    let cached = record.usage.and_then(|usage| usage.cached()).unwrap_or(0);
    record.prompt_tokens().saturating_sub(cached) as f64
}

fn seconds(at: Timestamp) -> f64 {
    at.as_secs_f64()
}

fn sent_s(record: &RequestRecord) -> f64 {
    record.own_sent().map_or(0.0, seconds)
}

/// Stays over time, each from a moment to another with a weight.
pub(in crate::experiment) struct Stays {
    arrivals: Steps,
    departures: Steps,
}

/// Moments in order, with the sums up to each.
pub(in crate::experiment) struct Steps {
    moments: Vec<f64>,
    /// Weights summed up to each moment.
    pub(in crate::experiment) weight: Vec<f64>,
    /// Weight × moment summed up to each.
    moment: Vec<f64>,
}

impl Steps {
    pub(in crate::experiment) fn from_steps(mut steps: Vec<(f64, f64)>) -> Self {
        steps.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let sums = |value: fn(&(f64, f64)) -> f64| {
            let mut sum = 0.0;
            let running = steps.iter().map(|step| {
                sum += value(step);
                sum
            });
            std::iter::once(0.0).chain(running).collect()
        };
        Self {
            weight: sums(|(_, weight)| *weight),
            moment: sums(|(at, weight)| at * weight),
            moments: steps.iter().map(|step| step.0).collect(),
        }
    }

    /// Returns how many steps were taken by `at`.
    pub(in crate::experiment) fn by(&self, at: f64) -> usize {
        self.moments.partition_point(|&moment| moment <= at)
    }

    /// ∫ of the sum of weights from 0 to `at`.
    fn area(&self, at: f64) -> f64 {
        let taken = self.by(at);
        at * self.weight[taken] - self.moment[taken]
    }
}

impl Stays {
    pub(in crate::experiment) fn from_stays(stays: impl Iterator<Item = (f64, f64, f64)> + Clone) -> Self {
        let arrivals = Steps::from_steps(stays.clone().map(|(from, _, weight)| (from, weight)).collect());
        Self { arrivals, departures: Steps::from_steps(stays.map(|(_, to, weight)| (to, weight)).collect()) }
    }

    /// Returns the weight of what is there at `at`, what came at that moment included.
    pub(in crate::experiment) fn at(&self, at: f64) -> f64 {
        self.arrivals.weight[self.arrivals.by(at)] - self.departures.weight[self.departures.by(at)]
    }

    /// Returns the weight of what left after `from` and by `to`.
    fn left(&self, from: f64, to: f64) -> f64 {
        self.departures.weight[self.departures.by(to)] - self.departures.weight[self.departures.by(from)]
    }

    /// Average over time; `None` for no time.
    fn mean(&self, from: f64, to: f64) -> Option<f64> {
        let area = |at| self.arrivals.area(at) - self.departures.area(at);
        (to > from).then(|| (area(to) - area(from)) / (to - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_and_averaged() {
        let stays = Stays::from_stays([(0.0, 4.0, 1.0), (1.0, 2.0, 3.0), (3.0, 9.0, 2.0)].into_iter());
        assert_eq!([0.0, 1.0, 2.0, 3.5, 9.0].map(|at| stays.at(at)), [1.0, 4.0, 1.0, 3.0, 0.0]);
        // From 0 to 4: 1 throughout, 3 for one second, 2 for one.
        assert_eq!(stays.mean(0.0, 4.0), Some((4.0 + 3.0 + 2.0) / 4.0));
        assert_eq!((stays.mean(2.0, 2.0), stays.left(2.0, 9.0)), (None, 3.0));
    }
}
