//! Bounds that several parts of a spec share.

use crate::workload::reading::allowed::Allowed;

/// Most requests of one run: nearly three hours at 10,000 a second.
pub(super) const MOST_REQUESTS: f64 = 100_000_000.0;

/// The longest run, seconds: 31 days.
pub(super) const LONGEST_S: f64 = 2_678_400.0;

/// Rates above zero. No client sends more from one machine.
pub(super) const RATE: Allowed = Allowed::above(0.0, 1_000_000.0);

/// A length of time in seconds, up to 31 days.
pub(super) const SECONDS: Allowed = Allowed::above(0.0, LONGEST_S);

/// Users in a closed loop; each is a connection.
pub(super) const USERS: Allowed = Allowed::from(1.0, 100_000.0);

/// Counts of requests.
pub(super) const REQUESTS: Allowed = Allowed::from(1.0, MOST_REQUESTS);

/// Waits, which may be zero.
pub(super) const WAIT: Allowed = Allowed::from(0.0, LONGEST_S);
