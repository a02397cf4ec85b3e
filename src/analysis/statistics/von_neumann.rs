//! Whether each value of a sequence depends on the one before.

/// Von Neumann's test of independence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VonNeumann {
    /// `Σ(x_{i+1} − x_i)² ÷ Σ(x_i − mean)²`: about 2 for independent values, less where neighbours are alike, more
    /// where they alternate.
    pub ratio: f64,
    /// The same as a nearly standard normal figure for independent values; positive where neighbours are alike.
    pub z: f64,
}

impl VonNeumann {
    /// Whether neighbours are alike beyond chance: one-sided at 5 %.
    pub fn is_dependent(&self) -> bool {
        // Φ⁻¹(0.95)
        self.z > 1.644_853_626_951_472_2
    }
}

/// Von Neumann's ratio of `values` in their order; give it their [`ranks`](super::ranks) where they are far from
/// normal (Bartels, *JASA* 77, 1982). Absent for fewer than three values, or when all are alike.
///
/// Von Neumann, *Annals of Mathematical Statistics* 12 (1941) 367–395; as a test of batch means, with
/// z = (1 − ratio/2)·√((n² − 1)/(n − 2)), Fishman and Yarberry, *INFORMS Journal on Computing* 9 (1997) 296–310.
pub fn von_neumann(values: &[f64]) -> Option<VonNeumann> {
    let mean = super::mean(values).filter(|_| values.len() >= 3)?;
    let spread: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    let n = values.len() as f64;
    let ratio = steps / spread;
    (spread > 0.0)
        .then(|| VonNeumann { ratio, z: (1.0 - ratio / 2.0) * libm::sqrt((n * n - 1.0) / (n - 2.0)) })
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::{TIED, halton_exponentials};
    use super::*;
    use crate::random::RandomStream;

    /// numpy 2.4.6, from the definition.
    #[test]
    fn ratios_are_numpys() {
        for (values, expected) in
            [(halton_exponentials(), 2.991_076_611_073_135), (TIED.to_vec(), 2.838_929_855_567_067)]
        {
            let found = von_neumann(&values).unwrap();
            assert!((found.ratio - expected).abs() < 1e-9 && !found.is_dependent(), "{found:?}");
        }
        assert_eq!((von_neumann(&[1.0; 9]), von_neumann(&[1.0, 2.0])), (None, None));
    }

    /// At 5 %, 400 independent sequences are called dependent about 20 times; outside 7..=36 has chance below 0.3 %.
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
                von_neumann(&values).is_some_and(|found| found.is_dependent())
            };
            (0..400).filter(alarm).count()
        };
        let false_alarms = alarms(0.0);
        assert!((7..=36).contains(&false_alarms), "{false_alarms} of 400");
        let seen = alarms(0.8);
        assert!(seen > 340, "{seen} of 400 sequences with memory 0.8");
    }
}
