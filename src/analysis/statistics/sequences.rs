//! Values in their order: how much of the beginning is warm-up, whether neighbours depend on one another.

use super::means::mean;

/// Samples in a batch of MSER-5.
const BATCH: usize = 5;

/// Result of the truncation rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// The samples from this one on, counted from 0, are best kept; 0 keeps all.
    KeepFrom(usize),
    /// The best place to cut lies in the second half. The sequence has not settled, or is too short to tell.
    NotSettled,
}

/// Returns the truncation point of MSER-5. It is the cut that makes the standard error of the mean of what is left
/// smallest.
///
/// With means `Z_j` of b batches of five, d minimises `Σ_{j>d}(Z_j − their mean)² / (b − d)²` (White,
/// *Simulation* 69, 1997, 323–334; White, Cobb and Spratt, WSC 2000). Cuts in the second half are not
/// believed (same sources): there few batches are left, which can be alike by chance. Absent for fewer than
/// ten batches; what does not fill the last batch is left out.
pub fn mser5(samples: &[f64]) -> Option<Truncation> {
    let batches: Vec<f64> = samples.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
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

/// Returns von Neumann's ratio of `values` in their order as a nearly standard normal figure. It is so for independent
/// values, and positive where neighbours are alike. Give it their [`ranks`](super::ranks) where they are far from
/// normal (Bartels, *JASA* 77, 1982). Absent for fewer than three values, or when all are alike.
///
/// Von Neumann, *Annals of Mathematical Statistics* 12 (1941) 367–395; as a test of batch means, with
/// z = (1 − ratio/2)·√((n² − 1)/(n − 2)), Fishman and Yarberry, *INFORMS Journal on Computing* 9 (1997) 296–310.
pub fn von_neumann(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    Some((1.0 - ratio(values)? / 2.0) * libm::sqrt((n * n - 1.0) / (n - 2.0)))
}

/// Returns the ratio `Σ(x_{i+1} − x_i)² ÷ Σ(x_i − mean)²`. It is about 2 for independent values, less where neighbours
/// are alike, more where they alternate.
fn ratio(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 3)?;
    let spread: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    (spread > 0.0).then(|| steps / spread)
}

/// Number of sections. Beyond 10 to 30, more of them hardly narrow an interval and make it less true, because each
/// becomes shorter and depends more on the one before (Schmeiser, *Operations Research* 30, 1982, 556–568).
pub const SECTIONS: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;
    use crate::random::RandomStream;

    /// Φ⁻¹(0.95): beyond it neighbours are alike beyond chance, one-sided at 5 %.
    const ALIKE_Z: f64 = 1.644_853_626_951_472_2;

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

    /// numpy 2.4.6, from the definition.
    #[test]
    fn ratios_are_numpys() {
        for (values, expected) in
            [(halton_exponentials(), 2.991_076_611_073_135), (TIED.to_vec(), 2.838_929_855_567_067)]
        {
            let (ratio, z) = (ratio(&values).unwrap(), von_neumann(&values).unwrap());
            assert!((ratio - expected).abs() < 1e-9 && z <= ALIKE_Z, "{ratio} {z}");
        }
        assert_eq!((von_neumann(&[1.0; 9]), von_neumann(&[1.0, 2.0])), (None, None));
    }

    /// A test at 5 % calls 400 independent sequences dependent about 20 times. Outside 7..=36 has chance below 0.3 %.
    #[test]
    fn false_alarms_are_one_in_twenty_and_memory_is_seen() {
        let alarms = |memory: f64| {
            let alarm = |seed: &u64| {
                let mut stream = RandomStream::named(*seed, "von neumann");
                let mut last = 0.0;
                let values: Vec<f64> = (0..20)
                    .map(|_| {
                        last = memory * last + stream.normal();
                        last
                    })
                    .collect();
                von_neumann(&values).is_some_and(|z| z > ALIKE_Z)
            };
            (0..400).filter(alarm).count()
        };
        let false_alarms = alarms(0.0);
        assert!((7..=36).contains(&false_alarms), "{false_alarms} of 400");
        let seen = alarms(0.8);
        assert!(seen > 340, "{seen} of 400 sequences with memory 0.8");
    }
}
