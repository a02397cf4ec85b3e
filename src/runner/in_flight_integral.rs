//! Adds up how long requests were there, from the run's own events and not from their records.

use crate::clock::Timestamp;

/// ∫ N(t) dt over the window, N(t) being the requests that have been let go and have not ended.
///
/// A request adds the part of the window before its end and takes off the part before its beginning.
#[derive(Debug)]
pub(super) struct Presence {
    start: Timestamp,
    end: Timestamp,
    nanos: i128,
}

impl Presence {
    /// Over the window from `start` to `end`.
    pub(super) fn within(start: Timestamp, end: Timestamp) -> Self {
        Self { start, end, nanos: 0 }
    }

    /// A request was let go.
    pub(super) fn came(&mut self, at: Timestamp) {
        self.nanos -= self.of_window_before(at);
    }

    /// A request ended.
    pub(super) fn left(&mut self, at: Timestamp) {
        self.nanos += self.of_window_before(at);
    }

    /// The sum, once everybody has left.
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
        let mut presence = Presence::within(at(100), at(200));
        for (came, left) in [(0, 50), (50, 120), (150, 170), (190, 500), (300, 400)] {
            presence.came(at(came));
            presence.left(at(left));
        }
        assert_eq!(presence.nanos(), 20 + 20 + 10);
    }
}
