//! Whether the system had settled: trends over the window, with intervals that respect the memory of queues.

use serde::Serialize;

use crate::analysis::figures::Figure;
use crate::analysis::load::equal_sections::{EqualSections, FEWEST};
use crate::analysis::load::movement::{Movement, least_dispersion};
use crate::analysis::load::work::Work;
use crate::analysis::requests::Observed;
use crate::analysis::statistics::{CONFIDENCE, Estimate, Truncation, mean, mser5, slope, student_t_quantile, variance};
use crate::clock::Timestamp;
use crate::workload::RateProfile;

/// Degrees of freedom that neighbours' memory leaves at the least.
const LEAST_FREEDOM: f64 = 4.0;

/// A figure over the sections of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trend {
    /// Its mean over the sections, in its own unit.
    pub mean: f64,
    /// Growth of the line through the sections, with its 95 % interval. It is from the window's first moment to its
    /// last, along a straight line, in the same unit.
    pub growth: Estimate,
    /// Means over the first tenth of the sections and over the last, as they were.
    #[serde(skip)]
    pub(crate) ends: [f64; 2],
}

impl Trend {
    /// Fits a line through `points` of a window of `length_s`. A point is a moment in seconds with the figure of the
    /// section around it.
    ///
    /// What is left over of neighbouring sections is alike where a queue has memory, and the line is then less sure
    /// than `slope` takes it to be: with r their lag-1 correlation, n sections are worth nₑ = n(1 −
    /// r)/(1 + r), and nₑ − 2 takes the place of n − 2 in the variance of what is left over and in Student's
    /// t (Santer et al., *Journal of Geophysical Research* 105, 2000, eqs. 4–6), but never less than 4: r
    /// itself is uncertain in 20 sections, and with a floor of 2 as few false alarms at 87 % load (6 of 400
    /// for 7) cost a fifth of the power at 119 % (66 % of runs for 83 %). Absent for fewer than three points.
    pub(crate) fn new(points: &[(f64, f64)], length_s: f64) -> Option<Self> {
        let line = slope(points)?;
        let n = points.len() as f64;
        let mean_at = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (mean_x, mean_y) = (mean_at(|point| point.0), mean_at(|point| point.1));
        let left: Vec<f64> = points.iter().map(|(x, y)| y - mean_y - line.value * (x - mean_x)).collect();
        let squares: f64 = left.iter().map(|left| left * left).sum();
        let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let memory = if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 };
        let freedom = (n * (1.0 - memory) / (1.0 + memory) - 2.0).clamp(LEAST_FREEDOM.min(n - 2.0), n - 2.0);
        let t = |freedom| student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
        let error = line.half_width() / t(n - 2.0) * libm::sqrt((n - 2.0) / freedom);
        let half_width = t(freedom) * error;
        let tenth = (points.len() / 10).max(1);
        let mean_of = |points: &[(f64, f64)]| points.iter().map(|point| point.1).sum::<f64>() / tenth as f64;
        let ends = [&points[..tenth], &points[points.len() - tenth..]].map(mean_of);
        let growth = Estimate::around(line.value * length_s, half_width * length_s);
        Some(Self { mean: mean_y, growth, ends })
    }

    /// Returns the lower end of its growth as a share of its mean. Absent where the mean is 0.
    pub fn least_share(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.growth.low / self.mean)
    }
}

/// Samples of what was there that MSER-5 looks at.
const FINE: usize = 200;
/// Share of what was there by which a beginning is unlike the rest.
const UNLIKE: f64 = 0.2;
/// Square roots of what was there by which such a beginning differs besides. They are about the standard deviations by
/// which it varies anyway.
const UNLIKE_DEVIATIONS: f64 = 2.0;

/// Load and latency over the window. Absent if the window is too short, or the declared rate changes in it and does not
/// return.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// Requests waiting or in flight.
    pub present: Trend,
    /// Time to first token, milliseconds. Of answers that are not streamed it is the time to their end.
    pub latency_ms: Trend,
    /// Time to the end of the answer, milliseconds. It is as if every answer had the mean number of tokens.
    pub answer_ms: Trend,
    /// How far that time moved, and how far an overload would have moved it.
    pub movement: Movement,
    /// The work that the server did, beside what was offered.
    pub(crate) work: Work,
    /// The part of the window that looks like warm-up; absent where none does.
    pub beginning: Option<Beginning>,
    /// The halves of a window that looks unsettled as a whole. Absent where it does not.
    pub(crate) unsettled: Option<Unsettled>,
}

