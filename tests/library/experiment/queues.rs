//! Queues that are servers, and the rate that just meets an objective on each.

use skyline::simulator::{Delay, FixedQueue};

/// A server of `places`, each of which takes exponential times of mean `service_s`, and an objective on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) name: &'static str,
    pub(crate) places: u32,
    pub(crate) service_s: f64,
    /// The objective, as typed.
    pub(crate) objective: &'static str,
    /// The highest rate that meets it, requests per second.
    pub(crate) truth_per_s: f64,
}

impl Queue {
    /// M/M/1: the time in the system is exponential with mean 1/(μ − λ), so that its quantile q keeps a bound x up to
    /// λ = μ − ln(1/(1 − q))/x.
    pub(crate) fn one_place() -> Self {
        let (service_s, bound_s) = (0.1, 2.3);
        let truth_per_s = 1.0 / service_s - (100.0_f64).ln() / bound_s;
        Self { name: "M/M/1, p99 e2e", places: 1, service_s, objective: "p99 e2e < 2300ms", truth_per_s }
    }

    /// The same under an objective on the mean: 1/(μ − λ) keeps x up to λ = μ − 1/x.
    pub(crate) fn mean_of_one_place() -> Self {
        Self { name: "M/M/1, mean e2e", objective: "mean e2e < 500ms", truth_per_s: 8.0, ..Self::one_place() }
    }

    /// M/M/c: the wait exceeds x with probability C·exp(−(cμ − λ)x), C by Erlang's formula; the rate at which that is 5 %.
    pub(crate) fn eight_places() -> Self {
        let (places, service_s, bound_s) = (8, 0.4, 0.3);
        let over = |per_s: f64| {
            let load = per_s * service_s;
            erlang_c(load, places) * (-(f64::from(places) / service_s - per_s) * bound_s).exp()
        };
        let (mut low, mut high) = (0.1, f64::from(places) / service_s - 1e-9);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if over(middle) < 0.05 { low = middle } else { high = middle }
        }
        Self { name: "M/M/8, p95 ttft", places, service_s, objective: "p95 ttft < 300ms", truth_per_s: low }
    }

    /// The server, fresh: the first token of a request comes when it is served, the second when its place is free again.
    pub(crate) fn server(&self, seed: u64) -> FixedQueue {
        FixedQueue::new(self.places as usize, Delay::Constant(0.0), Delay::Exponential(self.service_s), seed)
    }
}

/// Erlang C: the probability that a Poisson arrival finds all `places` taken, at `load` = λ × mean service time.
fn erlang_c(load: f64, places: u32) -> f64 {
    let blocked = (1..=places).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
    blocked / (1.0 - load / f64::from(places) * (1.0 - blocked))
}

/// scipy 1.17.1: `brentq(lambda l: C(0.4*l, 8)*exp(-(20 - l)*0.3) - 0.05, 1, 19.999)` with Erlang's C by its sum.
#[test]
fn the_truths_are_those_of_scipy() {
    assert!((Queue::one_place().truth_per_s - 7.997_752).abs() < 1e-6);
    assert!((Queue::eight_places().truth_per_s - EIGHT_PLACES).abs() < 1e-6, "{:?}", Queue::eight_places());
}

const EIGHT_PLACES: f64 = 14.188_814_4;
