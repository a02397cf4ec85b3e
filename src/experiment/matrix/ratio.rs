//! The ratio of a figure in two rows.
//!
//! A ratio of two rows with several runs each is that of their geometric means: the runs of one number have the same
//! seed, so that their ratios are independent of one another, and the mean of the ratios' logarithms has Student's
//! interval (Law, *Simulation Modeling and Analysis*, 5th edition, section 10.2.1, on logarithms). Of single runs, and
//! of rows with unlike numbers of runs, which make no pairs, it is the ratio of the two figures, and lies between those
//! of the ends of their own intervals, which is wider than it need be.

use crate::analysis::statistics::{CONFIDENCE, Estimate, mean, student_t_quantile, variance};
use crate::analysis::{AcrossRuns, Summary};
use crate::experiment::difference::DifferenceScale;

/// Returns the `runs`, those first whose seed some of the `others` has. These make pairs, and a spare run pairs with
/// what is left.
pub(super) fn shared_first<'a>(runs: &[&'a Summary], others: &[&Summary]) -> Vec<&'a Summary> {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| others.iter().all(|other| other.run.seed != run.run.seed));
    runs
}

/// The ratio of two figures; `None` where one of them is 0.
pub(super) fn ratio(one: &AcrossRuns, two: &AcrossRuns) -> Option<Estimate> {
    let (here, there) = one.mean.zip(two.mean).filter(|(one, two)| *one > 0.0 && *two > 0.0)?;
    let pairs: Vec<(f64, f64)> =
        one.values.iter().zip(&two.values).map(|(one, two)| one.zip(*two)).collect::<Option<_>>()?;
    if pairs.len() == 1 || one.values.len() != two.values.len() {
        let ends = |across: &AcrossRuns| across.level().low.zip(across.level().high);
        let interval = ends(one).zip(ends(two)).filter(|(_, (low, _))| *low > 0.0);
        let value = here / there;
        return Some(interval.map_or(Estimate::bare(value), |((low, high), (least, most))| Estimate {
            value,
            low: low / most,
            high: high / least,
        }));
    }
    if pairs.iter().any(|(one, two)| *one <= 0.0 || *two <= 0.0) {
        return None;
    }
    let scale = DifferenceScale::Ratio;
    let logs: Vec<f64> = pairs.iter().map(|(one, two)| scale.between(*two, *one)).collect();
    let n = logs.len() as f64;
    let t = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0);
    Some(Estimate::around(mean(&logs)?, t * libm::sqrt(variance(&logs)? / n)).map(|log| scale.place(log)))
}
