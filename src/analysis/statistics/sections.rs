//! Intervals that respect the dependence of neighbours, from sections of a sequence.

use super::distributions::student_t_quantile;
use super::estimate::{CONFIDENCE, Estimate};
use super::von_neumann::VonNeumann;
use crate::analysis::statistics::von_neumann;

/// Number of sections. Beyond 10 to 30, more of them hardly narrow an interval and make it less true, because each
/// becomes shorter and depends more on the one before (Schmeiser, *Operations Research* 30, 1982, 556–568).
pub const SECTIONS: usize = 20;

/// How sure a figure is, by the same figure of the sections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sectioned {
    /// The figure of the whole sequence and its interval.
    pub estimate: Estimate,
    /// Whether even the sections depend on one another ([`VonNeumann::is_dependent`]): then the interval is too
    /// narrow, and the run too short to tell by how much.
    pub sections_dependent: bool,
}

/// The figure `whole` of a sequence with its 95 % interval, from the same figure of equal `sections` of it in their
/// order.
///
/// Sectioning: whole-sequence figure θ ± `t·√(Σ(θ_i − θ)²/(b(b − 1)))`, t the 97.5 % quantile of Student's t with
/// b − 1 degrees of freedom (Asmussen and Glynn, *Stochastic Simulation*, 2007; for quantiles
/// Nakayama, *ACM TOMACS* 24:4, 2014). For a mean this is the method of batch means. Absent for fewer than two.
pub fn sectioned(whole: f64, sections: &[f64]) -> Option<Sectioned> {
    if sections.len() < 2 {
        return None;
    }
    let b = sections.len() as f64;
    let squares: f64 = sections.iter().map(|figure| (figure - whole) * (figure - whole)).sum();
    let error = libm::sqrt(squares / (b * (b - 1.0)));
    let t = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), b - 1.0);
    Some(Sectioned {
        estimate: Estimate::around(whole, t * error),
        sections_dependent: von_neumann(sections).is_some_and(|found| VonNeumann::is_dependent(&found)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_sequences::halton_exponentials;
    use super::*;
    use crate::analysis::statistics::moments::mean;
    use crate::random::RandomStream;

    /// The mean of samples by that of 20 sections, which leave out what does not fill one at the beginning.
    fn mean_of(samples: &[f64]) -> Sectioned {
        let size = samples.len() / SECTIONS;
        let (_, whole) = samples.split_at(samples.len() - size * SECTIONS);
        let sections: Vec<f64> = whole.chunks_exact(size).map(|section| mean(section).unwrap()).collect();
        sectioned(mean(samples).unwrap(), &sections).unwrap()
    }

    /// numpy 2.4.6 and scipy 1.17.1, from the definition: 105 samples, the first five in no section.
    #[test]
    fn batch_means_are_numpys() {
        let found = mean_of(&halton_exponentials()[..105]);
        for (found, expected) in [
            (found.estimate.value, 0.942_481_265_693_215),
            (found.estimate.low, 0.818_199_735_605_810_3),
            (found.estimate.high, 1.066_762_795_780_619_6),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
        assert!(!found.sections_dependent);
        assert_eq!(sectioned(1.0, &[1.0]), None);
    }

    /// An autoregressive sequence of memory 0.9 has a known mean of 0. Over 300 sequences the interval that takes
    /// its samples for independent covers it in about a third; the sections' interval in nearly 95 %.
    #[test]
    fn intervals_cover_the_truth_where_samples_depend() {
        let (mut sections, mut naive) = (0, 0);
        for seed in 0..300 {
            let mut stream = RandomStream::named(seed, "sections");
            let mut last = 0.0;
            let samples: Vec<f64> = (0..4_000)
                .map(|_| {
                    last = 0.9 * last + stream.normal();
                    last
                })
                .collect();
            let found = mean_of(&samples).estimate;
            sections += u32::from(found.low <= 0.0 && 0.0 <= found.high);
            let variance = samples.iter().map(|x| x * x).sum::<f64>() / 4_000.0;
            naive += u32::from(found.value.abs() <= 1.96 * (variance / 4_000.0).sqrt());
        }
        // Standard error 1.3 %: 90 % is four below 95 %.
        assert!(sections >= 270, "{sections} of 300");
        assert!(naive <= 150, "{naive} of 300");
    }
}
