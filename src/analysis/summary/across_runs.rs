//! One figure over several runs: its mean with an interval, and its spread.

use serde::{Deserialize, Serialize};

use crate::analysis::figures::{Figure, FigureKey, SampleWarning, Unresolvable};
use crate::analysis::statistics::{CONFIDENCE, Estimate, mean, student_t_quantile, variance};
use crate::analysis::summary::run::Summary;

/// Half-width of an interval up to which a figure counts as known. It is a share of the mean.
pub const TARGET_PRECISION: f64 = 0.1;

/// Fewest effective samples of a run, on average, beyond a percentile other than the median. With fewer, most
/// runs miss the rare busy spells that make it: the mean of their figures is too low and its interval with
/// it, however many runs there are. A median errs to neither side.
const LEAST_BEYOND: f64 = 5.0;

/// Most repeats that are worth suggesting.
const MOST_REPEATS: u64 = 10_000;

/// One figure over several runs, in the figure's own unit. Unknown values are absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcrossRuns {
    /// Figures of the counted runs, in their order. Absent where a figure is not known, or known only within bounds.
    pub values: Vec<Option<f64>>,
    /// The least that each of them can be: the value, where it is known.
    pub at_least: Vec<Option<f64>>,
    /// The most that each of them can be. Absent where nothing bounds it, for requests were cut off.
    pub at_most: Vec<Option<f64>>,
    /// Mean over the runs; absent where a run knows its figure only within bounds.
    pub mean: Option<f64>,
    /// The least that the mean can be.
    pub mean_at_least: Option<f64>,
    /// The most that it can be; absent where nothing bounds it.
    pub mean_at_most: Option<f64>,
    /// Standard deviation over the runs, with N − 1.
    pub std: Option<f64>,
    /// Lower end of the 95 % interval of the mean, mean ± t·s/√N. t is the 97.5 % quantile of Student's t with N − 1
    /// degrees of freedom (Law, *Simulation Modeling and Analysis*, 5th edition, section 9.4.1). No end leaves what the
    /// figure can be: above 0, and a share below 1. Where runs know their figures only within bounds, the interval
    /// holds both that of all least figures and that of all greatest.
    pub interval_low: Option<f64>,
    /// Upper end of the interval.
    pub interval_high: Option<f64>,
    /// The smallest of the runs' figures that are known.
    pub min: Option<f64>,
    /// The largest of the runs' figures that are known.
    pub max: Option<f64>,
    /// Why there is no interval.
    pub unresolvable: Option<Unresolvable>,
    /// Effective samples of a run beyond it, of a percentile other than the median. They are on average, cautiously
    /// judged. With fewer than five there is no interval. Absent where runs have too few requests to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_beyond: Option<f64>,
    /// The gravest reservation that a run has about its own figure. Repeats do not take it away.
    pub mark: Option<SampleWarning>,
    /// Number of runs in all at which the half-width would be [`TARGET_PRECISION`] of the mean. It holds if runs go on
    /// to differ as these do. Absent where there is no interval, where the mean is 0, or beyond 10,000.
    pub runs_for_ten_percent: Option<u64>,
    /// The 95 % interval that a single run gives it by itself. Each end is there where it is known.
    #[serde(skip)]
    pub own_interval: (Option<f64>, Option<f64>),
}

/// The value of a figure with its interval and mark. Milliseconds, per second, or a share between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigureLevel {
    /// The value, of several runs their mean; absent where it is not known.
    pub value: Option<f64>,
    /// The least that it can be, where that is all that is known.
    pub at_least: Option<f64>,
    /// Lower end of its 95 % interval: within the run, of several runs across them.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// A warning about it.
    pub mark: Option<SampleWarning>,
}

