//! A model placed on hardware: accelerators, models and number formats by name, and the memory that is left.

pub(super) mod hardware;
pub(super) mod model;
pub(super) mod placement;
pub(super) mod precision;
pub(super) mod preset;
mod presets;

pub use hardware::Hardware;
pub use model::{Experts, KvLayout, ServingModel};
pub use placement::{Deployment, DoesNotFit};
pub use precision::Precision;
pub use preset::UnknownName;
pub use presets::{HARDWARE, MODELS};
