//! Whether the system had settled: trends over the window, with intervals that respect the memory of queues.

use serde::Serialize;

use crate::analysis::figures::percentile::Figure;
use crate::analysis::requests::observed::Observed;
use crate::analysis::statistics::{
    CONFIDENCE, Estimate, SECTIONS, Truncation, mean, mser5, slope, student_t_quantile,
};
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
    /// How much the straight line through the sections grows from the window's first moment to its last, with its
    /// 95 % interval, in the same unit.
    pub growth: Estimate,
}

impl Trend {
    /// Fits a line through `points` (moment in seconds, figure of the section around it) of a window of `length_s`.
    ///
    /// What is left over of neighbouring sections is alike where a queue has memory, and the line is then less sure
    /// than `slope` takes it to be: with r their lag-1 correlation, n sections are worth nₑ = n(1 − r)/(1 + r), and nₑ − 2
    /// takes the place of n − 2 in the variance of what is left over and in Student's t (Santer et al., *Journal of
    /// Geophysical Research* 105, 2000, eqs. 4–6), but never less than 4: r itself is uncertain in 20 sections, and with
    /// a floor of 2 as few false alarms at 80 % load (6 of 400 for 7) cost a fifth of the power at 110 % (66 % of runs
    /// for 83 %). Absent for fewer than three points.
    pub(crate) fn of(points: &[(f64, f64)], length_s: f64) -> Option<Self> {
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
        Some(Self { mean: mean_y, growth: Estimate::around(line.value * length_s, half_width * length_s) })
    }

    /// Where the straight line begins and ends; a figure of these is never below 0.
    pub fn ends(&self) -> [f64; 2] {
        let half = self.growth.value / 2.0;
        [(self.mean - half).max(0.0), self.mean + half]
    }

    /// The lower end of its growth as a share of its mean; absent where the mean is 0.
    pub fn least_share(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.growth.low / self.mean)
    }
}

/// Requests in a section, on average.
const LEAST_IN_SECTION: usize = 5;
/// Fewer sections say nothing of a trend.
const FEWEST: usize = 6;
/// Samples of what was there that MSER-5 looks at.
const FINE: usize = 200;
/// A beginning is unlike the rest when what was there differs by this share …
const UNLIKE: f64 = 0.2;
/// … and by this many square roots of it, about the standard deviations by which it varies anyway.
const UNLIKE_DEVIATIONS: f64 = 2.0;

/// Load and latency over the window; absent if the window is too short, or the declared rate changes in it and does
/// not return.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// Requests waiting or in flight.
    pub present: Trend,
    /// Time to first token, milliseconds; of answers that are not streamed, the time to their end.
    pub latency_ms: Trend,
    /// The part of the window that looks like warm-up; absent where none does.
    pub beginning: Option<Beginning>,
    /// The halves of a window that looks unsettled as a whole; absent where it does not.
    pub(crate) unsettled: Option<Unsettled>,
}

/// A window in which nothing settled: the best place to cut its beginning off would lie in its second half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unsettled {
    /// Requests waiting or in flight in its first half, on average.
    pub(crate) present: f64,
    /// The same in its second half.
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
    /// The same over the rest of the window.
    pub present_after: f64,
}

impl SteadyState {
    /// Of the window in at most [`SECTIONS`] sections, each of five requests or more on average; where the pattern has
    /// periods, of the last whole ones in the window, each a section, so that like is compared with like. A latency that
    /// was cut off counts with the least that it can be.
    pub(crate) fn of(observed: &Observed<'_>) -> Option<Self> {
        let stretch = Stretch::judged(observed)?;
        let streamed = observed.log.header.engine.streamed;
        let mut sums = vec![(0.0, 0_u32); stretch.sections];
        for request in &observed.requests {
            let latency = if streamed { request.latency.ttft } else { request.latency.e2e };
            let section = stretch.section_of(request.record.scheduled);
            if let (Some(latency), Some(sum)) =
                (latency.map(Figure::at_least), section.and_then(|section| sums.get_mut(section)))
            {
                *sum = (sum.0 + latency, sum.1 + 1);
            }
        }
        let present: Vec<_> = (0..)
            .zip(stretch.present(observed))
            .map(|(section, level)| (stretch.middle_of(section), level))
            .collect();
        let latency: Vec<_> = (0..)
            .zip(sums)
            .filter(|(_, (_, n))| *n > 0)
            .map(|(section, (sum, n))| (stretch.middle_of(section), sum / f64::from(n)))
            .collect();
        let enough = latency.len() >= FEWEST;
        let (beginning, unsettled) = truncated(observed);
        Some(Self {
            present: Trend::of(&present, stretch.length_s())?,
            latency_ms: Trend::of(&latency, stretch.length_s()).filter(|_| enough)?,
            beginning,
            unsettled,
        })
    }
}

/// Equal sections that end with the window.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: Timestamp,
    sections: usize,
    each_s: f64,
}

impl Stretch {
    /// The whole window in so many sections.
    fn window(observed: &Observed<'_>, sections: usize) -> Self {
        let each_s = observed.length().as_secs_f64() / sections as f64;
        Self { start: observed.start, sections, each_s }
    }

    /// What is judged; `None` where it would say nothing of a trend.
    fn judged(observed: &Observed<'_>) -> Option<Self> {
        let by_requests = observed.requests.len() / LEAST_IN_SECTION;
        let stretch = match observed.log.header.workload.arrival.rate_profile() {
            RateProfile::Level => Self::window(observed, by_requests.min(SECTIONS)),
            RateProfile::Periodic(period_s) => {
                // Sections that are not whole periods would each hold another share of the bursts.
                let whole = (observed.length().as_secs_f64() / period_s + 1e-6).floor();
                if (by_requests as f64) < whole {
                    return None;
                }
                let start_s = observed.end.as_secs_f64() - whole * period_s;
                let start = Timestamp::from_secs_f64(start_s).max(observed.start);
                Self { start, sections: whole as usize, each_s: period_s }
            }
            RateProfile::Changing => return None,
        };
        (stretch.sections >= FEWEST).then_some(stretch)
    }