impl AcrossRuns {
    /// The figure `key` of each of the `runs`.
    pub(crate) fn new(key: &FigureKey, runs: &[&Summary]) -> Self {
        let figures: Vec<_> = runs.iter().map(|run| key.read(run)).collect();
        let marks = runs.iter().filter_map(|run| key.warning(run)).map(|(mark, _)| mark);
        let own_interval = match runs {
            [run] => key.interval(run).unwrap_or_default(),
            _ => (None, None),
        };
        let beyond = runs.iter().map(|run| (beyond(key, run), 1.0));
        let across = Self::of_figures(&figures, key.most()).with_tail(key, harmonic_mean(beyond));
        Self { mark: SampleWarning::gravest(marks), own_interval, ..across }
    }

    /// The figure `key` of several runs, from that of each.
    pub(super) fn joined(key: &FigureKey, runs: &[Option<&Self>]) -> Self {
        let figures = runs.iter().flat_map(|run| run.map_or(vec![None], |run| run.figures().collect()));
        let joined = Self::of_figures(&figures.collect::<Vec<_>>(), key.most());
        let beyond = runs.iter().map(|run| match run {
            Some(run) => (run.effective_beyond, run.values.len() as f64),
            None => (None, 1.0),
        });
        let marks = runs.iter().filter_map(|run| run.as_ref()?.mark);
        Self { mark: SampleWarning::gravest(marks), ..joined.with_tail(key, harmonic_mean(beyond)) }
    }

    /// Takes the interval away where runs are too short for a percentile. The median is excepted; so many effective
    /// samples of each run lie beyond the percentile.
    fn with_tail(self, key: &FigureKey, effective_beyond: Option<f64>) -> Self {
        let enough = effective_beyond.is_some_and(|beyond| beyond >= LEAST_BEYOND);
        if enough || self.unresolvable.is_some() || key.tail().is_none() {
            return Self { effective_beyond, ..self };
        }
        Self {
            interval_low: None,
            interval_high: None,
            runs_for_ten_percent: None,
            unresolvable: Some(Unresolvable::TooFewBeyond),
            effective_beyond,
            ..self
        }
    }

    /// Whether some run has it.
    pub(crate) fn is_known(&self) -> bool {
        self.at_least.iter().any(Option::is_some)
    }

    /// Returns the figure, or `None` where no run has it.
    pub(crate) fn known(self) -> Option<Self> {
        self.is_known().then_some(self)
    }

    /// Summarises figures as they are, each between 0 and `most`. `None` is one that a run does not have.
    pub fn of_figures(figures: &[Option<Figure>], most: f64) -> Self {
        let each = |read: fn(Figure) -> Option<f64>| -> Vec<Option<f64>> {
            figures.iter().map(|figure| figure.and_then(read)).collect()
        };
        let (values, at_most) = (each(Figure::exact), each(Figure::at_most));
        let at_least = each(|figure| Some(figure.at_least()));
        let [exact, low, high] = [&values, &at_least, &at_most].map(|figures| whole(figures));
        let interval = low.as_deref().and_then(across_runs).zip(high.as_deref().and_then(across_runs));
        let mean_of = |figures: &Option<Vec<f64>>| figures.as_deref().and_then(mean);
        let std = exact.as_deref().and_then(variance).map(libm::sqrt);
        let known = || values.iter().copied().flatten();
        Self {
            mean: mean_of(&exact),
            mean_at_least: mean_of(&low),
            mean_at_most: mean_of(&high),
            std,
            interval_low: interval.map(|(low, high)| low.low.min(high.low).clamp(0.0, most)),
            interval_high: interval.map(|(low, high)| low.high.max(high.high).clamp(0.0, most)),
            min: known().reduce(f64::min),
            max: known().reduce(f64::max),
            unresolvable: match (&high, figures.len()) {
                (None, _) => Some(Unresolvable::UnknownInSomeRun),
                (Some(_), 1) => Some(Unresolvable::TooFewRuns),
                (Some(_), _) => None,
            },
            effective_beyond: None,
            mark: None,
            own_interval: (None, None),
            runs_for_ten_percent: mean_of(&exact).zip(std).and_then(|(mean, std)| {
                repeats_for(std, TARGET_PRECISION * mean).map(|runs| runs.max(figures.len() as u64))
            }),
            values,
            at_least,
            at_most,
        }
    }

