//! The ratio of a figure in two rows.
//!
//! A ratio of two rows with several runs each is that of their geometric means: the runs of one number have the same
//! seed, so that their ratios are independent of one another, and the mean of the ratios' logarithms has Student's
//! interval (Law, *Simulation Modeling and Analysis*, 5th edition, section 10.2.1, on logarithms). Of single runs, and
//! of rows with unlike numbers of runs, which make no pairs, it is the ratio of the two figures, and lies between those
//! of the ends of their own intervals, which is wider than it need be.

use crate::analysis::statistics::{CONFIDENCE, mean, student_t_quantile, variance};
use crate::analysis::{AcrossRuns, Summary};

/// The `runs`, those first whose seed some of the `others` has: these make pairs, and a spare run pairs with what is left.
pub(super) fn shared_first<'a>(runs: &[&'a Summary], others: &[&Summary]) -> Vec<&'a Summary> {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| others.iter().all(|other| other.run.seed != run.run.seed));
    runs
}

/// The ratio of two figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
}

impl Ratio {
    /// `None` where one of the two is 0.
    pub(super) fn new(one: &AcrossRuns, two: &AcrossRuns) -> Option<Self> {
        let (here, there) = one.mean.zip(two.mean).filter(|(one, two)| *one > 0.0 && *two > 0.0)?;
        let pairs: Vec<(f64, f64)> =
            one.values.iter().zip(&two.values).map(|(one, two)| one.zip(*two)).collect::<Option<_>>()?;
        if pairs.len() == 1 || one.values.len() != two.values.len() {
            let ends = |across: &AcrossRuns| across.level().low.zip(across.level().high);
            let interval = ends(one).zip(ends(two)).filter(|(_, (low, _))| *low > 0.0);
            let interval = interval.map(|((low, high), (least, most))| (low / most, high / least));
            return Some(Self { value: here / there, interval });
        }
        if pairs.iter().any(|(one, two)| *one <= 0.0 || *two <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(one, two)| libm::log(one / two)).collect();
        let (middle, n) = (mean(&logs)?, logs.len() as f64);
        let half =
            student_t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * libm::sqrt(variance(&logs)? / n);
        Some(Self {
            value: libm::exp(middle),
            interval: Some((libm::exp(middle - half), libm::exp(middle + half))),
        })
    }
}
