//! A run cut into bins, from its zero to its end: what flowed, what was in flight, how long it waited.

use super::rates::{levels, time_in_flight};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::requests::observed::latency_of;
use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord, RunLog};

/// Most bins that a run is cut into; a run of a second or more has at least half as many.
const MOST_BINS: u64 = 120;
/// The shortest bin, nanoseconds.
const SHORTEST_NS: u64 = 1_000_000;

/// A run over time, on its own clock: requests of every phase, whichever part of the run they belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Length of every bin but the last, seconds: 1, 2, 2.5 or 5 times a power of ten.
    pub bin_s: f64,
    /// The latency of [`Bin::wait`]: TTFT, or e2e of answers that are not streamed.
    pub metric: Metric,
    /// One after another from the run's zero; the last is as long as the run goes on, from half to one and a
    /// half of the others: rates over a shorter rest would say little. None without a request.
    pub bins: Vec<Bin>,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// Its first moment, seconds since the run's zero.
    pub from_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// Requests scheduled in it.
    pub scheduled: u64,
    /// Requests whose first byte was sent in it.
    pub sent: u64,
    /// Requests whose answer was whole in it.
    pub completed: u64,
    /// Requests that failed in it.
    pub failed: u64,
    /// Answer tokens that arrived in it.
    pub output_tokens: f64,
    /// Requests in flight: average over its time.
    pub in_flight_mean: f64,
    /// The most in flight at any moment of it.
    pub in_flight_peak: u64,
    /// How long the requests scheduled in it waited; absent without one that has such a latency.
    pub wait: Option<BinWait>,
}

/// A latency of the requests scheduled in a bin, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinWait {
    /// How many have it.
    pub n: u64,
    /// Half of them are at most this.
    pub p50: Figure,
    /// 99 in 100 are: of fewer than a hundred, about the largest.
    pub p99: Figure,
}

impl Timeline {
    /// Cuts a run.
    pub fn from_log(log: &RunLog) -> Self {
        let metric = if log.header.engine().streamed { Metric::Ttft } else { Metric::E2e };
        let Some(end) = log.records.iter().map(|record| record.ended).max() else {
            return Self { bin_s: 0.0, metric, bins: Vec::new() };
        };
        let end = log.footer.as_ref().map_or(end, |footer| footer.ended.max(end));
        let width = bin_width_ns(end.as_nanos());
        let mut cut = Cut { width, end, bins: vec![Bin::default(); bins_of(end.as_nanos(), width)] };
        let mut waits: Vec<Vec<Figure>> = vec![Vec::new(); cut.bins.len()];
        let mut scratch = Vec::new();
        for record in log.records.iter() {
            cut.count(&record);
            cut.add_tokens(&record, &mut scratch);
            waits[cut.place(record.scheduled)].extend(latency_of(log, &record).get(metric));
        }
        cut.add_in_flight(log.records.iter().filter_map(|record| time_in_flight(log, &record)));
        for (place, waits) in waits.into_iter().enumerate() {
            let (from, length) = cut.stretch(place);
            let bin = &mut cut.bins[place];
            (bin.from_s, bin.length_s) = (from as f64 / 1e9, length as f64 / 1e9);
            bin.wait = BinWait::from_waits(waits);
        }
        Self { bin_s: width as f64 / 1e9, metric, bins: cut.bins }
    }

    /// The end of its last bin, seconds since the run's zero.
    pub fn end_s(&self) -> f64 {
        self.bins.last().map_or(0.0, Bin::to_s)
    }
}

impl Bin {
    /// Its end, seconds since the run's zero.
    pub fn to_s(&self) -> f64 {
        self.from_s + self.length_s
    }
}

impl BinWait {
    fn from_waits(waits: Vec<Figure>) -> Option<Self> {
        let sample: Sample = waits.into_iter().collect();
        Some(Self { n: sample.len(), p50: sample.quantile(0.5)?, p99: sample.quantile(0.99)? })
    }
}

