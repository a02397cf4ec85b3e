//! A run cut into bins, from its zero to its end: what flowed, what was in flight, how long it waited.

use super::rates::{levels, time_in_flight};
use crate::analysis::figures::{Figure, Metric, Sample};
use crate::analysis::requests::latency_of;
use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord, RunLog};

/// Most bins that a run is cut into. A run of a second or more has at least half as many.
const MOST_BINS: u64 = 120;
/// The shortest bin, nanoseconds.
const SHORTEST_NS: u64 = 1_000_000;

/// A run over time, on its own clock. It has requests of every phase, whichever part of the run they belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Length of every bin but the last, seconds. It is 1, 2, 2.5 or 5 times a power of ten.
    pub bin_s: f64,
    /// The latency of [`Bin::wait`]: TTFT, or e2e of answers that are not streamed.
    pub metric: Metric,
    /// Bins one after another from the run's zero. The last is as long as the run goes on, from half to one and a half
    /// of the others: rates over a shorter rest would say little. None without a request.
    pub bins: Vec<Bin>,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// First moment of the bin, seconds since the run's zero.
    pub from_s: f64,
    /// Length of the bin, seconds.
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
    /// Wait of the requests scheduled in it. Absent without one that has such a latency.
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
    /// Returns the end of the bin, seconds since the run's zero.
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

/// Returns the shortest round width with no more than [`MOST_BINS`] bins. The run ended at `end_ns`.
fn bin_width_ns(end_ns: u64) -> u64 {
    let decades = std::iter::successors(Some(SHORTEST_NS), |decade| decade.checked_mul(10));
    // Each is at most twice the one before it, so that there are never fewer than half as many.
    let mut widths = decades.flat_map(|decade: u64| {
        [decade, decade.saturating_mul(2), (decade / 2).saturating_mul(5), decade.saturating_mul(5)]
    });
    widths.find(|width| end_ns / width < MOST_BINS).unwrap_or(u64::MAX)
}

/// Returns the bins of this width until `end_ns`. A rest shorter than half of one joins the one before it.
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

    /// Start of a bin and its length, nanoseconds.
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
mod tests {
    //! Holds bins against counts that look at every request and moment again.

    use proptest::prelude::*;

    use super::*;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::{Failure, FailureKind};

    #[test]
    fn bins_are_round_and_neither_few_nor_many() {
        for (end_s, width_s) in [(0.5, 0.005), (1.0, 0.01), (60.0, 1.0), (100.0, 1.0), (125.0, 2.0), (7_200.0, 100.0)] {
            let width = bin_width_ns((end_s * 1e9) as u64);
            assert_eq!(width as f64 / 1e9, width_s, "{end_s} s");
        }
        for end_ns in (0..400).map(|step| (1e9 * 1.07_f64.powi(step)) as u64) {
            let width = bin_width_ns(end_ns);
            let bins = bins_of(end_ns, width) as u64;
            assert!((60..=MOST_BINS).contains(&bins), "{end_ns} ns: {bins}");
            let last = end_ns - (bins - 1) * width;
            assert!(2 * last >= width && 2 * last <= 3 * width, "{end_ns} ns: the last is {last} of {width}");
        }
        assert_eq!((bin_width_ns(0), bin_width_ns(u64::MAX) > u64::MAX / MOST_BINS), (SHORTEST_NS, true));
    }

    #[test]
    fn a_run_by_hand() {
        // Bins of 10 ms: the run ends at 1 s.
        let log = run(
            1_000,
            vec![
                record(0).sent_at(0, 1, 1).paced(25, 10, 2).build(),
                record(1).sent_at(15, 15, 16).failed(18, Failure::new(FailureKind::Reset, "peer")).build(),
                record(2).sent_at(15, 15, 16).censored(1_000).build(),
            ],
        );
        let timeline = Timeline::from_log(&log);
        assert_eq!((timeline.bin_s, timeline.bins.len(), timeline.end_s()), (0.01, 100, 1.0));
        let [first, second, third, fourth, ..] = timeline.bins.as_slice() else { panic!("too few") };
        assert_eq!((first.scheduled, first.sent, first.completed, first.failed), (1, 1, 0, 0));
        assert_eq!((second.scheduled, second.failed, second.in_flight_peak), (2, 1, 3));
        // From 1 to 10 ms one; then 5 ms of one, 3 ms of three, 2 ms of two.
        assert!((first.in_flight_mean - 0.9).abs() < 1e-9 && (second.in_flight_mean - 1.8).abs() < 1e-9);
        assert_eq!((third.output_tokens, fourth.output_tokens, fourth.completed), (1.0, 1.0, 1));
        assert_eq!(first.wait.unwrap().p50, Figure::Exact(25.0));
        // Of the two of the second bin one failed and one was cut off after 985 ms.
        assert_eq!(second.wait.unwrap().p50, Figure::AtLeast(985.0));
        assert_eq!((third.wait, timeline.metric), (None, Metric::Ttft));
    }