    /// Returns the mean, as far as it is known. `None` where a run does not have the figure.
    pub fn mean_figure(&self) -> Option<Figure> {
        Some(Figure::from_parts(self.mean, self.mean_at_least?, self.mean_at_most))
    }

    /// Returns what each run knows of its figure.
    pub(crate) fn figures(&self) -> impl Iterator<Item = Option<Figure>> + '_ {
        let bounds = self.at_least.iter().zip(&self.at_most);
        let figures = self.values.iter().zip(bounds);
        figures.map(|(value, (low, high))| Some(Figure::from_parts(*value, (*low)?, *high)))
    }

    /// The ends of the interval, where there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_low.zip(self.interval_high)
    }

    /// Returns the value with the interval over the runs. Of a single run the interval is its own.
    pub fn level(&self) -> FigureLevel {
        let (low, high) = match self.interval() {
            Some((low, high)) => (Some(low), Some(high)),
            None => self.own_interval,
        };
        let at_least = self.mean_at_least.filter(|_| self.mean.is_none());
        FigureLevel { value: self.mean, at_least, low, high, mark: self.mark }
    }

    /// Returns how many times as long runs must be for the interval of a percentile. Such runs have enough effective
    /// samples beyond the percentile.
    pub(crate) fn times_as_long(&self) -> Option<f64> {
        self.effective_beyond.filter(|beyond| *beyond > 0.0).map(|beyond| (LEAST_BEYOND / beyond).ceil())
    }

    /// Returns half of the interval as a share of the mean. The interval is as Student's t gives it. Absent where there
    /// is no interval, or the mean is 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval()?;
        let mean = self.mean.filter(|&mean| mean > 0.0)?;
        Some(half_width(self.std?, self.values.len() as u64) / mean)
    }
}

/// How many effective samples of a run lie beyond the percentile `key`, cautiously judged.
fn beyond(key: &FigureKey, run: &Summary) -> Option<f64> {
    Some(key.row(run)?.correlation_times? * key.tail()?)
}

/// Returns the harmonic mean of numbers with their weights. So the longest memory weighs most. `None` where a number is
/// unknown.
fn harmonic_mean(numbers: impl Iterator<Item = (Option<f64>, f64)>) -> Option<f64> {
    let (mut weights, mut sum) = (0.0, 0.0);
    for (number, weight) in numbers {
        weights += weight;
        sum += weight / number.filter(|&number| number > 0.0)?;
    }
    (weights > 0.0).then(|| weights / sum)
}

/// Returns all of `figures`, of which there is one, where all are known.
fn whole(figures: &[Option<f64>]) -> Option<Vec<f64>> {
    figures.iter().copied().collect::<Option<Vec<f64>>>().filter(|known| !known.is_empty())
}

/// The mean of independent `values` with its 95 % interval; `None` for fewer than two.
fn across_runs(values: &[f64]) -> Option<Estimate> {
    let std = libm::sqrt(variance(values)?);
    Some(Estimate::around(mean(values)?, half_width(std, values.len() as u64)))
}

/// Returns half of the 95 % interval of a mean, `t·s/√n`. The mean is of `n` values, at least two, with standard
/// deviation `std`.
fn half_width(std: f64, n: u64) -> f64 {
    let n = n as f64;
    student_t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * std / libm::sqrt(n)
}

