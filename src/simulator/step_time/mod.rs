//! How long one forward pass takes: from a roofline, from a measured table, or from costs fitted to runs.

mod bandwidth;
pub(super) mod model;
pub(super) mod roofline;

pub use bandwidth::BandwidthMath;
pub use model::{LinearStep, StepTable, StepTime};
pub use roofline::{Efficiency, Roofline, StepParts, StepWork};
