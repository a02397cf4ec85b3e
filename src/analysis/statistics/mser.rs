//! How much of the beginning of a sequence is warm-up.

/// Samples in a batch of MSER-5.
const BATCH: usize = 5;

/// What the truncation rule found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// The samples from this one on, counted from 0, are best kept; 0 keeps all.
    KeepFrom(usize),
    /// The best place to cut lies in the second half: the sequence has not settled, or is too short to tell.
    NotSettled,
}

/// The truncation point of MSER-5: the cut that makes the standard error of the mean of what is left smallest.
///
/// With means `Z_j` of b batches of five, d minimises `Σ_{j>d}(Z_j − their mean)² / (b − d)²` (White, *Simulation* 69, 1997,
/// 323–334; White, Cobb and Spratt, WSC 2000). Cuts in the second half are not believed (same sources): there few
/// batches are left, which can be alike by chance. Absent for fewer than ten batches; what does not fill the last
/// batch is left out.
pub fn mser5(samples: &[f64]) -> Option<Truncation> {
    let batches: Vec<f64> =
        samples.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < 2 * BATCH {
        return None;
    }
    // Backwards, so that mean and sum of squares grow by one batch a step (Welford 1962).
    let (mut mean, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (0, f64::INFINITY);
    for (kept, (cut, batch)) in batches.iter().enumerate().rev().enumerate() {
        let kept = (kept + 1) as f64;
        let from_mean = batch - mean;
        mean += from_mean / kept;
        squares += from_mean * (batch - mean);
        let error = squares / (kept * kept);
        // Fewer than five batches say nothing; of equals the earliest cut keeps most.
        if kept >= BATCH as f64 && error <= least {
            (best, least) = (cut, error);
        }
    }
    Some(if best > batches.len() / 2 { Truncation::NotSettled } else { Truncation::KeepFrom(best * BATCH) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    fn noisy(level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut stream = RandomStream::named(3, "mser");
        (0..500).map(|i| level(i) + stream.normal()).collect()
    }

    #[test]
    fn a_high_beginning_is_cut() {
        // 60 samples ten standard deviations above the rest.
        let samples = noisy(|i| if i < 60 { 10.0 } else { 0.0 });
        assert_eq!(mser5(&samples), Some(Truncation::KeepFrom(60)));
    }

    #[test]
    fn a_level_sequence_keeps_nearly_all_and_a_ramp_never_settles() {
        let Some(Truncation::KeepFrom(kept_from)) = mser5(&noisy(|_| 0.0)) else {
            panic!("a level sequence has settled")
        };
        assert!(kept_from <= 125, "{kept_from} of 500 cut");
        assert_eq!(mser5(&noisy(|i| i as f64)), Some(Truncation::NotSettled));
        assert_eq!((mser5(&[1.0; 49]), mser5(&[1.0; 50])), (None, Some(Truncation::KeepFrom(0))));
    }

    /// By the definition, every cut apart.
    #[test]
    fn the_cut_is_the_definitions() {
        let samples = noisy(|i| 5.0 * (-(i as f64) / 40.0).exp());
        let batches: Vec<f64> = samples.chunks(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
        let error = |cut: &usize| {
            let kept = &batches[*cut..];
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            kept.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
        };
        let best = (0..=95).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap();
        assert!(best > 3 && best < 50, "{best}");
        assert_eq!(mser5(&samples), Some(Truncation::KeepFrom(best * 5)));
    }
}