/// Returns the fewest runs whose interval would have a half-width of at most `target`. They are at least two, and their
/// standard deviation is `std`. It is the smallest n with `n ≥ (t·s/target)²`, t itself that of n runs (Law, section
/// 9.4.1). `None` beyond 10,000.
pub fn repeats_for(std: f64, target: f64) -> Option<u64> {
    if target <= 0.0 {
        return None;
    }
    let enough = |n| half_width(std, n) <= target;
    if !enough(MOST_REPEATS) {
        return None;
    }
    // t falls and √n rises with n, so that what is enough stays enough.
    let (mut too_few, mut plenty) = (1, MOST_REPEATS);
    while plenty - too_few > 1 {
        let middle = u64::midpoint(too_few, plenty);
        if enough(middle) {
            plenty = middle;
        } else {
            too_few = middle;
        }
    }
    Some(plenty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::{Metric, Quantile};

    fn known(values: &[f64]) -> AcrossRuns {
        let figures: Vec<_> = values.iter().map(|value| Some(Figure::Exact(*value))).collect();
        AcrossRuns::of_figures(&figures, f64::INFINITY)
    }

    /// Figures by hand, mean 10 and standard deviation 2. t of two degrees of freedom is 4.3027, and 4.3027 · 2 / √3 =
    /// 4.9683. Of 18 runs t is 2.1098 and (2.1098 · 2)² = 17.8; of 17 it is 2.1199 and 17.98.
    #[test]
    fn three_runs_have_students_interval_and_say_how_many_would_do() {
        let runs = known(&[8.0, 10.0, 12.0]);
        let (low, high) = runs.interval().unwrap();
        assert!((low - 5.0317).abs() < 1e-4 && (high - 14.9683).abs() < 1e-4, "{low} {high}");
        assert!((runs.relative_half_width().unwrap() - 0.49683).abs() < 1e-5);
        assert_eq!((runs.mean, runs.std, runs.runs_for_ten_percent), (Some(10.0), Some(2.0), Some(18)));
        assert_eq!((runs.level().low, runs.level().high), (Some(low), Some(high)));
        let none = known(&[0.0; 3]);
        assert_eq!((none.interval(), none.relative_half_width()), (Some((0.0, 0.0)), None));
        assert_eq!((known(&[8.0]).interval(), known(&[8.0]).relative_half_width()), (None, None));
    }

    /// Half of the interval of 10,000 runs is 0.019602 standard deviations. t is 1.9602 there; of 9,999 runs the half
    /// is 0.019603.
    #[test]
    fn no_number_of_repeats_is_named_where_none_would_do() {
        assert_eq!((repeats_for(1.0, 0.0196), repeats_for(1.0, 0.0)), (None, None));
        assert_eq!((repeats_for(1.0, 0.019_602_5), repeats_for(0.0, 1.0)), (Some(10_000), Some(2)));
    }

    #[test]
    fn a_tail_has_an_interval_only_where_each_run_shows_five_samples_of_it() {
        let of = |quantile, beyond| {
            let runs = known(&[8.0, 10.0, 12.0]);
            runs.with_tail(&FigureKey::percentile(quantile, Metric::Ttft), beyond)
        };
        let lost = of(Quantile::P99, Some(4.9));
        assert_eq!((lost.interval_low, lost.interval_high, lost.runs_for_ten_percent), (None, None, None));
        assert_eq!((lost.unresolvable, lost.effective_beyond), (Some(Unresolvable::TooFewBeyond), Some(4.9)));
        assert_eq!(of(Quantile::P99, None).unresolvable, Some(Unresolvable::TooFewBeyond));
        for kept in [of(Quantile::P99, Some(5.0)), of(Quantile::P50, None)] {
            assert_eq!((kept.interval().is_some(), kept.unresolvable), (true, None));
        }
    }

    /// One run with 4 and three with 12: 4 / (1/4 + 3/12).
    #[test]
    fn the_shortest_runs_weigh_most_in_what_lies_beyond() {
        let of = |numbers: &[(Option<f64>, f64)]| harmonic_mean(numbers.iter().copied());
        assert_eq!(of(&[(Some(4.0), 1.0), (Some(12.0), 3.0)]), Some(8.0));
        assert_eq!(of(&[(Some(4.0), 1.0), (None, 3.0)]), None);
        assert_eq!((of(&[(Some(0.0), 1.0)]), of(&[])), (None, None));
    }
}