/// A window in which nothing settled. The best place to cut its beginning off would lie in its second half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unsettled {
    /// Requests waiting or in flight in its first half, on average.
    pub(crate) present: f64,
    /// Requests waiting or in flight in its second half, on average.
    pub(crate) present_after: f64,
}

/// The beginning of a window, before the system had settled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Beginning {
    /// How long it lasted, seconds.
    pub length_s: f64,
    /// Requests waiting or in flight during it, on average.
    pub present: f64,
    /// Requests waiting or in flight over the rest of the window, on average.
    pub present_after: f64,
}

impl SteadyState {
    /// Examines the window in at most [`SECTIONS`] sections. Each has five requests or more on average. Where the
    /// pattern has periods, they are the last whole ones in the window, each a section, so that like is compared with
    /// like. A latency that was cut off counts with the least that it can be.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let stretch = EqualSections::judged(observed)?;
        let streamed = observed.log.header.engine().streamed;
        let first_tokens = observed.requests.iter().filter_map(|request| {
            let latency = if streamed { request.latency().ttft } else { request.latency().e2e };
            Some((request.record().scheduled, latency?.at_least()))
        });
        let first_tokens = stretch.grouped(first_tokens);
        let (answers, by_length) = of_mean_answers(observed);
        let answers = stretch.grouped(answers.into_iter());
        if first_tokens.len().min(answers.len()) < FEWEST {
            return None;
        }
        let levels = stretch.present(observed);
        let present: Vec<_> = (0..).zip(&levels).map(|(section, level)| (stretch.middle_of(section), *level)).collect();
        let means = |groups: &[(f64, Vec<f64>)]| -> Vec<_> {
            groups.iter().filter_map(|(middle, values)| Some((*middle, mean(values)?))).collect()
        };
        let length_s = stretch.length_s();
        let arrival = &observed.log.header.workload.arrival;
        let irregular = least_dispersion(arrival) + by_length;
        let expected = stretch.expected(observed);
        let (beginning, unsettled) = truncated(observed);
        Some(Self {
            present: Trend::new(&present, length_s)?,
            latency_ms: Trend::new(&means(&first_tokens), length_s)?,
            answer_ms: Trend::new(&means(&answers), length_s)?,
            movement: Movement::new(answers.iter().map(|group| group.1.as_slice()), length_s, expected, irregular)?,
            work: Work::in_sections(observed, &stretch, &levels)?,
            beginning,
            unsettled,
        })
    }
}

/// Returns the due moments of the window's requests, and their latencies for a mean answer. It is the latency if the
/// answer had the mean number of tokens: less what each token more adds, by the least-squares line. So a stretch of
/// long answers is not taken for a slow one. Returns besides the squared coefficient of variation of what the
/// tokens add.
fn of_mean_answers(observed: &Observed<'_>) -> (Vec<(Timestamp, f64)>, f64) {
    let answered = observed
        .requests
        .iter()
        .filter_map(|request| Some((request.record(), request.latency().e2e.map(Figure::at_least)?)));
    let (due, points): (Vec<_>, Vec<_>) =
        answered.map(|(record, ms)| (record.scheduled, (record.output_tokens as f64, ms))).unzip();
    let (tokens, ms): (Vec<_>, Vec<_>) = points.iter().copied().unzip();
    let per_token = slope(&points).map_or(0.0, |line| line.value);
    let (Some(middle), Some(mean_ms)) = (mean(&tokens), mean(&ms)) else { return (Vec::new(), 0.0) };
    let by_length = variance(&tokens).unwrap_or(0.0) * per_token * per_token / (mean_ms * mean_ms);
    let of_mean = |(at, (tokens, ms)): (Timestamp, (f64, f64))| (at, ms - per_token * (tokens - middle));
    (due.into_iter().zip(points).map(of_mean).collect(), by_length)
}