    fn length_s(&self) -> f64 {
        self.each_s * self.sections as f64
    }

    /// The middle of a section, seconds since the run began.
    fn middle_of(&self, section: u32) -> f64 {
        self.start.as_secs_f64() + self.each_s * (f64::from(section) + 0.5)
    }

    /// The section that a moment lies in; `None` before the first.
    fn section_of(&self, moment: Timestamp) -> Option<usize> {
        (moment >= self.start).then(|| (moment.since(self.start).as_secs_f64() / self.each_s) as usize)
    }

    /// Requests waiting or in flight in each section, averaged over time, event by event.
    fn present(&self, observed: &Observed<'_>) -> Vec<f64> {
        let (width, sections) = (self.each_s, self.sections);
        // Time in the sections that a request enters or leaves in, and how many more are there for whole ones.
        let (mut parts, mut steps) = (vec![0.0; sections], vec![0_i64; sections + 1]);
        for record in &observed.log.records {
            let (from, to) = (record.dispatched.max(self.start), record.ended.min(observed.end));
            if from >= to {
                continue;
            }
            let [from, to] = [from, to].map(|at| at.since(self.start).as_secs_f64());
            let [first, last] = [from, to].map(|at| ((at / width) as usize).min(sections - 1));
            if first == last {
                parts[first] += to - from;
            } else {
                parts[first] += width * (first + 1) as f64 - from;
                parts[last] += to - width * last as f64;
                steps[first + 1] += 1;
                steps[last] -= 1;
            }
        }
        let mut whole = 0;
        let level = |(part, step): (f64, i64)| {
            whole += step;
            whole as f64 + part / width
        };
        parts.into_iter().zip(steps).map(level).collect()
    }
}

/// What MSER-5 cuts off, or the halves where it would cut in the second, if they are unlike beyond the noise of a queue.
fn truncated(observed: &Observed<'_>) -> (Option<Beginning>, Option<Unsettled>) {
    if observed.log.header.workload.arrival.rate_profile() != RateProfile::Level {
        return (None, None);
    }
    let levels = Stretch::window(observed, FINE).present(observed);
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
        let trend = Trend::of(&points, 60.0).unwrap();
        assert!((trend.mean - 38.5).abs() < 1e-9 && (trend.growth.value - 60.0).abs() < 1e-9, "{trend:?}");
        assert!(trend.growth.half_width() < 1e-6 && trend.least_share().unwrap() > 1.5, "{trend:?}");
        assert_eq!(Trend::of(&points[..2], 60.0), None);
    }

    /// A level sequence with memory 0.7: at 95 % two-sided one in forty should seem to grow. Of 400, 32 do, because 20 points
    /// tell r too low; without the correction a fifth.
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
            Trend::of(&points, 20.0).unwrap().growth.low > 0.0
        });
        let alarms = alarms.count();
        assert!(alarms <= 36, "{alarms} of 400");
    }

    #[test]
    fn what_was_there_is_counted_section_by_section() {
        // A window of 1,000 ms in four: 100–400 and 200–900; one before it ends and one after it begins.
        let log = run(
            1_000,
            vec![
                record(0).sent_at(100, 100, 100).paced(400, 1, 1).build(),
                record(1).sent_at(200, 200, 200).paced(900, 1, 1).build(),
                record(2).sent_at(1_000, 1_000, 1_000).paced(1_200, 1, 1).build(),
            ],
        );
        let observed = Observed::of(&log);
        let levels = Stretch::window(&observed, 4).present(&observed);
        for (level, expected) in levels.into_iter().zip([0.8, 1.6, 1.0, 0.6]) {
            assert!((level - expected).abs() < 1e-9, "{level} {expected}");
        }
    }

    #[test]
    fn a_window_that_fills_until_its_end_is_told_by_its_halves() {
        // 100 requests a second that stay longer than the window of 10 s: 250 in its first half, 750 in its second.
        let records = (0..1_000).map(|i| {
            let at = i * 10;
            record(i).sent_at(at, at, at).paced(at + 20_000, 1, 1).build()
        });
        let log = run(10_000, records.collect());
        let (beginning, unsettled) = truncated(&Observed::of(&log));
        let halves = unsettled.unwrap();
        assert!(beginning.is_none() && (halves.present - 250.0).abs() < 2.0, "{halves:?}");
        assert!((halves.present_after - 750.0).abs() < 2.0, "{halves:?}");
    }

    #[test]
    fn a_window_that_begins_empty_is_told_and_a_full_one_is_not() {
        // 100 requests a second that stay 2 s: 200 are there, after 2 s.
        let records: Vec<_> = (0..2_000)
            .map(|i| record(i).sent_at(i * 10, i * 10, i * 10).paced(i * 10 + 2_000, 1, 1).build())
            .collect();
        let mut log = run(20_000, records);
        let found = truncated(&Observed::of(&log)).0.unwrap();
        assert!((1.0..=2.5).contains(&found.length_s) && found.present < 150.0, "{found:?}");
        assert!((195.0..=201.0).contains(&found.present_after), "{found:?}");
        log.header.plan.window_start = crate::analysis::test_runs::ms(3_000);
        assert_eq!(truncated(&Observed::of(&log)), (None, None));
    }
}
