//! How token counts vary from request to request, and how shares are weighted.

pub(super) mod distribution;
pub(super) mod weights;

pub use distribution::{Distribution, TOKEN_LIMIT};
pub use weights::zipf;
