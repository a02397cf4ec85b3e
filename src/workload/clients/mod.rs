//! How clients behave towards a server that is slow or refuses: time limits, retries, hedges.

pub(super) mod behaviour;
pub(super) mod change;
pub(super) mod leaving;
pub(super) mod retry_cause;
pub(super) mod retry_policy;

pub use behaviour::{ClientBehaviour, Jitter};
pub use change::ClientChange;
pub use leaving::{Leaving, LeavingPolicy};
pub use retry_cause::RetryCause;
pub use retry_policy::RetryPolicy;

#[cfg(test)]
mod tests;
