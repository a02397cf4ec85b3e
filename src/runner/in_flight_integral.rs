//! Integrates the number of requests in flight over the window, from the run's events and not from its
//! records.

use crate::clock::Timestamp;

/// ∫ N(t) dt over the window; N(t) is the number of requests dispatched and not ended.
///
/// A request adds the part of the window before its end and subtracts the part before its dispatch.
#[derive(Debug)]
pub(super) struct InFlightIntegral {
    start: Timestamp,
    end: Timestamp,
    nanos: i128,
}

impl InFlightIntegral {
    /// An integral over the window from `start` to `end`.
    pub(super) fn within(start: Timestamp, end: Timestamp) -> Self {
        Self { start, end, nanos: 0 }
    }

    /// A request was dispatched.
    pub(super) fn came(&mut self, at: Timestamp) {
        self.nanos -= self.of_window_before(at);
    }

    /// A request ended.
    pub(super) fn left(&mut self, at: Timestamp) {
        self.nanos += self.of_window_before(at);
    }

    /// The integral, once every request has ended.
    pub(super) fn nanos(&self) -> u64 {
        u64::try_from(self.nanos).unwrap_or_default()
    }

    fn of_window_before(&self, at: Timestamp) -> i128 {
        at.min(self.end).since(self.start).as_nanos().cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_inside_the_window_counts() {
        let at = Timestamp::from_nanos;
        let mut integral = InFlightIntegral::within(at(100), at(200));
        for (came, left) in [(0, 50), (50, 120), (150, 170), (190, 500), (300, 400)] {
            integral.came(at(came));
            integral.left(at(left));
        }
        assert_eq!(integral.nanos(), 20 + 20 + 10);
    }
}
