//! A row of a table: the quantiles of durations in microseconds.

use std::time::Duration;

/// Durations as they came.
#[derive(Debug, Default)]
pub(crate) struct Distribution(Vec<Duration>);

impl Distribution {
    /// What stands above the rows.
    pub(crate) const HEAD: &str = "| µs | n | p50 | p90 | p99 | p99.9 | max |\n|---|---|---|---|---|---|---|";

    pub(crate) fn add(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// The quantiles, each the value at its closest rank.
    pub(crate) fn row(mut self, name: &str) -> String {
        self.0.sort_unstable();
        let last = self.0.len() - 1;
        let at = |quantile: f64| self.0[(quantile * last as f64).round() as usize].as_nanos() as f64 / 1e3;
        let [p50, p90, p99, p999, max] = [0.5, 0.9, 0.99, 0.999, 1.0].map(at);
        let n = self.0.len();
        format!("| {name} | {n} | {p50:.1} | {p90:.1} | {p99:.1} | {p999:.1} | {max:.1} |")
    }
}
