//! Which numbers a field accepts.

use std::fmt;

use crate::units;

/// A range of numbers. Its `Display` describes it: `above 0, at most 1,000,000`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allowed {
    low: Low,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Low {
    Above(f64),
    From(f64),
}

impl Allowed {
    /// Greater than `low`, at most `high`.
    pub(crate) const fn above(low: f64, high: f64) -> Self {
        Self { low: Low::Above(low), high }
    }

    /// From `low` to `high`, both included.
    pub(crate) const fn from(low: f64, high: f64) -> Self {
        Self { low: Low::From(low), high }
    }

    /// Whether the number is in the range; NaN and infinity never are.
    pub(crate) fn has(self, value: f64) -> bool {
        let high_enough = match self.low {
            Low::Above(low) => value > low,
            Low::From(low) => value >= low,
        };
        high_enough && value <= self.high
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let high = plain(self.high);
        match self.low {
            Low::Above(low) => write!(f, "above {}, at most {high}", plain(low)),
            Low::From(low) => write!(f, "from {} to {high}", plain(low)),
        }
    }
}

/// A bound with all its digits, thousands separated if it is whole.
fn plain(bound: f64) -> String {
    if bound.fract() == 0.0 && bound >= 0.0 { units::count(bound as u64) } else { bound.to_string() }
}

/// Most requests of one run: nearly three hours at 10,000 a second.
pub(in crate::workload) const MOST_REQUESTS: f64 = 100_000_000.0;

/// The longest run, seconds: 31 days.
pub(in crate::workload) const LONGEST_S: f64 = 2_678_400.0;

/// Rates above zero. No client sends more from one machine.
pub(in crate::workload) const RATE: Allowed = Allowed::above(0.0, 1_000_000.0);

/// A length of time in seconds, up to 31 days.
pub(in crate::workload) const SECONDS: Allowed = Allowed::above(0.0, LONGEST_S);

/// Users in a closed loop; each is a connection.
pub(in crate::workload) const USERS: Allowed = Allowed::from(1.0, 100_000.0);

/// Counts of requests.
pub(in crate::workload) const REQUESTS: Allowed = Allowed::from(1.0, MOST_REQUESTS);

/// Waits, which may be zero.
pub(in crate::workload) const WAIT: Allowed = Allowed::from(0.0, LONGEST_S);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_are_where_the_words_say() {
        let above = Allowed::above(0.0, 1e6);
        assert_eq!(above.to_string(), "above 0, at most 1,000,000");
        assert!(above.has(1e-300) && above.has(1e6) && !above.has(0.0) && !above.has(1_000_000.5));
        let from = Allowed::from(0.01, 10.0);
        assert_eq!(from.to_string(), "from 0.01 to 10");
        assert!(from.has(0.01) && !from.has(0.009));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!above.has(value) && !from.has(value));
        }
    }
}
