//! Sessions that are taken from a file, and what is made of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

use crate::workload::lengths::Distribution;
use crate::workload::reading::spec_table;
use crate::workload::reading::value::{Allowed, SpecValue, WAIT};
use crate::workload::trace::layout::SessionLayout;

/// Seconds of the run for one of the file.
const SCALE: Allowed = Allowed::from(0.0, 100.0);
/// A share of a session.
const SHARE: Allowed = Allowed::from(0.0, 1.0);

spec_table! {
    default
    /// The sessions of a dataset. They say how the file is written, and what is made of it.
    pub struct SessionRules = "the sessions of a dataset" {
        /// Layout of the file. It is recognised by its fields when absent.
        layout: Option<SessionLayout> = option(|value| value.variant()),
        /// Answers that later prompts repeat. They are the recorded ones when absent, if the file has them.
        history: Option<HistorySource> = option(|value| value.variant()),
        /// Seconds of the run for one second of a delay. 0.5 halves the delays; 1 by default.
        time_scale: f64 = optional(1.0, |value| value.number(SCALE)),
        /// Longest delay, in seconds of the file. Longer ones are cut; none is when absent.
        idle_cap_s: Option<f64> = option(|value| value.number(WAIT)),
        /// Most tokens of a prompt and its answer together. A request that would exceed them is not sent, nor what
        /// waits for it; absent: the server decides.
        max_context_tokens: Option<u32> = option(Distribution::tokens),
        /// Part of their length in which the first sessions of agents begin. It is two shares from 0 to 1; without it
        /// they begin at their beginning.
        start: Option<[f64; 2]> = option(start_window),
        /// Requests that have texts in common.
        salt: SaltScope = optional(SaltScope::Session, |value| value.variant()),
    }
}

impl SessionRules {
    /// Returns a delay of the recording as it is in the run.
    pub(crate) fn delay(&self, recorded: Duration) -> Duration {
        let capped = self.idle_cap_s.map_or(recorded, |most| recorded.min(Duration::from_secs_f64(most)));
        capped.mul_f64(self.time_scale)
    }
}

/// Reads two shares, the lower one first.
fn start_window(value: SpecValue<'_>) -> Option<[f64; 2]> {
    let shares = value.list(|share| share.number(SHARE))?;
    match *shares {
        [from, to] if from <= to => Some([from, to]),
        _ => value.refuse("two shares from 0 to 1, the lower one first, such as [0.25, 0.75]"),
    }
}

/// Origins of the answers that later prompts repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum HistorySource {
    /// Answers of the file: every server gets the same prompts.
    Recorded,
    /// Answers that the server gives.
    Live,
}

/// Requests whose prompts begin with the same text where the file says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SaltScope {
    /// Requests of one session. A session that is played again has other texts.
    #[default]
    Session,
    /// Requests of one session of the file, however often it is played.
    Trajectory,
    /// All requests of the run.
    Run,
}

/// Findings in a file of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFindings {
    /// Its layout.
    pub layout: SessionLayout,
    /// Requests of all sessions.
    pub requests: u64,
    /// Most requests of a session.
    pub most_requests: u32,
    /// Most agents of a session.
    pub most_agents: u32,
    /// Requests that wait for several others.
    pub joins: u64,
    /// Sessions whose prompts are all known, with recorded answers where they repeat some.
    pub recorded: u64,
    /// Sessions that have a moment in the file.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub dated: u64,
    /// Prompt tokens of all requests. With live answers they are as long as recorded.
    pub input_tokens: u64,
    /// Prompt tokens that surely were in a prompt of the session before.
    pub shared_tokens: u64,
    /// Requests that began in the recording before an end that they wait for here.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub clamped: u64,
    /// Fields that would change what is sent and are not read, with their counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<(String, u64)>,
    /// Reasons for which requests were left out, with their counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, u64)>,
}
