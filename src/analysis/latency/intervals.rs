//! The 95 % intervals of percentiles, which respect that requests depend on one another.

use super::clusters::{Counts, Excess, design};
use super::row::{LatencyRow, Percentile};
use crate::analysis::figures::{Figure, Sample, SampleWarning, Unresolvable};
use crate::analysis::requests::Occupancy;
use crate::analysis::statistics::{CONFIDENCE, Effective, LEAST_EFFECTIVE, Memory, explained, ranks, von_neumann};

/// Fewest requests that tell whether neighbours are alike.
const FEWEST_ALIKE: usize = 20;
/// Φ⁻¹(0.99): the requests of one run in a hundred look dependent by chance.
const DEPENDENT_Z: f64 = 2.326_347_874_040_841;
/// Φ⁻¹(0.975).
const Z: f64 = 1.959_963_984_540_054;
/// How close a figure should be known: within a tenth of itself.
const CLOSE: f64 = 0.1;

/// Fewest correlation times of the number in flight for any interval. Of calm windows of fewer, a queue or a nearly
/// full server (M/M/32 with 500 requests; 95 % of the limit of an A10G, a minute) made intervals of TTFT and e2e that
/// held the truth in a third of the runs.
const LEAST_IN_FLIGHT: f64 = 10.0;

/// Correlation times of the number in flight in a long enough window. It tells all of what a queue does. Of fewer, as
/// large a share of the samples counts for the upper end. M/M/16 and M/M/32 at 70 to 90 % load, of which windows of 10
/// to 35 are shown, held the truth in 77 to 89 % of those without it.
const ENOUGH_IN_FLIGHT: f64 = 30.0;

/// Correlation time of tokens as a multiple of that of requests. Long answers, in which more time passes, have most of
/// the tokens.
const OF_TOKENS: f64 = 1.5;

/// Gives every percentile of `row` its interval. The `values` are the least that each can be, in order of arrival, and
/// each request `found` so many in flight. `sessions` are those that the requests belong to.
///
/// The share of requests at or below a percentile is a mean of zeros and ones, and how sure it is follows from how many
/// independent requests they are worth: their number ÷ their correlation time ([`Memory`]), the longer of that of their
/// ranks and that of those zeros and ones. The percentile lies between the shares whose own interval just holds it
/// ([`Effective::shares_around`]). Where the window holds fewer than 20 correlation times it may have missed what the
/// server does at other times, and there is no interval; where fewer than ten effective samples lie beyond
/// the percentile, it has no end on that side.
///
/// A latency that follows how many others are `in_flight`, as the pace of tokens does, has a memory that the
/// answers' own durations tell: it is worth what [`Effective::of_batches`] says. Any other may be that of a
/// queue, whose memory a calm window does not show: its upper end counts with the share of its variance that
/// the number in flight explains, adjusted for chance, as remembered for as long as that of a queue that
/// falls as slowly ([`Effective::of_queue`]), and less of a short window. Nothing is known where the window
/// holds fewer than ten correlation times of that number.
pub(crate) fn add_intervals(
    row: &mut LatencyRow,
    sample: &Sample,
    [values, found]: [&[f64]; 2],
    sessions: &[u64],
    in_flight: Option<Occupancy>,
) {
    let bounds = row.bounds();
    let excess = |place: usize| {
        let holds = values.iter().map(|value| f64::from(u8::from(*value <= bounds[place])));
        let share = holds.clone().sum::<f64>() / values.len() as f64;
        let each: Vec<f64> = holds.map(|holds| holds - share).collect();
        let sessions = design(&each, sessions, values.len() as f64 * share * (1.0 - share));
        Excess { each, share, design: 1.0, sessions }
    };
    row.add(sample, (values.len(), found), in_flight, || Memory::of_ranks(values), excess);
}

/// Adds the intervals of latencies that each request has many of. `samples_of` hands out those of each, and the number
/// that each stands for, the requests in order of arrival with their sessions.
pub(crate) fn add_intervals_of_many<R>(
    row: &mut LatencyRow,
    sample: &Sample,
    requests: impl Iterator<Item = (R, u64)>,
    in_flight: Option<Occupancy>,
    samples_of: impl Fn(R, &mut dyn FnMut(f64, u32)),
) {
    let bounds = row.bounds();
    let mut counts = Counts::new(bounds.len());
    for (request, session) in requests {
        counts.add(session, &bounds, |take| samples_of(request, take));
    }
    let median = || Memory::from_values(&counts.excess(0).each);
    let in_flight = in_flight.map(|in_flight| in_flight.of_pace(OF_TOKENS));
    row.add(sample, (counts.requests(), &[]), in_flight, median, |place| counts.excess(place));
}

