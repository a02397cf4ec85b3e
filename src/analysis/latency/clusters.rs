//! Samples that are alike because they are of one answer, or of one session.

use std::collections::HashMap;

/// Samples that requests have at or below a percentile beyond the share of all.
pub(super) struct Excess {
    /// Excess of each request, in order of arrival.
    pub(super) each: Vec<f64>,
    /// The share of all samples.
    pub(super) share: f64,
    /// The variance of it as a multiple of that of independent samples, at least 1.
    pub(super) design: f64,
    /// Such a multiple where only sessions are independent of one another.
    pub(super) sessions: f64,
}

/// Samples of each request, and how many of them are at or below each bound.
pub(super) struct Counts {
    samples: Vec<u32>,
    at_most: Vec<Vec<u32>>,
    /// The session of each request.
    sessions: Vec<u64>,
}

/// Returns the variance of a share as a multiple of the one of `independent` samples. It is at least 1. `each` request
/// has such an excess, and those of one session are alike.
///
/// It is the design effect of clusters (Kish, *Survey Sampling*, 1965). As many samples as are left by it say as much
/// as sessions that are drawn anew.
pub(super) fn design(each: &[f64], sessions: &[u64], independent: f64) -> f64 {
    let mut sums: HashMap<u64, f64> = HashMap::new();
    for (excess, session) in each.iter().zip(sessions) {
        *sums.entry(*session).or_default() += excess;
    }
    if sums.len() == each.len() {
        return 1.0;
    }
    let mut squares: Vec<f64> = sums.into_values().map(|sum| sum * sum).collect();
    // In any other order the last digits would differ from run to run.
    squares.sort_unstable_by(f64::total_cmp);
    let squares: f64 = squares.iter().sum();
    if independent > 0.0 { (squares / independent).max(1.0) } else { 1.0 }
}

impl Counts {
    /// Counts of no request yet, for so many bounds.
    pub(super) fn new(bounds: usize) -> Self {
        Self { samples: Vec::new(), at_most: vec![Vec::new(); bounds], sessions: Vec::new() }
    }

    /// Number of requests.
    pub(super) fn requests(&self) -> usize {
        self.samples.len()
    }

    /// Adds one more request of a session, whose samples `samples_of` hands out.
    pub(super) fn add(&mut self, session: u64, bounds: &[f64], samples_of: impl FnOnce(&mut dyn FnMut(f64, u32))) {
        let mut samples = 0_u32;
        let mut at_most = vec![0_u32; bounds.len()];
        samples_of(&mut |value, weight| {
            samples = samples.saturating_add(weight);
            for (count, bound) in at_most.iter_mut().zip(bounds) {
                *count = count.saturating_add(if value <= *bound { weight } else { 0 });
            }
        });
        self.samples.push(samples);
        self.sessions.push(session);
        self.at_most.iter_mut().zip(at_most).for_each(|(all, one)| all.push(one));
    }

    /// Returns each request's samples at or below a bound beyond the share of all. The bound is the one in this
    /// `place`.
    ///
    /// Samples of one request are alike too: the variance of it is as many times that of independent samples
    /// as the number of samples counts too much (the design effect of clusters: Kish, *Survey Sampling*,
    /// 1965).
    pub(super) fn excess(&self, place: usize) -> Excess {
        let sum = |counts: &[u32]| counts.iter().copied().map(u64::from).sum::<u64>();
        let (below, all) = (sum(&self.at_most[place]), sum(&self.samples));
        let share = if all > 0 { below as f64 / all as f64 } else { 0.0 };
        let each = self.at_most[place].iter().zip(&self.samples);
        let each: Vec<f64> = each.map(|(below, all)| f64::from(*below) - share * f64::from(*all)).collect();
        let squares: f64 = each.iter().map(|excess| excess * excess).sum();
        let independent = all as f64 * share * (1.0 - share);
        let alike = if independent > 0.0 { (squares / independent).max(1.0) } else { 1.0 };
        let sessions = design(&each, &self.sessions, independent);
        Excess { each, share, design: alike, sessions }
    }
}