/// The shortest round width at which a run that ended at `end_ns` has no more than [`MOST_BINS`] bins.
fn bin_width_ns(end_ns: u64) -> u64 {
    let decades = std::iter::successors(Some(SHORTEST_NS), |decade| decade.checked_mul(10));
    // Each is at most twice the one before it, so that there are never fewer than half as many.
    let mut widths = decades.flat_map(|decade: u64| {
        [decade, decade.saturating_mul(2), (decade / 2).saturating_mul(5), decade.saturating_mul(5)]
    });
    widths.find(|width| end_ns / width < MOST_BINS).unwrap_or(u64::MAX)
}

/// Bins so wide until `end_ns`, a rest that is shorter than half of one in the one before it.
fn bins_of(end_ns: u64, width: u64) -> usize {
    (end_ns / width + u64::from(end_ns % width >= width.div_ceil(2))).max(1) as usize
}

/// Bins in the making.
struct Cut {
    width: u64,
    end: Timestamp,
    bins: Vec<Bin>,
}

impl Cut {
    fn place(&self, moment: Timestamp) -> usize {
        ((moment.as_nanos() / self.width) as usize).min(self.bins.len() - 1)
    }

    /// When a bin begins and how long it is, nanoseconds.
    fn stretch(&self, place: usize) -> (u64, u64) {
        let from = place as u64 * self.width;
        let is_last = place + 1 == self.bins.len();
        (from, if is_last { (self.end.as_nanos() - from).max(1) } else { self.width })
    }

    fn at(&mut self, moment: Timestamp) -> &mut Bin {
        let place = self.place(moment);
        &mut self.bins[place]
    }

    fn count(&mut self, record: &RequestRecord) {
        self.at(record.scheduled).scheduled += 1;
        if let Some(sent) = record.sent {
            self.at(sent).sent += 1;
        }
        match record.outcome {
            Outcome::Completed => {
                let whole = record.chunks.last_at().or(record.whole_answer).unwrap_or(record.ended);
                self.at(whole).completed += 1;
            }
            Outcome::Failed(_) => self.at(record.ended).failed += 1,
            Outcome::Cancelled | Outcome::Censored => {}
        }
    }

    /// Adds the tokens of an answer when they arrived. Where the chunks' counts do not add up to a whole answer's, each
    /// stands for its share of it, as in the run's rates.
    fn add_tokens(&mut self, record: &RequestRecord, scratch: &mut Vec<(usize, u64)>) {
        if record.chunks.is_empty() {
            if let Some(at) = record.whole_answer {
                self.at(at).output_tokens += record.output_tokens as f64;
            }
            return;
        }
        scratch.clear();
        for chunk in record.chunks.iter() {
            let place = self.place(chunk.at);
            match scratch.last_mut() {
                Some((last, tokens)) if *last == place => *tokens += u64::from(chunk.tokens),
                _ => scratch.push((place, u64::from(chunk.tokens))),
            }
        }
        let all: u64 = scratch.iter().map(|(_, tokens)| tokens).sum();
        let whole = record.outcome == Outcome::Completed && all > 0;
        let share = if whole { record.output_tokens as f64 / all as f64 } else { 1.0 };
        for (place, tokens) in scratch.iter() {
            self.bins[*place].output_tokens += *tokens as f64 * share;
        }
    }

    /// Adds what was in flight `from … to` each, event by event.
    fn add_in_flight(&mut self, stretches: impl Iterator<Item = (Timestamp, Timestamp)>) {
        for (from, to, level) in levels(stretches) {
            self.add_level(from, to, level);
        }
    }

    /// Adds a stretch of time in which `level` requests were in flight.
    fn add_level(&mut self, from: Timestamp, to: Timestamp, level: u64) {
        let (mut from, to) = (from.as_nanos(), to.as_nanos());
        while from < to && level > 0 {
            let place = self.place(Timestamp::from_nanos(from));
            let (began, length) = self.stretch(place);
            let end = to.min(began + length).max(from + 1);
            let bin = &mut self.bins[place];
            bin.in_flight_mean += (end - from) as f64 / length as f64 * level as f64;
            bin.in_flight_peak = bin.in_flight_peak.max(level);
            from = end;
        }
    }
}

#[cfg(test)]
mod tests;
