//! How far the latency moved over a window, and how far an overload would have moved it.

use serde::Serialize;

use crate::analysis::statistics::{SECTIONS, least_spread, mean, variance};
use crate::workload::ArrivalPattern;

/// The overload that is ruled out: so much more arrives than the server can do.
pub(crate) const OVERLOAD: f64 = 0.05;
/// Most doublings of the window in the search for one that would tell.
const DOUBLINGS: usize = 8;

/// Movement of the latency of a window's sections. It stands beside the least that an overload of 5 % would have moved
/// the latency.
///
/// A server that cannot keep up works at its limit, whatever comes. So the work that waits is a random walk:
/// each arrival adds to it, and it falls at a level rate. Latency is that work: in a window of T with n
/// arrivals it walks by T·√(D/n), where D is the arrivals' index of dispersion plus the squared coefficient
/// of variation of the work of a request (a compound process: Cox, *Renewal Theory*, 1962, chapter 8), and
/// under an overload of 5 % it rises by 5 % of T besides. [`least_spread`] says what such a walk exceeds in
/// 39 windows of 40. A latency that moved less rules the overload out, however many requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Movement {
    /// Standard deviation of the sections' mean latencies, milliseconds. What the difference of single requests adds to
    /// it is taken off (a one-way analysis of variance).
    pub std_ms: f64,
    /// The standard deviation that an overload of 5 % exceeds in 39 of 40 windows. They are as long as this one.
    pub overload_std_ms: f64,
    /// The length of a window in which `overload_std_ms` exceeds `std_ms`, seconds. It is one of 2, 4, 8, … such
    /// windows, or this one.
    pub telling_window_s: f64,
}

impl Movement {
    /// Computes the movement from the latencies in each section of a window. The window is `length_s` long, with so
    /// many arrivals, and D of them.
    pub(crate) fn new<'a>(
        sections: impl Iterator<Item = &'a [f64]> + Clone,
        length_s: f64,
        arrivals: f64,
        dispersion: f64,
    ) -> Option<Self> {
        let means: Vec<f64> = sections.clone().filter_map(mean).collect();
        let freedom = |values: &[f64]| values.len() as f64 - 1.0;
        let squares: f64 = sections.clone().filter_map(|values| Some(variance(values)? * freedom(values))).sum();
        let within = squares / sections.clone().map(freedom).sum::<f64>().max(1.0);
        let of_mean = within * mean(&sections.map(|values| 1.0 / values.len() as f64).collect::<Vec<_>>())?;
        let n = means.len() as f64;
        let std_ms = libm::sqrt((variance(&means)? * (n - 1.0) / n - of_mean).max(0.0));
        let limit = |times: f64, sections| {
            let noise = libm::sqrt(dispersion / (arrivals * times));
            length_s * 1e3 * times * noise * least_spread(OVERLOAD / noise, sections)
        };
        let longer = std::iter::successors(Some(2.0), |times| Some(times * 2.0)).take(DOUBLINGS);
        let overload_std_ms = limit(1.0, means.len());
        let tells = |times: &f64| std_ms < limit(*times, SECTIONS);
        let times = if std_ms < overload_std_ms { 1.0 } else { longer.clone().find(tells).or(longer.last())? };
        Some(Self { std_ms, overload_std_ms, telling_window_s: length_s * times })
    }

    /// Whether it rules an overload out.
    pub fn is_steady(&self) -> bool {
        self.std_ms < self.overload_std_ms
    }
}

/// Returns the variance of how many arrive, as a share of how many are expected. In the long run it is the squared
/// coefficient of variation of the gaps (Cox, *Renewal Theory*, 1962, section 4.5).
fn dispersion(arrival: &ArrivalPattern) -> f64 {
    match arrival {
        ArrivalPattern::Constant { .. } => 0.0,
        other => other.gaps().map_or(1.0, |(_, form)| form.cv() * form.cv()),
    }
}

/// Returns the part of the dispersion that moves a server for certain. It is at least ¼, because the server is not as
/// regular as the most regular arrivals. It is at most 1, because bursts that did not come moved nothing.
pub(super) fn least_dispersion(arrival: &ArrivalPattern) -> f64 {
    dispersion(arrival).clamp(0.25, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk by hand. 400 Poisson arrivals in 100 s walk by 100 s / 20 = 5 s, and drift by 5 s, one step: 0.163 of 5 s
    /// is 815 ms.
    #[test]
    fn a_latency_that_moves_less_than_a_walk_is_steady() {
        let moved = |apart: f64, noise: f64| {
            let level = |i: u32| 500.0 + apart * f64::from(i % 2);
            let sections: Vec<_> = (0..20).map(|i| [level(i) - noise, level(i) + noise]).collect();
            Movement::new(sections.iter().map(<[f64; 2]>::as_slice), 100.0, 400.0, 1.0).unwrap()
        };
        let calm = moved(1_600.0, 0.0);
        assert!((calm.std_ms - 800.0).abs() < 1e-9 && (calm.overload_std_ms - 815.0).abs() < 1e-9, "{calm:?}");
        assert!(calm.is_steady() && (calm.telling_window_s - 100.0).abs() < 1e-9, "{calm:?}");
        // In 400 s the walk is 10 s and its drift two steps: 0.209 of 10 s. In 200 s it is √2 steps: 0.182 of 7.07 s.
        for (apart, window) in [(1_640.0, 200.0), (2_600.0, 400.0), (4_100.0, 400.0), (4_200.0, 800.0)] {
            let moved = moved(apart, 0.0);
            assert!(!moved.is_steady() && (moved.telling_window_s - window).abs() < 1e-9, "{apart}: {moved:?}");
        }
        // Two requests a section, 600 ms from its mean: 2 · 600² within, half of which is in the variance of the means.
        let noisy = moved(1_600.0, 600.0);
        assert!((noisy.std_ms - libm::sqrt(800.0 * 800.0 - 600.0 * 600.0)).abs() < 1e-9, "{noisy:?}");
        assert!(moved(100.0, 600.0).std_ms < 1e-9);
    }

    #[test]
    fn regular_arrivals_walk_less_and_bursts_prove_nothing() {
        let gamma = |burstiness| ArrivalPattern::Gamma { rate_per_s: 3.0, burstiness };
        for (arrival, all, least) in [
            (ArrivalPattern::Poisson { rate_per_s: 3.0 }, 1.0, 1.0),
            (ArrivalPattern::Constant { rate_per_s: 3.0 }, 0.0, 0.25),
            (gamma(2.0), 0.5, 0.5),
            (gamma(0.5), 2.0, 1.0),
        ] {
            let found = [dispersion(&arrival) - all, least_dispersion(&arrival) - least];
            assert!(found.iter().all(|apart| apart.abs() < 1e-9), "{arrival:?}: {found:?}");
        }
    }
}