impl LatencyRow {
    /// Returns the percentiles, each at the least that it can be. Those that were asked for come behind the usual ones.
    fn bounds(&self) -> Vec<f64> {
        self.percentiles.iter().chain(&self.asked).map(|percentile| percentile.figure.at_least()).collect()
    }

    /// Adds the intervals of samples of so many requests, which `found` others in flight. It goes by the `memory` that
    /// they show or by that of the number `in_flight`, and by what the samples have of it.
    fn add(
        &mut self,
        sample: &Sample,
        (requests, found): (usize, &[f64]),
        in_flight: Option<Occupancy>,
        memory: impl FnOnce() -> Option<Memory>,
        excess: impl Fn(usize) -> Excess,
    ) {
        let n = self.n;
        if let Some(in_flight @ Occupancy { queue: None, .. }) = in_flight {
            if !Memory::is_seen(requests) {
                return;
            }
            self.correlation_times = Some(1.0 / in_flight.share());
            self.know(sample, requests as u64, |place| {
                let Excess { each, share: at_most, sessions, .. } = excess(place);
                let effective = Effective::of_batches(&each, at_most, n, in_flight.share() * in_flight.times);
                Some(effective?.at_most(n as f64 / sessions))
            });
        } else {
            let Some(memory) = memory() else { return };
            self.correlation_times = Some(requests as f64 / memory.cautious_time);
            let queue = in_flight.and_then(|in_flight| in_flight.queue).unwrap_or_default();
            let long = in_flight.map_or(1.0, |in_flight| 1.0 / in_flight.share() / ENOUGH_IN_FLIGHT);
            self.know(sample, requests as u64, |place| {
                let Excess { each, design, sessions, .. } = excess(place);
                let effective = Effective::new(n, memory.and_of(&each)).of_alike(design);
                let effective = effective.at_most(n as f64 / sessions);
                Some(effective.of_queue(n, (explained(&each, found, effective.samples), queue), long))
            });
            self.lose_unseen(self.correlation_times);
        }
        let least = in_flight.map_or(0.0, Occupancy::share) * LEAST_IN_FLIGHT;
        if least > 1.0 {
            let needed = in_flight.filter(|in_flight| in_flight.is_whole);
            self.lose(needed.map(|_| (least * requests as f64).ceil() as u64));
        }
    }

    /// Sets what is known of each percentile, in the same order. So many `requests` are worth the samples that
    /// `effective` gives for its place.
    fn know(&mut self, sample: &Sample, requests: u64, effective: impl Fn(usize) -> Option<Effective>) {
        for (place, percentile) in self.percentiles.iter_mut().chain(&mut self.asked).enumerate() {
            if let Some(effective) = effective(place) {
                percentile.know(sample, effective, requests);
            }
        }
    }

    /// Takes the intervals away where the window holds fewer than 20 correlation times. They are those of this latency,
    /// or of another of the same requests, in whose numbers both are given.
    pub(super) fn lose_unseen(&mut self, correlation_times: Option<f64>) {
        if correlation_times.is_none_or(|times| times < LEAST_EFFECTIVE) {
            self.lose(None);
        }
    }

    /// Takes the intervals away, which take so many requests.
    fn lose(&mut self, needed: Option<u64>) {
        self.percentiles.iter_mut().chain(&mut self.asked).for_each(|percentile| percentile.lose(needed));
    }
}

impl Percentile {
    fn lose(&mut self, needed: Option<u64>) {
        self.interval = (None, None);
        self.unresolvable = Some(Unresolvable::WindowTooShort);
        self.requests_for_ten_percent = None;
        self.requests_for_both_ends = needed;
    }

    /// Sets what `effective` samples, those of so many `requests`, tell of the percentile.
    fn know(&mut self, sample: &Sample, effective: Effective, requests: u64) {
        let p = self.quantile.fraction();
        self.effective_samples = Some(effective.samples);
        let few = self.quantile.mark_by_chance(effective.samples as u64);
        self.mark = self.mark.or(few.map(|_| SampleWarning::Indicative));
        if !effective.is_enough() {
            return;
        }
        let (low, high) = effective.shares_around(p, CONFIDENCE);
        // Far out on a side an end is of few samples; on the side of the many it needs none beyond.
        let (low, high) =
            (low.filter(|_| p >= 0.5 || effective.resolves(p)), high.filter(|_| p <= 0.5 || effective.resolves(p)));
        let at = |share: Option<f64>| sample.quantile(share?);
        self.interval = (at(low).map(Figure::at_least), at(high).and_then(Figure::at_most));
        let whole = self.interval.0.is_some() && self.interval.1.is_some();
        self.unresolvable = (!whole).then_some(Unresolvable::TooFewBeyond);
        let times = if whole { None } else { effective.times_for_both_ends(p, CONFIDENCE) };
        self.requests_for_both_ends = times.map(|times| (times * requests as f64).ceil() as u64);
        self.requests_for_ten_percent = self.needed(p, sample, effective, requests);
    }