    /// A run of 10.04 s in bins of 0.1 s. The last is 0.14 s long, and one request goes on to the end.
    #[test]
    fn the_last_bin_is_as_long_as_the_run_goes_on() {
        let log = run(10_000, vec![record(0).sent_at(0, 0, 0).paced(10_040, 1, 1).build()]);
        let timeline = Timeline::from_log(&log);
        let [.., before, last] = timeline.bins.as_slice() else { panic!("too few") };
        assert_eq!((timeline.bins.len(), timeline.bin_s), (100, 0.1));
        assert!((timeline.end_s() - 10.04).abs() < 1e-9);
        assert!((before.length_s - 0.1).abs() < 1e-12 && (last.length_s - 0.14).abs() < 1e-12);
        assert!((last.in_flight_mean - 1.0).abs() < 1e-12 && last.completed == 1);
    }

    /// Requests that wait under a cap have not been sent. One that never is, never was.
    #[test]
    fn what_is_let_go_is_not_sent_yet() {
        let log = run(
            1_000,
            vec![record(0).sent_at(0, 0, 500).paced(900, 1, 1).build(), record(1).scheduled(0).censored(1_000).build()],
        );
        let bins = Timeline::from_log(&log).bins;
        assert_eq!((bins[0].sent, bins[0].scheduled, bins[50].sent), (0, 2, 1));
        assert_eq!(bins.iter().map(|bin| bin.sent).sum::<u64>(), 1);
    }

    #[test]
    fn what_was_not_streamed_has_its_whole_answer() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 1).whole_answer(500, 40).build()]);
        log.header.engines[0].streamed = false;
        let timeline = Timeline::from_log(&log);
        assert_eq!(timeline.metric, Metric::E2e);
        assert_eq!(timeline.bins[0].wait.unwrap().p50, Figure::Exact(500.0));
        assert_eq!(timeline.bins.iter().find(|bin| bin.output_tokens > 0.0).unwrap().output_tokens, 40.0);
        assert!(Timeline::from_log(&run(1_000, Vec::new())).bins.is_empty());
    }

    /// Counts the requests in flight at once between two moments. It asks each of them at the moments at which
    /// something changes.
    fn brute_peak(stretches: &[(u64, u64)], from: u64, to: u64) -> u64 {
        let moments = stretches.iter().map(|(began, _)| *began).chain([from]).filter(|at| (from..to).contains(at));
        moments
            .map(|at| stretches.iter().filter(|(began, ended)| *began <= at && at < *ended).count() as u64)
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn bins_say_what_a_count_of_everything_says(
            requests in prop::collection::vec((0_u64..3_000, 0_u64..40, 1_u64..2_000, 1_u64..30, 1_u64..8), 1..60)
        ) {
            let records: Vec<_> = requests
                .iter()
                .enumerate()
                .map(|(index, &(scheduled, late, first, gap, tokens))| {
                    let sent = scheduled + late;
                    record(index as u64).sent_at(scheduled, sent, sent).paced(sent + first, gap, tokens).build()
                })
                .collect();
            let log = run(3_000, records);
            let timeline = Timeline::from_log(&log);
            let width = (timeline.bin_s * 1e3).round() as u64;
            // The shortest runs have bins of 2.5 ms, which a count by milliseconds cannot follow.
            prop_assume!(timeline.bin_s * 1e3 == width as f64);
            let stretches: Vec<_> = log
                .records
                .iter()
                .map(|record| (record.dispatched.as_nanos() / 1_000_000, record.ended.as_nanos() / 1_000_000))
                .collect();
            for (place, bin) in timeline.bins.iter().enumerate() {
                let from = place as u64 * width;
                let is_last = place + 1 == timeline.bins.len();
                // The run's last moment belongs to the last bin.
                let to = if is_last { (timeline.end_s() * 1e3).round() as u64 } else { from + width };
                let within = |at: Timestamp| ms(from) <= at && (at < ms(to) || is_last);
                let count = |at: fn(&RequestRecord) -> Timestamp| {
                    log.records.iter().filter(|record| within(at(record))).count() as u64
                };
                prop_assert_eq!(bin.scheduled, count(|record| record.scheduled));
                prop_assert_eq!(bin.sent, count(|record| record.sent.unwrap()));
                prop_assert_eq!(bin.completed, count(|record| record.ended));
                let chunks = log.records.as_slice().iter().flat_map(|record| record.chunks.iter());
                let tokens = chunks.filter(|chunk| within(chunk.at));
                prop_assert_eq!(bin.output_tokens, tokens.count() as f64);
                let spent: u64 =
                    stretches.iter().map(|&(began, ended)| ended.min(to).saturating_sub(began.max(from))).sum();
                prop_assert!((bin.in_flight_mean - spent as f64 / (to - from) as f64).abs() < 1e-9);
                prop_assert_eq!(bin.in_flight_peak, brute_peak(&stretches, from, to));
                let mut waits: Vec<u64> = requests
                    .iter()
                    .filter(|(scheduled, ..)| within(ms(*scheduled)))
                    .map(|(_, late, first, ..)| late + first)
                    .collect();
                waits.sort_unstable();
                if let (Some(wait), true) = (bin.wait, waits.len() % 2 == 1) {
                    prop_assert_eq!(wait.p50, Figure::Exact(waits[waits.len() / 2] as f64));
                }
                prop_assert_eq!(bin.wait.is_some(), !waits.is_empty());
            }
        }
    }
}
