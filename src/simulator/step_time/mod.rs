//! How long one forward pass takes: from a roofline, from a measured table, or from costs fitted to runs.

mod bandwidth;
pub(super) mod linear;
pub(super) mod model;
pub(super) mod roofline;
pub(super) mod table;
pub(super) mod work;

pub use bandwidth::BandwidthMath;
pub use linear::LinearStep;
pub use model::StepTime;
pub use roofline::{Efficiency, Roofline, StepParts};
pub use table::{StepTable, StepTableError};
pub use work::StepWork;
