//! What one sequence of arrivals looks like beside the process that it should come from.

use serde::Serialize;

use super::beats::ConstantArrivals;
use super::expectation::ExpectedArrivals;
use super::law::GapLaw;
use crate::analysis::statistics::{
    anderson_darling_exponential, anderson_darling_uniform, dispersion, lag1_spearman, mean, uniform_distance, variance,
};
use crate::arrivals::LatentStates;
use crate::clock::Timestamp;
use crate::workload::ArrivalPattern;

/// Fewest arrivals that show a process: seven slices of seven.
pub(super) const FEWEST: u64 = 50;

/// Figures of a sequence of arrivals, from the run's zero on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalSequence {
    /// How many arrived.
    pub arrivals: u64,
    /// Arrivals that the declared process expects over the same stretch. The number is rate × time or its integral. Of
    /// states it is given those that were drawn. Of independent gaps and clients it is the hazard integrated from
    /// arrival to arrival. Of a trace it is what its survey counted.
    pub expected: f64,
    /// The stretch that they are counted over, seconds.
    pub span_s: f64,
    /// Arrivals per second of it; absent for an empty stretch.
    pub rate_per_s: Option<f64>,
    /// Coefficient of variation of the gaps, standard deviation ÷ mean. It is 1 for Poisson and 0 for a metronome.
    /// Absent for fewer than two.
    pub gap_cv: Option<f64>,
    /// Index of dispersion of the counts in √n equal slices of time, variance ÷ mean. It is 1 for Poisson, and above it
    /// for traffic in bursts, whatever was declared. Absent for fewer than 50 arrivals.
    pub count_dispersion: Option<f64>,
    /// Length of those slices, seconds: bursts much shorter or longer than one show less.
    pub count_slice_s: Option<f64>,
    /// Fit of the arrivals to a process of chance. Absent for a metronome, a trace, or fewer than 50 arrivals.
    pub fit: Option<ArrivalFit>,
    /// Regularity of the arrivals of a metronome, by its constant interval. Absent for other processes, or fewer than
    /// 50 arrivals.
    pub constant_arrivals: Option<ConstantArrivals>,
}

/// How a sequence of arrivals fits a declared process of chance. Time is measured in arrivals that the process
/// expects, which makes a Poisson process of rate one of each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalFit {
    /// Anderson–Darling's A² of the gaps. It is against the exponential with estimated mean, A²(1 + 0.6/n), or for
    /// independent gaps and clients against the declared distribution.
    pub anderson_darling: f64,
    /// Largest distance between the gaps' distribution function and the expected one, from 0 to 1. It is the share of
    /// gaps that are too short, or too long.
    pub largest_cdf_deviation: f64,
    /// Spearman's correlation of each gap with the next.
    pub lag1_spearman: f64,
    /// Index of dispersion of the counts in slices of equally many expected arrivals. It is variance ÷ mean, and 1
    /// where arrivals are as declared, whatever was declared.
    pub dispersion_index: f64,
    /// How many slices: as many as each holds arrivals, √n. Fewer and longer ones see slow waves, more and shorter
    /// ones see clumps; generators that fix the count of every second are seen from one to the other.
    pub dispersion_slices: u64,
    /// Arrivals expected by the moment of the last one, minus the number there were. In a sequence that was stretched
    /// to hit its count this is 0.
    pub last_arrival_offset: f64,
}

impl ArrivalSequence {
    /// Computes the figures of the `moments` before `until`. They are in the order of the plan, of a sequence that
    /// should come from `pattern`, which hides `hidden`.
    pub fn new(pattern: &ArrivalPattern, hidden: &LatentStates, until: Timestamp, moments: &[Timestamp]) -> Self {
        let places = moments.iter().zip(0..).filter(|(moment, _)| **moment < until);
        let mut arrivals: Vec<(f64, usize)> = places.map(|(moment, place)| (moment.as_secs_f64(), place)).collect();
        arrivals.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let law = GapLaw::from_pattern(pattern);
        let span_s = until.as_secs_f64();
        let expectation = ExpectedArrivals::new(pattern, hidden, span_s, &arrivals);
        let seconds: Vec<f64> = arrivals.into_iter().map(|arrival| arrival.0).collect();
        let enough = seconds.len() as u64 >= FEWEST;
        let slices = if enough { Some(slice_count(seconds.len())) } else { None };
        let counts = slices.map(|slices| counts(seconds.iter().copied(), span_s, slices));
        Self {
            arrivals: seconds.len() as u64,
            expected: expectation.whole,
            span_s,
            rate_per_s: (span_s > 0.0).then(|| seconds.len() as f64 / span_s),
            gap_cv: gap_cv(&seconds),
            count_dispersion: counts.and_then(|counts| Some(dispersion(&counts)?.index)),
            count_slice_s: slices.map(|slices| span_s / slices as f64),
            fit: if enough { fit(law, &expectation) } else { None },
            constant_arrivals: if enough { ConstantArrivals::new(pattern, &seconds) } else { None },
        }
    }
}

fn gap_cv(seconds: &[f64]) -> Option<f64> {
    let gaps: Vec<f64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = mean(&gaps).filter(|&mean| mean > 0.0)?;
    Some(libm::sqrt(variance(&gaps)?) / mean)
}

fn fit(law: GapLaw, expectation: &ExpectedArrivals) -> Option<ArrivalFit> {
    let steps = &expectation.steps;
    let unit = match law {
        GapLaw::Metronome | GapLaw::Replayed | GapLaw::ByClass => return None,
        GapLaw::Exponential => mean(steps).filter(|&mean| mean > 0.0)?,
        GapLaw::Specified => 1.0,
    };
    // The probability-integral transform.
    let uniforms: Vec<f64> = steps.iter().map(|step| -libm::expm1(-step / unit)).collect();
    let passed = steps.iter().scan(0.0, |passed, step| {
        *passed += step;
        Some(*passed)
    });
    let dispersion = dispersion(&counts(passed, expectation.whole, slice_count(steps.len())))?;
    Some(ArrivalFit {
        anderson_darling: match law {
            GapLaw::Specified => anderson_darling_uniform(&uniforms)?,
            _ => anderson_darling_exponential(steps)?,
        },
        largest_cdf_deviation: uniform_distance(&uniforms),
        // All gaps alike: as much like the one before as can be.
        lag1_spearman: lag1_spearman(steps).unwrap_or(1.0),
        dispersion_index: dispersion.index,
        dispersion_slices: dispersion.counts,
        last_arrival_offset: expectation.by_last - steps.len() as f64,
    })
}

/// √n slices: as many as each holds arrivals.
fn slice_count(arrivals: usize) -> usize {
    libm::floor(libm::sqrt(arrivals as f64)) as usize
}

/// Counts the marks in each of so many equal slices from 0 to `whole`.
fn counts(marks: impl Iterator<Item = f64>, whole: f64, slices: usize) -> Vec<f64> {
    let mut counts = vec![0.0; slices];
    for mark in marks {
        let slice = (mark / whole * slices as f64) as usize;
        if let Some(count) = counts.get_mut(slice.min(slices - 1)) {
            *count += 1.0;
        }
    }
    counts
}
