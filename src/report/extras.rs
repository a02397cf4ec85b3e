//! What goes beside the summary of a run.

use serde::Serialize;

use crate::experiment::{Diagnosis, PairedOpen};

/// What else there is to say about a run than its own summary.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Extras<'a> {
    /// Of a closed loop: the open run that goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paired_open: Option<&'a PairedOpen>,
    /// The regime in which the server seems to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<&'a Diagnosis>,
}