    /// Returns the requests that bring a 95 % interval within a tenth of the figure. That takes p(1 − p)·(z/Δ)²
    /// effective samples, Δ the share of the samples within a tenth on one side, on average. `None` where none lie
    /// there.
    fn needed(&self, p: f64, sample: &Sample, effective: Effective, requests: u64) -> Option<u64> {
        let value = self.figure.exact().filter(|&value| value > 0.0)?;
        let [below, above] = [1.0 - CLOSE, 1.0 + CLOSE].map(|times| sample.share_at_most(value * times));
        let near = (above - below) / 2.0;
        let samples = p * (1.0 - p) * (Z / near) * (Z / near);
        let needed = samples / effective.samples * requests as f64;
        needed.is_finite().then(|| needed.ceil() as u64)
    }
}

/// Whether neighbours are alike beyond chance. The test is von Neumann's ratio of the ranks (Bartels, *JASA* 77, 1982),
/// one-sided at 1 %. `None` for fewer than 20 requests, or where all are alike.
pub(crate) fn are_dependent(values: &[f64]) -> Option<bool> {
    if values.len() < FEWEST_ALIKE {
        return None;
    }
    Some(von_neumann(&ranks(values))? > DEPENDENT_Z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::Quantile;
    use crate::random::RandomStream;

    /// `n` requests whose logarithms follow each other with `memory`; their true median is 100.
    fn requests(seed: u64, n: usize, memory: f64) -> Vec<f64> {
        let mut stream = RandomStream::named(seed, "dependence");
        let mut last = stream.normal();
        let step = (1.0 - memory * memory).sqrt();
        (0..n)
            .map(|_| {
                last = memory * last + step * stream.normal();
                100.0 * (0.5 * last).exp()
            })
            .collect()
    }

    fn row(values: &[f64]) -> LatencyRow {
        LatencyRow::in_order(values).unwrap()
    }

    /// Counts the runs with an interval of the median, and those that hold the truth. There are as many runs as
    /// `seeds`.
    fn shown_and_covered(seeds: u64, n: usize, memory: f64) -> (u32, u32) {
        let (mut shown, mut covered) = (0, 0);
        for seed in 0..seeds {
            if let (Some(low), Some(high)) = row(&requests(seed, n, memory)).percentile(Quantile::P50).interval {
                shown += 1;
                covered += u32::from(low <= 100.0 && 100.0 <= high);
            }
        }
        (shown, covered)
    }

    #[test]
    fn intervals_cover_the_median_where_requests_depend() {
        for memory in [0.0, 0.5, 0.9] {
            let (shown, covered) = shown_and_covered(100, 2_000, memory);
            assert!(shown >= 97 && covered >= 92, "{memory}: {covered} of {shown}");
        }
    }

    /// The correlation time is 666 requests, a third of the window.
    #[test]
    fn a_window_of_few_correlation_times_resolves_nothing() {
        assert!(shown_and_covered(100, 2_000, 0.997).0 <= 2);
        let row = row(&requests(1, 2_000, 0.997));
        for percentile in row.percentiles {
            assert_eq!(percentile.unresolvable, Some(Unresolvable::WindowTooShort));
            assert_eq!((percentile.interval, percentile.requests_for_ten_percent), ((None, None), None));
        }
        assert!(row.correlation_times.unwrap() < 20.0);
    }

    #[test]
    fn an_end_takes_ten_effective_samples_beyond_it() {
        // How many of 40 runs have an upper end, of each percentile.
        let ends = |n| {
            let mut ends = [0; 5];
            for seed in 0..40 {
                for (count, percentile) in ends.iter_mut().zip(row(&requests(seed, n, 0.0)).percentiles) {
                    *count += u32::from(percentile.interval.1.is_some());
                }
            }
            ends
        };
        assert_eq!(ends(99)[1..], [0; 4]);
        let [few, some, many] = [ends(199), ends(999), ends(2_500)];
        assert_eq!((&few[2..], &some[3..]), (&[0; 3][..], &[0; 2][..]));
        assert!(few[0] == 40 && few[1] >= 20 && some[2] >= 35 && many[3] >= 25, "{few:?} {some:?} {many:?}");
        let p99 = *row(&requests(1, 400, 0.0)).percentile(Quantile::P99);
        assert!(p99.interval.0.is_some() && p99.interval.0 < p99.figure.exact(), "{p99:?}");
        assert_eq!(p99.unresolvable, Some(Unresolvable::TooFewBeyond));
        let few = row(&requests(1, 15, 0.0));
        assert_eq!((few.correlation_times, few.percentile(Quantile::P50).effective_samples), (None, None));
    }

    /// A sample of 2,000 requests that are worth a few. No percentile of them is without a mark, and none is too few by
    /// number.
    #[test]
    fn requests_that_are_worth_few_independent_ones_are_marked() {
        let marks = |memory| row(&requests(1, 2_000, memory)).percentiles.map(|percentile| percentile.mark);
        let indicative = Some(SampleWarning::Indicative);
        assert_eq!(marks(0.0)[..4], [None; 4]);
        assert_eq!(marks(0.997)[..4], [indicative; 4]);
    }

    /// Turns of a session are alike, wherever they lie among those of others.
    #[test]
    fn intervals_cover_the_median_where_turns_of_a_session_are_alike() {
        let (mut covered, mut as_requests) = (0, 0);
        for seed in 0..200 {
            let mut stream = RandomStream::named(seed, "sessions");
            let mut open: Vec<(u64, f64)> = (0..50).map(|session| (session, stream.normal())).collect();
            let (mut values, mut sessions) = (Vec::new(), Vec::new());
            for turn in 0..2_000_u64 {
                let place = stream.below(50) as usize;
                values.push(100.0 * (0.5 * (open[place].1 + 0.3 * stream.normal())).exp());
                sessions.push(open[place].0);
                if stream.unit() < 0.1 {
                    open[place] = (1_000 + turn, stream.normal());
                }
            }
            let sample = Sample::new(values.clone());
            let holds = |sessions: &[u64]| {
                let mut row = LatencyRow::new(&sample, &[]).unwrap();
                add_intervals(&mut row, &sample, [&values, &[]], sessions, None);
                let (low, high) = row.percentile(Quantile::P50).interval;
                low.zip(high).is_some_and(|(low, high)| low <= 100.0 && 100.0 <= high)
            };
            covered += u32::from(holds(&sessions));
            as_requests += u32::from(holds(&(0..2_000).collect::<Vec<_>>()));
        }
        assert!(covered >= 184 && as_requests < 160, "{covered} and {as_requests} of 200");
    }

    /// One request of ten alike gaps says no more than one gap.
    #[test]
    fn gaps_of_one_answer_are_not_ten_samples() {
        let answers: Vec<Vec<f64>> = requests(4, 500, 0.0).into_iter().map(|gap| vec![gap; 10]).collect();
        let answers: Vec<&[f64]> = answers.iter().map(Vec::as_slice).collect();
        let gaps = LatencyRow::of_gaps(&answers).unwrap();
        let single = row(&requests(4, 500, 0.0));
        let of = |row: &LatencyRow| row.percentile(Quantile::P50).effective_samples.unwrap();
        assert_eq!((gaps.n, single.n), (5_000, 500));
        assert!((of(&gaps) / of(&single) - 1.0).abs() < 0.35, "{} {}", of(&gaps), of(&single));
    }

    /// Independent requests with a log-normal latency. The density at the p95 gives 429 for ±10 %.
    #[test]
    fn the_requests_for_a_tenth_follow_from_the_density() {
        let needed = |seed| row(&requests(seed, 4_000, 0.0)).percentile(Quantile::P95).requests_for_ten_percent;
        let mean = (0..40).map(|seed| needed(seed).unwrap() as f64).sum::<f64>() / 40.0;
        assert!((400.0..800.0).contains(&mean), "{mean}");
    }

    #[test]
    fn dependence_is_seen_and_independence_believed() {
        let seen = |memory| {
            let dependent = |seed: &u64| are_dependent(&requests(*seed, 150, memory)) == Some(true);
            (0..200).filter(dependent).count()
        };
        assert!(seen(0.0) <= 8, "{}", seen(0.0));
        assert!(seen(0.5) >= 195, "{}", seen(0.5));
        assert_eq!(are_dependent(&[1.0; 19]), None);
        assert_eq!(are_dependent(&[1.0; 40]), None);
    }
}
