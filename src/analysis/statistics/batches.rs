//! The mean of values that depend on their neighbours, by the means of batches of them.

use super::distributions::student_t_two_sided;
use super::means::{mean, variance};

/// Batches of a sequence. More of them are shorter, and less independent of one another.
const BATCHES: usize = 32;
/// Fewest values that tell how they vary.
const FEWEST: usize = 16;

/// A mean with what chance does to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Degrees of freedom of its t: batches − 1.
    pub freedom: f64,
}

impl BatchMeans {
    /// Batch means of values in their order, by 32 batches without overlap. The batches hold all values, their lengths
    /// at most one apart (Law, *Simulation Modeling and Analysis*, section 9.5.3). The batches' means are nearly
    /// independent where a batch is longer than the values remember. `None` for fewer than 16 values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let count = values.len().min(BATCHES);
        if count < FEWEST {
            return None;
        }
        let start = |batch: usize| batch * values.len() / count;
        let batches = (0..count).map(|batch| &values[start(batch)..start(batch + 1)]);
        let means: Vec<f64> = batches.filter_map(mean).collect();
        let error = libm::sqrt(variance(&means)? / means.len() as f64);
        Some(Self { mean: mean(values)?, error, freedom: (means.len() - 1) as f64 })
    }

    /// Two-sided p-value that the true mean is 0.
    pub fn p(&self) -> f64 {
        match (self.mean != 0.0, self.error > 0.0) {
            (true, true) => student_t_two_sided(self.mean / self.error, self.freedom),
            (true, false) => 0.0,
            (false, _) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of numpy 2.4.6 and scipy 1.17.1. They are the batch means of `sin(i²)` for i = 0 … 199, 6 or 7 in a
    /// batch, and the t of the mean less 0.1.
    #[test]
    fn the_error_is_that_of_the_batches() {
        let values: Vec<f64> = (0..200).map(|i| libm::sin(f64::from(i * i))).collect();
        let found = BatchMeans::from_values(&values).unwrap();
        assert_eq!(found.freedom, 31.0);
        assert!(
            (found.mean - 0.004_107_645_939_766_762).abs() < 1e-12
                && (found.error - 0.056_085_661_890_718_71).abs() < 1e-12,
            "{found:?}"
        );
        let moved = BatchMeans { mean: found.mean - 0.1, ..found };
        assert!((moved.p() - 0.097_305_773_838_934_45).abs() < 1e-9, "{}", moved.p());
    }

    #[test]
    fn every_value_counts() {
        let values: Vec<f64> = (0..63).map(|i| f64::from(u8::from(i < 21))).collect();
        assert!((BatchMeans::from_values(&values).unwrap().mean - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn few_values_say_nothing_and_equal_ones_do_not_vary() {
        assert_eq!(BatchMeans::from_values(&[1.0; 15]), None);
        let equal = BatchMeans::from_values(&[1.0; 20]).unwrap();
        assert_eq!((equal.error, equal.freedom, equal.p()), (0.0, 19.0, 0.0));
        assert_eq!(BatchMeans::from_values(&[0.0; 20]).unwrap().p(), 1.0);
    }
}