/// Returns what MSER-5 cuts off, or the halves where it would cut in the second. Either counts if its two sides are
/// unlike beyond the noise of a queue.
fn truncated(observed: &Observed<'_>) -> (Option<Beginning>, Option<Unsettled>) {
    if observed.log.header.workload.arrival.rate_profile() != RateProfile::Level {
        return (None, None);
    }
    let levels = EqualSections::window(observed, FINE).present(observed);
    let unlike = |cut| {
        let (before, after) = levels.split_at(cut);
        let (before, after) = (mean(before)?, mean(after)?);
        let noise = (after * UNLIKE).max(after.sqrt() * UNLIKE_DEVIATIONS);
        ((before - after).abs() > noise).then_some((before, after))
    };
    match mser5(&levels) {
        Some(Truncation::KeepFrom(cut)) => {
            let length_s = observed.length().as_secs_f64() * cut as f64 / FINE as f64;
            let beginning = |(present, present_after)| Beginning { length_s, present, present_after };
            (unlike(cut).map(beginning), None)
        }
        Some(Truncation::NotSettled) => {
            let halves = |(present, present_after)| Unsettled { present, present_after };
            (None, unlike(FINE / 2).map(halves))
        }
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::random::RandomStream;

    #[test]
    fn a_straight_line_grows_by_its_slope() {
        let points: Vec<_> = (0..20).map(|i| (f64::from(i) * 3.0 + 1.5, 10.0 + f64::from(i) * 3.0)).collect();
        let trend = Trend::new(&points, 60.0).unwrap();
        assert!((trend.mean - 38.5).abs() < 1e-9 && (trend.growth.value - 60.0).abs() < 1e-9, "{trend:?}");
        assert!(trend.growth.half_width() < 1e-6 && trend.least_share().unwrap() > 1.5, "{trend:?}");
        assert_eq!(Trend::new(&points[..2], 60.0), None);
    }

    /// A level sequence with memory 0.7. At 95 % two-sided one in forty should seem to grow. Of 400, 32 do, because 20
    /// points tell r too low; without the correction a fifth.
    #[test]
    fn memory_is_not_taken_for_growth() {
        let alarms = (0..400).filter(|&seed| {
            let mut stream = RandomStream::named(seed, "trend");
            let mut last = 0.0;
            let points: Vec<_> = (0..20)
                .map(|i| {
                    last = 0.7 * last + stream.normal();
                    (f64::from(i), 10.0 + last)
                })
                .collect();
            Trend::new(&points, 20.0).unwrap().growth.low > 0.0
        });
        let alarms = alarms.count();
        assert!(alarms <= 36, "{alarms} of 400");
    }

    #[test]
    fn a_window_that_fills_until_its_end_is_told_by_its_halves() {
        // 100 requests a second that stay longer than the window of 10 s: 250 in its first half, 750 in its second.
        let records = (0..1_000).map(|i| {
            let at = i * 10;
            record(i).sent_at(at, at, at).paced(at + 20_000, 1, 1).build()
        });
        let log = run(10_000, records.collect());
        let (beginning, unsettled) = truncated(&Observed::from_log(&log));
        let halves = unsettled.unwrap();
        assert!(beginning.is_none() && (halves.present - 250.0).abs() < 2.0, "{halves:?}");
        assert!((halves.present_after - 750.0).abs() < 2.0, "{halves:?}");
    }

    #[test]
    fn a_window_that_begins_empty_is_told_and_a_full_one_is_not() {
        // 100 requests a second that stay 2 s: 200 are there, after 2 s.
        let records: Vec<_> =
            (0..2_000).map(|i| record(i).sent_at(i * 10, i * 10, i * 10).paced(i * 10 + 2_000, 1, 1).build()).collect();
        let mut log = run(20_000, records);
        let found = truncated(&Observed::from_log(&log)).0.unwrap();
        assert!((1.0..=2.5).contains(&found.length_s) && found.present < 150.0, "{found:?}");
        assert!((195.0..=201.0).contains(&found.present_after), "{found:?}");
        log.header.plan.window_start = crate::analysis::test_runs::ms(3_000);
        assert_eq!(truncated(&Observed::from_log(&log)), (None, None));
    }
}
