//! Weights: shares of a whole, relative to one another.

use super::reading::{Allowed, Fields, Place};

/// Far enough for counts used as weights; a share may be switched off with 0.
const WEIGHT: Allowed = Allowed::from(0.0, 1_000_000_000.0);

/// Reads one weight.
pub(super) fn read(place: Place<'_>) -> Option<f64> {
    place.number(WEIGHT)
}

/// Requires that something has a share: a mistake of the field `name` when all weights are 0.
pub(super) fn positive_total(fields: &Fields<'_>, name: &'static str, weights: &[f64]) -> Option<()> {
    if weights.iter().any(|weight| *weight > 0.0) {
        return Some(());
    }
    fields.complain_of(name, "has no weight above 0; give at least one a share");
    None
}
