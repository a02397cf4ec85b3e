//! All that a rule may look at.

use super::concurrency::ConcurrencyContext;
use super::physics::Physics;
use crate::analysis::Summary;
use crate::record::RunLog;

/// All that a rule may look at.
pub(super) struct RunEvidence<'a> {
    pub(super) log: &'a RunLog,
    pub(super) summary: &'a Summary,
    pub(super) concurrency: ConcurrencyContext<'a>,
    /// What physics predicts of the deployment, or why it cannot.
    pub(super) physics: Result<Physics, String>,
}
