//! What there is to see at one moment.

use console::strip_ansi_codes;

use super::palette::Ink;
use crate::clock::Timestamp;
use crate::live::watched::Watched;
use crate::runner::Snapshot;
use crate::units::steers;

/// From so many rows on, parts have headings, and all latencies are shown.
const ROOMY: u16 = 18;

/// What there is to see at one moment.
pub(super) struct Seen<'a> {
    pub(super) watched: &'a Watched,
    pub(super) now: Timestamp,
    pub(super) snapshot: Snapshot,
    /// The last words that were said, oldest first.
    pub(super) said: Vec<String>,
    pub(super) ink: Ink,
}

/// Whether parts have headings.
pub(super) const fn is_roomy(height: u16) -> bool {
    height >= ROOMY
}

/// A text that can neither steer the terminal nor turn what stands beside it round: diagnostics come coloured, and may hold
/// what a server said.
pub(super) fn plain(text: &str) -> String {
    strip_ansi_codes(text).chars().filter(|&c| !steers(c)).collect()
}
