//! Moments of a run in words.

/// A moment of a run, seconds: figures of three digits would make 100.5 and 101.4 the same.
pub(super) fn moment(seconds: f64, decimals: usize) -> String {
    format!("{seconds:.decimals$}")
}
