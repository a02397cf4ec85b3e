//! All that a rule may look at.

use super::crowd::Crowd;
use super::physics::Physics;
use crate::analysis::Summary;
use crate::record::RunLog;

/// All that a rule may look at.
pub(super) struct Evidence<'a> {
    pub(super) log: &'a RunLog,
    pub(super) summary: &'a Summary,
    pub(super) crowd: Crowd<'a>,
    /// What physics predicts of the deployment, or why it cannot.
    pub(super) physics: Result<Physics, String>,
}
