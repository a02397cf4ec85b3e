//! What one sequence of arrivals looks like beside the process that it should come from.

use serde::Serialize;

use super::{ArrivalBeats, GapLaw, Law};
use crate::analysis::statistics::{
    anderson_darling_exponential, anderson_darling_uniform, dispersion, lag1_spearman, mean,
    uniform_distance, variance,
};
use crate::clock::Timestamp;
use crate::workload::ArrivalPattern;

/// Fewest arrivals from which a process can be told: seven slices of seven.
pub(super) const FEWEST: u64 = 50;

/// What a sequence of arrivals looks like, from the run's zero on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrivalSequence {
    /// How many arrived.
    pub arrivals: u64,
    /// How many the declared process expects over the same stretch: rate × time or its integral; for gamma gaps the
    /// hazard integrated from arrival to arrival; of a trace, what its survey counted.
    pub expected: f64,
    /// The stretch that they are counted over, seconds.
    pub span_s: f64,
    /// Arrivals per second of it; absent for an empty stretch.
    pub rate_per_s: Option<f64>,
    /// Standard deviation ÷ mean of the gaps: 1 for Poisson, 0 for a metronome; absent for fewer than two.
    pub gap_cv: Option<f64>,
    /// How they fit a process of chance; absent for a metronome, a trace, or fewer than 50 arrivals.
    pub fit: Option<ArrivalFit>,
    /// How they keep the beats of a metronome; absent for other processes, or fewer than 50 arrivals.
    pub beats: Option<ArrivalBeats>,
}

/// How a sequence of arrivals fits a declared process of chance. Time is measured in arrivals that the process
/// expects, which makes a Poisson process of rate one of each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ArrivalFit {
    /// Anderson–Darling's A² of the gaps: against the exponential with estimated mean, A²(1 + 0.6/n), or for gamma
    /// gaps against the declared distribution.
    pub anderson_darling: f64,
    /// Largest distance between the gaps' distribution function and that one, from 0 to 1: the share of gaps that
    /// are too short, or too long.
    pub largest_cdf_deviation: f64,
    /// Spearman's correlation of each gap with the next.
    pub lag1_spearman: f64,
    /// Variance ÷ mean of the counts in slices of equally many expected arrivals: 1 as declared, also for gamma,
    /// bursts and stages.
    pub dispersion_index: f64,
    /// How many slices: as many as each holds arrivals, √n. Fewer and longer ones see slow waves, more and shorter
    /// ones see clumps; generators that fix the count of every second are seen from one to the other.
    pub dispersion_slices: u64,
    /// Arrivals expected by the moment of the last one, minus how many there were: in a sequence that was stretched
    /// to hit its count this is 0.
    pub last_arrival_offset: f64,
}

impl ArrivalSequence {
    /// Looks at the `moments` before `until`, in any order, of a sequence that should come from `pattern`.
    #[must_use]
    pub fn of(pattern: &ArrivalPattern, until: Timestamp, moments: &[Timestamp]) -> Self {
        let mut seconds: Vec<f64> =
            moments.iter().filter(|&&moment| moment < until).map(|moment| moment.as_secs_f64()).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        let law = Law::of(pattern);
        let span_s = until.as_secs_f64();
        let last = seconds.last().copied().unwrap_or(0.0);
        let steps = law.steps(&seconds);
        let expected = steps.iter().sum::<f64>() + law.step(last, span_s);
        let enough = seconds.len() as u64 >= FEWEST;
        Self {
            arrivals: seconds.len() as u64,
            expected,
            span_s,
            rate_per_s: (span_s > 0.0).then(|| seconds.len() as f64 / span_s),
            gap_cv: gap_cv(&seconds),
            fit: if enough { fit(law, &seconds, &steps, expected) } else { None },
            beats: if enough { ArrivalBeats::of(pattern, &seconds) } else { None },
        }
    }
}

fn gap_cv(seconds: &[f64]) -> Option<f64> {
    let gaps: Vec<f64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = mean(&gaps).filter(|&mean| mean > 0.0)?;
    Some(libm::sqrt(variance(&gaps)?) / mean)
}

fn fit(law: Law<'_>, seconds: &[f64], steps: &[f64], expected: f64) -> Option<ArrivalFit> {
    let unit = match law.gaps() {
        GapLaw::Metronome | GapLaw::Replayed => return None,
        GapLaw::Exponential => mean(steps).filter(|&mean| mean > 0.0)?,
        GapLaw::Specified => 1.0,
    };
    // The probability-integral transform.
    let uniforms: Vec<f64> = steps.iter().map(|step| -libm::expm1(-step / unit)).collect();
    let dispersion = dispersion(&slices(steps, expected))?;
    let last = seconds.last()?;
    Some(ArrivalFit {
        anderson_darling: match law.gaps() {
            GapLaw::Specified => anderson_darling_uniform(&uniforms)?,
            _ => anderson_darling_exponential(steps)?,
        },
        largest_cdf_deviation: uniform_distance(&uniforms),
        // All gaps alike: as much like the one before as can be.
        lag1_spearman: lag1_spearman(steps).unwrap_or(1.0),
        dispersion_index: dispersion.index,
        dispersion_slices: dispersion.counts,
        last_arrival_offset: law.expected_by(*last) - seconds.len() as f64,
    })
}

/// Arrivals in each of √n equal slices of `expected`.
fn slices(steps: &[f64], expected: f64) -> Vec<f64> {
    let slices = libm::floor(libm::sqrt(steps.len() as f64)) as usize;
    let mut counts = vec![0.0; slices];
    let mut passed = 0.0;
    for step in steps {
        passed += step;
        let slice = (passed / expected * slices as f64) as usize;
        if let Some(count) = counts.get_mut(slice.min(slices - 1)) {
            *count += 1.0;
        }
    }
    counts
}
