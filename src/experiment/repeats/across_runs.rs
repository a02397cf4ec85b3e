//! One figure over several runs: its mean, its spread, and how sure the mean is.

use serde::Serialize;

use crate::analysis::statistics::{CONFIDENCE, Estimate, mean, student_t_quantile, variance};
use crate::analysis::{Figure, Mark, Subject, Summary};

/// Half-width of an interval, as a share of the mean, from which on a figure counts as known.
pub const TARGET_PRECISION: f64 = 0.1;

/// More repeats than this are nothing that anybody would fly.
const MOST_REPEATS: u64 = 10_000;

/// One figure over several runs, in the figure's own unit. What the runs cannot tell is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AcrossRuns {
    /// The figure of each counted run, in their order; absent where it is not known, or known only within bounds.
    pub values: Vec<Option<f64>>,
    /// Mean over the runs.
    pub mean: Option<f64>,
    /// Standard deviation over the runs, with N − 1.
    pub std: Option<f64>,
    /// Lower end of the 95 % interval of the mean: mean ± t·s/√N, t the 97.5 % quantile of Student's t with N − 1
    /// degrees of freedom (Law, *Simulation Modeling and Analysis*, 5th edition, section 9.4.1). No end leaves what the
    /// figure can be: above 0, and a share below 1.
    pub interval_low: Option<f64>,
    /// Its upper end.
    pub interval_high: Option<f64>,
    /// The smallest of the runs' figures that are known.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// Why there is no interval.
    pub unresolvable: Option<Unresolvable>,
    /// The gravest reservation that a run has about its own figure: repeats do not take it away.
    pub mark: Option<Mark>,
    /// Runs in all at which the half-width would be [`TARGET_PRECISION`] of the mean, if runs go on to differ as these
    /// do; absent where there is no interval, where the mean is 0, or beyond 10,000.
    pub runs_for_ten_percent: Option<u64>,
}

/// Why the runs do not tell how sure a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unresolvable {
    /// One run has no spread.
    TooFewRuns,
    /// A run does not know its figure, or only bounds on it.
    UnknownInSomeRun,
}

impl AcrossRuns {
    /// The figure `subject` of each of the `runs`; `None` where no run has it.
    pub(super) fn of(subject: Subject, runs: &[&Summary]) -> Option<Self> {
        let figures: Vec<_> = runs.iter().map(|run| subject.read(run)).collect();
        if figures.iter().all(Option::is_none) {
            return None;
        }
        let values = figures.iter().map(|figure| figure.and_then(Figure::exact)).collect();
        let mark = runs.iter().filter_map(|run| subject.mark(run)).map(|(mark, _)| mark);
        let gravest = mark.min_by_key(|mark| *mark != Mark::TooFewSamples);
        let most = if matches!(subject, Subject::Share(_)) { 1.0 } else { f64::INFINITY };
        Some(Self { mark: gravest, ..Self::of_values(values, most) })
    }

    /// The same of figures as they are, each between 0 and `most`.
    #[must_use]
    pub fn of_values(values: Vec<Option<f64>>, most: f64) -> Self {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let whole = !known.is_empty() && known.len() == values.len();
        let unresolvable = match known.len() {
            _ if !whole => Some(Unresolvable::UnknownInSomeRun),
            1 => Some(Unresolvable::TooFewRuns),
            _ => None,
        };
        let interval = across_runs(&known).filter(|_| whole);
        let mean = mean(&known).filter(|_| whole);
        let std = variance(&known).filter(|_| whole).map(libm::sqrt);
        Self {
            mean,
            std,
            interval_low: interval.map(|interval| interval.low.clamp(0.0, most)),
            interval_high: interval.map(|interval| interval.high.clamp(0.0, most)),
            min: known.iter().copied().reduce(f64::min),
            max: known.iter().copied().reduce(f64::max),
            unresolvable,
            mark: None,
            runs_for_ten_percent: mean.zip(std).and_then(|(mean, std)| {
                repeats_for(std, TARGET_PRECISION * mean).map(|runs| runs.max(known.len() as u64))
            }),
            values,
        }
    }

    /// The ends of the interval, where there is one.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_low.zip(self.interval_high)
    }

    /// Half of the interval as a share of the mean, as Student's t gives it; absent where the mean is 0.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let mean = self.mean.filter(|&mean| mean > 0.0)?;
        Some(half_width(self.std?, self.values.len() as u64) / mean)
    }
}

/// The mean of independent `values` with its 95 % interval; `None` for fewer than two.
fn across_runs(values: &[f64]) -> Option<Estimate> {
    let std = libm::sqrt(variance(values)?);
    Some(Estimate::around(mean(values)?, half_width(std, values.len() as u64)))
}

/// `t·s/√n`: half of the 95 % interval of a mean of `n` values, at least two, with standard deviation `std`.
fn half_width(std: f64, n: u64) -> f64 {
    let n = n as f64;
    student_t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * std / libm::sqrt(n)
}

/// The fewest runs, at least two, whose interval would have a half-width of at most `target`, if their standard
/// deviation were `std`: the smallest n with `n ≥ (t·s/target)²`, t itself that of n runs (Law, section 9.4.1). `None`
/// beyond 10,000.
#[must_use]
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
